"""The signal on OpenTelemetry spans, as a real exporter sees it."""

import asyncio
import json
import logging
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_fakes import QUERY, simple_store
from opentelemetry import trace
from opentelemetry.context import get_current
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from langchain_recall_signal import RecallRetriever, RecallTelemetryHandler
from recall_signal.telemetry import signal_attributes

STRONG = [0.9, 0.5, 0.45, 0.4]
WEAK = [0.2, 0.195, 0.19, 0.185]


class Traced:
    """A provider, its exporter, a handler, and the config of a call."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("an application")
        self.handler = RecallTelemetryHandler(self.provider)
        self.config: RunnableConfig = {"callbacks": [self.handler]}

    def written(self, name: str = "retrieval") -> list[ReadableSpan]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    @property
    def levels(self) -> list[Any]:
        return [attributes(span).get("recall_signal.level") for span in self.written()]


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


@pytest.fixture
def traced(caplog: pytest.LogCaptureFixture) -> Iterator[Traced]:
    """Nothing may be left attached, and LangChain logs what a handler raises."""
    before = get_current()
    yield Traced()
    assert get_current() == before
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


def retriever(cosines: Sequence[float] = STRONG, **settings: Any) -> RecallRetriever:
    return RecallRetriever.from_vectorstore(simple_store(cosines=cosines), k=2, **settings)


async def ask(runnable: Runnable[str, Any], way: str, config: RunnableConfig) -> Any:
    if way == "sync":
        return runnable.invoke(QUERY, config)
    return await runnable.ainvoke(QUERY, config)


both_ways = pytest.mark.parametrize("way", ["sync", "async"])


@both_ways
async def test_one_span_for_each_retrieval(traced: Traced, way: str) -> None:
    wrapped = retriever(metadata={"gen_ai.data_source.id": "wiki"})
    page = await ask(wrapped, way, traced.config)
    (span,) = traced.written()
    assert attributes(span) == {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.data_source.id": "wiki",
        **signal_attributes(page[0].metadata["recall"]),
    }
    assert attributes(span)["recall_signal.level"] == "high"
    assert span.start_time is not None
    assert span.end_time is not None
    assert span.start_time < span.end_time


@both_ways
async def test_an_empty_page_has_its_span(traced: Traced, way: str) -> None:
    await ask(RecallRetriever(retriever=RunnableLambda(lambda _: [])), way, traced.config)
    assert traced.levels == ["none"]


@both_ways
async def test_no_text_is_in_the_spans(traced: Traced, way: str) -> None:
    await ask(retriever(), way, traced.config)
    shown = json.dumps([attributes(span) for span in traced.written()])
    assert QUERY not in shown
    assert "t0" not in shown


@both_ways
async def test_the_span_is_a_child_of_the_callers(traced: Traced, way: str) -> None:
    with traced.tracer.start_as_current_span("request") as request:
        await ask(RunnableLambda(lambda query: query) | retriever(), way, traced.config)
    (span,) = traced.written()
    assert span.parent is not None
    assert span.parent.span_id == request.get_span_context().span_id
    assert attributes(traced.written("request")[0]) == {}


@both_ways
async def test_an_instrumentations_span_gets_the_attributes(traced: Traced, way: str) -> None:
    theirs = {"gen_ai.operation.name": "retrieval"}
    with traced.tracer.start_as_current_span("theirs", attributes=theirs):
        page = await ask(retriever(), way, traced.config)
    assert traced.written() == []
    (span,) = traced.written("theirs")
    assert attributes(span) == theirs | signal_attributes(page[0].metadata["recall"])


@both_ways
async def test_a_failure_has_its_span_and_passes(traced: Traced, way: str) -> None:
    def fail(query: str) -> list[Document]:
        raise KeyError(query)

    with pytest.raises(KeyError):
        await ask(RecallRetriever(retriever=RunnableLambda(fail)), way, traced.config)
    (span,) = traced.written()
    assert attributes(span) == {"gen_ai.operation.name": "retrieval", "error.type": "KeyError"}
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)
    assert span.events == ()


@both_ways
async def test_other_retrievers_and_events_are_left_alone(traced: Traced, way: str) -> None:
    bare = simple_store().as_retriever()
    await ask(bare, way, traced.config)
    traced.handler.on_custom_event("somebody else's", {"level": "high"}, run_id=None)  # type: ignore[arg-type]
    assert traced.exporter.get_finished_spans() == ()
    assert traced.handler.ignore_llm
    assert traced.handler.ignore_chat_model


async def test_calls_at_the_same_time_have_a_span_each(traced: Traced) -> None:
    strong, weak = retriever(STRONG), retriever(WEAK)

    async def one(number: int) -> None:
        wrapped = (strong, weak)[number % 2]
        with traced.tracer.start_as_current_span("request", attributes={"n": number}):
            await wrapped.ainvoke(QUERY, traced.config)

    await asyncio.gather(*(one(number) for number in range(20)))
    requests = {s.context.span_id: attributes(s)["n"] for s in traced.written("request")}
    pairs = sorted(
        (requests[span.parent.span_id], attributes(span)["recall_signal.level"])
        for span in traced.written()
        if span.parent is not None
    )
    assert pairs == [(number, ("high", "none")[number % 2]) for number in range(20)]
    assert not traced.handler._spans._open


def test_threads_have_a_span_each(traced: Traced) -> None:
    config: RunnableConfig = {**traced.config, "max_concurrency": 4}
    with traced.tracer.start_as_current_span("request") as request:
        retriever().batch([QUERY] * 12, config)
    spans = traced.written()
    assert len(spans) == 12
    parent = request.get_span_context().span_id
    assert {span.parent and span.parent.span_id for span in spans} == {parent}


async def test_a_cancelled_call_attaches_nothing(traced: Traced) -> None:
    async def wait(query: str) -> list[Document]:
        await asyncio.sleep(60)
        return []

    wrapped = RecallRetriever(retriever=RunnableLambda(lambda _: [], afunc=wait))
    with traced.tracer.start_as_current_span("request") as request:
        task = asyncio.create_task(wrapped.ainvoke(QUERY, traced.config))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert trace.get_current_span() is request
    assert traced.written() == []
