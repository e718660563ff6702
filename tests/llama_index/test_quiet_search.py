"""Inside a wrapper nothing is announced to nobody; whoever listens hears what he always heard."""

from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager, LlamaDebugHandler
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever, VectorIndexRetriever
from llama_index.core.schema import TextNode
from pydantic import Field

from llama_index_recall_signal import RecallRetriever


class Ear(BaseEventHandler):
    heard: list[str] = Field(default_factory=list)

    @classmethod
    def class_name(cls) -> str:
        return "Ear"

    def handle(self, event: Any, **_: Any) -> None:
        self.heard.append(type(event).__name__)


@pytest.fixture
def bare() -> BaseRetriever:
    nodes = [TextNode(text=f"The kiln {n}.", id_=f"n{n}") for n in range(8)]
    return VectorStoreIndex(nodes, embed_model=MockEmbedding(4)).as_retriever(similarity_top_k=2)


@pytest.fixture
def ear() -> Iterator[Ear]:
    root, ear = get_dispatcher(), Ear()
    root.add_event_handler(ear)
    yield ear
    root.event_handlers.remove(ear)


async def ask(wrapper: RecallRetriever, way: str) -> list[str]:
    nodes = wrapper.retrieve("kiln") if way == "retrieve" else await wrapper.aretrieve("kiln")
    return [node.node_id for node in nodes]


WAYS = pytest.mark.parametrize("way", ["retrieve", "aretrieve"])


@WAYS
async def test_an_event_handler_hears_both_retrievals_and_the_signal(
    bare: BaseRetriever, ear: Ear, way: str
) -> None:
    await ask(RecallRetriever(bare), way)
    assert ear.heard.count("RetrievalStartEvent") == ear.heard.count("RetrievalEndEvent") >= 2
    assert ear.heard.count("RecallSignalEvent") == 1


@WAYS
async def test_a_span_handler_sees_both_retrievers(bare: BaseRetriever, way: str) -> None:
    root, spans = get_dispatcher(), SimpleSpanHandler()
    root.add_span_handler(spans)
    try:
        await ask(RecallRetriever(bare), way)
    finally:
        root.span_handlers.remove(spans)
    seen = {span.id_.split("-")[0] for span in spans.completed_spans}
    assert {f"RecallRetriever.{way}", f"VectorIndexRetriever.{way}"} <= seen


@WAYS
async def test_a_callback_of_the_wrapped_retriever_is_called(bare: BaseRetriever, way: str) -> None:
    debug = LlamaDebugHandler(print_trace_on_end=False)
    bare.callback_manager = CallbackManager([debug])
    wrapper = RecallRetriever(bare)
    wrapper.callback_manager = CallbackManager([])
    await ask(wrapper, way)
    assert len(debug.get_event_pairs()) == 1


@WAYS
async def test_a_method_that_a_tracer_has_replaced_is_called(
    bare: BaseRetriever, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, own = [], getattr(BaseRetriever, way)

    def traced(self: BaseRetriever, *args: Any) -> Any:
        calls.append(self.__class__)
        return own(self, *args)

    monkeypatch.setattr(BaseRetriever, way, traced)
    await ask(RecallRetriever(bare), way)
    assert VectorIndexRetriever in calls


@WAYS
async def test_the_page_is_the_same_whoever_listens(bare: BaseRetriever, way: str) -> None:
    wrapper, root, ear = RecallRetriever(bare), get_dispatcher(), Ear()
    quiet = await ask(wrapper, way)
    root.add_event_handler(ear)
    try:
        heard = await ask(wrapper, way)
    finally:
        root.event_handlers.remove(ear)
    assert quiet == heard == [node.node_id for node in bare.retrieve("kiln")]


def fused(bare: BaseRetriever) -> BaseRetriever:
    return QueryFusionRetriever([bare], llm=MockLLM(), num_queries=1, use_async=False)


@WAYS
@pytest.mark.parametrize("make", [lambda bare: bare, fused])
async def test_nobody_hears_a_search_that_learns(
    bare: BaseRetriever, ear: Ear, make: Any, way: str
) -> None:
    debug = LlamaDebugHandler(print_trace_on_end=False)
    bare.callback_manager = CallbackManager([debug])
    wrapper = RecallRetriever(make(bare))
    expected = wrapper.recall("kiln").pool.cosines
    ear.heard.clear()
    debug.flush_event_logs()
    port = wrapper.calibration_port
    pool = port.search("kiln") if way == "retrieve" else await port.asearch("kiln")
    assert pool.cosines == pytest.approx(expected)
    assert "RecallSignalEvent" not in ear.heard
    if make is not fused:
        assert {*ear.heard} == {"EmbeddingStartEvent", "EmbeddingEndEvent"}  # the encoder's own
        assert debug.get_event_pairs() == []


def test_one_question_makes_one_signal_while_auto_learns(bare: BaseRetriever, ear: Ear) -> None:
    wrapper = RecallRetriever(bare, calibration="auto")
    wrapper.retrieve("kiln")
    wrapper.wait_until_calibrated(60)
    assert ear.heard.count("RecallSignalEvent") == 1
    assert ear.heard.count("RetrievalStartEvent") == 2
    wrapper.calibrate()
    assert ear.heard.count("RecallSignalEvent") == 1


async def test_a_dispatcher_that_does_not_propagate_is_silent(
    bare: BaseRetriever, ear: Ear
) -> None:
    dispatcher = get_dispatcher("llama_index_recall_signal._events")
    dispatcher.propagate = False
    try:
        await ask(RecallRetriever(bare), "retrieve")
    finally:
        dispatcher.propagate = True
    assert "RecallSignalEvent" not in ear.heard
