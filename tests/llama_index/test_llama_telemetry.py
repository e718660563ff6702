"""The signal on OpenTelemetry spans, as a real exporter sees it."""

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from llama_fakes import QUERY, ListRetriever, index_with_cosines, scored
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.dispatcher import instrument_tags
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.schema import NodeWithScore, QueryBundle
from opentelemetry import trace
from opentelemetry.context import get_current
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from llama_index_recall_signal import (
    RecallPostprocessor,
    RecallResponse,
    RecallRetriever,
    RecallTelemetryHandler,
)
from recall_signal.telemetry import signal_attributes

STRONG = [0.9, 0.5, 0.45, 0.4]
WEAK = [0.2, 0.195, 0.19, 0.185]


class Traced:
    """A provider, its exporter, and a handler."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("an application")
        self.handler = RecallTelemetryHandler(self.provider)

    def written(self, name: str = "retrieval") -> list[ReadableSpan]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


@pytest.fixture
def traced() -> Iterator[Traced]:
    """The handler is at the root; in the end nothing is remembered, and nothing attached."""
    before, root, traced = get_current(), get_dispatcher(), Traced()
    root.add_event_handler(traced.handler)
    root.add_span_handler(traced.handler)
    try:
        yield traced
    finally:
        root.event_handlers.remove(traced.handler)
        root.span_handlers.remove(traced.handler)
    assert not traced.handler._spans._open
    assert not traced.handler.open_spans
    assert get_current() == before


def retriever(cosines: list[float] = STRONG) -> RecallRetriever:
    return RecallRetriever(index_with_cosines(cosines).as_retriever())


async def ask(wrapped: RecallRetriever, way: str) -> RecallResponse:
    return wrapped.recall(QUERY) if way == "sync" else await wrapped.arecall(QUERY)


both_ways = pytest.mark.parametrize("way", ["sync", "async"])


@both_ways
async def test_one_span_for_each_retrieval(traced: Traced, way: str) -> None:
    with instrument_tags({"gen_ai.data_source.id": "wiki"}):
        response = await ask(retriever(), way)
    (span,) = traced.written()
    assert attributes(span) == {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.data_source.id": "wiki",
        **signal_attributes(response.to_dict()),
    }
    assert attributes(span)["recall_signal.level"] == "high"
    assert span.start_time is not None
    assert span.end_time is not None
    assert span.start_time < span.end_time


@both_ways
async def test_an_empty_page_has_its_span(traced: Traced, way: str) -> None:
    await ask(RecallRetriever(ListRetriever([])), way)
    (span,) = traced.written()
    assert attributes(span)["recall_signal.level"] == "none"


@both_ways
async def test_no_text_is_in_the_spans(traced: Traced, way: str) -> None:
    await ask(retriever(), way)
    shown = json.dumps([attributes(span) for span in traced.written()])
    assert QUERY not in shown
    assert "stored text" not in shown


@both_ways
async def test_the_span_is_a_child_of_the_callers(traced: Traced, way: str) -> None:
    with traced.tracer.start_as_current_span("request") as request:
        await ask(retriever(), way)
    (span,) = traced.written()
    assert span.parent is not None
    assert span.parent.span_id == request.get_span_context().span_id
    assert attributes(traced.written("request")[0]) == {}


@both_ways
@pytest.mark.parametrize("operation", [True, False])
async def test_an_instrumentations_span_gets_the_attributes(
    traced: Traced, way: str, operation: bool
) -> None:
    """By its operation, or where it says none until its end, by its name."""
    method = "_retrieve" if way == "sync" else "aretrieve"
    name = "theirs" if operation else f"RecallRetriever.{method}"
    theirs = {"gen_ai.operation.name": "retrieval"} if operation else {}
    with traced.tracer.start_as_current_span(name, attributes=theirs):
        response = await ask(retriever(), way)
    assert traced.written() == []
    (span,) = traced.written(name)
    assert attributes(span) == theirs | signal_attributes(response.to_dict())


class Failing(BaseRetriever):
    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        raise KeyError(query_bundle.query_str)


@both_ways
async def test_a_failure_has_one_span_and_passes(traced: Traced, way: str) -> None:
    with pytest.raises(KeyError):
        await ask(RecallRetriever(Failing()), way)
    (span,) = traced.written()
    assert attributes(span) == {"gen_ai.operation.name": "retrieval", "error.type": "KeyError"}
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)
    assert span.events == ()


def test_the_postprocessor_has_its_span(traced: Traced) -> None:
    RecallPostprocessor(score_kind="cosine").postprocess_nodes(
        scored(0.9, 0.5, 0.4), query_str=QUERY
    )
    (span,) = traced.written()
    assert attributes(span)["recall_signal.level"] == "high"


@both_ways
async def test_other_retrievers_and_events_are_left_alone(traced: Traced, way: str) -> None:
    bare = index_with_cosines(STRONG).as_retriever()
    await ask_bare(bare, way)
    traced.handler.handle(BaseEvent())
    assert traced.exporter.get_finished_spans() == ()
    assert traced.handler.class_name() == "RecallTelemetryHandler"


async def ask_bare(bare: BaseRetriever, way: str) -> None:
    if way == "sync":
        bare.retrieve(QUERY)
    else:
        await bare.aretrieve(QUERY)


async def test_calls_at_the_same_time_have_a_span_each(traced: Traced) -> None:
    strong, weak = retriever(STRONG), retriever(WEAK)

    async def one(number: int) -> None:
        with traced.tracer.start_as_current_span("request", attributes={"n": number}):
            await (strong, weak)[number % 2].arecall(QUERY)

    await asyncio.gather(*(one(number) for number in range(20)))
    assert pairs(traced) == [(number, ("high", "none")[number % 2]) for number in range(20)]


def test_threads_have_a_span_each(traced: Traced) -> None:
    strong, weak = retriever(STRONG), retriever(WEAK)

    def one(number: int) -> None:
        with traced.tracer.start_as_current_span("request", attributes={"n": number}):
            (strong, weak)[number % 2].recall(QUERY)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(one, range(12)))
    assert pairs(traced) == [(number, ("high", "none")[number % 2]) for number in range(12)]


def pairs(traced: Traced) -> list[tuple[Any, Any]]:
    """The number of each request, and the level of the retrieval inside it."""
    requests = {
        span.context.span_id: attributes(span)["n"]
        for span in traced.written("request")
        if span.context is not None
    }
    return sorted(
        (requests[span.parent.span_id], attributes(span)["recall_signal.level"])
        for span in traced.written()
        if span.parent is not None
    )


async def test_a_cancelled_call_attaches_nothing(traced: Traced) -> None:
    wrapped = RecallRetriever(ListRetriever([], seconds=60))
    with traced.tracer.start_as_current_span("request") as request:
        task = asyncio.create_task(wrapped.arecall(QUERY))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert trace.get_current_span() is request
    (span,) = traced.written()
    assert attributes(span)["error.type"] == "CancelledError"
