"""A query that is searched by other words than its question, or by a vector of the caller's."""

import asyncio
import gc
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core import StorageContext
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.query_engine import RetrieverQueryEngine, TransformQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever, TransformRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.retrievers.bm25 import BM25Retriever

from llama_index_recall_signal import (
    DemoEmbedding,
    RecallPostprocessor,
    RecallQueryEngine,
    RecallRetriever,
)
from llama_index_recall_signal import _question as question
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
    scored,
    texts_with_metadata,
)

COSINES = [0.3, 0.28, 0.26, 0.24]
OTHER = "stored text 2"
(OTHER_VECTOR,) = (node.embedding for node in nodes_with_cosines(COSINES)[2:3])
HYDE = Rewriting(strings=[OTHER])


def encoder() -> Embedding:
    """Knows the question, and what is searched by in its place: the very text of a node."""
    return Embedding({QUERY: QUERY_VECTOR, OTHER: OTHER_VECTOR})


def dense(known: Embedding | None = None, top_k: int = 4, **settings: Any) -> Any:
    index = index_with_cosines(COSINES, embedding=known or encoder())
    return index.as_retriever(similarity_top_k=top_k, **settings)


class Strange(SimpleVectorStore):
    """A store that nobody knows, so that it gives no vectors back."""

    def query(self, query: Any, **kwargs: Any) -> Any:
        return super().query(query, **kwargs)


def in_strange_store(known: Embedding | None = None) -> Any:
    context = StorageContext.from_defaults(vector_store=Strange())
    nodes = nodes_with_cosines(COSINES)
    index = index_of(nodes, storage_context=context, embedding=known or encoder())
    return index.as_retriever(similarity_top_k=4)


def fusion(*arms: BaseRetriever, **settings: Any) -> QueryFusionRetriever:
    given = {"num_queries": 1, "use_async": False, "similarity_top_k": 10, "llm": RecordingLLM()}
    return QueryFusionRetriever(list(arms), **dict[str, Any](given | settings))


def other(**settings: Any) -> QueryBundle:
    return QueryBundle(QUERY, custom_embedding_strs=[OTHER], **settings)


async def both(wrapped: RecallRetriever, make: Any = other) -> Any:
    """The response, the same synchronously and not."""
    response = wrapped.recall(make())
    assert (await wrapped.arecall(make())).to_dict() == response.to_dict()
    return response


def cosines_by_id(nodes: Sequence[NodeWithScore]) -> dict[str, float]:
    return {node.node_id: node.metadata["recall"]["cosine"] for node in nodes}


EXPECTED = {f"n{place}": cosine for place, cosine in enumerate(COSINES)}


# Other words


@pytest.mark.parametrize("strings", [[OTHER], [OTHER, QUERY]])
@pytest.mark.parametrize("make", [dense, lambda known: fusion(dense(known))])
async def test_the_page_is_that_of_the_words_and_the_cosines_are_the_questions(
    strings: list[str], make: Any
) -> None:
    bare, bundle = make(encoder()), QueryBundle(QUERY, custom_embedding_strs=strings)
    expected = page_of(bare.retrieve(bundle))
    response = await both(
        RecallRetriever(bare), lambda: QueryBundle(QUERY, custom_embedding_strs=strings)
    )
    assert page_of(response.nodes) == expected
    assert response.nodes[0].node_id == "n2"
    assert cosines_by_id(response.nodes) == pytest.approx(EXPECTED)
    assert response.cosine_source == "vectors"
    assert response.confidence.top_score == 0.3
    assert response.advice == "fallback"


async def test_a_transform_around_a_wrapper() -> None:
    around = TransformRetriever(RecallRetriever(dense()), HYDE)
    inside = RecallRetriever(TransformRetriever(dense(), HYDE))
    for nodes in (around.retrieve(QUERY), await around.aretrieve(QUERY), inside.retrieve(QUERY)):
        assert nodes[0].node_id == "n2"
        assert cosines_by_id(nodes) == pytest.approx(EXPECTED)


async def test_a_transform_around_an_engine() -> None:
    engine = RecallQueryEngine(RetrieverQueryEngine.from_args(dense(), llm=RecordingLLM()))
    around = TransformQueryEngine(engine, HYDE)
    for response in (around.query(QUERY), await around.aquery(QUERY)):
        assert response.metadata is not None
        assert response.metadata["recall"]["confidence"]["top_score"] == 0.3
        assert response.source_nodes[0].node_id == "n2"


@pytest.mark.parametrize("use_async", [False, True])
async def test_a_wrapped_arm_of_a_fusion(use_async: bool) -> None:
    arms = [RecallRetriever(dense()), RecallRetriever(dense())]
    bare: Any = fusion(*arms, use_async=use_async)
    for nodes in (
        await asyncio.to_thread(bare.retrieve, other()),
        await bare.aretrieve(other()),
    ):
        assert cosines_by_id(nodes) == pytest.approx(EXPECTED)


