"""Where the cosines come from: declared, store, stored vectors, embedded again, or nowhere."""

import pytest
from llama_index.core import SummaryIndex, VectorStoreIndex
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from llama_index_recall_signal import DemoEmbedding, RecallRetriever
from recall_signal import ConfigurationError, Thresholds
from recall_signal.testing import vectors_with_cosines
from tests.llama_index.fakes import (
    QUERY,
    QUERY_VECTOR,
    Embedding,
    ListRetriever,
    nodes_with_cosines,
    scored,
    texts_with_metadata,
)

WORDS = {QUERY: QUERY_VECTOR}


def texts_with_cosines(cosines: list[float]) -> Embedding:
    vectors = vectors_with_cosines(QUERY_VECTOR, cosines)
    return Embedding(WORDS | {f"stored text {n}": v for n, v in enumerate(vectors)})


def test_a_summary_index_has_no_scores() -> None:
    nodes = [TextNode(text="one"), TextNode(text="two")]
    index = SummaryIndex(nodes)
    response = RecallRetriever(index.as_retriever()).recall(QUERY)
    assert [item.score for item in response.nodes] == [None, None]
    assert (response.confidence.level, response.confidence.reason) == ("unknown", "no_scores")
    declared = RecallRetriever(index.as_retriever(), score_kind="cosine").recall(QUERY)
    assert declared.confidence.reason == "no_scores"
    encoded = RecallRetriever(index.as_retriever(), Embedding(), "cosine").recall(QUERY)
    assert encoded.cosine_source == "embeddings"


async def test_texts_are_embedded_as_the_index_embeds_them_and_once() -> None:
    cosines = [0.9, 0.3, 0.2]
    encoder = texts_with_metadata(cosines)
    items = [NodeWithScore(node=n) for n in nodes_with_cosines(cosines)]
    for item in items:
        item.node.embedding = None
    wrapped = RecallRetriever(ListRetriever(items), encoder)
    response = wrapped.recall(QUERY)
    assert response.pool.cosines == pytest.approx(cosines)
    assert response.cosine_source == "embeddings"
    assert (await wrapped.arecall(QUERY)).pool.cosines == pytest.approx(cosines)
    assert [len(batch) for batch in encoder.encoder.batches] == [3]
    assert encoder.encoder.queries == [QUERY, QUERY]
    other = RecallRetriever(ListRetriever(items), texts_with_metadata(cosines))
    assert (await other.arecall(QUERY)).to_dict() == response.to_dict()


def test_texts_are_compared_with_the_question_whatever_was_searched_by() -> None:
    encoder = texts_with_cosines([0.8, 0.1])
    bundle = QueryBundle(QUERY, custom_embedding_strs=["a guess"])
    wrapped = RecallRetriever(ListRetriever(scored(None, None)), encoder)
    assert wrapped.recall(bundle).pool.cosines == pytest.approx([0.8, 0.1])
    assert encoder.encoder.queries == [QUERY]
    empty = wrapped.recall("")
    assert empty.cosine_source == "embeddings"


def carrying(vectors: list[list[float] | None]) -> list[NodeWithScore]:
    items = scored(*[None] * len(vectors))
    for item, vector in zip(items, vectors, strict=True):
        item.node.embedding = vector
    return items


async def test_vectors_that_nodes_carry() -> None:
    vectors = [v.tolist() for v in vectors_with_cosines(QUERY_VECTOR, [0.9, 0.4])]
    items = carrying([vectors[0], None, vectors[1], [0.0] * 16])
    wrapped = RecallRetriever(ListRetriever(items), Embedding(WORDS))
    for response in (wrapped.recall(QUERY), await wrapped.arecall(QUERY)):
        assert response.cosine_source == "vectors"
        assert [c and round(c, 6) for c in response.pool.cosines] == [0.9, None, 0.4, None]
    given = QueryBundle("unknown words", embedding=QUERY_VECTOR)
    assert RecallRetriever(ListRetriever(items)).recall(given).cosine_source == "vectors"
    alone = RecallRetriever(ListRetriever(items)).recall(QUERY)
    assert alone.confidence.reason == "no_scores"
    flat = RecallRetriever(ListRetriever(carrying([[0.0] * 16]))).recall(given)
    assert flat.confidence.reason == "no_scores"


async def test_vectors_that_cannot_be_compared() -> None:
    items = carrying([[1.0, 0.0]])
    given = QueryBundle(QUERY, embedding=QUERY_VECTOR)
    wrapped = RecallRetriever(ListRetriever(items))
    assert wrapped.recall(given).confidence.reason == "embedding_mismatch"
    assert (await wrapped.arecall(given)).confidence.reason == "embedding_mismatch"
    again = RecallRetriever(ListRetriever(items), texts_with_cosines([0.6])).recall(given)
    assert again.cosine_source == "embeddings"
    encoder = Embedding()
    encoder.break_with(RuntimeError())
    broken = RecallRetriever(ListRetriever(items), encoder)
    assert broken.recall(QUERY).confidence.reason == "embedding_failed"


def test_an_encoder_without_a_name_goes_by_its_class() -> None:
    encoder, retriever = MockEmbedding(embed_dim=3), ListRetriever(scored(None))
    RecallRetriever(retriever, encoder, thresholds=Thresholds(encoder="MockEmbedding"))
    with pytest.raises(ConfigurationError, match="cannot be used with 'MockEmbedding'"):
        RecallRetriever(retriever, encoder, thresholds=Thresholds(encoder="a"))


async def test_an_encoder_of_its_own_remembers_no_events() -> None:
    """Its manager of callbacks would, one for each query, until a trace begins on it."""
    encoder = texts_with_cosines([0.8, 0.1])
    wrapped = RecallRetriever(ListRetriever(scored(None, None)), encoder)
    for _ in range(5):
        wrapped.recall(QUERY)
        await wrapped.arecall(QUERY)
    assert sum(map(len, encoder.callback_manager.trace_map.values())) == 0
    assert len(encoder.encoder.queries) == 10


def test_a_handler_of_its_own_hears_the_encoder() -> None:
    encoder, handler = texts_with_cosines([0.8, 0.1]), LlamaDebugHandler(print_trace_on_end=False)
    encoder.callback_manager = CallbackManager([handler])
    RecallRetriever(ListRetriever(scored(None, None)), encoder).recall(QUERY)
    assert handler.get_event_pairs(CBEventType.EMBEDDING)


def test_the_scale_is_also_that_of_the_key_of_a_score() -> None:
    wrapped = RecallRetriever(ListRetriever(scored(0.5, 0.4)), Embedding(), calibration="auto")
    assert wrapped._replace(k=1)._watcher is wrapped._watcher
    other = wrapped._replace(score_key="score", score_kind="cosine")
    assert other._watcher is not wrapped._watcher


def test_an_empty_question_that_cannot_be_searched_is_no_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Strict(DemoEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            if not query:
                raise TypeError("no text")
            return super()._get_query_embedding(query)

    index = VectorStoreIndex([TextNode(text="one")], embed_model=Strict())
    with caplog.at_level("WARNING"):
        assert RecallRetriever(index.as_retriever()).recall("").confidence.reason == "empty_query"
    assert caplog.messages == []
