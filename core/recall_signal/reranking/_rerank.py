"""The steps of one reranking, as part of the flow of a query."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import iscoroutine
from math import inf, isfinite
from typing import ClassVar, SupportsFloat

from recall_signal._steps.compute import Compute, computed
from recall_signal._steps.driver import Steps, contained_steps
from recall_signal._steps.failures import is_timeout, original
from recall_signal.reports import RerankerScale, RerankReason, RerankReport, rounded
from recall_signal.reranking._options import InvalidScores, RerankerOptions, Reranking

__all__ = ["Rerank", "Reranked", "rerank_page"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rerank:
    """Request of the flow: score these texts within `timeout` seconds, by one score a text."""

    name: ClassVar = "rerank"

    query: str
    texts: list[str]
    timeout: float | None


@dataclass(frozen=True, slots=True)
class Reranked:
    """Result of reranking a page.

    Attributes:
        page: Positions in the pool, in the order that the page is to have.
        scores: By position in the pool, None for a result without one; empty where none is used.
        report: Outcome of the step.
    """

    page: Sequence[int]
    scores: Mapping[int, float | None]
    report: RerankReport

    @property
    def best(self) -> float | None:
        """The highest score."""
        return max((score for score in self.scores.values() if score is not None), default=None)

    def by_candidate(self, count: int) -> list[float | None]:
        """Return one score, or None, for each of `count` candidates."""
        return [self.scores.get(position) for position in range(count)]

    def add_to(self, entries: Sequence[dict[str, object] | None], page: Sequence[int]) -> None:
        """Put its own score and its own copy of the report into the entry of each result."""
        for entry, position in zip(entries, page, strict=True):
            if entry is not None:
                entry["rerank"] = self.report.model_dump()
                entry["rerank_score"] = rounded(self.scores.get(position))


def rerank_page(
    query: str, texts: Iterable[str], page: Sequence[int], reranking: Reranking
) -> Steps[Rerank | Compute, Reranked]:
    """Have the page scored and check the scores; without valid ones the page stays as it was.

    Args:
        query: The question.
        texts: The page's texts, in page order.
        page: Positions of the page's results in the pool.
        reranking: Use of the reranker.
    """
    if not page:
        return _unranked(page, "no_results")
    options = reranking.options
    try:
        scores = yield from contained_steps(_scores(query, texts, len(page), options))
    except InvalidScores:
        return _unranked(page, "invalid_scores")
    except Exception as error:
        if is_timeout(error):
            return _unranked(page, "timeout")
        log.warning("the reranker failed: %s", type(original(error)).__name__)
        return _unranked(page, "reranker_error")
    report = RerankReport(
        applied=True,
        scale=options.scale,
        scored=sum(score is not None for score in scores),
        reordered=reranking.reorder,
    )
    ordered = [page[at] for at in argsort_descending(scores)] if reranking.reorder else list(page)
    return Reranked(ordered, dict(zip(page, scores, strict=True)), report)


def _scores(
    query: str, texts: Iterable[str], count: int, options: RerankerOptions
) -> Steps[Rerank | Compute, list[float | None]]:
    read: list[str] = yield from computed(lambda: list(texts))
    answer = yield Rerank(query, read, options.timeout)
    return (yield from computed(partial(checked_scores, answer, count, options.scale)))


def checked_scores(answer: object, count: int, scale: RerankerScale) -> list[float | None]:
    """Return one finite number or None for each text, at least one of them a number.

    Args:
        answer: A list, a tuple, or an array or tensor of one dimension, as a reranker gave it.
        count: Number of texts.
        scale: Scale of the scores; probabilities must lie in [0, 1].

    Raises:
        InvalidScores: It is anything else.
    """
    if iscoroutine(answer):
        answer.close()
    if hasattr(answer, "tolist"):
        answer = answer.tolist()
    if not isinstance(answer, list | tuple) or len(answer) != count:
        raise InvalidScores
    scores = [None if score is None else _number(score) for score in answer]
    known = [score for score in scores if score is not None]
    if not known or (scale == "probability" and not (min(known) >= 0.0 and max(known) <= 1.0)):
        raise InvalidScores
    return scores


def argsort_descending(scores: Sequence[float | None]) -> list[int]:
    """Sort positions by score, best first; ties keep their order, missing scores come last."""
    return sorted(range(len(scores)), key=lambda at: -_or_lowest(scores[at]))


def _or_lowest(score: float | None) -> float:
    return -inf if score is None else score


def _number(score: object) -> float:
    if hasattr(score, "item"):
        score = score.item()  # numpy's bool is no bool yet
    if isinstance(score, bool) or not isinstance(score, SupportsFloat):
        raise InvalidScores
    try:
        number = float(score)
    except (TypeError, ValueError, OverflowError):
        raise InvalidScores from None
    if not isfinite(number):
        raise InvalidScores
    return number


def _unranked(page: Sequence[int], reason: RerankReason) -> Reranked:
    return Reranked(page, {}, RerankReport(applied=False, reason=reason))
