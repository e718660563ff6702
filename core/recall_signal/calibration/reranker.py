"""The scale of a reranker: where its best score stops speaking for an answer on this corpus.

A reranker's scores are a scale of their own, which differs between models, checkpoints and
libraries. The searches that show the scale of the cosines show this one too: the best scores of
general questions, which are not answered here, and of pieces of stored texts, which are. With
labels a line on the best score together with the top cosine is learnt instead.

Everything here is in logit space: a probability is turned into its logit, other scores stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from recall_signal.calibration.anchors import SEPARABLE, auroc, saturated
from recall_signal.calibration.labels import logit, sigmoid
from recall_signal.calibration.scale import quantile
from recall_signal.reports import RerankerScale

__all__ = [
    "RerankAnchors",
    "RerankLine",
    "RerankScale",
    "best_of",
    "from_logit",
    "learn",
    "to_logit",
]

CUT_SHARE = 0.35
"""Where the cut lies between the median of general questions and that of stored pieces. With it
.94 of the answerable queries of ten dev sets stayed above the cut and .34 of the near-misses fell
below; with a half .79 and .53. docs/reranking.md has the sets and the model."""

FEWEST_PROBES, FEWEST_PIECES, FEWEST_OF_A_CLASS = 10, 20, 5
"""General questions, pieces, and labelled queries of each kind, that a scale is learnt from."""

_RIDGE, _STEPS = 1e-3, 50
"""Of the line's fit by Newton's method, which takes about eight steps."""


@dataclass(frozen=True, slots=True)
class RerankLine:
    """P = sigmoid(intercept + cosine * top cosine + score * best score in logit space)."""

    intercept: float
    cosine: float
    score: float

    def probability(self, top: float, score: float) -> float:
        """P(something relevant) at an even prior."""
        return sigmoid(self.intercept + self.cosine * top + self.score * score)


@dataclass(frozen=True, slots=True)
class RerankScale:
    """What a calibration learnt about a reranker.

    Attributes:
        scale: What its scores are; use with a reranker declared otherwise is refused.
        cut: Best score from which a result may hold the fact, learnt without labels where no
            scale is declared. None on a declared scale, which has a cut of its own, and where
            the reranker does not tell stored pieces from general questions.
        line: Learnt from labels, together with the top cosine; decides where there is one.
        labels: Labelled queries that it was learnt from.
    """

    scale: RerankerScale
    cut: float | None = None
    line: RerankLine | None = None
    labels: int = 0

    def __str__(self) -> str:
        if self.line is not None:
            return f"reranker ({self.scale}): a line from {self.labels} labelled queries"
        return f"reranker ({self.scale}): " + (
            "no cut" if self.cut is None else f"cut {from_logit(self.cut, self.scale):.3f}"
        )


@dataclass(frozen=True, slots=True)
class RerankAnchors:
    """Best scores as the reranker gave them.

    Attributes:
        probes: Of general questions.
        hits: Of pieces of stored texts.
        labelled: (top cosine, best score, whether something relevant is stored).
    """

    probes: Sequence[float]
    hits: Sequence[float]
    labelled: Sequence[tuple[float, float, bool]]


def best_of(scores: Sequence[float | None] | None) -> float | None:
    """The highest finite score of a pool."""
    known = [float(score) for score in scores or () if score is not None]
    return max(filter(isfinite, known), default=None)


def to_logit(score: float, scale: RerankerScale) -> float:
    """A score in logit space; one of an unknown scale stays as it is."""
    return logit(score) if scale == "probability" else score


def from_logit(score: float, scale: RerankerScale) -> float:
    """The inverse of :func:`to_logit`."""
    return sigmoid(score) if scale == "probability" else score


def learn(anchors: RerankAnchors, scale: RerankerScale, warnings: list[str]) -> RerankScale | None:
    """The reranker's own scale, None where a declared one stands or too little was seen of it.

    A declared cut gives way to labels alone: pieces of stored texts are found word for word, so
    a cut learnt from them is no better than what a user knows of the scores.

    Args:
        anchors: The best scores of the fit's searches.
        scale: What those scores are.
        warnings: Receives what a user should know, as sentences.
    """
    if not (anchors.probes or anchors.hits or anchors.labelled):
        return None
    rows = [(top, to_logit(score, scale), label) for top, score, label in anchors.labelled]
    learnt = _unlabelled(anchors, scale, warnings)
    positives = sum(label for _, _, label in rows)
    if min(positives, len(rows) - positives) >= FEWEST_OF_A_CLASS:
        line = fit_line(rows)
        if line.score > 0.0:
            return RerankScale(scale, learnt.cut if learnt else None, line, len(rows))
        warnings.append(
            "labelled answerable queries get no higher reranker scores than the others: no match "
            "is decided"
        )
        return RerankScale(scale, labels=len(rows))
    return learnt


def _unlabelled(
    anchors: RerankAnchors, scale: RerankerScale, warnings: list[str]
) -> RerankScale | None:
    """A cut for scores that nobody declared; for declared ones a check and no more."""
    probes, hits, declared = anchors.probes, anchors.hits, scale != "unknown"
    if len(probes) < FEWEST_PROBES or len(hits) < FEWEST_PIECES:
        if not declared:
            warnings.append(
                f"the reranker scored {len(probes)} probes and {len(hits)} pieces of stored texts, "
                f"{FEWEST_PROBES} and {FEWEST_PIECES} are needed: no cut is learnt for it"
            )
        return None
    if auroc(hits, probes) <= SEPARABLE:
        warnings.append(
            "the reranker scores pieces of stored texts no higher than general questions: "
            + ("look at the scale that is declared for it" if declared else "no match is decided")
        )
        return None if declared else RerankScale(scale)
    if declared:
        return None
    if saturated(hits, probes):
        warnings.append(
            "the reranker scores most pieces of stored texts alike, as it does whole texts: its "
            "cut may lie too high or too low; declare its scale, or label some queries"
        )
    low, high = quantile(probes, 0.5), quantile(hits, 0.5)
    return RerankScale(scale, low + CUT_SHARE * (high - low))


def fit_line(rows: Sequence[tuple[float, float, bool]]) -> RerankLine:
    """A logistic line on top cosine and best score, both classes weighing the same.

    Newton's method on standardised columns with a weak ridge and smoothed targets, as
    :func:`~recall_signal.calibration.labels.fit_platt` does for one column.

    Args:
        rows: (top cosine, best score in logit space, label), of both kinds.
    """
    import numpy as np

    columns = np.array([row[:2] for row in rows])
    labels = np.array([row[2] for row in rows], dtype=bool)
    centre, spread = columns.mean(axis=0), columns.std(axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)  # a column that says nothing gets no weight
    design = np.column_stack([np.ones(len(rows)), (columns - centre) / spread])
    positives = int(labels.sum())
    negatives = len(rows) - positives
    targets = np.where(labels, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    weights = np.where(labels, 0.5 / positives, 0.5 / negatives)
    ridge = np.diag([0.0, _RIDGE, _RIDGE])
    beta = np.zeros(3)
    for _ in range(_STEPS):
        p = 0.5 + 0.5 * np.tanh(0.5 * (design @ beta))  # the sigmoid, without overflow
        gradient = design.T @ (weights * (p - targets)) + ridge @ beta
        curvature = (design * (weights * p * (1.0 - p))[:, None]).T @ design + ridge
        step = np.linalg.solve(curvature, gradient)
        beta -= step
        if np.abs(step).max() < 1e-9:
            break
    slopes = beta[1:] / spread
    return RerankLine(
        float(beta[0] - slopes @ centre), cosine=float(slopes[0]), score=float(slopes[1])
    )
