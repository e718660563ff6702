"""The signal in a response's metadata, whatever kind of response it is."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from llama_fakes import (
    QUERY,
    Embedding,
    ListRetriever,
    RecordingLLM,
    index_with_cosines,
    page_of,
    scored,
)
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.callbacks import CallbackManager
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import QueryBundle
from pydantic import BaseModel

from llama_index_recall_signal import RecallPostprocessor, RecallQueryEngine, RecallRetriever
from recall_signal import ConfigurationError

COSINES = [0.9, 0.5, 0.45, 0.4]


def retriever(cosines: list[float] = COSINES) -> Any:
    return index_with_cosines(cosines).as_retriever()


def engine(cosines: list[float] = COSINES, **settings: Any) -> RecallQueryEngine:
    return RecallQueryEngine.from_args(retriever(cosines), llm=RecordingLLM(), **settings)


def report_in(response: Any) -> Any:
    report = response.metadata["recall"]
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert set(report) == {"v", "confidence", "selection", "cosine_source"}
    return report


async def test_plain_response() -> None:
    asked = engine()
    expected = RecallRetriever(retriever()).recall(QUERY).to_dict()
    for response in (asked.query(QUERY), await asked.aquery(QUERY)):
        assert isinstance(response, Response)
        assert str(response) == "answer"
        assert report_in(response) == expected
        assert expected["confidence"]["level"] == "high"
        for item in response.source_nodes:  # what the framework itself puts there
            assert response.metadata is not None
            assert response.metadata[item.node_id] == item.node.metadata
        assert len(response.source_nodes) == 2


async def test_streaming_responses() -> None:
    asked = engine(streaming=True)
    response = asked.query(QUERY)
    assert isinstance(response, StreamingResponse)
    assert report_in(response)["confidence"]["level"] == "high"
    assert "".join(response.response_gen) == "answer"
    late = await asked.aquery(QUERY)
    assert isinstance(late, AsyncStreamingResponse)
    assert report_in(late)["confidence"]["level"] == "high"
    assert (await late.get_response()).metadata == late.metadata
    assert "answer" in str((await late.get_response()).response)


@pytest.mark.parametrize("streaming", [False, True])
async def test_empty_responses(streaming: bool) -> None:
    asked = engine([], streaming=streaming)
    for response in (asked.query(QUERY), await asked.aquery(QUERY)):
        report = report_in(response)
        assert report["confidence"]["level"] == "none"
        assert report["confidence"]["result_count"] == 0
        assert response.source_nodes == []
    assert str(engine([]).query(QUERY)) == "Empty Response"


class Fact(BaseModel):
    key: str


class Fixed(BaseQueryEngine):
    """Always the same response object, as a cache gives it."""

    def __init__(self, response: Any, inside: Callable[[], Any] = list) -> None:
        self.response, self.inside = response, inside
        super().__init__(callback_manager=None)

    def _query(self, query_bundle: QueryBundle) -> Any:
        self.inside()
        return self.response

    async def _aquery(self, query_bundle: QueryBundle) -> Any:
        return self._query(query_bundle)

    def _get_prompt_modules(self) -> Any:
        return {}


def test_structured_response() -> None:
    fixed = Fixed(PydanticResponse(Fact(key="k"), metadata={"kept": 1}))
    response: Any = RecallQueryEngine(fixed).query(QUERY)
    assert report_in(response)["confidence"]["level"] == "unknown"
    assert response.key == "k"
    assert response.metadata["kept"] == 1
    assert type(response) is PydanticResponse


async def test_a_shared_response_is_not_changed() -> None:
    shared = Response("cached", metadata={"kept": 1})
    wrapped = RetrieverQueryEngine.from_args(RecallRetriever(retriever()), llm=RecordingLLM())
    asked = RecallQueryEngine(Fixed(shared, lambda: wrapped.query(QUERY)))
    for response in (asked.query(QUERY), await asked.aquery(QUERY)):
        assert response.metadata is not None
        assert response.metadata["kept"] == 1
        assert response.metadata["recall"]["confidence"]["level"] == "high"
    assert shared.metadata == {"kept": 1}


def test_an_engine_that_retrieved_nothing_we_saw() -> None:
    response = RecallQueryEngine(Fixed(Response("answer", source_nodes=scored(0.5)))).query(QUERY)
    confidence = report_in(response)["confidence"]
    assert confidence["level"] == "unknown"
    assert confidence["reason"] == "no_score_access"
    assert confidence["result_count"] == 1


def test_the_strongest_of_several_retrievals_is_reported() -> None:
    weak, strong = (RecallRetriever(retriever(c)) for c in ([0.2, 0.19], COSINES))
    blind = RecallRetriever(ListRetriever(scored(0.9)))

    def search() -> None:
        weak.retrieve(QUERY)
        strong.recall(QUERY)
        blind.retrieve(QUERY)

    response = RecallQueryEngine(Fixed(Response("answer"), search)).query(QUERY)
    assert report_in(response)["confidence"]["level"] == "high"


def test_engines_in_engines() -> None:
    inner = engine()
    outer = RecallQueryEngine(Fixed(Response("answer"), lambda: inner.query(QUERY)))
    assert report_in(outer.query(QUERY))["confidence"]["level"] == "high"


def test_what_an_outer_wrapper_cannot_measure_an_inner_one_tells() -> None:
    class Through(ListRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> Any:
            return inside.retrieve(query_bundle)

    inside = RecallRetriever(retriever())
    asked = RecallQueryEngine.from_args(Through([]), llm=RecordingLLM())
    assert report_in(asked.query(QUERY))["confidence"]["level"] == "high"
    assert RecallRetriever(Through([])).recall(QUERY).confidence.level == "unknown"
    measured = RecallRetriever(Through([]), Embedding())
    asked = RecallQueryEngine(measured, get_response_synthesizer(llm=RecordingLLM()))
    response = asked.query(QUERY)
    assert report_in(response)["cosine_source"] == "embeddings"


async def test_an_engine_around_a_bare_retriever() -> None:
    plain = index_with_cosines(COSINES).as_query_engine(llm=RecordingLLM())
    asked = RecallQueryEngine(plain, pool_size=3, metadata_key="mine")
    response = await asked.aquery(QUERY)
    assert response.metadata is not None
    assert response.metadata["mine"]["confidence"]["result_count"] == 3
    assert "mine" in response.source_nodes[0].metadata
    assert not isinstance(plain.retriever, RecallRetriever)  # type: ignore[attr-defined]
    assert page_of(asked.retrieve(QueryBundle(QUERY)), "mine") == page_of(
        plain.retrieve(QueryBundle(QUERY))
    )
    assert page_of(await asked.aretrieve(QueryBundle(QUERY)), "mine") == page_of(
        plain.retrieve(QueryBundle(QUERY))
    )


def test_an_engine_around_a_wrapped_retriever_is_taken_as_it_is() -> None:
    inner = RecallRetriever(retriever(), metadata_key="mine")
    plain = RetrieverQueryEngine.from_args(inner, llm=RecordingLLM())
    asked = RecallQueryEngine(plain)
    assert asked.query_engine is plain
    assert "mine" in (asked.query(QUERY).metadata or {})
    assert "yours" in (RecallQueryEngine(plain, metadata_key="yours").query(QUERY).metadata or {})


async def test_synthesize_is_the_engines_own() -> None:
    asked = engine()
    nodes = asked.retrieve(QueryBundle(QUERY))
    for response in (
        asked.synthesize(QueryBundle(QUERY), nodes),
        await asked.asynthesize(QueryBundle(QUERY), nodes),
    ):
        assert str(response) == "answer"
        assert set(response.metadata or {}) == {"n0", "n1"}


def test_nodes_that_a_postprocessor_drops_do_not_change_the_signal() -> None:
    drops = [SimilarityPostprocessor(similarity_cutoff=0.99)]
    asked = RecallQueryEngine(
        retriever=retriever(),
        response_synthesizer=get_response_synthesizer(llm=RecordingLLM()),
        node_postprocessors=drops,  # type: ignore[arg-type]
    )
    response = asked.query(QUERY)
    assert response.source_nodes == []
    assert report_in(response)["confidence"]["level"] == "high"


def test_a_postprocessor_alone_reports_too() -> None:
    plain = Fixed(Response("answer"))
    inner = RetrieverQueryEngine.from_args(
        ListRetriever(scored(0.9, 0.2)),
        llm=RecordingLLM(),
        node_postprocessors=[RecallPostprocessor(score_kind="cosine")],
    )
    plain.inside = lambda: inner.query(QUERY)
    response = RecallQueryEngine(plain).query(QUERY)
    assert report_in(response)["cosine_source"] == "declared"


def test_prompts_are_the_engines_own() -> None:
    plain = RetrieverQueryEngine.from_args(retriever(), llm=RecordingLLM())
    asked = RecallQueryEngine(plain)
    assert asked.get_prompts() == plain.get_prompts() != {}
    name, prompt = next(iter(plain.get_prompts().items()))
    changed = prompt.partial_format(extra="x")
    asked.update_prompts({name: changed})
    assert plain.get_prompts()[name].kwargs == {"extra": "x"}


def test_the_callback_manager_is_the_engines_own() -> None:
    manager = CallbackManager([])
    plain = RetrieverQueryEngine(
        retriever(), get_response_synthesizer(llm=RecordingLLM()), callback_manager=manager
    )
    assert RecallQueryEngine(plain).callback_manager is manager


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: RecallQueryEngine(), "expected either a query engine or a retriever, got None"),
        (lambda: RecallQueryEngine(engine(), retriever=retriever()), "got both"),
        (lambda: RecallQueryEngine("engine"), "got str"),  # type: ignore[arg-type]
        (lambda: RecallQueryEngine(engine(), node_postprocessors=[]), "go with a retriever"),
        (lambda: RecallQueryEngine(retriever(), k=0), "RecallRetriever: k: "),
        (lambda: RecallQueryEngine(retriever(), kk=1), "there is no setting kk"),
        (lambda: RecallQueryEngine(RecallRetriever(retriever()), k=1), "set them there"),
        (lambda: RecallQueryEngine(Fixed(None), k=1), "k belong to a RecallRetriever"),
    ],
)
def test_settings_that_do_not_go_together(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        make()
