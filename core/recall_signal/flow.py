"""The way of a query, without any I/O: one generator that every driver runs.

The generator yields what it needs (what the search asks for,
:class:`~recall_signal.embedding.Embed`, :class:`~recall_signal.reranking.Rerank`,
:class:`~recall_signal.selection.Ask`) and is sent the answer; a driver only carries the requests
out, synchronously or not, for one framework or another::

    query -> search -> Candidates -> (Embed) -> assess -> (Rerank) -> (Ask) -> Outcome

What the wrapped retriever raises passes through unchanged. What our own extra steps raise is
logged by class name and becomes a reason: the caller's page survives every failure of ours.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from recall_signal.assess import Calibrator, assess
from recall_signal.confidence import RecallConfidence, unknown
from recall_signal.embedding import Embed, EmbeddingCache, embed_again
from recall_signal.pool import DEFAULT_POOL_SIZE, Pool
from recall_signal.reports import (
    NOT_CONFIGURED,
    CosineSource,
    RerankReport,
    SelectionReport,
    metadata_entry,
    report_dict,
)
from recall_signal.reranking import Rerank, Reranked, Reranking, rerank_page, with_match
from recall_signal.selection import Ask, SelectionOptions, select_page
from recall_signal.stores.access import EmbedQuery, Wait
from recall_signal.thresholds import Thresholds

__all__ = [
    "OUR_STEPS",
    "Candidates",
    "FlowSettings",
    "Outcome",
    "Search",
    "recall_flow",
]

log = logging.getLogger(__name__)

Item = TypeVar("Item")


Request = Embed | Rerank | Ask

OUR_STEPS = (Embed, EmbedQuery, Wait, Rerank, Ask)
"""What is asked for on top of the search: no failure of these may cost the page."""

_NO_COSINES = ("score_out_of_range", "adapter_failed")
"""Reasons that say that none of the values read is a cosine, so that none is shown as one."""


@dataclass(slots=True)
class Candidates(Generic[Item]):
    """What one call of the wrapped retriever brought.

    Attributes:
        items: Every candidate, in rank order.
        page: Positions in ``items`` of what the caller gets, in rank order.
        cosines: One per item, or of the first items only; None where the retriever's scores gave
            none.
        scores: Keyword scores, higher is better, of as many items.
        source: Where the cosines came from.
        reason: Why there are no cosines.
    """

    items: Sequence[Item]
    page: Sequence[int]
    cosines: Sequence[float | None] | None = None
    scores: Sequence[float | None] | None = None
    source: CosineSource | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class FlowSettings(Generic[Item]):
    """What a wrapper knows before any query.

    Attributes:
        id_of: An item's id, None where it has none.
        text_of: The text of an item as the encoder sees it.
        read_text_of: The text of an item as a language model sees it.
        thresholds: The cuts.
        calibration: Gives the level where cosines are usable, a ``Calibration`` or a ``Baseline``.
        cache: Where re-embedded vectors are kept; None where no encoder was given.
        embed_limit: At most this many candidates are embedded again.
        annotate: Which items carry the report.
        metadata_key: Where they carry it.
        reranking: How the reranker is used; None where there is none.
        selection: How the selector is asked; None where there is none.
        keep_texts: Whether the pool holds the texts, which a calibration cuts its questions from.
    """

    id_of: Callable[[Item], str | None]
    text_of: Callable[[Item], str]
    read_text_of: Callable[[Item], str]
    thresholds: Thresholds | None = None
    calibration: Calibrator | None = None
    cache: EmbeddingCache | None = None
    embed_limit: int = DEFAULT_POOL_SIZE
    annotate: str = "all"
    metadata_key: str = "recall"
    reranking: Reranking | None = None
    selection: SelectionOptions | None = None
    keep_texts: bool = False


@dataclass(slots=True)
class Outcome(Generic[Item]):
    """The end of a query: the page, the reports and what stands behind them.

    Attributes:
        items: The page.
        entries: What each item of the page carries, None for nothing.
        confidence: The signal.
        selection: What the selector did.
        cosine_source: Where the cosines came from.
        report: The reports as plain JSON values.
        candidates: Every candidate.
        cosines: One per candidate.
        scores: Keyword scores, one per candidate.
        settings: The wrapper's.
        ranked: What the reranker made of the page, None without one.
    """

    items: list[Item]
    entries: list[dict[str, Any] | None]
    confidence: RecallConfidence
    selection: SelectionReport
    cosine_source: CosineSource | None
    report: dict[str, Any]
    candidates: Sequence[Item]
    cosines: Sequence[float | None]
    scores: Sequence[float | None] | None
    settings: FlowSettings[Item]
    ranked: Reranked | None = None

    @property
    def rerank(self) -> RerankReport | None:
        """What the reranker did, None without one."""
        return None if self.ranked is None else self.ranked.report

    @property
    def pool(self) -> Pool:
        """The candidates as a pool, made when asked for: most queries never look at it."""
        settings, candidates, ranked = self.settings, self.candidates, self.ranked
        return Pool(
            cosines=self.cosines,
            ids=[settings.id_of(item) for item in candidates],
            texts=[settings.text_of(item) for item in candidates] if settings.keep_texts else None,
            scores=self.scores,
            rerank_scores=None if ranked is None else ranked.spread(len(candidates)),
        )


Search = Generator[Any, Any, Candidates[Item]]
"""A framework's own steps around one call of the wrapped retriever, with its own requests."""


