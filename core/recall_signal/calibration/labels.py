"""From labelled statistics to probabilities: Platt below 100 labels, Venn-Abers from there on."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

__all__ = ["Platt", "VennAbers", "fit_platt", "fit_venn_abers", "isotonic", "sigmoid"]

VENN_ABERS_FROM = 100
"""Labels from which a free form is worth more than a straight line."""

MOST_GROUPS = 400
"""Statistics are grouped into at most so many quantile groups, which bounds the fit's time."""

_RIDGE = 1e-3
_STEPS = 100


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
    """Platt's line at a balanced prior: both classes weigh the same, targets are smoothed.

    Newton's method on two parameters with a weak ridge on the slope, so that separable data
    give a finite one.
    """
    positives = sum(labels)
    negatives = len(labels) - positives
    high, low = (positives + 1.0) / (positives + 2.0), 1.0 / (negatives + 2.0)
    targets = [high if label else low for label in labels]
    weights = [0.5 / positives if label else 0.5 / negatives for label in labels]
    intercept, slope = 0.0, 1.0
    for _ in range(_STEPS):
        g0, g1, h00, h01, h11 = 0.0, _RIDGE * slope, 1e-9, 0.0, _RIDGE
        for t, target, weight in zip(statistics, targets, weights, strict=True):
            p = sigmoid(intercept + slope * t)
            error, curvature = weight * (p - target), weight * p * (1.0 - p)
            g0, g1 = g0 + error, g1 + error * t
            h00, h01, h11 = h00 + curvature, h01 + curvature * t, h11 + curvature * t * t
        determinant = h00 * h11 - h01 * h01
        if determinant <= 1e-15:
            break
        d0 = (h11 * g0 - h01 * g1) / determinant
        d1 = (h00 * g1 - h01 * g0) / determinant
        step = min(1.0, 5.0 / max(abs(d0), abs(d1), 1e-12))
        intercept, slope = intercept - step * d0, slope - step * d1
        if max(abs(d0), abs(d1)) < 1e-9:
            break
    if slope < 0.0:
        return Platt(0.0, 0.0)  # the labels run against the statistic: it says nothing
    return Platt(intercept, slope)


@dataclass(frozen=True, slots=True)
class VennAbers:
    """Inductive Venn-Abers predictor (Vovk, Petej and Fedorova, 2015), as two step functions.

    Attributes:
        edges: Ascending statistics of the labelled groups.
        lower: The lower probability in each of the ``len(edges)`` * 2 + 1 places: below the
            first edge, on it, between it and the next, and so on.
        upper: The upper probability likewise.
    """

    edges: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]

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
    edges, means, weights = _grouped(statistics, labels)
    lower, upper = [], []
    for place in range(2 * len(edges) + 1):
        at, on_edge = divmod(place, 2)
        lower.append(_fitted_at(means, weights, at, bool(on_edge), 0.0))
        upper.append(_fitted_at(means, weights, at, bool(on_edge), 1.0))
    return VennAbers(tuple(edges), tuple(lower), tuple(upper))


def _fitted_at(
    means: list[float], weights: list[float], at: int, on_edge: bool, label: float
) -> float:
    """The isotonic fit at one place, after a test point with this label was added there."""
    y, w = list(means), list(weights)
    if on_edge:
        y[at] = (y[at] * w[at] + label) / (w[at] + 1.0)
        w[at] += 1.0
    else:
        y.insert(at, label)
        w.insert(at, 1.0)
    return isotonic(y, w)[at]


def isotonic(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Least-squares non-decreasing fit, by pooling adjacent violators (Ayer et al., 1955)."""
    blocks: list[list[float]] = []  # mean, weight, length
    for value, weight in zip(values, weights, strict=True):
        blocks.append([value, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            mean, total, length = blocks.pop()
            last = blocks[-1]
            last[0] = (last[0] * last[1] + mean * total) / (last[1] + total)
            last[1] += total
            last[2] += length
    return [mean for mean, _, length in blocks for _ in range(int(length))]


def _grouped(
    statistics: Sequence[float], labels: Sequence[bool]
) -> tuple[list[float], list[float], list[float]]:
    """Ascending groups: statistic, share of positive labels, number of labels."""
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
    return edges, [s / w for s, w in zip(sums, weights, strict=True)], weights
