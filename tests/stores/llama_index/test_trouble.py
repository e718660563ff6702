"""What users of LlamaIndex's stores reported, as cases on real stores.

The rows are those of the project's own list of public reports; LI is run-llama/llama_index.
"""

from itertools import pairwise
from typing import Any

import chromadb
import faiss
import pytest
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor import PrevNextNodePostprocessor, SimilarityPostprocessor
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import IndexNode, NodeRelationship, QueryBundle, TextNode
from llama_index.vector_stores.chroma import ChromaVectorStore
from llama_index.vector_stores.faiss import FaissVectorStore
from llama_index.vector_stores.milvus import MilvusVectorStore
from llama_index.vector_stores.postgres import PGVectorStore
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from llama_index_recall_signal import RecallPostprocessor, RecallRetriever
from recall_signal.testing import vectors_with_cosines
from tests.stores.llama_store_cases import (
    DIMENSION,
    QUERY,
    QUERY_VECTOR,
    Embedding,
    index_with_cosines,
    node_id,
    page_of,
)

COSINES = [0.8, 0.5, 0.3, 0.1, 0.05]


def faiss_index(cosines: list[float] = COSINES, metric: int = faiss.METRIC_L2) -> VectorStoreIndex:
    return index_with_cosines(FaissVectorStore(faiss.IndexFlat(DIMENSION, metric)), cosines)


@pytest.fixture(scope="module")
def postgres_store(postgres_url: str) -> PGVectorStore:
    url = postgres_url.removeprefix("postgresql")
    return PGVectorStore(
        engine=create_engine(f"postgresql+psycopg{url}", poolclass=NullPool),
        async_engine=create_async_engine(f"postgresql+asyncpg{url}", poolclass=NullPool),
        table_name="trouble",
        embed_dim=DIMENSION,
    )


@pytest.fixture(scope="module")
def postgres_index(postgres_store: PGVectorStore) -> VectorStoreIndex:
    return index_with_cosines(postgres_store, COSINES)


