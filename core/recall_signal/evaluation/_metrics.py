"""Figures of merit for "is anything relevant stored?", each with the source of its formula.

Scores are higher where something relevant is more likely; NaN means no score and ranks below
every other. `present` is true for queries with something relevant stored; functions that
compare the two classes need at least one query of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from recall_signal import _statistics as statistics

__all__ = [
    "Reliability",
    "RiskCoverage",
    "auroc",
    "auroc_interval",
    "balanced_accuracy",
    "balanced_weights",
    "brier",
    "ece",
    "fpr_at_tpr",
    "level_shares",
    "oracle",
    "reliability",
    "risk_coverage",
]

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

DRAWS = 1000
BINS = 10

_BLOCK = 4_000_000
"""Numbers held at a time by the bootstrap: 32 MB."""


def auroc(scores: Floats, present: Bools) -> float:
    """Return the area under the ROC curve; missing scores rank below all others."""
    ranked = _ranked(scores)
    return statistics.auroc(ranked[present], ranked[~present])


def auroc_interval(
    scores: Floats, present: Bools, *, draws: int = DRAWS, seed: int = 0, level: float = 0.95
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of `auroc`, stratified by class.

    Queries are resampled with replacement within each class (Efron and Tibshirani, 1993). All
    draws are made at once, as counts over the distinct scores, which are multinomial.
    """
    positive, negative = _class_counts(scores, present)
    rng = np.random.default_rng(seed)
    areas: list[Floats] = []
    size = max(1, min(draws, _BLOCK // len(positive)))
    for start in range(0, draws, size):
        rows = min(size, draws - start)
        drawn = [rng.multinomial(int(c.sum()), c / c.sum(), rows) for c in (positive, negative)]
        areas.append(statistics.area_of_counts(*drawn))
    low, high = np.quantile(np.concatenate(areas), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def fpr_at_tpr(scores: Floats, present: Bools, tpr: float = 0.95) -> float:
    """Return the share of absent queries above the threshold that keeps `tpr` of the present.

    FPR95 as in out-of-distribution detection (Liang, Li and Srikant, 2018).
    """
    positive, negative = _class_counts(scores, present)
    kept = np.cumsum(positive[::-1]) / positive.sum()
    at = int(np.argmax(kept >= tpr - 1e-12))
    return float(np.cumsum(negative[::-1])[at] / negative.sum())


def balanced_accuracy(predicted: Bools, present: Bools) -> float:
    """Return the mean of sensitivity and specificity (Brodersen, 2010)."""
    return float((predicted[present].mean() + 1.0 - predicted[~present].mean()) / 2.0)


def oracle(scores: Floats, present: Bools) -> tuple[float, float]:
    """Return the best balanced accuracy of any threshold, and that threshold (score >= it).

    Chosen with the labels it is measured on, so it is a ceiling, not a method. It equals
    (1 + J) / 2 with Youden's J (1950) at its highest.
    """
    positive, negative = _class_counts(scores, present)
    gain = np.cumsum(positive[::-1]) / positive.sum() - np.cumsum(negative[::-1]) / negative.sum()
    at = int(np.argmax(gain))
    if gain[at] <= 0.0:
        return 0.5, float("inf")
    return float((1.0 + gain[at]) / 2.0), float(np.unique(_ranked(scores))[::-1][at])


def balanced_weights(present: Bools) -> Floats:
    """Return weights under which both classes count the same; their sum is 1."""
    of_class: Floats = np.where(present, present.sum(), (~present).sum()).astype(np.float64)
    return 0.5 / of_class


def brier(probabilities: Floats, present: Bools, weights: Floats | None = None) -> float:
    """Return the mean squared distance of the probability from 0 or 1 (Brier, 1950)."""
    return float(np.average((probabilities - present) ** 2, weights=weights))


@dataclass(frozen=True, slots=True, eq=False)
class Reliability:
    """Predicted and observed share of present queries by bin; see `reliability`.

    Attributes:
        predicted: Mean probability of each bin.
        observed: Share of present queries in each bin.
        weight: Share of all queries in each bin; their sum is 1.
    """

    predicted: Floats
    observed: Floats
    weight: Floats


def reliability(
    probabilities: Floats, present: Bools, *, bins: int = BINS, weights: Floats | None = None
) -> Reliability:
    """Return the reliability curve over bins of equal mass (Nguyen and O'Connor, 2015).

    Equal probabilities share a bin, so there may be fewer bins, of unequal mass.
    """
    weights = np.ones(len(present)) if weights is None else weights
    values, place = np.unique(probabilities, return_inverse=True)
    mass: Floats = np.bincount(place, weights) / weights.sum()
    hits = np.bincount(place, weights * present) / weights.sum()
    middle = np.cumsum(mass) - mass / 2.0
    bin_of = np.minimum((middle * bins).astype(int), bins - 1)
    in_bin = np.bincount(bin_of, mass, bins).astype(np.float64)
    used = in_bin > 0.0
    totals = in_bin[used]
    return Reliability(
        predicted=np.bincount(bin_of, mass * values, bins)[used] / totals,
        observed=np.bincount(bin_of, hits, bins)[used] / totals,
        weight=totals,
    )


def ece(
    probabilities: Floats, present: Bools, *, bins: int = BINS, weights: Floats | None = None
) -> float:
    """Return the expected calibration error: mean gap of predicted and observed share by bin.

    Naeini, Cooper and Hauskrecht (2015), over bins of equal mass. Few queries a bin raise it
    even where the probabilities are right.
    """
    curve = reliability(probabilities, present, bins=bins, weights=weights)
    return float(np.sum(curve.weight * np.abs(curve.predicted - curve.observed)))


@dataclass(frozen=True, slots=True, eq=False)
class RiskCoverage:
    """Share of wrong decisions among the surest ones; see `risk_coverage`.

    Attributes:
        coverage: Share of queries answered: 1/n, 2/n, ... 1.
        risk: Share of wrong decisions among those answered.
        augrc: Area under the share of queries that are answered and wrong, over coverage (Traub
            et al., 2024): the mean risk of a silent failure. 0 at best, at most 1/2.
    """

    coverage: Floats
    risk: Floats
    augrc: float


def risk_coverage(confidence: Floats, correct: Bools) -> RiskCoverage:
    """Return the risk-coverage curve of decisions that may abstain from the least sure ones.

    Args:
        confidence: How sure each decision is; any scale. Errors among equal values are spread
            evenly.
        correct: True where the decision is right.
    """
    values, place = np.unique(-confidence, return_inverse=True)
    ends = np.concatenate([[0.0], np.cumsum(np.bincount(place, minlength=len(values)))])
    wrong = np.concatenate([[0.0], np.cumsum(np.bincount(place, ~correct))])
    count = len(correct)
    answered = np.arange(1, count + 1)
    under = np.sum(np.diff(ends) * (wrong[1:] + wrong[:-1]) / 2.0)
    risk = np.interp(answered, ends, wrong) / answered
    return RiskCoverage(
        coverage=answered / count,
        risk=risk,
        augrc=float(under / count**2),
    )


def level_shares(levels: NDArray[np.str_], kinds: NDArray[np.str_]) -> dict[str, dict[str, float]]:
    """Return the share of each level by kind of query; kinds in the order they occur."""
    return {
        str(kind): {
            str(level): float(np.mean(levels[kinds == kind] == level))
            for level in np.unique(levels)
        }
        for kind in dict.fromkeys(kinds.tolist())
    }


def _ranked(scores: Floats) -> Floats:
    return np.where(np.isnan(scores), -np.inf, scores)


def _class_counts(scores: Floats, present: Bools) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count present and absent queries by distinct score, from low to high."""
    values, place = np.unique(_ranked(scores), return_inverse=True)
    positive = np.bincount(place[present], minlength=len(values))
    negative = np.bincount(place[~present], minlength=len(values))
    return positive, negative
