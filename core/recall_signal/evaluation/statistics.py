"""What else can be computed from a pool's cosines: the baselines that a calibration is up against.

Every function takes cosines ``[Q, P]``, each row from high to low and filled up with NaN, and
returns one score a query, ``[Q]``; higher is meant to say that something relevant is stored.
NaN where a statistic is not defined. Measured: everything here but :func:`top` divides out or
subtracts the level of the query, and that level is the evidence (docs/detection.md).
"""

from __future__ import annotations

import numpy as np

from recall_signal.evaluation.metrics import Floats
from recall_signal.thresholds import FLAT_STD, MIN_BACKGROUND

__all__ = ["background_z", "gap", "nqc", "prominence", "top", "wig", "z_score"]

WIG_DEPTH = 5
"""Candidates that WIG averages; about 5 in Zhou and Croft (2007)."""


def top(cosines: Floats) -> Floats:
    """The best cosine ("max score": Tomlinson, 2004)."""
    return cosines[:, 0].copy()


def gap(cosines: Floats) -> Floats:
    """The best cosine less the second best (Gisserot-Boukhlef et al., 2024)."""
    if cosines.shape[1] < 2:
        return np.full(len(cosines), np.nan)
    return np.asarray(cosines[:, 0] - cosines[:, 1])


def z_score(cosines: Floats) -> Floats:
    """How many population standard deviations the best one stands above the mean of the others."""
    mean, std = _background(cosines)
    with np.errstate(all="ignore"):
        return np.where(std > FLAT_STD, (cosines[:, 0] - mean) / std, np.nan)


def prominence(cosines: Floats, pool_size: int | None = None) -> Floats:
    """(best - mean of the others) / mean of the others, over the first ``pool_size``.

    A mean at or below 1e-3, which gives no prominence in the product, counts as 1e-3 here, so
    that every query can be ranked.
    """
    cosines = cosines[:, :pool_size]
    mean, _ = _background(cosines)
    return np.asarray((cosines[:, 0] - mean) / np.maximum(mean, MIN_BACKGROUND))


def nqc(cosines: Floats) -> Floats:
    """Normalised query commitment: standard deviation of the pool over its mean (Shtok, 2012).

    The original divides by the score of the whole corpus as one document, which has no use for
    cosines that may be near 0 or below; the pool's mean stands in for it.
    """
    mean, std = _moments(cosines)
    with np.errstate(all="ignore"):
        return np.where(np.abs(mean) > FLAT_STD, std / np.abs(mean), np.nan)


def wig(cosines: Floats) -> Floats:
    """Weighted information gain: mean of the best five less the pool's mean (Zhou, Croft, 2007).

    Without the original's division by the root of the query's length: a dense query has none.
    """
    best, _ = _moments(cosines[:, :WIG_DEPTH])
    mean, _ = _moments(cosines)
    return best - mean


def background_z(cosines: Floats, background: Floats) -> Floats:
    """The best cosine as a z-score among those of the query with stored texts drawn at random.

    Args:
        cosines: ``[Q, P]``.
        background: ``[Q, M]``, in any order, NaN where there is none.
    """
    mean, std = _moments(background)
    with np.errstate(all="ignore"):
        return np.where(std > FLAT_STD, (cosines[:, 0] - mean) / std, np.nan)


def _background(cosines: Floats) -> tuple[Floats, Floats]:
    """Mean and population standard deviation of all cosines of each row but the first."""
    return _moments(cosines[:, 1:])


def _moments(values: Floats) -> tuple[Floats, Floats]:
    """Mean and population standard deviation of each row without its NaNs; NaN for none."""
    usable = np.isfinite(values)
    count = usable.sum(axis=1)
    with np.errstate(all="ignore"):
        mean = np.where(usable, values, 0.0).sum(axis=1) / count
        spread = np.where(usable, values - mean[:, None], 0.0)
        return mean, np.sqrt((spread * spread).sum(axis=1) / count)
