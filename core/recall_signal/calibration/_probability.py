"""Probabilities from statistics: the logistic solver, Platt's line, Venn-Abers, and priors."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import exp, log, log1p
from typing import TYPE_CHECKING, NamedTuple

from recall_signal.errors import ConfigurationError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "Platt",
    "VennAbers",
    "fit_logistic",
    "fit_platt",
    "fit_venn_abers",
    "log_odds",
    "logit",
    "shift_prior",
    "sigmoid",
    "solve_logistic",
]

VENN_ABERS_FROM = 100
"""Labels from which Venn-Abers is worth more than a straight line."""

MOST_GROUPS = 400
"""Largest number of quantile groups of statistics, which bounds the fit's time."""

_RIDGE = 1e-3
"""On the slopes of standardised columns."""

_STEPS, _FURTHEST, _CONVERGED = 50, 2.0, 1e-9
"""Of Newton's method: largest number of steps (about eight are taken), the furthest that one goes,
and the step at which they end."""

MAX_LOGITS = 1e12
"""Largest intercept and slope of a line, so that no product of them overflows into NaN."""


def sigmoid(logit: float) -> float:
    """Return 1 / (1 + exp(-logit)), without overflow."""
    if logit >= 0.0:
        return 1.0 / (1.0 + exp(-logit))
    odds = exp(logit)
    return odds / (1.0 + odds)


def logit(probability: float) -> float:
    """Return the inverse of `sigmoid`, finite for 0 and 1."""
    clipped = min(max(probability, 1e-6), 1.0 - 1e-6)
    return log(clipped / (1.0 - clipped))


def log_odds(share: float) -> float:
    """Return the exact inverse of `sigmoid` for a share between 0 and 1, both excluded."""
    return log(share) - log1p(-share)


def shift_prior(probability: float, prior: float, given: float = 0.5) -> float:
    """Move a probability from the prior `given` to another one."""
    if prior == given:
        return probability
    favour = probability * prior * (1.0 - given)
    against = (1.0 - probability) * (1.0 - prior) * given
    return favour / (favour + against) if favour else 0.0


@dataclass(frozen=True, slots=True)
class Platt:
    """P = sigmoid(intercept + slope * t), with a slope of at least 0 (Platt, 1999).

    Raises:
        ConfigurationError: The slope is negative, or a number is not finite or beyond 1e12.
    """

    intercept: float
    slope: float

    def __post_init__(self) -> None:
        if not (abs(self.intercept) <= MAX_LOGITS and 0.0 <= self.slope <= MAX_LOGITS):
            raise ConfigurationError(
                "a logistic line needs a finite intercept and a slope of at least 0, got "
                f"{self.intercept} and {self.slope}"
            )

    def probability(self, statistic: float) -> float:
        """Return P(something relevant) at this statistic and an even prior."""
        return sigmoid(self.intercept + self.slope * statistic)

    def statistic_at(self, probability: float, prior: float) -> float | None:
        """Return the statistic with a probability under a prior; None for a flat line."""
        if not self.slope:
            return None
        return (log_odds(probability) - log_odds(prior) - self.intercept) / self.slope


def fit_logistic(columns: ArrayLike, labels: Sequence[bool]) -> tuple[float, tuple[float, ...]]:
    """Fit a logistic line at an even prior: both classes weigh the same, targets are smoothed.

    On standardised columns with a weak ridge on the slopes. Smoothed targets (Platt, 1999) and
    ridge keep the line finite where the classes separate. A constant column gets the slope 0.

    Args:
        columns: `[n, d]` statistics, or `[n]` for a single one.
        labels: One for each row, of both kinds.

    Returns:
        Intercept and the `d` slopes, in the units of the columns.
    """
    import numpy as np  # here, since the command sets numpy's threads before it is loaded

    table = np.asarray(columns, dtype=np.float64).reshape(len(labels), -1)
    centre, spread = table.mean(axis=0), table.std(axis=0)
    spread = np.where(np.ptp(table, axis=0) > 0.0, spread, np.inf)
    design = np.column_stack([np.ones(len(table)), (table - centre) / spread])
    pull = (0.0, *[_RIDGE] * table.shape[1])
    beta = np.array(solve_logistic(design, labels, weight=1.0, pull=pull))
    slopes = beta[1:] / spread
    return float(beta[0] - slopes @ centre), tuple(slopes.tolist())