async def test_the_question_is_embedded_once_beside_the_words() -> None:
    known = encoder()
    wrapped = RecallRetriever(dense(known))
    wrapped.retrieve(other())
    assert known.encoder.queries == [OTHER, QUERY]
    await wrapped.aretrieve(other())
    assert known.encoder.queries == [OTHER, QUERY] * 2


async def test_words_that_are_the_question() -> None:
    """A transform that is handed a text puts that text beside itself."""
    known = encoder()
    response = await both(
        RecallRetriever(dense(known)), lambda: QueryBundle(QUERY, custom_embedding_strs=[QUERY])
    )
    assert known.encoder.queries == [QUERY, QUERY]
    assert response.cosine_source == "store"


async def test_a_store_that_gives_no_vectors() -> None:
    response = await both(RecallRetriever(in_strange_store(), score_kind="cosine"))
    assert (response.confidence.level, response.confidence.reason) == ("unknown", "rewritten_query")
    again = await both(
        RecallRetriever(in_strange_store(), texts_with_metadata(COSINES), score_kind="cosine")
    )
    assert again.cosine_source == "embeddings"
    assert cosines_by_id(again.nodes) == pytest.approx(EXPECTED)


async def test_a_retriever_of_an_unknown_kind() -> None:
    nodes = scored(0.9, 0.5)
    response = await both(RecallRetriever(ListRetriever(nodes), score_kind="cosine"))
    assert response.confidence.reason == "rewritten_query"
    vectors = vectors_with_cosines(QUERY_VECTOR, [0.4, 0.1])
    for node, vector in zip(nodes, vectors, strict=True):
        node.node.embedding = vector.tolist()
    response = await both(RecallRetriever(ListRetriever(nodes), encoder(), score_kind="cosine"))
    assert response.cosine_source == "vectors"
    assert response.pool.cosines == pytest.approx([0.4, 0.1])


async def test_keyword_scores_are_of_the_question_whatever_is_embedded() -> None:
    bm25 = BM25Retriever(list(nodes_with_cosines(COSINES)), similarity_top_k=2)
    response = await both(RecallRetriever(bm25))
    assert response.confidence.basis == "separation"
    declared = await both(RecallRetriever(ListRetriever(scored(3.0, 1.0)), score_kind="bm25"))
    assert declared.pool.scores == [3.0, 1.0]


class ByText(SimpleVectorStore):
    """Searches by the text of the question, as a store with an encoder of its own does."""

    is_embedding_query: bool = False

    def query(self, query: Any, **kwargs: Any) -> Any:
        assert query.query_embedding is None
        query.query_embedding = QUERY_VECTOR
        return super().query(query, **kwargs)


async def test_a_store_that_embeds_by_itself_has_embedded_the_question() -> None:
    context = StorageContext.from_defaults(vector_store=ByText())
    index = index_of(nodes_with_cosines(COSINES), storage_context=context, embedding=encoder())
    wrapped = RecallRetriever(index.as_retriever(similarity_top_k=4), score_kind="cosine")
    response = await both(wrapped)
    assert (response.cosine_source, response.confidence.top_score) == ("declared", 0.3)


async def test_a_postprocessor_behind_a_transform() -> None:
    processor = RecallPostprocessor(score_kind="cosine")
    nodes = scored(0.9, 0.5)
    for page in (
        processor.postprocess_nodes(nodes, other()),
        await processor.apostprocess_nodes(nodes, other()),
    ):
        assert page[0].metadata["recall"]["confidence"]["reason"] == "rewritten_query"


# A vector of the caller's


@pytest.mark.parametrize("make", [dense, lambda known: fusion(dense(known))])
async def test_a_vector_of_other_words(make: Any) -> None:
    known = encoder()
    response = await both(
        RecallRetriever(make(known)), lambda: QueryBundle(QUERY, embedding=OTHER_VECTOR)
    )
    assert response.nodes[0].node_id == "n2"
    assert cosines_by_id(response.nodes) == pytest.approx(EXPECTED)
    assert known.encoder.queries == [QUERY, QUERY]


@pytest.mark.parametrize("make", [dense, lambda known: fusion(dense(known))])
async def test_a_vector_of_the_question(make: Any) -> None:
    known = encoder()
    nearly = [*QUERY_VECTOR[:-1], 1e-3]  # services answer a little differently each time
    response = await both(
        RecallRetriever(make(known)), lambda: QueryBundle(QUERY, embedding=nearly)
    )
    assert response.cosine_source == "store"
    assert response.pool.cosines == pytest.approx(COSINES, abs=2e-3)
    assert known.encoder.queries == [QUERY, QUERY]  # to compare them


