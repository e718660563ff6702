"""Query performance prediction from a pool's cosines: the baselines of a calibration.

Every function takes cosines `[Q, P]`, each row from high to low and padded with NaN, and
returns one score per query, `[Q]`, higher where something relevant should be stored and NaN
where the statistic is not defined. Measured: everything here but `top` divides out or
subtracts the level of the query, and that level is the evidence (docs/detection.md).
"""

from __future__ import annotations

import numpy as np

from recall_signal.evaluation._metrics import Floats
from recall_signal.thresholds import FLAT_STD, MIN_BACKGROUND

__all__ = ["background_z", "gap", "nqc", "prominence", "top", "wig", "z_score"]

WIG_DEPTH = 5
"""Candidates that WIG averages; about 5 in Zhou and Croft (2007)."""


def top(cosines: Floats) -> Floats:
    """Return the best cosine ("max score": Tomlinson, 2004)."""
    return cosines[:, 0].copy()


def gap(cosines: Floats) -> Floats:
    """Return the best cosine less the second best (Gisserot-Boukhlef et al., 2024)."""
    if cosines.shape[1] < 2:
        return np.full(len(cosines), np.nan)
    return np.asarray(cosines[:, 0] - cosines[:, 1])


def z_score(cosines: Floats) -> Floats:
    """Return the distance of the best cosine from the mean of the others, in their std."""
    mean, std = _background(cosines)
    with np.errstate(all="ignore"):
        return np.where(std > FLAT_STD, (cosines[:, 0] - mean) / std, np.nan)


def prominence(cosines: Floats, pool_size: int | None = None) -> Floats:
    """Return (best - mean of the others) / mean of the others, over the first `pool_size`.

    A mean at or below 1e-3, which gives no prominence in the product, counts as 1e-3 here, so
    that every query can be ranked.
    """
    cosines = cosines[:, :pool_size]
    mean, _ = _background(cosines)
    return np.asarray((cosines[:, 0] - mean) / np.maximum(mean, MIN_BACKGROUND))


def nqc(cosines: Floats) -> Floats:
    """Return normalised query commitment: std of the pool over its mean (Shtok, 2012).

    The original divides by the score of the whole corpus as one document, which is
    undefined for cosines near 0 or below; the pool's mean stands in for it.
    """
    mean, std = _moments(cosines)
    with np.errstate(all="ignore"):
        return np.where(np.abs(mean) > FLAT_STD, std / np.abs(mean), np.nan)


def wig(cosines: Floats) -> Floats:
    """Return weighted information gain: mean of the best five less the pool's (Zhou, 2007).

    Without the original's division by the root of the query's length: a dense query has none.
    """
    best, _ = _moments(cosines[:, :WIG_DEPTH])
    mean, _ = _moments(cosines)
    return best - mean


def background_z(cosines: Floats, background: Floats) -> Floats:
    """Return the best cosine as a z-score among those with stored texts drawn at random.

    Args:
        cosines: `[Q, P]`.
        background: `[Q, M]`, in any order, NaN where there is none.
    """
    mean, std = _moments(background)
    with np.errstate(all="ignore"):
        return np.where(std > FLAT_STD, (cosines[:, 0] - mean) / std, np.nan)


def _background(cosines: Floats) -> tuple[Floats, Floats]:
    """Return mean and population standard deviation of all cosines of each row but the first."""
    return _moments(cosines[:, 1:])


def _moments(values: Floats) -> tuple[Floats, Floats]:
    """Return mean and population standard deviation of each row without NaNs; NaN for none."""
    usable = np.isfinite(values)
    count = usable.sum(axis=1)
    with np.errstate(all="ignore"):
        mean = np.where(usable, values, 0.0).sum(axis=1) / count
        spread = np.where(usable, values - mean[:, None], 0.0)
        return mean, np.sqrt((spread * spread).sum(axis=1) / count)
