"""The steps of one reranking, as part of the flow of a query: what to ask, and what it means."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recall_signal.deadline import is_timeout
from recall_signal.reports import RerankReason, RerankReport
from recall_signal.reranking.options import Reranking
from recall_signal.reranking.scores import InvalidScores, checked_scores, order_of

__all__ = ["Rerank", "Reranked", "rerank_page"]

SCORE_DECIMALS = 6
"""Of one result's score, like its cosine."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rerank:
    """Score these texts, for at most ``timeout`` seconds. Answered with one score a text."""

    query: str
    texts: list[str]
    timeout: float | None


@dataclass(frozen=True, slots=True)
class Reranked:
    """What a reranker made of a page.

    Attributes:
        page: Positions in the pool, in the order that the page is to have.
        scores: By position in the pool, None for a result without one; empty where none is used.
        report: What was done.
    """

    page: Sequence[int]
    scores: Mapping[int, float | None]
    report: RerankReport

    @property
    def best(self) -> float | None:
        """The highest score."""
        return max((score for score in self.scores.values() if score is not None), default=None)

    def spread(self, count: int) -> list[float | None]:
        """One score, or None, for each of ``count`` candidates."""
        return [self.scores.get(position) for position in range(count)]

    def add_to(self, entries: Sequence[dict[str, Any] | None], page: Sequence[int]) -> None:
        """Put its own score and its own copy of the report into the entry of each result."""
        for entry, position in zip(entries, page, strict=True):
            if entry is not None:
                entry["rerank"] = self.report.model_dump()
                score = self.scores.get(position)
                entry["rerank_score"] = None if score is None else round(score, SCORE_DECIMALS)


def rerank_page(
    query: str, texts: Iterable[str], page: Sequence[int], reranking: Reranking
) -> Generator[Rerank, Any, Reranked]:
    """Ask the reranker, and check its scores; the page stays as it was where it has none.

    Args:
        query: The question.
        texts: The page's texts, in page order.
        page: Where the page's results are in the pool.
        reranking: How the reranker is used.
    """
    if not page:
        return _unranked(page, "no_results")
    options = reranking.options
    try:
        answer = yield Rerank(query, list(texts), options.timeout)
        scores = checked_scores(answer, len(page), options.scale)
    except InvalidScores:
        return _unranked(page, "invalid_scores")
    except Exception as error:
        if is_timeout(error):
            return _unranked(page, "timeout")
        log.warning("the reranker failed: %s", type(error).__name__)
        return _unranked(page, "reranker_error")
    report = RerankReport(
        applied=True,
        scale=options.scale,
        scored=sum(score is not None for score in scores),
        reordered=reranking.reorder,
    )
    ordered = [page[at] for at in order_of(scores)] if reranking.reorder else list(page)
    return Reranked(ordered, dict(zip(page, scores, strict=True)), report)


def _unranked(page: Sequence[int], reason: RerankReason) -> Reranked:
    return Reranked(page, {}, RerankReport(applied=False, reason=reason))
