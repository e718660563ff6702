"""The signal in a response's metadata, whatever kind of response it is."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.callbacks import CallbackManager
from llama_index.core.indices.query.query_transform import HyDEQueryTransform
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.query_engine import (
    CitationQueryEngine,
    RetrieverQueryEngine,
    TransformQueryEngine,
)
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import QueryBundle
from pydantic import BaseModel

from llama_index_recall_signal import (
    RecallPostprocessor,
    RecallQueryEngine,
    RecallRetriever,
    RecallRouterQueryEngine,
)
from recall_signal import ConfigurationError, parse_report
from recall_signal.agents._absent import REFUSAL
from tests.frameworks import Keeping
from tests.llama_index.fakes import (
    QUERY,
    Embedding,
    ListRetriever,
    RecordingLLM,
    index_with_cosines,
    page_of,
    scored,
)

COSINES = [0.9, 0.5, 0.45, 0.4]


def retriever(cosines: list[float] = COSINES) -> Any:
    return index_with_cosines(cosines).as_retriever()


def engine(cosines: list[float] = COSINES, **settings: Any) -> RecallQueryEngine:
    return RecallQueryEngine.from_args(retriever(cosines), llm=RecordingLLM(), **settings)


def report_in(response: Any) -> Any:
    report = response.metadata["recall"]
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert set(report) == {"v", "confidence", "selection", "cosine_source", "advice"}
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


WEAK = [0.2, 0.195, 0.19, 0.185]


def elsewhere(question: str, response: Any) -> str:
    return f"elsewhere: {question}"


@pytest.mark.parametrize(
    ("settings", "text"),
    [({"on_absent": "refuse", "refusal": "No."}, "No."), ({"on_absent": elsewhere}, None)],
)
async def test_an_answer_of_another_kind_is_of_the_kind_of_the_engine(
    settings: Any, text: str | None
) -> None:
    expected = text or f"elsewhere: {QUERY}"
    for cosines in (WEAK, []):
        asked = engine(cosines, **settings)
        for response in (asked.query(QUERY), await asked.aquery(QUERY)):
            assert type(response) is Response
            assert str(response) == expected
            assert report_in(response)["advice"] == "fallback"
            assert response.source_nodes == []
        streaming = engine(cosines, streaming=True, **settings)
        response = streaming.query(QUERY)
        assert type(response) is StreamingResponse
        assert report_in(response.get_response()) == report_in(response)
        assert str(response) == expected
        late = await streaming.aquery(QUERY)
        assert type(late) is AsyncStreamingResponse
        assert (await late.get_response()).response == expected
        assert parse_report(late) == parse_report(response)


async def test_an_engine_that_may_refuse_answers_as_before() -> None:
    asked, bare = engine(on_absent="refuse"), engine()
    for response, expected in (
        (asked.query(QUERY), bare.query(QUERY)),
        (await asked.aquery(QUERY), await bare.aquery(QUERY)),
    ):
        assert response == expected
        assert parse_report(response) == parse_report(expected)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    "mode", ["compact", "refine", "tree_summarize", "accumulate", "generation"]
)
async def test_a_refusal_calls_no_model(mode: str, streaming: bool) -> None:
    llm = RecordingLLM()
    settings: Any = {"response_mode": mode, "streaming": streaming, "on_absent": "refuse"}
    asked = RecallQueryEngine.from_args(retriever(WEAK), llm=llm, **settings)
    for response in (asked.query(QUERY), await asked.aquery(QUERY)):
        kinds = (StreamingResponse, AsyncStreamingResponse) if streaming else (Response,)
        assert type(response) in kinds
    assert llm.prompts == []


class Checked(RetrieverQueryEngine):
    """Does something of its own with an answer."""

    def _query(self, query_bundle: QueryBundle) -> Any:
        response = super()._query(query_bundle)
        return Response(f"checked: {response}", source_nodes=response.source_nodes)


class CheckedLater(RetrieverQueryEngine):
    """One that does it in asynchronous calls only."""

    async def _aquery(self, query_bundle: QueryBundle) -> Any:
        return Response("checked")


class Summing(RetrieverQueryEngine):
    """Its `synthesize` is not what its answers come from."""

    def synthesize(self, *args: Any, **kwargs: Any) -> Any:
        return Response("summed")


class Sorting(RetrieverQueryEngine):
    """Retrieves in a way of its own."""

    def retrieve(self, query_bundle: QueryBundle) -> Any:
        return super().retrieve(query_bundle)[::-1]


def wrapped(kind: Any, cosines: list[float] = COSINES, llm: Any = None) -> Any:
    return kind.from_args(
        retriever=RecallRetriever(retriever(cosines)), llm=llm or RecordingLLM(), **INDEX[kind]
    )


INDEX: dict[Any, dict[str, Any]] = {
    kind: {} for kind in (RetrieverQueryEngine, Checked, CheckedLater, Summing, Sorting)
} | {CitationQueryEngine: {"index": None}}


class Rewording(HyDEQueryTransform):
    """Asks its model, and rewords nothing."""

    def _run(self, query_bundle: QueryBundle, metadata: Any) -> QueryBundle:
        super()._run(query_bundle, metadata)
        return query_bundle


def reworded(engine: Any, llm: Any) -> TransformQueryEngine:
    return TransformQueryEngine(engine, Rewording(llm=llm))


@pytest.mark.parametrize(
    "make",
    [
        lambda: wrapped(RetrieverQueryEngine),
        lambda: wrapped(CitationQueryEngine),
        lambda: wrapped(Sorting),
    ],
)
async def test_an_answer_that_is_read_stays_the_engines_own(make: Any) -> None:
    bare = make()
    asked, router = RecallQueryEngine(bare, on_absent="refuse"), router_of(bare)
    for own, responses in (
        (bare.query(QUERY), [asked.query(QUERY), router.query(QUERY)]),
        (await bare.aquery(QUERY), [await asked.aquery(QUERY), await router.aquery(QUERY)]),
    ):
        for response in responses:
            assert str(response) == str(own)
            texts = [item.node.get_content() for item in response.source_nodes]
            assert texts == [item.node.get_content() for item in own.source_nodes]


def router_of(asked: Any) -> RecallRouterQueryEngine:
    return RecallRouterQueryEngine(asked, Fixed(Response("elsewhere")))


class Asking(RecallQueryEngine):
    """Answers in a way of its own."""

    def _query(self, query_bundle: QueryBundle) -> Any:
        return Response("own")


@pytest.mark.parametrize("build", [lambda e: RecallQueryEngine(e, on_absent="refuse"), router_of])
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Fixed(None), "Fixed"),
        (lambda: wrapped(Checked), "Checked"),
        (lambda: wrapped(CheckedLater), "CheckedLater"),
        (lambda: wrapped(Summing), "Summing"),
        (lambda: Asking(wrapped(RetrieverQueryEngine)), "Asking"),
        (lambda: reworded(wrapped(RetrieverQueryEngine), RecordingLLM()), "TransformQueryEngine"),
    ],
)
def test_an_engine_with_a_way_of_its_own_is_refused(build: Any, make: Any, name: str) -> None:
    RecallQueryEngine(make())
    with pytest.raises(ConfigurationError, match=f"{name} answers in a way of its own: put "):
        build(make())


@pytest.mark.parametrize(("cosines", "calls"), [(WEAK, 1), (COSINES, 2)])
async def test_an_engine_around_one_that_refuses(cosines: list[float], calls: int) -> None:
    llm = RecordingLLM()
    asked = reworded(
        RecallQueryEngine(wrapped(RetrieverQueryEngine, cosines, llm), on_absent="refuse"), llm
    )
    for response in (asked.query(QUERY), await asked.aquery(QUERY)):
        is_absent = report_in(response)["advice"] == "fallback"
        assert is_absent == (str(response) == REFUSAL) == (calls == 1)
    assert len(llm.prompts) == 2 * calls
    late = await RecallQueryEngine(asked).aretrieve(QueryBundle(QUERY))  # it has no such way
    assert len(late) == 2


@pytest.mark.parametrize("options", [{"k": 1}, {"select": False}, {"use_rerank": False}, {}])
async def test_options_of_a_call_hold_for_its_own_search(options: dict[str, Any]) -> None:
    other = RecallRetriever(retriever(), selector=Keeping(0))
    shown: list[int] = []

    def look(question: str, response: Any) -> str:
        shown.extend((response.shown, len(other.retrieve(question))))
        return "x"

    async def late(question: str, response: Any) -> str:
        return look(question, response)

    class Elsewhere(Fixed):
        async def _aquery(self, query_bundle: QueryBundle) -> Any:
            return self._query(query_bundle)

    def count() -> None:
        shown.append(len(other.retrieve(QUERY)))

    asked = engine(WEAK, on_absent=look)
    asked.query(QUERY, **options)
    await engine(WEAK, on_absent=late).aquery(QUERY, **options)
    assert shown == [options.get("k", 2), 1] * 2
    router = RecallRouterQueryEngine(engine(WEAK), Elsewhere(Response("web"), count))
    for response in (router.query(QUERY, **options), await router.aquery(QUERY, **options)):
        assert str(response) == "web"
    assert shown[4:] == [1, 1]
    strong = RecallRouterQueryEngine(engine(), Fixed(None))
    assert len(strong.query(QUERY, **options).source_nodes) == options.get("k", 2)


def test_an_engine_in_an_engine_is_seen_when_it_refuses() -> None:
    inner = engine(WEAK, on_absent="refuse")
    outer = RecallQueryEngine(Fixed(Response("answer"), lambda: inner.query(QUERY)))
    assert report_in(outer.query(QUERY))["confidence"]["level"] == "none"


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

    inside = RecallRetriever(ListRetriever(scored(0.9, 0.5, 0.45)), score_kind="cosine")
    asked = RecallQueryEngine.from_args(Through([]), llm=RecordingLLM())
    assert report_in(asked.query(QUERY))["confidence"]["level"] == "high"
    assert RecallRetriever(Through([])).recall(QUERY).confidence.level == "unknown"
    measured = RecallRetriever(Through([]), Embedding())
    asked = RecallQueryEngine(measured, get_response_synthesizer(llm=RecordingLLM()))
    response = asked.query(QUERY)
    assert report_in(response)["cosine_source"] == "embeddings"


async def test_an_engine_around_a_bare_retriever() -> None:
    plain: Any = index_with_cosines(COSINES).as_query_engine(llm=RecordingLLM())
    asked = RecallQueryEngine(plain, pool_size=3, metadata_key="mine")
    response = await asked.aquery(QUERY)
    assert response.metadata is not None
    assert response.metadata["mine"]["confidence"]["result_count"] == 3
    assert "mine" in response.source_nodes[0].metadata
    assert not isinstance(plain.retriever, RecallRetriever)
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
        node_postprocessors=drops,
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
        (lambda: RecallQueryEngine(retriever(), llm=None), "answers in response_synthesizer="),
        (lambda: RecallQueryEngine(RecallRetriever(retriever()), k=1), "set them there"),
        (lambda: RecallQueryEngine(Fixed(None), k=1), "k belong to a RecallRetriever"),
        (
            lambda: RecallQueryEngine(Fixed(None), on_absent="refuse"),
            "on_absent='refuse' needs an engine whose answer is one retrieval and one synthesis, ",
        ),
    ],
)
def test_settings_that_do_not_go_together(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        make()
