"""A wrapper says when it can never measure; declared numbers; stores that drop hits."""

import logging
from typing import Any

import pytest
from llama_index.core import StorageContext, SummaryIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.retrievers import QueryFusionRetriever, VectorIndexRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.retrievers.bm25 import BM25Retriever

from llama_index_recall_signal import (
    RecallQueryEngine,
    RecallRetriever,
    RecallRouterQueryEngine,
    StoreAdapter,
    register_adapter,
)
from llama_index_recall_signal.stores import _registry as registry
from recall_signal import ConfigurationError, ScoreKind
from tests.llama_index.fakes import (
    QUERY,
    Embedding,
    ListRetriever,
    RecordingLLM,
    index_of,
    index_with_cosines,
    nodes_with_cosines,
    page_of,
    scored,
)

COSINES = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]


def dense(store: SimpleVectorStore | None = None, top_k: int = 3) -> Any:
    context = StorageContext.from_defaults(vector_store=store or SimpleVectorStore())
    index = index_of(nodes_with_cosines(COSINES), storage_context=context)
    return index.as_retriever(similarity_top_k=top_k)


def fusion(*arms: BaseRetriever) -> QueryFusionRetriever:
    return QueryFusionRetriever(list(arms), llm=RecordingLLM(), num_queries=1, use_async=False)


class MinMax(SimpleVectorStore):
    """Scores that cannot be converted."""


class NoVectors(SimpleVectorStore):
    """The same, and no vector is ever given."""


class Own(SimpleVectorStore):
    """Searches in a way of its own."""

    def query(self, query: Any, **kwargs: Any) -> Any:
        return super().query(query, **kwargs)


class OwnWithTexts(Own):
    """The same, with nodes of its own, which may carry vectors."""

    stores_text: bool = True


class Unfinished(SimpleVectorStore):
    """Its adapter cannot say what the score is."""


class MinMaxAdapter(StoreAdapter[Any]):
    def score_kind(self, store: Any, mode: str) -> ScoreKind:
        return ScoreKind.MINMAX


class NoVectorsAdapter(MinMaxAdapter):
    gives_vectors = False


class UnfinishedAdapter(NoVectorsAdapter):
    def waits(self, store: Any) -> bool:
        raise ConnectionError


@pytest.fixture
def adapters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry._registry, "_adapters", dict(registry._registry._adapters))
    for store in (MinMax, NoVectors, Unfinished):
        adapter = globals()[f"{store.__name__}Adapter"]()
        register_adapter(f"{store.__module__}.{store.__qualname__}", adapter)


class Calling(ListRetriever):
    """Holds a function, which may search anything."""

    def __init__(self, function: Any) -> None:
        self.function = function
        super().__init__(scored(0.5))


SOMEWHERE: list[Any] = []


