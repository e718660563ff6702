"""The scale of a reranker: the best score from which it speaks for an answer on this corpus.

A reranker's scores are a scale of their own, which differs between models, checkpoints and
libraries. The searches that show the scale of the cosines show this one too: the best scores of
general questions, which are not answered here, and of pieces of stored texts, which are. With
labels a line on the best score together with the top cosine is learned instead.

Everything here is in logit space: a probability is turned into its logit, other scores stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recall_signal._statistics import auroc, quantile
from recall_signal.calibration._probability import fit_logistic, logit, sigmoid
from recall_signal.calibration._separation import (
    FEWEST_OF_A_CLASS,
    FEWEST_PROBES,
    SEPARABLE,
    hits_are_saturated,
)
from recall_signal.errors import ConfigurationError
from recall_signal.reports import RerankerScale

__all__ = [
    "RerankAnchors",
    "RerankLine",
    "RerankScale",
    "from_logit",
    "learn",
    "to_logit",
]

CUT_SHARE = 0.35
"""Where the cut lies between the median of general questions and that of stored pieces. With it
.94 of the answerable queries of ten dev sets stayed above the cut and .34 of the near-misses fell
below; with a half .79 and .53. docs/reranking.md has the sets and the model."""

FEWEST_PIECES = 20
"""Pieces of stored texts that a reranker's scale is learned from, at least."""


@dataclass(frozen=True, slots=True)
class RerankLine:
    """P = sigmoid(intercept + cosine * top cosine + score * best score in logit space)."""

    intercept: float
    cosine: float
    score: float

    def probability(self, top: float, score: float) -> float:
        """Return P(something relevant) at an even prior."""
        return sigmoid(self.intercept + self.cosine * top + self.score * score)


@dataclass(frozen=True, slots=True)
class RerankScale:
    """The scale of a reranker, as far as a calibration learned it.

    Attributes:
        scale: Kind of its scores; use with a reranker declared otherwise is refused.
        cut: Best score from which a result may hold the fact, learned without labels where no
            scale is declared. None on a declared scale, which has a cut of its own, and where
            the reranker scores stored pieces like general questions.
        line: Learned from labels, together with the top cosine; decides where there is one.
        labels: Labelled queries that it was learned from.

    Raises:
        ConfigurationError: The line does not rise with the score.
    """

    scale: RerankerScale
    cut: float | None = None
    line: RerankLine | None = None
    labels: int = 0

    def __post_init__(self) -> None:
        if self.line is not None and not self.line.score > 0.0:
            raise ConfigurationError(
                f"the line of a reranker must rise with its score, got a slope of {self.line.score}"
            )

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
        self_retrieval: Of pseudo-queries.
        labelled: (top cosine, best score, whether something relevant is stored).
    """

    probes: Sequence[float]
    self_retrieval: Sequence[float]
    labelled: Sequence[tuple[float, float, bool]]


def to_logit(score: float, scale: RerankerScale) -> float:
    """Return a score in logit space; one of an unknown scale stays as it is."""
    return logit(score) if scale == "probability" else score


def from_logit(score: float, scale: RerankerScale) -> float:
    """Return the inverse of `to_logit`."""
    return sigmoid(score) if scale == "probability" else score


def learn(anchors: RerankAnchors, scale: RerankerScale, warnings: list[str]) -> RerankScale | None:
    """Learn a reranker's scale; None where a declared one stands, or from too few scores.

    A declared cut gives way to labels alone: pieces of stored texts are found word for word, so
    a cut learned from them is no better than what a user knows of the scores.

    Args:
        anchors: The best scores of the fit's searches.
        scale: Kind of those scores.
        warnings: Receives what a user should know, as sentences.
    """
    if not (anchors.probes or anchors.self_retrieval or anchors.labelled):
        return None
    rows = [(top, to_logit(score, scale), label) for top, score, label in anchors.labelled]
    unlabelled = _unlabelled(anchors, scale, warnings)
    positives = sum(label for _, _, label in rows)
    if min(positives, len(rows) - positives) >= FEWEST_OF_A_CLASS:
        line = fit_line(rows)
        if line.score > 0.0:
            return RerankScale(scale, unlabelled.cut if unlabelled else None, line, len(rows))
        warnings.append(
            "labelled answerable queries get no higher reranker scores than the others: no match "
            "is decided"
        )
        return RerankScale(scale, labels=len(rows))
    return unlabelled


def _unlabelled(
    anchors: RerankAnchors, scale: RerankerScale, warnings: list[str]
) -> RerankScale | None:
    """Learn a cut for scores of an undeclared scale; for declared ones only check them."""
    probes, self_retrieval, declared = anchors.probes, anchors.self_retrieval, scale != "unknown"
    if len(probes) < FEWEST_PROBES or len(self_retrieval) < FEWEST_PIECES:
        if not declared:
            warnings.append(
                f"the reranker scored {len(probes)} probes and {len(self_retrieval)} pieces of "
                f"stored texts, {FEWEST_PROBES} and {FEWEST_PIECES} are needed: no cut is learned "
                "for it"
            )
        return None
    if auroc(self_retrieval, probes) <= SEPARABLE:
        warnings.append(
            "the reranker scores pieces of stored texts no higher than general questions: "
            + ("look at the scale that is declared for it" if declared else "no match is decided")
        )
        return None if declared else RerankScale(scale)
    if declared:
        return None
    if hits_are_saturated(self_retrieval, probes):
        warnings.append(
            "the reranker scores most pieces of stored texts alike, as it does whole texts: its "
            "cut may lie too high or too low; declare its scale, or label some queries"
        )
    low, high = quantile(probes, 0.5), quantile(self_retrieval, 0.5)
    return RerankScale(scale, low + CUT_SHARE * (high - low))


def fit_line(rows: Sequence[tuple[float, float, bool]]) -> RerankLine:
    """Fit a logistic line on top cosine and best score.

    Args:
        rows: (top cosine, best score in logit space, label), of both kinds.
    """
    labels = [label for _, _, label in rows]
    intercept, (cosine, score) = fit_logistic([row[:2] for row in rows], labels)
    return RerankLine(intercept, cosine=cosine, score=score)
