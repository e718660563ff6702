"""What observers see: our event, the wrapped retriever's own ones, callbacks, spans, prompts."""

import json
from typing import Any

import pytest
from llama_index.core.callbacks import CallbackManager, CBEventType
from llama_index.core.callbacks.base_handler import BaseCallbackHandler
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import QueryBundle
from llama_index.core.settings import Settings

from llama_index_recall_signal import RecallRetriever, RecallSignalEvent
from tests.llama_index.fakes import (
    QUERY,
    ListRetriever,
    RecordingLLM,
    caught_events,
    index_with_cosines,
    scored,
)

COSINES = [0.9, 0.5, 0.45, 0.4]


async def ask(wrapped: RecallRetriever, way: str) -> Any:
    return wrapped.recall(QUERY) if way == "sync" else await wrapped.arecall(QUERY)


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_one_event_for_each_retrieval(way: str) -> None:
    wrapped = RecallRetriever(index_with_cosines(COSINES).as_retriever())
    with caught_events() as catcher:
        response = await ask(wrapped, way)
    (event,) = catcher.of("RecallSignalEvent")
    assert isinstance(event, RecallSignalEvent)
    assert event.confidence == response.confidence
    assert event.report == response.to_dict()
    dumped = event.model_dump(mode="json")
    assert json.loads(json.dumps(dumped)) == dumped
    assert dumped["class_name"] == "RecallSignalEvent"
    assert QUERY not in json.dumps(dumped)
    assert event.span_id
    assert event.span_id.startswith("RecallRetriever.")


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_the_event_says_that_nothing_was_found(way: str) -> None:
    with caught_events() as catcher:
        await ask(RecallRetriever(ListRetriever([])), way)
    (event,) = catcher.of("RecallSignalEvent")
    assert event.confidence.level == "none"


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_the_wrapped_retrievers_events_are_those_it_has_alone(way: str) -> None:
    bare = index_with_cosines(COSINES).as_retriever()
    with caught_events() as alone:
        await bare.aretrieve(QUERY)
    with caught_events() as around:
        await ask(RecallRetriever(bare), way)
    inside = around.names()[1:-2]
    assert [n for n in alone.names() if "Embedding" not in n] == [
        n for n in inside if "Embedding" not in n
    ]
    ends = around.of("RetrievalEndEvent")
    assert [len(end.nodes) for end in ends] == [2, 2]
    assert ends[0].nodes == alone.of("RetrievalEndEvent")[0].nodes
    assert around.names()[-2:] == ["RecallSignalEvent", "RetrievalEndEvent"]
    assert len(around.of("EmbeddingEndEvent")) == 1


class Broken(BaseEventHandler):
    def handle(self, event: Any, **kwargs: Any) -> None:
        raise RuntimeError("a handler of somebody else")


def test_a_handler_that_fails_costs_no_page() -> None:
    root, broken = get_dispatcher(), Broken()
    root.add_event_handler(broken)
    try:
        wrapped = RecallRetriever(index_with_cosines(COSINES).as_retriever())
        assert len(wrapped.retrieve(QUERY)) == 2
    finally:
        root.event_handlers.remove(broken)


class Starts(BaseCallbackHandler):
    """Remembers which event started inside which."""

    def __init__(self) -> None:
        super().__init__([], [])
        self.retrievals: list[tuple[str, str]] = []

    def start_trace(self, trace_id: str | None = None) -> None:
        """Nothing to do."""

    def end_trace(self, trace_id: str | None = None, trace_map: Any = None) -> None:
        """Nothing to do."""

    def on_event_start(
        self, event_type: CBEventType, payload: Any = None, event_id: str = "",
        parent_id: str = "", **kwargs: Any,
    ) -> str:  # fmt: skip
        if event_type is CBEventType.RETRIEVE:
            self.retrievals.append((event_id, parent_id))
        return event_id

    def on_event_end(
        self, event_type: CBEventType, payload: Any = None, event_id: str = "", **kwargs: Any
    ) -> None:
        """Nothing to do."""


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_the_callback_manager_of_the_wrapped_retriever(way: str) -> None:
    starts = Starts()
    manager = CallbackManager([starts])
    wrapped = RecallRetriever(index_with_cosines(COSINES, callback_manager=manager).as_retriever())
    assert wrapped.callback_manager is manager
    await ask(wrapped, way)
    (outer, _), (_, parent) = starts.retrievals
    assert parent == outer


def test_a_retriever_without_a_manager_of_its_own() -> None:
    class Bare(ListRetriever):
        def __init__(self) -> None:
            self.nodes, self.bundles, self.seconds = scored(0.5), [], 0.0

    assert not hasattr(Bare(), "callback_manager")
    assert RecallRetriever(Bare()).callback_manager is Settings.callback_manager


def test_prompts_pass_through() -> None:
    fusion = QueryFusionRetriever([ListRetriever([])], llm=RecordingLLM())
    wrapped = RecallRetriever(fusion)
    assert wrapped.get_prompts() == fusion.get_prompts() != {}
    (name,) = wrapped.get_prompts()
    changed: Any = wrapped.get_prompts()[name]
    changed.template = "{num_queries} {query}"
    wrapped.update_prompts({name: changed})
    assert fusion.query_gen_prompt == "{num_queries} {query}"


def test_a_bundle_gets_its_vector_as_without_the_wrapper() -> None:
    index = index_with_cosines(COSINES)
    bare, around = QueryBundle(QUERY), QueryBundle(QUERY)
    index.as_retriever().retrieve(bare)
    RecallRetriever(index.as_retriever()).retrieve(around)
    assert around == bare
    assert around.embedding is not None
