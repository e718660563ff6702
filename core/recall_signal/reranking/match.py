"""What a reranker's best score says beside the level: a fact that may be there, or a near-miss.

Never a comparison with a cosine or its cuts, and never the level: that stays what the cosines
say, so that it means the same whether a reranker answered in time or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from recall_signal.calibration.levels import shift_prior
from recall_signal.calibration.reranker import from_logit
from recall_signal.confidence import Match, RecallConfidence
from recall_signal.reranking.options import Reranking
from recall_signal.reranking.steps import Reranked

__all__ = ["with_match"]

_MAY_ANSWER = 0.5
"""Of the probability from labels, which has the prior in it."""

_OUTSIZE = 1e6

Found = tuple[Match | None, str]


def with_match(
    confidence: RecallConfidence,
    ranked: Reranked,
    cosines: Sequence[float | None],
    reranking: Reranking,
) -> RecallConfidence:
    """The signal with the reranker's best score and what it says.

    Args:
        confidence: The signal of the pool.
        ranked: What the reranker made of the page.
        cosines: Of the pool.
        reranking: The scale of the scores, declared or learnt.
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
) -> Found:
    """The match, and the part of the rationale that gives its figures."""
    if confidence.level not in ("high", "moderate"):
        return None, "no match is decided at this level"
    if reranking.learnt is not None and reranking.learnt.line is not None:
        return _by_line(best, cosines, reranking)
    cut = reranking.cut
    if cut is None:
        why = "is neither declared nor learnt" if reranking.learnt is None else "shows no cut"
        return None, f"no match is decided, since its scale {why}"
    above = reranking.in_logits(best) >= cut
    shown = from_logit(cut, reranking.options.scale)
    whose = "declared" if reranking.learnt is None else "learnt"
    return _worded(above, f"{'not ' if above else ''}below a {whose} cut of {_figure(shown)}")


def _by_line(best: float, cosines: Sequence[float | None], reranking: Reranking) -> Found:
    known = [cosine for cosine in cosines if cosine is not None and isfinite(cosine)]
    if not known:
        return None, "no match is decided, since what was learnt needs a cosine beside it"
    assert reranking.learnt is not None  # noqa: S101  (the caller looked)
    assert reranking.learnt.line is not None  # noqa: S101
    even = reranking.learnt.line.probability(max(known), reranking.in_logits(best))
    probability = shift_prior(even, reranking.prior)
    figures = f"with the cosine a probability of {probability:.2f} learnt from labels"
    return _worded(probability >= _MAY_ANSWER, figures)


def _figure(score: float) -> str:
    """Two decimals; an outsize number, which no scale forbids, without its hundreds of digits."""
    return f"{score:.2f}" if abs(score) < _OUTSIZE else f"{score:.3g}"


def _worded(may_answer: bool, figures: str) -> Found:
    if may_answer:
        return "exact", f"{figures}, so one of them may hold the fact"
    return "near_miss", (
        f"{figures}, so likely the topic without the fact: consider an external source for it"
    )
