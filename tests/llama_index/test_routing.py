"""The engine that lets another one answer where the signal says so."""

import logging
from typing import Any

import pytest
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import Response, StreamingResponse
from llama_index.core.callbacks import CallbackManager
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from llama_index_recall_signal import (
    RecallPostprocessor,
    RecallQueryEngine,
    RecallRouterQueryEngine,
)
from recall_signal import ConfigurationError
from tests.llama_index.fakes import (
    QUERY,
    ListRetriever,
    RecordingLLM,
    caught_events,
    index_with_cosines,
    scored,
)

STRONG = [0.9, 0.5, 0.45, 0.4]
WEAK = [0.2, 0.195, 0.19, 0.185]


class Web(BaseQueryEngine):
    """The fallback."""

    def __init__(self, error: Exception | None = None, metadata: Any = None) -> None:
        super().__init__(callback_manager=CallbackManager([]))
        self.error, self.metadata, self.asked = error, metadata, 0

    def _query(self, query_bundle: QueryBundle) -> Response:
        self.asked += 1
        if self.error is not None:
            raise self.error
        node = TextNode(text="web", metadata={"recall": {"selection": {"applied": False}}})
        return Response("from the web", [NodeWithScore(node=node)], self.metadata)

    async def _aquery(self, query_bundle: QueryBundle) -> Response:
        return self._query(query_bundle)

    def _get_prompt_modules(self) -> Any:
        return {}


def engine(cosines: list[float], **settings: Any) -> BaseQueryEngine:
    return index_with_cosines(cosines).as_query_engine(llm=RecordingLLM(), **settings)


async def ask(router: RecallRouterQueryEngine, way: str) -> Any:
    return router.query(QUERY) if way == "sync" else await router.aquery(QUERY)


both_ways = pytest.mark.parametrize("way", ["sync", "async"])


@both_ways
async def test_a_strong_match_is_answered_from(way: str, searches: list[int]) -> None:
    web = Web()
    response = await ask(RecallRouterQueryEngine(engine(STRONG), web), way)
    assert str(response) == "answer"
    assert len(response.source_nodes) == 2
    report = response.metadata["recall"]
    assert (report["confidence"]["level"], report["route"]) == ("high", "answer")
    assert (web.asked, len(searches)) == (0, 1)


@both_ways
async def test_a_weak_match_goes_to_the_fallback(way: str, searches: list[int]) -> None:
    llm = RecordingLLM()
    stored = index_with_cosines(WEAK).as_query_engine(llm=llm)
    response = await ask(RecallRouterQueryEngine(stored, Web()), way)
    assert str(response) == "from the web"
    assert llm.prompts == []
    assert len(searches) == 1
    report = response.metadata["recall"]
    assert (report["confidence"]["level"], report["route"]) == ("none", "fallback")
    assert report["selection"] == {"applied": False, "reason": "not_configured"}
    assert "fallback" not in report


@both_ways
async def test_nothing_stored_goes_to_the_fallback(way: str) -> None:
    stored = RecallQueryEngine.from_args(ListRetriever([]), llm=RecordingLLM())
    report = (await ask(RecallRouterQueryEngine(stored, Web()), way)).metadata["recall"]
    assert (report["confidence"]["result_count"], report["route"]) == (0, "fallback")


@pytest.mark.parametrize("on_unknown", ["answer", "fallback"])
@both_ways
async def test_unknown_goes_where_it_was_told_to(way: str, on_unknown: Any) -> None:
    stored = RecallQueryEngine.from_args(ListRetriever(scored(None, None)), llm=RecordingLLM())
    router = RecallRouterQueryEngine(stored, Web(), on_unknown=on_unknown)
    report = (await ask(router, way)).metadata["recall"]
    assert (report["confidence"]["level"], report["route"]) == ("unknown", on_unknown)


def test_a_search_that_told_nothing_is_unknown() -> None:
    class Silent(RetrieverQueryEngine):
        """Not an engine whose retriever can be replaced."""

    bare = Silent.from_args(ListRetriever(scored(0.9)), llm=RecordingLLM())
    response = RecallRouterQueryEngine(bare, Web()).query(QUERY)
    assert response.metadata is not None
    report = response.metadata["recall"]
    assert (report["confidence"]["level"], report["route"]) == ("unknown", "answer")


def test_the_best_of_several_signals_decides() -> None:
    stored = RecallQueryEngine.from_args(
        index_with_cosines(WEAK).as_retriever(),
        llm=RecordingLLM(),
        node_postprocessors=[RecallPostprocessor(score_kind="bm25")],
    )
    response = RecallRouterQueryEngine(stored, Web()).query(QUERY)
    assert response.metadata is not None
    assert response.metadata["recall"]["route"] == "fallback"


@both_ways
async def test_the_fallbacks_own_report_is_kept(way: str) -> None:
    web = Web(metadata={"recall": {"v": 1}, "other": 2})
    metadata = (await ask(RecallRouterQueryEngine(engine(WEAK), web), way)).metadata
    assert metadata["other"] == 2
    assert metadata["recall"]["fallback"] == {"v": 1}
    assert web.metadata == {"recall": {"v": 1}, "other": 2}


@both_ways
async def test_a_fallback_that_fails_costs_only_itself(
    way: str, caplog: pytest.LogCaptureFixture
) -> None:
    web = Web(error=OSError("secret"))
    with caplog.at_level(logging.WARNING):
        response = await ask(RecallRouterQueryEngine(engine(WEAK), web), way)
    assert str(response) == "answer"
    report = response.metadata["recall"]
    assert (report["route"], report["fallback_error"]) == ("answer", "OSError")
    assert "OSError" in caplog.text
    assert "secret" not in caplog.text


def test_a_streaming_answer_carries_the_report() -> None:
    response = RecallRouterQueryEngine(engine(STRONG, streaming=True), Web()).query(QUERY)
    assert isinstance(response, StreamingResponse)
    assert response.metadata is not None
    assert response.metadata["recall"]["route"] == "answer"
    assert str(response) == "answer"


def test_who_wraps_the_router_hears_of_the_signal() -> None:
    with caught_events() as catcher:
        outer = RecallQueryEngine(RecallRouterQueryEngine(engine(WEAK), Web()))
        response = outer.query(QUERY)
    assert response.metadata is not None
    assert response.metadata["recall"]["confidence"]["level"] == "none"
    assert len(catcher.of("RecallSignalEvent")) == 1


def test_prompts_of_the_engine_are_seen() -> None:
    router = RecallRouterQueryEngine(engine(STRONG), Web())
    assert any(name.startswith("query_engine:") for name in router.get_prompts())
    router.update_prompts({})


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="fallback must be a query engine, got str"):
        RecallRouterQueryEngine(engine(STRONG), "web")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"got ListRetriever; .*Engine\(retriever="):
        RecallRouterQueryEngine(ListRetriever([]), Web())  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="on_unknown must be"):
        RecallRouterQueryEngine(engine(STRONG), Web(), on_unknown="ask")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="QueryEngine: needs an engine whose answer is"):
        RecallRouterQueryEngine(Web(), Web())
