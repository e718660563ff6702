"""Where the cosines come from: declared, store, stored vectors, embedded again, or nowhere."""

import pytest
from llama_fakes import (
    QUERY,
    QUERY_VECTOR,
    Embedding,
    ListRetriever,
    nodes_with_cosines,
    scored,
    texts_with_metadata,
)
from llama_index.core import SummaryIndex
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from llama_index_recall_signal import RecallRetriever
from recall_signal import ScoreKind, to_cosine
from recall_signal.testing import vectors_with_cosines

CONVERTIBLE = [kind for kind in ScoreKind if kind.convertible]
WORDS = {QUERY: QUERY_VECTOR}


def texts_with_cosines(cosines: list[float]) -> Embedding:
    vectors = vectors_with_cosines(QUERY_VECTOR, cosines)
    return Embedding(WORDS | {f"stored text {n}": v for n, v in enumerate(vectors)})


@pytest.mark.parametrize("kind", CONVERTIBLE)
async def test_every_declared_kind_is_read_by_its_formula(kind: ScoreKind) -> None:
    by_rank = sorted([0.6, 0.55, 0.5], key=lambda score: to_cosine(score, kind), reverse=True)
    scores = [*by_rank, None]
    wrapped = RecallRetriever(ListRetriever(scored(*scores)), score_kind=kind)
    response = wrapped.recall(QUERY)
    assert response.pool.cosines == [to_cosine(score, kind) for score in scores]
    assert response.cosine_source == "declared"
    assert (await wrapped.arecall(QUERY)).to_dict() == response.to_dict()


@pytest.mark.parametrize("kind", [k for k in ScoreKind if not k.convertible and k != "bm25"])
def test_no_cosine_is_made_of_a_score_that_holds_none(kind: ScoreKind) -> None:
    wrapped = RecallRetriever(ListRetriever(scored(1.0, 0.4, 0.0)), score_kind=kind)
    confidence = wrapped.recall(QUERY).confidence
    assert (confidence.level, confidence.reason) == ("unknown", "score_not_convertible")


def test_keyword_scores_decide_as_such() -> None:
    wrapped = RecallRetriever(ListRetriever(scored(9.0, 2.0, 1.5, 1.0, None)), score_kind="bm25")
    response = wrapped.recall(QUERY)
    assert response.confidence.basis == "separation"
    assert response.confidence.result_count == 5
    assert response.cosine_source is None
    assert [item.score for item in response.nodes] == [9.0, 2.0, 1.5, 1.0, None]
    nothing = RecallRetriever(ListRetriever(scored(None)), score_kind="bm25").recall(QUERY)
    assert nothing.confidence.reason == "no_scores"


def test_a_declared_kind_that_cannot_be_right() -> None:
    for embed_model in (None, texts_with_cosines([0.9, 0.1])):
        wrapped = RecallRetriever(ListRetriever(scored(7.5, 0.2)), embed_model, "cosine")
        confidence = wrapped.recall(QUERY).confidence
        assert (confidence.level, confidence.reason) == ("unknown", "score_out_of_range")
    for score, kind in ((-0.5, "l2"), (1e-200, "inverse_l2")):
        wrapped = RecallRetriever(ListRetriever(scored(score)), score_kind=kind)
        assert wrapped.recall(QUERY).confidence.reason == "score_out_of_range"


def test_unscored_candidates_are_kept_and_not_counted_in() -> None:
    wrapped = RecallRetriever(ListRetriever(scored(0.9, None, 0.2, None)), score_kind="cosine")
    response = wrapped.recall(QUERY)
    assert [item.score for item in response.nodes] == [0.9, None, 0.2, None]
    assert response.pool.cosines == [0.9, None, 0.2, None]
    assert response.confidence.result_count == 4
    assert [item.metadata["recall"]["cosine"] for item in response.nodes] == [0.9, None, 0.2, None]


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


def test_undeclared_scores_are_not_believed() -> None:
    confidence = RecallRetriever(ListRetriever(scored(0.99, 0.1))).recall(QUERY).confidence
    assert (confidence.level, confidence.reason) == ("unknown", "store_not_recognised")


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


def test_custom_embedding_strings_stand_for_the_query() -> None:
    encoder = texts_with_cosines([0.8, 0.1])
    bundle = QueryBundle("a question", custom_embedding_strs=[QUERY])
    wrapped = RecallRetriever(ListRetriever(scored(None, None)), encoder)
    assert wrapped.recall(bundle).pool.cosines == pytest.approx([0.8, 0.1])
    empty = wrapped.recall("")
    assert empty.cosine_source == "embeddings"


def test_at_most_pool_size_texts_are_embedded() -> None:
    encoder = texts_with_cosines([0.5] * 9)
    response = RecallRetriever(ListRetriever(scored(*[None] * 9)), encoder, pool_size=4).recall("q")
    assert len(encoder.encoder.batches[0]) == 4
    assert response.confidence.result_count == 9


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_a_broken_encoder_costs_no_page(way: str, caplog: pytest.LogCaptureFixture) -> None:
    encoder = Embedding()
    encoder.break_with(RuntimeError("a secret in the message"))
    wrapped = RecallRetriever(ListRetriever(scored(0.3, 0.2)), encoder)
    response = wrapped.recall(QUERY) if way == "sync" else await wrapped.arecall(QUERY)
    assert response.confidence.reason == "embedding_failed"
    assert [item.score for item in response.nodes] == [0.3, 0.2]
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text


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
