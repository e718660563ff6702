"""The match by a reranker's best score: `exact` (a fact that may be there), or `near_miss`.

A reranker's score is never compared with cosine cuts and never changes the level, which therefore
means the same whether a reranker answered in time or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from recall_signal.calibration._probability import shift_prior
from recall_signal.calibration._reranker import RerankLine, from_logit
from recall_signal.confidence import Match, RecallConfidence
from recall_signal.reranking._options import Reranking
from recall_signal.reranking._rerank import Reranked

__all__ = ["with_match"]

_MAY_ANSWER = 0.5
"""Of the probability from labels, which has the prior in it."""

_OUTSIZE = 1e6

Verdict = tuple[Match | None, str]
"""The match, and the part of the rationale that gives its figures."""


def with_match(
    confidence: RecallConfidence,
    ranked: Reranked,
    cosines: Sequence[float | None],
    reranking: Reranking,
) -> RecallConfidence:
    """Add the reranker's best score and its match to the signal.

    Args:
        confidence: The signal of the pool.
        ranked: The reranked page.
        cosines: The pool's cosines.
        reranking: The scale of the scores, declared or learned.
    """
    best, match = ranked.best, None
    if best is None:
        if ranked.report.reason == "no_results":
            return confidence
        note = f"no scores ({ranked.report.reason}), so no match is decided"
    else:
        match, figures = _decide(confidence, best, cosines, reranking)
        note = f"best score {_figure(best)}, {figures}"
    return confidence.model_copy(
        update={
            "rerank_score": None if best is None else round(best, 3),
            "match": match,
            # Part of the last sentence, so that a rationale stays one or two.
            "rationale": f"{confidence.rationale.removesuffix('.')}; reranker: {note}.",
        }
    )


def _decide(
    confidence: RecallConfidence,
    best: float,
    cosines: Sequence[float | None],
    reranking: Reranking,
) -> Verdict:
    if confidence.level not in ("high", "moderate"):
        return None, "no match is decided at this level"
    learned = reranking.learned
    if learned is not None and learned.line is not None:
        return _by_line(learned.line, best, cosines, reranking)
    cut = reranking.cut
    if cut is None:
        why = "is neither declared nor learned" if learned is None else "shows no cut"
        return None, f"no match is decided, since its scale {why}"
    above = reranking.to_logit(best) >= cut
    shown = from_logit(cut, reranking.options.scale)
    whose = "declared" if learned is None else "learned"
    return _worded(above, f"{'not ' if above else ''}below a {whose} cut of {_figure(shown)}")


def _by_line(
    line: RerankLine, best: float, cosines: Sequence[float | None], reranking: Reranking
) -> Verdict:
    known = [cosine for cosine in cosines if cosine is not None and isfinite(cosine)]
    if not known:
        return None, "no match is decided, since what was learned needs a cosine as well"
    even = line.probability(max(known), reranking.to_logit(best))
    probability = shift_prior(even, reranking.prior)
    figures = f"with the cosine a probability of {probability:.2f} learned from labels"
    return _worded(probability >= _MAY_ANSWER, figures)


def _figure(score: float) -> str:
    """Show two decimals, or three digits of an outsize number, which no scale forbids."""
    return f"{score:.2f}" if abs(score) < _OUTSIZE else f"{score:.3g}"


def _worded(may_answer: bool, figures: str) -> Verdict:
    if may_answer:
        return "exact", f"{figures}, so one of them may hold the fact"
    return "near_miss", f"{figures}, so likely the topic without the fact"