def recall_flow(
    query: str, settings: FlowSettings[Item], search: Search[Item]
) -> Generator[Any, Any, Outcome[Item]]:
    """The steps of one query (see the module's docstring)."""
    found = yield from search
    cosines, source, reason = found.cosines, found.source, found.reason
    cache = None if reason == "score_out_of_range" else settings.cache
    if cosines is None and found.items and cache is not None:
        items = found.items[: settings.embed_limit]
        cosines, embed_reason = yield from embed_again(query, items, settings.text_of, cache)
        source, reason = ("embeddings", None) if cosines else (None, embed_reason)
    count, scores = len(found.items), found.scores
    if cosines is None or len(cosines) != count:
        cosines = _filled_up(cosines, count)
    if scores is not None and len(scores) != count:
        scores = _filled_up(scores, count)
    confidence = _judge(cosines, scores, settings)
    if confidence.reason == "no_scores" and reason:
        confidence = unknown(reason, count)
    if confidence.reason in _NO_COSINES:
        cosines, source = [None] * count, None
    page, selection, ranked = found.page, NOT_CONFIGURED, None
    if settings.reranking is not None:
        texts = (settings.read_text_of(found.items[position]) for position in page)
        ranked = yield from rerank_page(query, texts, page, settings.reranking)
        page = ranked.page
        confidence = with_match(confidence, ranked, cosines, settings.reranking)
    if settings.selection is not None:
        page, selection = yield from _select(query, found, page, confidence, settings)
    report = report_dict(confidence, selection, source, ranked.report if ranked else None)
    entries = _entries(report, page, cosines, settings.annotate)
    if ranked is not None:
        ranked.add_to(entries, page)
    return Outcome(
        items=[found.items[position] for position in page],
        entries=entries,
        confidence=confidence,
        selection=selection,
        cosine_source=source,
        report=report,
        candidates=found.items,
        cosines=cosines,
        scores=scores,
        settings=settings,
        ranked=ranked,
    )


def _filled_up(values: Sequence[float | None] | None, count: int) -> list[float | None]:
    """One entry per candidate: those that were not measured have None."""
    known = values or ()
    return [*known, *[None] * (count - len(known))]


def _judge(
    cosines: Sequence[float | None],
    scores: Sequence[float | None] | None,
    settings: FlowSettings[Any],
) -> RecallConfidence:
    """The signal; a calibration that fails leaves the uncalibrated one."""
    cuts, calibration = settings.thresholds, settings.calibration
    try:
        return assess(cosines, scores=scores, thresholds=cuts, calibration=calibration)
    except Exception as error:
        log.warning("judging the candidates failed: %s", type(error).__name__)
    try:
        return assess(cosines, scores=scores, thresholds=cuts)
    except Exception:  # said already
        return unknown("adapter_failed", len(cosines))


def _select(
    query: str,
    found: Candidates[Item],
    shown: Sequence[int],
    confidence: RecallConfidence,
    settings: FlowSettings[Item],
) -> Generator[Request, Any, tuple[Sequence[int], SelectionReport]]:
    """What the selector leaves of the page, as positions in the pool."""
    assert settings.selection is not None  # noqa: S101  (the caller looked)
    page = [found.items[position] for position in shown]
    try:
        texts = [settings.read_text_of(item) for item in page]
        ids = [settings.id_of(item) for item in page]
    except Exception as error:
        log.warning("reading the page's texts failed: %s", type(error).__name__)
        return shown, SelectionReport(applied=False, reason="llm_error")
    kept, selection = yield from select_page(
        query,
        texts=texts,
        ids=ids,
        level=confidence.level,
        options=settings.selection,
    )
    return [shown[position] for position in kept], selection


def _entries(
    report: dict[str, Any],
    page: Sequence[int],
    cosines: Sequence[float | None],
    annotate: str,
) -> list[dict[str, Any] | None]:
    """What each item of the page carries under the metadata key, None for nothing."""
    carriers = {"all": len(page), "first": 1, "none": 0}[annotate]
    return [
        metadata_entry(report, rank, cosines[position]) if rank < carriers else None
        for rank, position in enumerate(page)
    ]