@pytest.mark.parametrize("vector", [[1.0, 0.0], [0.0] * 16])
async def test_a_vector_that_cannot_be_compared(vector: list[float]) -> None:
    asked = question.Question(QueryBundle(QUERY, embedding=vector), encoder(), vector)
    steps = asked.doubt()
    next(steps)
    with pytest.raises(StopIteration) as stopped:
        steps.send(QUERY_VECTOR)
    assert stopped.value.value == asked.reason == "rewritten_query"


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (dense, "embedding_failed"),
        (lambda known: fusion(dense(known)), "embedding_failed"),
        (in_strange_store, "embedding_failed"),
    ],
)
async def test_a_vector_whose_encoder_is_down(make: Any, reason: str) -> None:
    known = encoder()
    known.break_with(ConnectionError())
    wrapped = RecallRetriever(make(known), score_kind="auto")
    response = await both(wrapped, lambda: QueryBundle(QUERY, embedding=QUERY_VECTOR))
    assert (response.confidence.level, response.confidence.reason) == ("unknown", reason)
    assert len(response.nodes) == 4


async def test_an_empty_question_with_a_vector_is_not_embedded() -> None:
    known = encoder()
    response = await both(
        RecallRetriever(dense(known)), lambda: QueryBundle("", embedding=QUERY_VECTOR)
    )
    assert response.confidence.reason == "empty_query"
    assert known.encoder.queries == []


@pytest.mark.parametrize("make", [dense, lambda known: fusion(dense(known))])
def test_a_query_that_is_used_again_is_embedded_once(make: Any) -> None:
    """LlamaIndex leaves the vector in it."""
    known, bundle = encoder(), QueryBundle(QUERY)
    wrapped = RecallRetriever(make(known))
    first = wrapped.recall(bundle)
    assert bundle.embedding is not None
    assert wrapped.recall(bundle).to_dict() == first.to_dict()
    assert known.encoder.queries == [QUERY]
    reworded = other()
    wrapped.recall(reworded)
    assert reworded.embedding is not None
    assert wrapped.recall(reworded).confidence.top_score == 0.3


def test_wrapped_arms_embed_a_question_once_for_each_encoder() -> None:
    known, second = encoder(), Embedding({QUERY: OTHER_VECTOR})
    arms = [dense(known), dense(known), dense(second)]
    fusion(*map(RecallRetriever, arms)).retrieve(QUERY)
    assert known.encoder.queries == [QUERY]
    assert second.encoder.queries == [QUERY]  # the vector in the query is none of its own


def test_a_batch_embeds_each_question_once() -> None:
    known = DemoEmbedding()
    asked: list[str] = []
    together = type(known).embed_queries

    class Counting(DemoEmbedding):
        def embed_queries(self, texts: list[str]) -> list[list[float]]:
            asked.extend(texts)
            return together(self, texts)

        def _get_query_embedding(self, query: str) -> list[float]:
            asked.append(query)
            return super()._get_query_embedding(query)

    nodes = nodes_with_cosines(COSINES)
    for node in nodes:
        node.embedding = None
    index = index_of(nodes, embedding=Counting())
    RecallRetriever(index.as_retriever()).batch(["one", "two"])
    assert asked == ["one", "two"]


def test_nothing_is_remembered_of_a_query_that_is_gone() -> None:
    gc.collect()
    before = len(question._own)
    wrapped, bundle = RecallRetriever(dense()), QueryBundle(QUERY)
    wrapped.retrieve(bundle)
    assert len(question._own) == before + 1
    del bundle
    gc.collect()
    assert len(question._own) == before


# What learns from queries


class Seen:
    """Stands for what learns from the queries of a wrapper."""

    def __init__(self) -> None:
        self.plain: list[bool] = []

    def __call__(self, outcome: Any, *, is_plain: bool, is_async: bool) -> None:
        self.plain.append(is_plain)


@pytest.mark.parametrize("make", [dense, lambda known: fusion(dense(known))])
@pytest.mark.parametrize(
    ("bundle", "is_plain"),
    [
        (lambda: QUERY, True),
        (lambda: QueryBundle(QUERY, custom_embedding_strs=[QUERY]), True),
        (lambda: QueryBundle(QUERY, embedding=QUERY_VECTOR), True),
        (other, False),
        (lambda: QueryBundle(QUERY, embedding=OTHER_VECTOR), False),
    ],
)
async def test_only_a_question_in_its_own_words_is_learned_from(
    make: Any, bundle: Any, is_plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrapped, seen = RecallRetriever(make(encoder())), Seen()
    monkeypatch.setattr(type(wrapped._runtime.flow.calibration), "observe", seen)
    wrapped.retrieve(bundle())
    await wrapped.aretrieve(bundle())
    assert seen.plain == [is_plain] * 2
