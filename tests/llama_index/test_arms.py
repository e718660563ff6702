"""The arms of a composite: what is heard, what is not, and whose cosines they are."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.retrievers import (
    AutoMergingRetriever,
    QueryFusionRetriever,
    RecursiveRetriever,
    TransformRetriever,
)
from llama_index.core.schema import (
    BaseNode,
    IndexNode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.retrievers.bm25 import BM25Retriever

from llama_index_recall_signal import RecallRetriever, StoreAdapter, register_adapter
from llama_index_recall_signal.stores import _registry as registry
from recall_signal import ScoreKind
from recall_signal.testing import vectors_with_cosines
from tests.llama_index.composites import Rewriting
from tests.llama_index.fakes import (
    QUERY,
    QUERY_VECTOR,
    Embedding,
    ListRetriever,
    RecordingLLM,
    index_of,
    index_with_cosines,
    nodes_with_cosines,
    page_of,
    texts_with_metadata,
)

COSINES = [0.9, 0.7, 0.5, 0.3]
OTHER = "an unrelated question"


def fusion(*arms: BaseRetriever, **settings: Any) -> QueryFusionRetriever:
    given = {"num_queries": 1, "use_async": False, "similarity_top_k": 10, "llm": RecordingLLM()}
    return QueryFusionRetriever(list(arms), **dict[str, Any](given | settings))


def dense(cosines: Sequence[float] = COSINES, **settings: Any) -> BaseRetriever:
    return index_with_cosines(cosines, **settings).as_retriever(similarity_top_k=4)


def keywords(texts: Sequence[str], top_k: int = 3) -> BM25Retriever:
    nodes: list[BaseNode] = [TextNode(id_=f"k{at}", text=text) for at, text in enumerate(texts)]
    return BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=top_k)


TEXTS = ["the key hangs here", "where the sun sets", "a cat", "a dog", "an old barn door"]


async def both(wrapped: RecallRetriever, bundle: Any = QUERY) -> Any:
    """The response, the same synchronously and not."""
    response = wrapped.recall(bundle)
    assert (await wrapped.arecall(bundle)).to_dict() == response.to_dict()
    return response


# Keyword retrievers


@pytest.mark.parametrize(
    "make", [lambda arm: arm, lambda arm: TransformRetriever(arm, Rewriting())]
)
async def test_a_keyword_retriever_is_read_by_separation_undeclared(make: Any) -> None:
    bare = make(keywords(TEXTS))
    expected = bare.retrieve(QUERY)
    response = await both(RecallRetriever(bare))
    assert page_of(response.nodes) == page_of(expected)
    assert response.pool.scores == [item.score for item in expected]
    assert response.confidence.basis == "separation"
    assert response.confidence.top_score == pytest.approx(expected[0].score, abs=1e-3)


async def test_a_declared_kind_or_an_encoder_goes_before_keyword_scores() -> None:
    bare = keywords(TEXTS)
    assert (await both(RecallRetriever(bare, score_kind="bm25"))).confidence.basis == "separation"
    assert (await both(RecallRetriever(bare, Embedding()))).cosine_source == "embeddings"
    refused = await both(RecallRetriever(bare, score_kind="cosine"))
    assert refused.confidence.basis != "separation"


class Boosted(BM25Retriever):
    """Its scores are another's."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=n.node, score=7.0) for n in super()._retrieve(query_bundle)]


class Named(BM25Retriever):
    """Only a name."""


def test_a_subclass_is_read_like_its_parent_unless_it_searches_itself() -> None:
    nodes: list[BaseNode] = [TextNode(text=text) for text in TEXTS]
    assert RecallRetriever(Named(nodes)).recall(QUERY).confidence.basis == "separation"
    assert RecallRetriever(Boosted(nodes)).recall(QUERY).confidence.level == "unknown"


