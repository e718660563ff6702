"""The way of a query, without any I/O: one generator that every driver runs.

The generator yields requests (what the search needs, `Embed`, `Rerank`, `Select`) and is sent the
answers; a backend only performs them, synchronously or not, for one framework or another::

    query -> search -> Candidates -> (Embed) -> assess -> (Rerank) -> (Select) -> Outcome

Exceptions of the wrapped retriever pass through unchanged, but for those of an empty question, by
which nothing is found. Those of the extra steps are logged by class name and become a reason: the
caller's page survives every one of them.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from functools import partial
from time import perf_counter
from typing import TypeVar, cast

from recall_signal._flow.backend import AsyncBackend, Backend, Flow, Request
from recall_signal._flow.embedding import embed_again
from recall_signal._flow.values import (
    Candidates,
    FlowSettings,
    Item,
    Outcome,
    SearchFlow,
    pool_of,
)
from recall_signal._steps.compute import computed
from recall_signal._steps.driver import drive, drive_async
from recall_signal._steps.failures import contained, original
from recall_signal._text import is_blank
from recall_signal.advice import advice_on_page
from recall_signal.assess import Calibrator, assess
from recall_signal.confidence import RecallConfidence, unknown
from recall_signal.pool import Pool
from recall_signal.reports import (
    NOT_CONFIGURED,
    SelectionReport,
    metadata_entry,
    report_dict,
)
from recall_signal.reranking import rerank_page, with_match
from recall_signal.selection import (
    SelectionOptions,
    collect_selections,
    publish_selection,
    select_page,
)

__all__ = ["is_optional", "recall_flow", "run_flow", "run_flow_async"]

log = logging.getLogger(__name__)

Result = TypeVar("Result")
Search_contra = TypeVar("Search_contra", contravariant=True)

_NO_COSINES = ("score_out_of_range", "adapter_failed")
"""Reasons that say that none of the values read is a cosine, so that none is shown as one."""


def recall_flow(
    query: str | None, settings: FlowSettings[Item], search: SearchFlow[Item]
) -> Flow[Outcome[Item]]:
    """Yield the requests of one query and return its outcome (see the module's docstring).

    Args:
        query: The question; None where none was handed over: its words are not known then, and
            no model is asked about it.
        settings: The wrapper's.
        search: What finds the candidates.
    """
    started = perf_counter()
    is_empty = isinstance(query, str) and is_blank(query)
    pages_inside: list[Sequence[object]] = []
    with collect_selections(pages_inside) as made_inside:
        found = yield from (_searched_by_nothing(search) if is_empty else search)
    cosines, source, reason = found.cosines, found.source, found.reason
    encoder, dimension = found.encoder or settings.encoder, found.dimension
    cache = None if reason == "score_out_of_range" else settings.cache
    if cosines is None and found.items and cache is not None and query is not None:
        items = found.items[: settings.embed_limit]
        cosines, embed_reason = yield from embed_again(query, items, settings.text_of, cache)
        source, reason = ("embeddings", None) if cosines else (None, embed_reason)
        encoder, dimension = settings.own_encoder, None
    count = len(found.items)
    cosines = _pad(cosines, count)
    scores = None if found.scores is None else _pad(found.scores, count)
    embedded_by = encoder, dimension
    confidence, calibrator = _assess_safely(
        query, found.items, cosines, scores, settings, embedded_by
    )
    confidence = _with_reason(confidence, reason, count, is_empty=is_empty)
    if confidence.reason in _NO_COSINES:
        cosines, source = [None] * count, None
    page, selection, ranked = found.page, NOT_CONFIGURED, None
    if settings.reranking is not None and query is not None:
        texts = (settings.read_text_of(found.items[position]) for position in page)
        ranked = yield from rerank_page(query, texts, page, settings.reranking)
        page = ranked.page
        confidence = with_match(confidence, ranked, cosines, settings.reranking)
    shown = page
    if settings.selection is not None and query is not None:
        page, selection = yield from _select(
            query, found, page, confidence, settings, settings.selection
        )
    elif made_inside:
        items = [found.items[position] for position in page]
        selection = _made_inside(made_inside, pages_inside, items, settings)
    if selection is not NOT_CONFIGURED:  # for a wrapper around this one
        publish_selection(selection, [found.items[position] for position in page])
    todo = advice_on_page(confidence, selection, len(page))
    reranked = ranked.report if ranked else None
    named = settings.calibration.entry()
    report = report_dict(confidence, selection, source, reranked, advice=todo, calibration=named)
    entries = _metadata_entries(report, page, cosines, settings.annotate)
    if ranked is not None:
        ranked.add_to(entries, page)
    return Outcome(
        query=query,
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
        shown=shown,
        kept=page,
        calibrator=calibrator,
        ranked=ranked,
        seconds=perf_counter() - started,
        encoder=encoder,
        dimension=dimension,
    )


def _searched_by_nothing(search: SearchFlow[Item]) -> SearchFlow[Item]:
    """Search by an empty text; where a retriever or its encoder refuses that, nothing is found."""
    try:
        return (yield from search)
    except Exception as error:
        log.info("searching for an empty question failed: %s", type(original(error)).__name__)
        return Candidates([], [], reason="empty_query")


def _pad(values: Sequence[float | None] | None, count: int) -> Sequence[float | None]:
    """Return one entry per candidate; those that were not measured have None."""
    if values is not None and len(values) == count:
        return values
    known = values or ()
    return [*known, *[None] * (count - len(known))]


def _with_reason(
    confidence: RecallConfidence, reason: str | None, count: int, *, is_empty: bool
) -> RecallConfidence:
    """Name the reason why nothing was measured, where the candidates alone do not show it."""
    if is_empty:
        return unknown("empty_query", count)
    return unknown(reason, count) if confidence.reason == "no_scores" and reason else confidence


def _assess_safely(
    query: str | None,
    items: Sequence[Item],
    cosines: Sequence[float | None],
    scores: Sequence[float | None] | None,
    settings: FlowSettings[Item],
    embedded_by: tuple[str | None, int | None],
) -> tuple[RecallConfidence, Calibrator | None]:
    """Judge the candidates; a calibration that fails leaves the uncalibrated signal.

    Returns:
        The signal, and the calibration that gave it.
    """
    cuts = settings.thresholds

    def judged() -> tuple[RecallConfidence, Calibrator | None]:
        calibrator = settings.calibration.current(*embedded_by)
        if calibrator is None:
            return assess(cosines, scores=scores, thresholds=cuts), None
        if getattr(calibrator, "reads_words", False):
            pool = pool_of(query, items, cosines, scores, settings)
            confidence = assess(pool, thresholds=cuts, calibration=calibrator)
        else:
            confidence = assess(cosines, scores=scores, thresholds=cuts, calibration=calibrator)
        if confidence.basis == "separation" and getattr(calibrator, "applies_to_scores", False):
            confidence = calibrator.apply(confidence, Pool(()))
        if not isinstance(confidence, RecallConfidence):
            raise TypeError("a calibration must return a RecallConfidence")
        return confidence, calibrator

    try:
        return contained(judged)
    except Exception as error:
        log.warning("judging the candidates failed: %s", type(original(error)).__name__)
    try:
        return contained(lambda: assess(cosines, scores=scores, thresholds=cuts)), None
    except Exception:  # logged already
        return unknown("adapter_failed", len(cosines)), None


def _select(
    query: str,
    found: Candidates[Item],
    shown: Sequence[int],
    confidence: RecallConfidence,
    settings: FlowSettings[Item],
    options: SelectionOptions,
) -> Flow[tuple[Sequence[int], SelectionReport]]:
    """Return what the selector leaves of the page, as positions in the pool."""
    page = [found.items[position] for position in shown]

    def read() -> tuple[list[str], list[str | None]]:
        return [*map(settings.read_text_of, page)], [*map(settings.id_of, page)]

    try:
        texts, ids = yield from computed(read)
    except Exception as error:
        log.warning("reading the page's texts failed: %s", type(original(error)).__name__)
        return shown, SelectionReport(applied=False, reason="llm_error")
    kept, selection = yield from select_page(
        query, texts=texts, ids=ids, level=confidence.level, options=options
    )
    return [shown[position] for position in kept], selection


def _made_inside(
    reports: Sequence[SelectionReport],
    pages: Sequence[Sequence[object]],
    page: Sequence[Item],
    settings: FlowSettings[Item],
) -> SelectionReport:
    """Return the last selection inside the wrapped retriever that speaks for the whole page.

    That of one arm speaks for what it left, and not for what another arm found beside it.
    """

    def texts(items: Sequence[object]) -> Counter[str]:
        return Counter(map(settings.content_of, cast("Sequence[Item]", items)))

    try:
        shown = contained(partial(texts, page))
        for report, left in zip(reversed(reports), reversed(pages), strict=True):
            is_counted = not report.applied or report.kept == len(page)
            if is_counted and shown <= contained(partial(texts, left)):
                return report
    except Exception as error:
        log.warning("reading the page's texts failed: %s", type(original(error)).__name__)
    return NOT_CONFIGURED


def _metadata_entries(
    report: dict[str, object],
    page: Sequence[int],
    cosines: Sequence[float | None],
    annotate: str,
) -> list[dict[str, object] | None]:
    """Build what each item of the page carries under the metadata key, None for nothing."""
    carriers = {"all": len(page), "first": 1, "none": 0}[annotate]
    return [
        metadata_entry(report, rank, cosines[position]) if rank < carriers else None
        for rank, position in enumerate(page)
    ]


def run_flow(flow: Flow[Result], backend: Backend[Search_contra]) -> Result:
    """Run a flow and perform its requests by the methods that they name."""
    return drive(flow, lambda request: getattr(backend, request.name)(request), is_optional)


async def run_flow_async(flow: Flow[Result], backend: AsyncBackend[Search_contra]) -> Result:
    """`run_flow`, asynchronously."""
    return await drive_async(
        flow, lambda request: getattr(backend, request.name)(request), is_optional
    )


def is_optional(request: Request) -> bool:
    """Return whether a request is made on top of the search: no failure of it may lose the page.

    A search is where it is `extra`: wider than the caller's, or with a sight of its scores.
    """
    return bool(getattr(request, "extra", request.name != "retrieve"))
