"""From labelled statistics to probabilities: Platt below 100 labels, Venn-Abers from there on."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import dist, exp, fsum, log, sqrt
from typing import NamedTuple

from recall_signal.errors import ConfigurationError

__all__ = ["Platt", "VennAbers", "fit_platt", "fit_venn_abers", "logit", "sigmoid"]

VENN_ABERS_FROM = 100
"""Labels from which a free form is worth more than a straight line."""

MOST_GROUPS = 400
"""Statistics are grouped into at most so many quantile groups, which bounds the fit's time."""

_RIDGE = 1e-3
_STEPS = 50
"""Of Newton's method, which takes about eight."""


def sigmoid(logit: float) -> float:
    """1 / (1 + exp(-logit)), without overflow."""
    if logit >= 0.0:
        return 1.0 / (1.0 + exp(-logit))
    odds = exp(logit)
    return odds / (1.0 + odds)


def logit(probability: float) -> float:
    """The inverse of :func:`sigmoid`, finite for 0 and 1."""
    clipped = min(max(probability, 1e-6), 1.0 - 1e-6)
    return log(clipped / (1.0 - clipped))


@dataclass(frozen=True, slots=True)
class Platt:
    """P = sigmoid(intercept + slope * t), with a slope of at least 0 (Platt, 1999)."""

    intercept: float
    slope: float

    def probability(self, statistic: float) -> float:
        """P(something relevant) at this statistic."""
        return sigmoid(self.intercept + self.slope * statistic)


def fit_platt(statistics: Sequence[float], labels: Sequence[bool]) -> Platt:
    """Platt's line at an even prior: both classes weigh the same, targets are smoothed.

    Newton's method on standardised statistics, with a weak ridge on the slope. Smoothed targets
    and ridge keep the line finite where the classes separate.

    Args:
        statistics: One for each label.
        labels: Of both kinds, at least one each.
    """
    centre = fsum(statistics) / len(statistics)
    spread = dist(statistics, [centre] * len(statistics)) / sqrt(len(statistics))
    if min(statistics) == max(statistics):
        return Platt(0.0, 0.0)  # says nothing
    positives = sum(labels)
    negatives = len(labels) - positives
    high, low = (positives + 1.0) / (positives + 2.0), 1.0 / (negatives + 2.0)
    points = [
        ((t - centre) / spread, high if label else low, 0.5 / (positives if label else negatives))
        for t, label in zip(statistics, labels, strict=True)
    ]
    intercept, slope = 0.0, 0.0
    for _ in range(_STEPS):
        g0, g1, h00, h01, h11 = 0.0, _RIDGE * slope, 0.0, 0.0, _RIDGE
        for t, target, weight in points:
            p = sigmoid(intercept + slope * t)
            error, curvature = weight * (p - target), weight * p * (1.0 - p)
            g0, g1 = g0 + error, g1 + error * t
            h00, h01, h11 = h00 + curvature, h01 + curvature * t, h11 + curvature * t * t
        determinant = h00 * h11 - h01 * h01
        d0 = (h11 * g0 - h01 * g1) / determinant
        d1 = (h00 * g1 - h01 * g0) / determinant
        intercept, slope = intercept - d0, slope - d1
        if max(abs(d0), abs(d1)) < 1e-9:
            break
    if slope < 0.0:
        return Platt(0.0, 0.0)  # the labels run against the statistic: it says nothing either
    return Platt(intercept - slope * centre / spread, slope / spread)


@dataclass(frozen=True, slots=True)
class VennAbers:
    """Inductive Venn-Abers predictor (Vovk, Petej and Fedorova, 2015), as two step functions.

    Attributes:
        edges: Ascending statistics of the labelled groups.
        lower: The lower probability in each of the ``len(edges)`` * 2 + 1 places: below the
            first edge, on it, between it and the next, and so on.
        upper: The upper probability likewise.
        share: Share of positive labels that the probabilities are for.
    """

    edges: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    share: float

    def __post_init__(self) -> None:
        places = 2 * len(self.edges) + 1
        if not len(self.lower) == len(self.upper) == places:
            raise ConfigurationError(f"{len(self.edges)} edges have {places} places between them")
        if not all(0.0 <= a <= b <= 1.0 for a, b in zip(self.lower, self.upper, strict=True)):
            raise ConfigurationError("an interval must rise between 0 and 1")
        if not 0.0 < self.share < 1.0:
            raise ConfigurationError("share must lie between 0 and 1, both excluded")

    def interval(self, statistic: float) -> tuple[float, float]:
        """The lower and the upper probability at this statistic."""
        at = bisect_left(self.edges, statistic)
        on_edge = at < len(self.edges) and self.edges[at] == statistic
        place = 2 * at + on_edge
        return self.lower[place], self.upper[place]

    def probability(self, statistic: float) -> float:
        """One probability out of the two: p1 / (1 - p0 + p1)."""
        lower, upper = self.interval(statistic)
        return upper / (1.0 - lower + upper)


def fit_venn_abers(statistics: Sequence[float], labels: Sequence[bool]) -> VennAbers:
    """A Venn-Abers predictor; labels of one group of equal statistics are pooled."""
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
    """The isotonic fit of the first 0, 1, 2, ... values, by pooling adjacent violators.

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
    """The isotonic fit at a point between a fit and one that is mirrored at zero."""
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
    """Ascending groups: statistic, number of positive labels, number of labels."""
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