async def test_keyword_scores_of_two_retrievers_are_never_mixed() -> None:
    bare = fusion(keywords(TEXTS), keywords(TEXTS[::-1]))
    assert (await both(RecallRetriever(bare))).confidence.reason == "store_not_recognised"


async def test_a_keyword_search_for_another_question() -> None:
    bare = TransformRetriever(keywords(TEXTS), Rewriting(OTHER))
    assert (await both(RecallRetriever(bare))).confidence.reason == "rewritten_query"


async def test_a_page_that_only_keywords_found() -> None:
    """A fallback: the dense arm's hits are not on the page."""

    class Fallback(ListRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            dense().retrieve(query_bundle)
            return keywords(TEXTS).retrieve(query_bundle)

    response = RecallRetriever(Fallback([])).recall(QUERY)
    assert response.confidence.basis == "separation"


# What is not heard


class OwnThreads(ListRetriever):
    """Searches in threads without the context of the call."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(dense().retrieve, QueryBundle(query_bundle.query_str)).result()


@contextmanager
def deaf() -> Iterator[None]:
    """A dispatcher that keeps its spans to itself."""
    dispatcher = get_dispatcher("llama_index.core.indices.vector_store.retrievers.retriever")
    dispatcher.propagate = False
    try:
        yield
    finally:
        dispatcher.propagate = True


async def test_what_is_not_heard_is_unknown_or_embedded_again() -> None:
    response = await both(RecallRetriever(OwnThreads([])))
    assert response.confidence.reason == "store_not_recognised"
    response = await both(RecallRetriever(OwnThreads([]), texts_with_metadata(COSINES)))
    assert response.cosine_source == "embeddings"
    assert response.pool.cosines == pytest.approx(COSINES)
    with deaf():
        response = await both(RecallRetriever(fusion(dense())))
    assert response.confidence.reason == "store_not_recognised"
    assert len(response.nodes) == 4


def test_handlers_that_somebody_has_removed() -> None:
    root = get_dispatcher()
    kept, wrapped = list(root.span_handlers), RecallRetriever(fusion(dense()))
    try:
        root.span_handlers = []
        assert wrapped.recall(QUERY).pool.cosines == pytest.approx(COSINES)
        wrapped.recall(QUERY)
        assert len(root.span_handlers) == 1
        removing = Removing([])
        assert RecallRetriever(removing).recall(QUERY).confidence.level == "unknown"
    finally:
        root.span_handlers = kept
    assert wrapped.recall(QUERY).pool.cosines == pytest.approx(COSINES)


def test_a_dispatcher_that_takes_no_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise RuntimeError

    root = get_dispatcher()
    monkeypatch.setattr(root, "span_handlers", [])
    monkeypatch.setattr(type(root), "add_span_handler", refuse)
    response = RecallRetriever(fusion(dense())).recall(QUERY)
    assert response.confidence.level == "unknown"
    assert len(response.nodes) == 4


class Removing(ListRetriever):
    """Takes every handler away in the middle of a call."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        get_dispatcher().span_handlers = []
        return dense().retrieve(query_bundle)


class Failing(BaseRetriever):
    """Fails once it has been asked."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        raise ConnectionError


class FirstThatWorks(ListRetriever):
    """Tries its arms one by one."""

    def __init__(self, *arms: BaseRetriever) -> None:
        self.arms = arms
        super().__init__([])

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        for arm in self.arms:
            try:
                return arm.retrieve(query_bundle)
            except ConnectionError:
                continue
        return []


async def test_an_arm_that_fails_is_not_heard() -> None:
    broken = dense(embedding=Embedding())
    broken._embed_model.break_with(ConnectionError())  # type: ignore[attr-defined]
    response = await both(RecallRetriever(FirstThatWorks(Failing(), broken, dense())))
    assert response.pool.cosines == pytest.approx(COSINES)


async def test_calls_at_the_same_time_hear_their_own() -> None:
    questions = {f"question {at}": [1.0 - at / 100, at / 100, *[0.0] * 14] for at in range(48)}
    index = index_with_cosines(COSINES, embedding=Embedding(questions))
    wrapped = RecallRetriever(fusion(index.as_retriever(similarity_top_k=4), use_async=True))
    alone = {text: (await wrapped.arecall(text)).to_dict() for text in questions}
    assert len({str(report) for report in alone.values()}) > 40
    found = await asyncio.gather(*map(wrapped.arecall, questions))
    assert [one.to_dict() for one in found] == list(alone.values())
    plain = RecallRetriever(fusion(index.as_retriever(similarity_top_k=4)))
    with ThreadPoolExecutor(8) as pool:
        threaded = list(pool.map(plain.recall, questions))
    assert [one.to_dict() for one in threaded] == list(alone.values())


def test_a_search_that_is_left_running_comes_too_late() -> None:
    go, done = threading.Event(), threading.Event()

    class Leaving(ListRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            from contextvars import copy_context

            def later() -> None:
                go.wait(5)
                dense([0.1, 0.05]).retrieve(QUERY)
                done.set()

            threading.Thread(target=copy_context().run, args=(later,)).start()
            return dense().retrieve(query_bundle)

    response = RecallRetriever(Leaving([])).recall(QUERY)
    go.set()
    assert done.wait(5)
    assert response.pool.cosines == pytest.approx(COSINES)


async def test_listeners_inside_of_each_other_hear_the_same() -> None:
    inner = RecallRetriever(fusion(dense()), annotate="none")
    outer = RecallRetriever(fusion(inner, keywords(TEXTS)))
    assert (await both(inner)).pool.cosines == pytest.approx(COSINES)
    response = await both(outer)
    known = [cosine for cosine in response.pool.cosines if cosine is not None]
    assert sorted(known, reverse=True) == pytest.approx(COSINES)


async def test_a_fault_in_reading_keeps_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError

    monkeypatch.setattr("llama_index_recall_signal._arms.Matcher", broken)
    bare = fusion(dense())
    response = await both(RecallRetriever(bare))
    assert page_of(response.nodes) == page_of(bare.retrieve(QUERY))
    assert response.confidence.level == "unknown"


# Whose cosines they are


class Strange(SimpleVectorStore):
    """A store that nobody knows."""

    def query(self, query: Any, **kwargs: Any) -> Any:
        return super().query(query, **kwargs)


class OutOfRange(Strange):
    """Declared as what it is not."""

    def query(self, query: Any, **kwargs: Any) -> Any:
        result = super().query(query, **kwargs)
        result.similarities = [2 * score for score in result.similarities or ()]
        return result


class OutOfRangeAdapter(StoreAdapter[Any]):
    def score_kind(self, store: Any, mode: str) -> ScoreKind:
        return ScoreKind.COSINE


def in_store(store: SimpleVectorStore, cosines: Sequence[float] = COSINES) -> BaseRetriever:
    context = StorageContext.from_defaults(vector_store=store)
    return index_of(nodes_with_cosines(cosines), storage_context=context).as_retriever(
        similarity_top_k=4
    )


async def test_a_rewritten_question_where_the_store_gives_no_vectors() -> None:
    bare = TransformRetriever(in_store(Strange()), Rewriting(OTHER))
    response = await both(RecallRetriever(bare))
    assert (response.confidence.level, response.confidence.reason) == ("unknown", "rewritten_query")
    response = await both(RecallRetriever(bare, texts_with_metadata(COSINES)))
    by_id = dict(zip(response.pool.ids, response.pool.cosines, strict=True))
    assert by_id == pytest.approx({f"n{at}": cosine for at, cosine in enumerate(COSINES)})
    assert response.cosine_source == "embeddings"


async def test_the_question_is_embedded_once_for_stored_vectors() -> None:
    encoder = Embedding({QUERY: QUERY_VECTOR})
    bare = TransformRetriever(dense(embedding=encoder), Rewriting(OTHER))
    response = RecallRetriever(bare).recall(QUERY)
    assert encoder.encoder.queries == [OTHER, QUERY]
    assert response.cosine_source == "vectors"
    encoder.encoder.queries.clear()
    hyde = TransformRetriever(dense(embedding=encoder), Rewriting(strings=[OTHER, QUERY]))
    assert (await both(RecallRetriever(hyde))).cosine_source == "vectors"
    assert encoder.encoder.queries == [OTHER, QUERY] * 2


async def test_a_store_that_is_not_known() -> None:
    bare = fusion(in_store(Strange()))
    assert (await both(RecallRetriever(bare))).confidence.reason == "store_not_recognised"
    response = await both(RecallRetriever(bare, texts_with_metadata(COSINES)))
    assert response.cosine_source == "embeddings"


async def test_a_wrong_setting_is_never_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry._registry, "_adapters", dict(registry._registry._adapters))
    register_adapter(f"{__name__}.OutOfRange", OutOfRangeAdapter())
    bare = fusion(in_store(OutOfRange()), dense())
    response = await both(RecallRetriever(bare, Embedding()))
    assert response.confidence.reason == "score_out_of_range"


async def test_a_vector_of_the_callers_is_compared_with_each_encoders() -> None:
    bundle = QueryBundle(QUERY, embedding=QUERY_VECTOR)
    other = index_with_cosines(COSINES, embedding=Embedding()).as_retriever(similarity_top_k=4)
    response = await both(RecallRetriever(fusion(other, dense())), bundle)
    assert sorted(response.pool.cosines) == pytest.approx(sorted(COSINES))
    assert response.cosine_source == "store"


async def test_a_query_that_is_used_again() -> None:
    """LlamaIndex leaves the vector in it."""
    bundle, wrapped = QueryBundle(QUERY), RecallRetriever(fusion(dense()))
    first = wrapped.recall(bundle)
    assert bundle.embedding is not None
    assert wrapped.recall(bundle).to_dict() == first.to_dict()


async def test_strings_that_are_the_question() -> None:
    bundle = QueryBundle(QUERY, custom_embedding_strs=[QUERY, QUERY])
    response = await both(RecallRetriever(fusion(dense())), bundle)
    assert response.cosine_source == "store"
    assert response.pool.cosines == pytest.approx(COSINES)


async def test_an_empty_question() -> None:
    response = await both(RecallRetriever(fusion(keywords(TEXTS))), "")
    assert response.confidence.reason == "empty_query"


async def test_an_empty_page() -> None:
    class Dropping(FirstThatWorks):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return super()._retrieve(query_bundle)[:0]

    response = await both(RecallRetriever(Dropping(dense())))
    assert (response.confidence.level, response.advice) == ("none", "fallback")
    assert response.confidence.result_count == 0


async def test_items_that_stand_for_nothing_that_was_found() -> None:
    class Replacing(FirstThatWorks):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            super()._retrieve(query_bundle)
            return [NodeWithScore(node=TextNode(text="new"), score=1.0)]

    response = await both(RecallRetriever(Replacing(dense())))
    assert response.confidence.reason == "no_scores"


# Which item is which hit


class Copying(FirstThatWorks):
    """Copies what it found; the copies have other ids or other texts."""

    def __init__(self, *arms: BaseRetriever, **changed: Any) -> None:
        super().__init__(*arms)
        self.changed = changed

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(node=item.node.model_copy(update=self.changed))
            for item in super()._retrieve(query_bundle)
        ][:1]


@pytest.mark.parametrize(
    ("changed", "cosine"),
    [({}, 0.9), ({"id_": "new"}, 0.9), ({"metadata": {}}, 0.9)],
)
async def test_a_copy_is_its_hit(changed: Any, cosine: float) -> None:
    response = await both(RecallRetriever(Copying(dense(), **changed)))
    assert response.pool.cosines == pytest.approx([cosine])


async def test_another_text_under_a_hits_id_is_another_item() -> None:
    response = await both(RecallRetriever(Copying(dense(), text="changed")))
    assert response.confidence.reason == "no_scores"


def hierarchy(levels: int) -> tuple[list[TextNode], list[TextNode]]:
    """Two leaves under a line of parents, and the parents."""
    leaves = nodes_with_cosines([0.9, 0.8])
    line = [TextNode(id_=f"level{at}", text=f"level {at}") for at in range(levels)]
    below: list[TextNode] = leaves
    for parent in line:
        for node in below:
            node.relationships[NodeRelationship.PARENT] = RelatedNodeInfo(node_id=parent.node_id)
        parent.relationships[NodeRelationship.CHILD] = [
            RelatedNodeInfo(node_id=node.node_id) for node in below
        ]
        below = [parent]
    return leaves, line


@pytest.mark.parametrize("levels", [1, 2, 3, 5])
async def test_a_parent_of_parents_has_its_best_descendants_cosine(levels: int) -> None:
    leaves, line = hierarchy(levels)
    context = StorageContext.from_defaults()
    context.docstore.add_documents([*leaves, *line])
    arm: Any = index_of(leaves, storage_context=context).as_retriever(similarity_top_k=2)
    response = await both(RecallRetriever(AutoMergingRetriever(arm, context)))
    assert response.pool.ids == [f"level{levels - 1}"]
    assert response.pool.cosines == pytest.approx([0.9])


def pointers(*index_ids: str, objects: Sequence[Any] = ()) -> list[IndexNode]:
    vectors = vectors_with_cosines(QUERY_VECTOR, COSINES[: len(index_ids)])
    return [
        IndexNode(
            id_=f"i{at}",
            text=f"pointer {at}",
            index_id=id_,
            obj=objects[at] if objects else None,
            embedding=vectors[at].tolist(),
        )
        for at, id_ in enumerate(index_ids)
    ]


async def test_a_target_has_the_cosine_of_what_points_to_it() -> None:
    target = TextNode(id_="whole", text="the whole section")
    encoder = Embedding({QUERY: QUERY_VECTOR})
    arm = index_of(pointers("a", "a", "b"), embedding=encoder).as_retriever(similarity_top_k=3)
    arms = {"root": arm, "b": dense(embedding=encoder)}
    bare = RecursiveRetriever("root", arms, node_dict={"a": target})
    response = await both(RecallRetriever(bare))
    assert response.pool.ids[0] == "whole"
    assert response.pool.cosines == pytest.approx([0.9, *COSINES])


async def test_an_object_of_an_arm_has_the_cosine_of_what_points_to_it() -> None:
    target = TextNode(id_="whole", text="the whole section")
    index = VectorStoreIndex(
        objects=pointers("a", objects=[target]), embed_model=Embedding({QUERY: QUERY_VECTOR})
    )
    response = await both(RecallRetriever(fusion(index.as_retriever())))
    assert response.pool.ids == ["whole"]
    assert response.pool.cosines == pytest.approx([0.9])


async def test_items_of_two_stores_of_one_encoder() -> None:
    encoder = Embedding({QUERY: QUERY_VECTOR})
    one, other = (nodes_with_cosines(cosines) for cosines in ([0.9, 0.2], [0.6, 0.5]))
    for node in other:
        node.id_, node.text = f"other {node.node_id}", f"other {node.text}"
    arms = [index_of(nodes, embedding=encoder).as_retriever() for nodes in (one, other)]
    response = await both(RecallRetriever(fusion(*arms)))
    by_id = dict(zip(response.pool.ids, response.pool.cosines, strict=True))
    expected = {"n0": 0.9, "n1": 0.2, "other n0": 0.6, "other n1": 0.5}
    assert by_id == pytest.approx(expected)