def solve_logistic(
    design: ArrayLike,
    labels: Sequence[bool],
    *,
    weight: float,
    pull: Sequence[float],
    goal: Sequence[float] | None = None,
) -> tuple[float, ...]:
    """Return the coefficients of a logistic regression with a ridge, by Newton's method.

    Args:
        design: `[n, d]`, with a column of ones where there is an intercept.
        labels: Of both kinds; each kind weighs half, and targets are smoothed (Platt, 1999).
        weight: Weight of all labels together.
        pull: Strength of the ridge on each coefficient.
        goal: The coefficients that the ridge pulls to; all 0 by default.
    """
    import numpy as np

    rows, positive = np.asarray(design, dtype=np.float64), np.asarray(labels, dtype=bool)
    positives = int(positive.sum())
    negatives = len(positive) - positives
    targets = np.where(positive, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    weights = np.where(positive, 0.5 * weight / positives, 0.5 * weight / negatives)
    ridge, aim = np.diag(pull), np.zeros(rows.shape[1]) if goal is None else np.array(goal)
    beta = aim.copy()
    for _ in range(_STEPS):
        p = 0.5 + 0.5 * np.tanh(0.5 * (rows @ beta))  # the sigmoid, without overflow
        gradient = rows.T @ (weights * (p - targets)) + ridge @ (beta - aim)
        curvature = (rows * (weights * p * (1.0 - p))[:, None]).T @ rows + ridge
        step = np.clip(np.linalg.solve(curvature, gradient), -_FURTHEST, _FURTHEST)
        beta -= step
        if np.abs(step).max() < _CONVERGED:
            break
    return tuple(beta.tolist())


def fit_platt(statistics: Sequence[float], labels: Sequence[bool]) -> Platt:
    """Fit a `Platt` line; an even one where the labels say nothing or run the other way.

    Args:
        statistics: One for each label.
        labels: Of both kinds, at least one each.
    """
    intercept, (slope,) = fit_logistic(statistics, labels)
    return Platt(intercept, slope) if slope > 0.0 else Platt(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class VennAbers:
    """Inductive Venn-Abers predictor (Vovk, Petej and Fedorova, 2015), as two step functions.

    Attributes:
        edges: Strictly ascending statistics of the labelled groups.
        lower: The lower probability in each of the `len(edges)` * 2 + 1 places: below the
            first edge, on it, between it and the next, and so on. Never falls.
        upper: The upper probability likewise.
        share: Share of positive labels that the probabilities are for.

    Raises:
        ConfigurationError: The steps are not of that form.
    """

    edges: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    share: float

    def __post_init__(self) -> None:
        places = 2 * len(self.edges) + 1
        if not len(self.lower) == len(self.upper) == places:
            raise ConfigurationError(
                f"Venn-Abers with {len(self.edges)} edges needs {places} lower and upper values"
            )
        if not all(a < b for a, b in pairwise(self.edges)):
            raise ConfigurationError("the edges of Venn-Abers must ascend")
        steps = zip(self.lower, self.upper, strict=True)
        rises = all(a <= b for side in (self.lower, self.upper) for a, b in pairwise(side))
        if not (rises and all(0.0 <= a <= b <= 1.0 for a, b in steps)):
            raise ConfigurationError(
                "the steps of Venn-Abers must never fall, and lie between 0 and 1 with the lower "
                "value first"
            )
        if not 0.0 < self.share < 1.0:
            raise ConfigurationError(
                f"share must lie between 0 and 1, both excluded, got {self.share}"
            )

    def interval(self, statistic: float) -> tuple[float, float]:
        """Return the lower and the upper probability at this statistic."""
        at = bisect_left(self.edges, statistic)
        on_edge = at < len(self.edges) and self.edges[at] == statistic
        return self._at(2 * at + on_edge)

    def probability(self, statistic: float) -> float:
        """Return one probability out of the two: p1 / (1 - p0 + p1)."""
        return _merged(self.interval(statistic))

    def statistic_at(self, probability: float, prior: float) -> float | None:
        """Return the edge from which, or above which, the probability under a prior is reached.

        None where every statistic lies on one side of it.
        """

        def shifted(place: int) -> float:
            return shift_prior(_merged(self._at(place)), prior, self.share)

        place = bisect_left(range(len(self.lower)), probability, key=shifted)
        return self.edges[(place - 1) // 2] if 0 < place < len(self.lower) else None

    def _at(self, place: int) -> tuple[float, float]:
        return self.lower[place], self.upper[place]


def _merged(interval: tuple[float, float]) -> float:
    lower, upper = interval
    return upper / (1.0 - lower + upper)


def fit_venn_abers(statistics: Sequence[float], labels: Sequence[bool]) -> VennAbers:
    """Fit a Venn-Abers predictor; labels of equal statistics are pooled."""
    edges, sums, weights = _grouped(statistics, labels)
    left = _pooled(sums, weights)
    right = _pooled([-s for s in reversed(sums)], weights[::-1])[::-1]
    intervals = []
    for at in range(len(edges) + 1):
        intervals.append([_inserted(left[at], right[at], y, 1.0) for y in (0.0, 1.0)])
        if at < len(edges):
            intervals.append(
                [
                    _inserted(left[at], right[at + 1], sums[at] + y, weights[at] + 1.0)
                    for y in (0.0, 1.0)
                ]
            )
    lower, upper = zip(*intervals, strict=True)
    # Both rise with the place; the running maximum takes away what rounding may undo of it.
    return VennAbers(
        tuple(edges),
        tuple(accumulate(lower, max)),
        tuple(accumulate(upper, max)),
        sum(labels) / len(labels),
    )


class _Block(NamedTuple):
    """A level stretch of an isotonic fit, on top of those before it."""

    mean: float
    total: float
    weight: float
    below: _Block | None


def _pooled(sums: Sequence[float], weights: Sequence[float]) -> list[_Block | None]:
    """Return the isotonic fit of the first 0, 1, 2, ... values, by pooling adjacent violators.

    The fit of Ayer et al. (1955); as it builds on the fit of the values before, all of them
    cost hardly more than the last.
    """
    fits: list[_Block | None] = [None]
    for total, weight in zip(sums, weights, strict=True):
        below = fits[-1]
        while below is not None and below.mean >= total / weight:
            total, weight, below = total + below.total, weight + below.weight, below.below
        fits.append(_Block(total / weight, total, weight, below))
    return fits


def _inserted(left: _Block | None, right: _Block | None, total: float, weight: float) -> float:
    """Return the isotonic fit at a point between a fit and one that is mirrored at zero."""
    while True:
        if left is not None and left.mean >= total / weight:
            total, weight, left = total + left.total, weight + left.weight, left.below
        elif right is not None and -right.mean <= total / weight:
            total, weight, right = total - right.total, weight + right.weight, right.below
        else:
            return total / weight


def _grouped(
    statistics: Sequence[float], labels: Sequence[bool]
) -> tuple[list[float], list[float], list[float]]:
    """Return ascending groups: statistic, number of positive labels, number of labels."""
    pairs = sorted(zip(statistics, labels, strict=True))
    size = max(1, -(-len(pairs) // MOST_GROUPS))
    edges: list[float] = []
    sums: list[float] = []
    weights: list[float] = []
    for t, label in pairs:
        if edges and (t == edges[-1] or (size > 1 and weights[-1] < size)):
            edges[-1], sums[-1], weights[-1] = t, sums[-1] + label, weights[-1] + 1.0
        else:
            edges.append(t)
            sums.append(float(label))
            weights.append(1.0)
    return edges, sums, weights