class TestRow13:
    """LI#7214: old versions of the Postgres store gave the distance as the score."""

    def test_this_version_gives_the_cosine(self, postgres_index: VectorStoreIndex) -> None:
        bare = postgres_index.as_retriever(similarity_top_k=5)
        assert [item.score for item in bare.retrieve(QUERY)] == pytest.approx(COSINES)
        response = RecallRetriever(bare).recall(QUERY)
        assert response.cosine_source == "store"
        assert response.pool.cosines == pytest.approx(COSINES)

    def test_the_other_direction_is_seen(
        self, postgres_index: VectorStoreIndex, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        as_it_is = PGVectorStore._query_with_score

        def as_it_was(self: Any, *args: Any, **settings: Any) -> Any:
            rows = as_it_is(self, *args, **settings)
            return [row._replace(similarity=1 - row.similarity) for row in rows]

        monkeypatch.setattr(PGVectorStore, "_query_with_score", as_it_was)
        bare = postgres_index.as_retriever(similarity_top_k=5)
        response = RecallRetriever(bare).recall(QUERY)
        assert (response.confidence.level, response.confidence.reason) == (
            "unknown",
            "score_inverted",
        )
        assert page_of(response.nodes) == page_of(bare.retrieve(QUERY))


def linked_index() -> VectorStoreIndex:
    """Nodes that know their neighbours; the best one stands in the middle."""
    vectors = vectors_with_cosines(QUERY_VECTOR, [0.2, 0.8, 0.1, 0.3])
    nodes = [
        TextNode(id_=node_id(number), text=f"stored text {number}", embedding=vector.tolist())
        for number, vector in enumerate(vectors)
    ]
    for one, other in pairwise(nodes):
        one.relationships[NodeRelationship.NEXT] = other.as_related_node_info()
        other.relationships[NodeRelationship.PREVIOUS] = one.as_related_node_info()
    storage = StorageContext.from_defaults(
        vector_store=FaissVectorStore(faiss.IndexFlatIP(DIMENSION))
    )
    storage.docstore.add_documents(nodes)
    encoder = Embedding({QUERY: QUERY_VECTOR})
    return VectorStoreIndex(nodes, storage_context=storage, embed_model=encoder)


class TestRow14:
    """LI#7633, LI#23199: nodes without a score, such as those a postprocessor adds."""

    def test_neighbours_without_a_score_are_kept_and_not_counted_in(self) -> None:
        index = linked_index()
        neighbours = PrevNextNodePostprocessor(docstore=index.docstore, mode="both")
        found = neighbours.postprocess_nodes(index.as_retriever(similarity_top_k=1).retrieve(QUERY))
        assert [item.score for item in found] == [None, pytest.approx(0.8), None]
        signal = RecallPostprocessor(score_kind="cosine")
        page = signal.postprocess_nodes(found, QueryBundle(QUERY))
        assert page_of(page) == page_of(found)
        entries = [item.metadata["recall"] for item in page]
        assert [entry["cosine"] for entry in entries] == [None, pytest.approx(0.8), None]
        confidence = entries[0]["confidence"]
        assert confidence["result_count"] == 3
        assert confidence["top_score"] == 0.8
        assert confidence["basis"] == "absolute"  # one cosine: the other two are neither 0 nor 1

    def test_what_the_retriever_measured_is_not_changed_by_neighbours(self) -> None:
        index = linked_index()
        neighbours = PrevNextNodePostprocessor(docstore=index.docstore, mode="both")
        wrapped = RecallRetriever(index.as_retriever(similarity_top_k=1))
        page = neighbours.postprocess_nodes(wrapped.retrieve(QUERY))
        assert [item.node_id for item in page] == [node_id(n) for n in range(3)]
        assert ["recall" in item.metadata for item in page] == [False, True, False]
        assert page[1].metadata["recall"]["confidence"]["result_count"] == 4

    def test_no_scores_at_all(self) -> None:
        found = faiss_index().as_retriever(similarity_top_k=3).retrieve(QUERY)
        for item in found:
            item.score = None
        signal = RecallPostprocessor(score_kind="cosine")
        page = signal.postprocess_nodes(found, QueryBundle(QUERY))
        assert page_of(page) == page_of(found)
        confidence = page[0].metadata["recall"]["confidence"]
        assert (confidence["level"], confidence["reason"]) == ("unknown", "no_scores")


class TestRow15:
    """LI#12497: `SimilarityPostprocessor` drops nodes without a score, and says nothing."""

    def test_ours_keeps_every_node(self) -> None:
        index = linked_index()
        neighbours = PrevNextNodePostprocessor(docstore=index.docstore, mode="both")
        found = neighbours.postprocess_nodes(index.as_retriever(similarity_top_k=1).retrieve(QUERY))
        theirs = SimilarityPostprocessor(similarity_cutoff=0.0)
        assert len(theirs.postprocess_nodes(list(found))) == 1
        ours = RecallPostprocessor(score_kind="cosine")
        assert page_of(ours.postprocess_nodes(list(found))) == page_of(found)

    @pytest.mark.parametrize("metric", [faiss.METRIC_L2, faiss.METRIC_INNER_PRODUCT])
    def test_what_it_does_to_the_scores_of_faiss(self, metric: int) -> None:
        """A distance called a similarity is cut from the wrong end; the signal is not."""
        bare = faiss_index(metric=metric).as_retriever(similarity_top_k=5)
        cut = SimilarityPostprocessor(similarity_cutoff=0.45)
        kept = [item.metadata["number"] for item in cut.postprocess_nodes(bare.retrieve(QUERY))]
        assert kept == ([1, 2, 3, 4] if metric == faiss.METRIC_L2 else [0, 1])
        response = RecallRetriever(bare).recall(QUERY)
        assert [item.metadata["recall"]["cosine"] for item in response.nodes] == pytest.approx(
            COSINES, abs=1e-4
        )
        assert response.confidence.top_score == 0.8


def texts_of(index: VectorStoreIndex) -> Embedding:
    """Knows the texts as the index embeds them."""
    vectors = vectors_with_cosines(QUERY_VECTOR, COSINES)
    texts = [f"number: {number}\n\nstored text {number}" for number in range(len(COSINES))]
    return Embedding({QUERY: QUERY_VECTOR} | dict(zip(texts, vectors, strict=True)))


class TestRow19:
    """Hybrid and rank-fused scores around 0.016, taken for relevance."""

    async def test_a_rank_fused_page_gets_its_cosines_from_its_parts_or_the_texts(self) -> None:
        index = faiss_index(metric=faiss.METRIC_INNER_PRODUCT)
        parts: list[Any] = [index.as_retriever(similarity_top_k=k) for k in (3, 5)]
        mode = FUSION_MODES.RECIPROCAL_RANK
        bare = QueryFusionRetriever(parts, mode=mode, num_queries=1, llm=MockLLM())
        found = bare.retrieve(QUERY)
        assert max(item.score or 0.0 for item in found) < 0.04
        alone = RecallRetriever(bare, score_kind="rrf").recall(QUERY)
        assert alone.confidence.level == "unknown"
        assert page_of(alone.nodes) == page_of(bare.retrieve(QUERY))
        measured = RecallRetriever(bare).recall(QUERY)
        assert measured.pool.cosines == pytest.approx(COSINES[: len(found)], abs=1e-4)
        wrapped = RecallRetriever(bare, texts_of(index), score_kind="rrf")
        for response in (wrapped.recall(QUERY), await wrapped.arecall(QUERY)):
            assert page_of(response.nodes) == page_of(bare.retrieve(QUERY))
            assert response.cosine_source == "embeddings"
            assert response.pool.cosines == pytest.approx(COSINES[: len(found)], abs=1e-4)


class TestOtherPlacesWhereAScoreIsNoScore:
    @pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local")
    def test_qdrant_gives_a_point_without_a_score_the_score_one(self) -> None:
        """Only what was not searched for has none, so that no page of a retriever holds it."""
        client = QdrantClient(":memory:")
        store = QdrantVectorStore("trouble", client)
        bare = index_with_cosines(store, [0.4]).as_retriever()
        points = client.retrieve("trouble", [node_id(0)])
        assert store.parse_to_query_result(points).similarities == [1.0]
        assert bare.retrieve(QUERY)[0].score == pytest.approx(0.4)
        assert RecallRetriever(bare).recall(QUERY).confidence.top_score == 0.4

    def test_milvus_gives_a_distance_as_a_similarity(self, tmp_path: Any) -> None:
        store = MilvusVectorStore(
            uri=str(tmp_path / "milvus.db"),
            dim=DIMENSION,
            similarity_metric="L2",
            use_async_client=False,
        )
        bare = index_with_cosines(store, COSINES).as_retriever(similarity_top_k=5)
        cut = SimilarityPostprocessor(similarity_cutoff=0.45)
        kept = [item.metadata["number"] for item in cut.postprocess_nodes(bare.retrieve(QUERY))]
        assert kept == [1, 2, 3, 4]  # all but the best
        response = RecallRetriever(bare).recall(QUERY)
        assert response.confidence.top_score == 0.8
        assert response.pool.cosines == pytest.approx(COSINES, abs=1e-4)
        store.client.close()


class TestRecursion:
    """`IndexNode` objects get the score `n.score or 1.0`: a 0 becomes a 1."""

    @pytest.mark.parametrize("metric", [faiss.METRIC_INNER_PRODUCT, faiss.METRIC_L2])
    async def test_a_score_of_zero(self, metric: int) -> None:
        """The inner product of what has nothing in common, or the distance of what is equal."""
        parent = TextNode(id_="parent", text="the whole section")
        cosine = 0.0 if metric == faiss.METRIC_INNER_PRODUCT else 1.0
        vectors = vectors_with_cosines(QUERY_VECTOR, [cosine, 0.3])
        if not cosine:
            vectors[0] = [0.0, 1.0, *[0.0] * (DIMENSION - 2)]  # without any rounding
        summary = IndexNode(
            id_="summary", text="a summary", index_id="parent", obj=parent,
            embedding=vectors[0].tolist(),
        )  # fmt: skip
        other = TextNode(id_="other", text="stored text", embedding=vectors[1].tolist())
        storage = StorageContext.from_defaults(
            vector_store=FaissVectorStore(faiss.IndexFlat(DIMENSION, metric))
        )
        encoder = Embedding({QUERY: QUERY_VECTOR})
        bare = VectorStoreIndex(
            [other], objects=[summary], storage_context=storage, embed_model=encoder
        ).as_retriever()
        found = {item.node_id: item.score for item in bare.retrieve(QUERY)}
        assert found["parent"] == 1.0
        response = RecallRetriever(bare).recall(QUERY)
        assert page_of(response.nodes) == page_of(bare.retrieve(QUERY))
        known = dict(zip(response.pool.ids or (), response.pool.cosines, strict=True))
        assert known["summary" if "summary" in known else "parent"] == pytest.approx(
            cosine, abs=1e-4
        )
        assert response.confidence.top_score == pytest.approx(max(cosine, 0.3), abs=1e-3)


def test_chroma_declared_by_hand_in_a_pipeline_that_shows_nodes_only() -> None:
    """Where only nodes are at hand, the kind has to be said; then it is read like the store's."""
    collection = chromadb.EphemeralClient(
        chromadb.Settings(anonymized_telemetry=False)
    ).get_or_create_collection("trouble-nodes")
    store = ChromaVectorStore(chroma_collection=collection)
    found = index_with_cosines(store, COSINES).as_retriever(similarity_top_k=5).retrieve(QUERY)
    page = RecallPostprocessor(score_kind="exp_neg_squared_l2").postprocess_nodes(found)
    assert [item.metadata["recall"]["cosine"] for item in page] == pytest.approx(COSINES, abs=1e-4)