class Named(ListRetriever):
    """Its code names what it searches."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [item for one in SOMEWHERE for item in one.retrieve(query_bundle)]


@pytest.fixture(autouse=True)
def _somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.SOMEWHERE", [dense()])


def summaries() -> BaseRetriever:
    return SummaryIndex([TextNode(text="one")]).as_retriever()


def words() -> BaseRetriever:
    return BM25Retriever(list(nodes_with_cosines(COSINES)), similarity_top_k=2)


@pytest.mark.usefixtures("adapters")
@pytest.mark.parametrize(
    ("make", "settings", "reason"),
    [
        (summaries, {}, "store_not_recognised"),
        (lambda: ListRetriever(scored(0.5)), {}, "store_not_recognised"),
        (lambda: fusion(summaries()), {}, "store_not_recognised"),
        (lambda: fusion(summaries()), {"score_kind": "rrf"}, "score_not_convertible"),
        (summaries, {"score_key": "n", "score_kind": "rrf"}, "score_not_convertible"),
        (lambda: dense(NoVectors()), {}, "score_not_convertible"),
        (lambda: dense(Own()), {}, "store_not_recognised"),
        (lambda: dense(Own()), {"score_kind": "cosine"}, None),
        (lambda: dense(Own()), {"embed_model": Embedding()}, None),
        (lambda: dense(OwnWithTexts()), {}, None),
        (lambda: dense(MinMax()), {}, None),
        (lambda: dense(Unfinished()), {}, None),
        (summaries, {"embed_model": Embedding()}, None),
        (summaries, {"score_kind": "cosine"}, None),
        (summaries, {"score_kind": "bm25"}, None),
        (lambda: Calling(len), {}, "store_not_recognised"),
        (lambda: Calling(lambda: None), {}, None),
        (lambda: Named([]), {}, None),
        (dense, {}, None),
        (lambda: fusion(dense()), {}, None),
        (lambda: fusion(RecallRetriever(dense())), {}, None),
        (lambda: words(), {}, None),
        (lambda: fusion(words()), {}, None),
        (lambda: fusion(fusion(words())), {}, None),
        (lambda: fusion(words(), words()), {}, "store_not_recognised"),
        (lambda: fusion(summaries(), fusion(words()), words()), {}, "store_not_recognised"),
        (lambda: fusion(words(), words()), {"embed_model": Embedding()}, None),
        (lambda: fusion(words(), words(), dense()), {}, None),
        (lambda: fusion(words(), fusion(words(), Calling(lambda: None))), {}, None),
    ],
)
def test_a_wrapper_that_can_never_measure_says_so_once(
    make: Any, settings: Any, reason: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    bare = make()
    with caplog.at_level(logging.WARNING):
        wrapped = RecallRetriever(bare, **settings)
        wrapped.with_calibration(None)
        wrapped.calibration_port  # noqa: B018
    said = [record.getMessage() for record in caplog.records if "never" in record.getMessage()]
    assert len(said) == (reason is not None)
    if reason is not None:
        assert f"({reason}: " in said[0]
        assert "embed_model=" in said[0]
        assert wrapped.recall(QUERY).confidence.level == "unknown"


# Declared numbers


def noted(**numbers: Any) -> list[NodeWithScore]:
    return [
        NodeWithScore(node=TextNode(id_=id_, text=id_, metadata={"near": number}), score=0.123)
        for id_, number in numbers.items()
    ]


async def test_a_number_in_metadata() -> None:
    items = noted(a=0.9, b="text", c=0.4, d=True, e=None)
    wrapped = RecallRetriever(ListRetriever(items), score_kind="cosine", score_key="near")
    response = wrapped.recall(QUERY)
    assert response.pool.cosines == [0.9, None, 0.4, None, None]
    assert page_of(response.nodes) == page_of(items)
    assert (await wrapped.arecall(QUERY)).to_dict() == response.to_dict()
    words = RecallRetriever(ListRetriever(items), score_kind="bm25", score_key="near")
    assert words.recall(QUERY).confidence.basis == "separation"
    missing = RecallRetriever(ListRetriever(items), score_kind="cosine", score_key="far")
    assert missing.recall(QUERY).confidence.reason == "no_scores"


def test_a_number_in_metadata_goes_before_a_store(searches: list[int]) -> None:
    bare = dense()
    for node in bare._index.docstore.docs.values():
        node.metadata["near"] = 1.0 - node.metadata["page"] / 10
        bare._index.docstore.add_documents([node])
    wrapped = RecallRetriever(bare, score_kind="cosine_distance", score_key="near")
    response = wrapped.recall(QUERY)
    assert response.pool.cosines == pytest.approx([0.0, 0.1, 0.2])
    assert searches == [3]


@pytest.mark.parametrize(
    "settings", [{"score_key": "near"}, {"score_key": "", "score_kind": "cosine"}]
)
def test_a_key_needs_a_kind(settings: Any) -> None:
    with pytest.raises(ConfigurationError, match="score_key"):
        RecallRetriever(ListRetriever([]), **settings)


# Stores that leave out hits after their limit


class Dropping(SimpleVectorStore):
    """Leaves out every second hit, once it has found as many as were asked for."""

    def query(self, query: Any, **kwargs: Any) -> Any:
        result = super().query(query, **kwargs)
        result.ids = (result.ids or [])[1::2]
        result.similarities = (result.similarities or [])[1::2]
        return result


class KnownDropping(Dropping):
    """One with an adapter."""

    def query(self, query: Any, **kwargs: Any) -> Any:
        return super().query(query, **kwargs)


class KnownDroppingAdapter(StoreAdapter[Any]):
    may_drop = True

    def score_kind(self, store: Any, mode: str) -> ScoreKind:
        return ScoreKind.COSINE


class InParts(SimpleVectorStore):
    """A store whose search has a part of its own."""

    def query(self, query: Any, **kwargs: Any) -> Any:
        result = super().query(query, **kwargs)
        kept = self._kept(len(result.ids or []))
        result.ids = [(result.ids or [])[at] for at in kept]
        result.similarities = [(result.similarities or [])[at] for at in kept]
        return result

    def _kept(self, count: int) -> list[int]:
        return list(range(count))


class EverySecond(InParts):
    def _kept(self, count: int) -> list[int]:
        return list(range(count))[1::2]


class AllButFew(InParts):
    """Its filter keeps the number of hits that was asked for, in a search for many."""

    def _kept(self, count: int) -> list[int]:
        return list(range(count)) if count > 4 else []


class InPartsAdapter(StoreAdapter[Any]):
    def score_kind(self, store: Any, mode: str) -> ScoreKind:
        return ScoreKind.COSINE


@pytest.mark.parametrize("top_k", range(1, 9))
@pytest.mark.parametrize(
    ("store", "best"),
    [(Dropping, 0.8), (KnownDropping, 0.8), (InParts, 0.9), (EverySecond, 0.8), (AllButFew, 0.9)],
)
async def test_the_page_is_the_bare_one_where_a_store_leaves_out_hits(
    top_k: int, store: Any, best: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry._registry, "_adapters", dict(registry._registry._adapters))
    register_adapter(f"{__name__}.KnownDropping", KnownDroppingAdapter())
    register_adapter(f"{__name__}.InParts", InPartsAdapter())
    bare = dense(store(), top_k)
    expected = page_of(bare.retrieve(QUERY))
    wrapped = RecallRetriever(bare, score_kind="cosine" if store is Dropping else "auto")
    response = wrapped.recall(QUERY)
    assert page_of(response.nodes) == expected
    assert page_of(await wrapped.aretrieve(QUERY)) == expected
    assert response.confidence.top_score == best


def every_second(search: Any) -> Any:
    return lambda *args, **kwargs: search(*args, **kwargs)[1::2]


@pytest.mark.parametrize("name", ["_retrieve", "retrieve", "_convert_nodes_to_scored_nodes"])
def test_a_search_that_was_replaced_in_the_retriever_itself(name: str) -> None:
    bare = dense(top_k=4)
    setattr(bare, name, every_second(getattr(bare, name)))
    response = RecallRetriever(bare).recall(QUERY)
    assert page_of(response.nodes) == page_of(bare.retrieve(QUERY))
    assert len(response.nodes) == 2


def test_a_query_that_was_replaced_in_the_store_itself() -> None:
    store = SimpleVectorStore()
    bare = dense(store, top_k=4)
    query = store.query

    def filtered(given: Any, **kwargs: Any) -> Any:
        result = query(given, **kwargs)
        result.ids = (result.ids or [])[1::2]
        result.similarities = (result.similarities or [])[1::2]
        return result

    object.__setattr__(store, "query", filtered)
    response = RecallRetriever(bare).recall(QUERY)
    assert page_of(response.nodes) == page_of(bare.retrieve(QUERY))
    assert response.confidence.top_score == 0.8


class FilteringAtTheEnd(VectorIndexRetriever):
    """Leaves out every second hit once the nodes are there."""

    def _insert_fetched_nodes_into_query_result(self, result: Any, fetched: Any) -> Any:
        nodes = super()._insert_fetched_nodes_into_query_result(result, fetched)
        result.ids, result.similarities = result.ids[1::2], result.similarities[1::2]
        return nodes[1::2]


async def test_a_subclass_that_filters_at_the_end_of_its_search() -> None:
    bare = FilteringAtTheEnd(index_of(nodes_with_cosines(COSINES)), similarity_top_k=4)
    wrapped, expected = RecallRetriever(bare), page_of(bare.retrieve(QUERY))
    assert page_of(wrapped.recall(QUERY).nodes) == expected
    assert page_of((await wrapped.arecall(QUERY)).nodes) == expected
    assert page_of(wrapped.retrieve(QUERY)) == expected


class Scarce(InParts):
    """Refuses a search for more than it likes."""

    def query(self, query: Any, **kwargs: Any) -> Any:
        if query.similarity_top_k > 20:
            raise ValueError("the limit is too high")
        return super().query(query, **kwargs)


def test_a_wider_search_that_is_always_refused_has_a_pause(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wrapped = RecallRetriever(dense(Scarce()), score_kind="cosine")
    levels = [wrapped.recall(QUERY).level for _ in range(5)]
    assert [level != "unknown" for level in levels] == [False, False, False, True, True]
    assert caplog.text.count("searching wider failed") == 3
    assert caplog.text.count("the page alone is searched for in the next 60 s") == 1


@pytest.mark.parametrize("length", [1.0, 1e200, 1e-200])
@pytest.mark.filterwarnings("ignore:(overflow|divide|invalid):RuntimeWarning")
def test_a_length_beyond_the_stores_floats_has_the_same_cosine(length: float) -> None:
    bundle = QueryBundle(QUERY, embedding=[length, *[0.0] * 15])
    assert RecallRetriever(dense()).recall(bundle).confidence.top_score == 0.9


# Arguments


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("filters", "options of a call"),
        ("similarity_top_k", "did you mean k"),
        ("K", "did you mean k"),
        ("rerank", "did you mean use_rerank"),
        ("use_reranker", "did you mean use_rerank"),
        ("selector", "did you mean select"),
        ("selection", "is no argument"),
    ],
)
async def test_unknown_arguments_are_refused_everywhere(name: str, hint: str) -> None:
    wrapped: Any = RecallRetriever(index_with_cosines(COSINES).as_retriever())
    engine: Any = RecallQueryEngine.from_args(wrapped, llm=RecordingLLM())
    router: Any = RecallRouterQueryEngine(engine, engine)
    for method in (wrapped.retrieve, wrapped.recall, engine.query, router.query):
        with pytest.raises(ConfigurationError, match=hint):
            method(QUERY, **{name: 1})
    for method in (wrapped.aretrieve, wrapped.arecall, engine.aquery, router.aquery):
        with pytest.raises(ConfigurationError, match=hint):
            await method(QueryBundle(QUERY), **{name: 1})
