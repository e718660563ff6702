"""What users of these stores reported, each row a test: scores that look like relevance."""

from typing import Any

import numpy as np
import pytest
from elasticsearch.helpers.vectorstore import AsyncDenseVectorStrategy, DistanceMetric
from langchain_core.vectorstores import VectorStoreRetriever
from langchain_elasticsearch import (
    BM25Strategy,
    DenseVectorScriptScoreStrategy,
    DenseVectorStrategy,
    ElasticsearchStore,
)
from langchain_mongodb import MongoDBAtlasVectorSearch
from langchain_pinecone import PineconeVectorStore
from langchain_world import Encoder
from llama_index.core import VectorStoreIndex
from llama_store_cases import Embedding
from remote_rows import Rows, filled
from test_remote_astra import FakeCollection as FakeAstra
from test_remote_astra import store_over as astra
from test_remote_azure_search import FakeSearch
from test_remote_azure_search import store_over as azure
from test_remote_elasticsearch import AsyncTwinOf, FakeElasticsearch
from test_remote_llama_elasticsearch import LlamaElasticsearch, _no_patched_loops
from test_remote_mongodb import FakeCollection as FakeMongo
from test_remote_opensearch import FakeOpenSearch
from test_remote_opensearch import store_over as opensearch
from test_remote_pinecone import FakeIndex
from test_remote_weaviate import FakeCollection as FakeWeaviate
from test_remote_weaviate import store_over as weaviate

from langchain_recall_signal import RecallRetriever
from llama_index_recall_signal import RecallRetriever as LlamaRecall
from recall_signal import NOT_CONVERTIBLE, ScoreKind, assess
from recall_signal.scores import to_cosine
from recall_signal.testing import vectors_with_cosines

__all__ = ["_no_patched_loops"]  # a fixture

QUERY = "query 7"
ASKED = np.eye(16)[0]
ON_TOPIC = [0.82, 0.55, 0.5, 0.41, 0.35, 0.3, 0.2, 0.1]
OFF_TOPIC = [0.12, 0.118, 0.115, 0.113, 0.11, 0.108, 0.105, 0.1]


def rows_with(cosines: list[float]) -> tuple[Rows, Encoder]:
    """Documents ``t0``, ``t1``, ... with these cosines, and an encoder that knows them."""
    rows, vectors = Rows(), vectors_with_cosines(ASKED, cosines)
    known: dict[str, Any] = {QUERY: ASKED.tolist()}
    for number, vector in enumerate(vectors):
        rows.add(f"{number:08}-0000-0000-0000-000000000000", f"t{number}", {}, vector)
        known[f"t{number}"] = vector.tolist()
    return rows, Encoder(known)


def elasticsearch(rows: Rows, encoder: Any, similarity: str, **strategy: Any) -> Any:
    client: Any = FakeElasticsearch(rows, similarity)
    kind = strategy.pop("kind", DenseVectorStrategy)
    return ElasticsearchStore("index", client=client, embedding=encoder, strategy=kind(**strategy))


class TestRow10:
    """weaviate/weaviate#3385: every relevance lies between 0.5 and 0.74, whatever is asked."""

    @pytest.mark.parametrize("cosines", [ON_TOPIC, OFF_TOPIC], ids=["on topic", "off topic"])
    def test_the_stores_own_relevance_tells_nothing(self, cosines: list[float]) -> None:
        rows, encoder = rows_with(cosines)
        store = weaviate(FakeWeaviate(rows), encoder)
        found = store.similarity_search_with_relevance_scores(QUERY, k=8)
        assert all(0.5 <= relevance <= 0.74 for _, relevance in found)
        response = RecallRetriever.from_vectorstore(store, k=8).recall(QUERY)
        assert response.confidence.level == "unknown"
        assert response.confidence.reason == "score_not_convertible"

    def test_the_stored_vectors_do(self) -> None:
        levels = []
        for cosines in (ON_TOPIC, OFF_TOPIC):
            rows, encoder = rows_with(cosines)
            store = weaviate(FakeWeaviate(rows), encoder)
            told = {"include_vector": True}
            wrapped = RecallRetriever.from_vectorstore(store, k=8, search_kwargs=told)
            levels.append(wrapped.recall(QUERY).confidence.level)
        assert levels == ["high", "none"]


@pytest.mark.usefixtures("_no_patched_loops")
class TestRow11:
    """run-llama/llama_index#12486, #12567, #8510: Elasticsearch's best hit always has 1.0."""

    def retriever(self, cosines: list[float], encoder: Any) -> Any:
        texts = [f"t{number}" for number in range(len(cosines))]
        client: Any = AsyncTwinOf(
            FakeElasticsearch(filled(texts, vectors_with_cosines(ASKED, cosines)))
        )
        strategy = AsyncDenseVectorStrategy()
        store = LlamaElasticsearch("index", es_client=client, retrieval_strategy=strategy)
        index = VectorStoreIndex.from_vector_store(store, embed_model=encoder)
        return index.as_retriever(similarity_top_k=8)

    def test_an_off_topic_query_is_never_high(self) -> None:
        bare = self.retriever(OFF_TOPIC, Embedding({QUERY: ASKED}))
        assert [bare.retrieve(QUERY)[n].score for n in (0, -1)] == [1.0, 0.0]
        response = LlamaRecall(bare).recall(QUERY)
        assert (response.confidence.level, response.confidence.reason) == (
            "unknown",
            "score_not_convertible",
        )
        assert assess([1.0, *np.linspace(0.9, 0.0, 7)]).level == "high"  # what it would look like

    def test_with_an_encoder_the_level_is_the_cosines(self) -> None:
        known = {f"t{n}": v for n, v in enumerate(vectors_with_cosines(ASKED, OFF_TOPIC))}
        encoder = Embedding({QUERY: ASKED, **known})
        encoder.encoder.vectors |= {f"number: {n}\n\nt{n}": known[f"t{n}"] for n in range(8)}
        response = LlamaRecall(self.retriever(OFF_TOPIC, encoder), encoder).recall(QUERY)
        assert response.cosine_source == "embeddings"
        assert response.confidence.level == "none"

    @pytest.mark.parametrize("score", [0.0, 0.5, 1.0])
    def test_the_kind_refuses_conversion(self, score: float) -> None:
        assert to_cosine(score, ScoreKind.MINMAX) is None
        assert ScoreKind.MINMAX in NOT_CONVERTIBLE


L2, DOT = DistanceMetric.EUCLIDEAN_DISTANCE, DistanceMetric.DOT_PRODUCT
EXACT = DenseVectorScriptScoreStrategy
STORES: dict[str, Any] = {
    "pinecone cosine": lambda r, e: PineconeVectorStore(FakeIndex(r, "cosine"), e),
    "pinecone dotproduct": lambda r, e: PineconeVectorStore(FakeIndex(r, "dotproduct"), e),
    "pinecone euclidean": lambda r, e: PineconeVectorStore(FakeIndex(r, "euclidean"), e),
    "elasticsearch cosine": lambda r, e: elasticsearch(r, e, "cosine"),
    "elasticsearch dot": lambda r, e: elasticsearch(r, e, "dot_product", distance=DOT),
    "elasticsearch l2": lambda r, e: elasticsearch(r, e, "l2_norm", distance=L2),
    "elasticsearch exact cosine": lambda r, e: elasticsearch(r, e, "cosine", kind=EXACT),
    "elasticsearch exact dot": lambda r, e: elasticsearch(r, e, "", kind=EXACT, distance=DOT),
    "elasticsearch exact l2": lambda r, e: elasticsearch(r, e, "", kind=EXACT, distance=L2),
    "opensearch l2": lambda r, e: opensearch(FakeOpenSearch(r, "l2"), e),
    "opensearch cosinesimil": lambda r, e: opensearch(FakeOpenSearch(r, "cosinesimil"), e),
    "opensearch innerproduct": lambda r, e: opensearch(FakeOpenSearch(r, "innerproduct"), e),
    "mongodb cosine": lambda r, e: MongoDBAtlasVectorSearch(FakeMongo(r, "cosine"), e),  # type: ignore[arg-type]
    "mongodb dotProduct": lambda r, e: MongoDBAtlasVectorSearch(FakeMongo(r, "dotProduct"), e),  # type: ignore[arg-type]
    "mongodb euclidean": lambda r, e: MongoDBAtlasVectorSearch(FakeMongo(r, "euclidean"), e),  # type: ignore[arg-type]
    "azure cosine": lambda r, e: azure(FakeSearch(r, "cosine"), e, search_type="similarity"),
    "azure euclidean": lambda r, e: azure(FakeSearch(r, "euclidean"), e, search_type="similarity"),
    "astra cosine": lambda r, e: astra(FakeAstra(r, "cosine"), e),
    "astra dot_product": lambda r, e: astra(FakeAstra(r, "dot_product"), e),
    "astra euclidean": lambda r, e: astra(FakeAstra(r, "euclidean"), e),
}


class TestRow17:
    """langchain-ai/langchain#4517: one hit, one number for each store; here, one cosine."""

    @pytest.mark.parametrize("name", STORES)
    def test_the_cosine_is_the_same_in_every_store(self, name: str) -> None:
        rows, encoder = rows_with(ON_TOPIC)
        store = STORES[name](rows, encoder)
        bare = VectorStoreRetriever(vectorstore=store, search_kwargs={"k": 8})
        response = RecallRetriever(retriever=bare).recall(QUERY)
        assert response.pool.cosines == pytest.approx(ON_TOPIC, abs=1e-4)
        assert response.confidence.level == "high"

    def test_their_own_numbers_are_not(self) -> None:
        rows, encoder = rows_with([0.5])
        numbers = {
            round(store(rows, encoder).similarity_search_with_score(QUERY, k=1)[0][1], 3)
            for store in STORES.values()
        }
        assert numbers == {0.5, 0.75, 1.0, 1.5, 0.622, 0.667}
        # cosine or squared L2 of 1 or (1 + c) / 2 or ... 1 / (1 + 1): 0.5 again, of another kind


class TestRow18:
    """opentelemetry-python-genai#584: tracers take ``metadata["score"]`` for the relevance."""

    @pytest.mark.parametrize("name", ["pinecone cosine", "opensearch l2", "astra euclidean"])
    def test_no_key_that_a_tracer_would_take_is_written(self, name: str) -> None:
        rows, encoder = rows_with(ON_TOPIC)
        store = STORES[name](rows, encoder)
        bare = store.as_retriever(search_kwargs={"k": 3})
        response = RecallRetriever(retriever=bare).recall(QUERY)
        for ours, theirs in zip(response.documents, bare.invoke(QUERY), strict=True):
            assert ours.metadata.keys() - theirs.metadata.keys() == {"recall"}
            entry = ours.metadata["recall"]
            assert not entry.keys() & {"score", "relevance_score", "similarity"}
            assert entry["cosine_source"] in {"store", "vectors"}
            assert entry["cosine"] == pytest.approx(ON_TOPIC[entry["rank"]], abs=1e-3)


class TestRow21:
    """vectorize-io/hindsight#1823: ranks alone leave no trace of how good the best hit is."""

    def test_the_same_ranking_of_other_strengths_is_judged_otherwise(self) -> None:
        found = {}
        for cosines in (ON_TOPIC, OFF_TOPIC):
            rows, encoder = rows_with(cosines)
            store = PineconeVectorStore(FakeIndex(rows, "cosine"), encoder)
            response = RecallRetriever.from_vectorstore(store, k=8).recall(QUERY)
            texts = tuple(document.page_content for document in response.documents)
            found[response.confidence.level] = (texts, response.confidence.top_score)
        ranking = tuple(f"t{n}" for n in range(8))
        assert found == {"high": (ranking, 0.82), "none": (ranking, 0.12)}


class TestRow66:
    """scrypster/muninndb#711: an off-topic query got a relevance of 0.9999 out of BM25."""

    def recall(self, scores: list[float]) -> Any:
        rows = Rows()
        for number in range(len(scores)):
            rows.add(str(number), f"text {number}", {}, [1.0, 0.0])
        client: Any = FakeElasticsearch(rows)
        ranked = list(zip(rows.all, scores, strict=True))
        rows.by_words = lambda query, limit: ranked[:limit]  # type: ignore[method-assign]
        store = ElasticsearchStore("index", client=client, strategy=BM25Strategy())
        return RecallRetriever.from_vectorstore(store, k=8).recall("anything").confidence

    @pytest.mark.parametrize("size", [0.001, 1.0, 1000.0])
    def test_large_scores_do_not_saturate(self, size: float) -> None:
        """Eight hits that are equally good stand out from nothing, however large their score."""
        flat = self.recall([size] * 8)
        assert (flat.level, flat.basis) == ("none", "separation")
        assert flat.top_score == pytest.approx(size)
        assert (flat.prominence, flat.relative_margin, flat.probability) == (None, None, None)

    def test_the_level_does_not_depend_on_the_scale(self) -> None:
        levels = {
            self.recall([s * size for s in (9, 5, 5, 4, 4, 3, 3, 2)]).level for size in (1, 99)
        }
        assert len(levels) == 1

    def test_where_nothing_can_be_said_the_level_is_not_low(self) -> None:
        rows, encoder = rows_with(OFF_TOPIC)
        store = weaviate(FakeWeaviate(rows), encoder)
        confidence = RecallRetriever.from_vectorstore(store, k=8).recall(QUERY).confidence
        assert (confidence.level, confidence.basis) == ("unknown", None)


def test_row_20_a_fused_page_is_the_bare_retrievers() -> None:
    """DeytaHQ/khora#811: the order before and after is the same."""
    rows, encoder = rows_with([*np.linspace(0.9, -0.9, 60)])  # type: ignore[list-item]
    bare = weaviate(FakeWeaviate(rows), encoder).as_retriever(search_kwargs={"k": 3})
    wrapped = RecallRetriever(retriever=bare)
    assert [d.page_content for d in wrapped.invoke(QUERY)] == [
        d.page_content for d in bare.invoke(QUERY)
    ]


def test_scores_that_a_store_writes_into_metadata_stay_there() -> None:
    rows, encoder = rows_with(ON_TOPIC)
    collection: Any = FakeMongo(rows)
    store = MongoDBAtlasVectorSearch(collection, encoder)
    bare = store.as_retriever(search_kwargs={"k": 3, "include_scores": True})
    assert "score" in bare.invoke(QUERY)[0].metadata
    assert "score" in RecallRetriever(retriever=bare).invoke(QUERY)[0].metadata


def test_candidates_asked_of_each_shard_stay_as_they_were() -> None:
    rows, encoder = rows_with(ON_TOPIC)
    store = elasticsearch(rows, encoder, "cosine")
    seen: list[int] = []
    search = store.client.search

    def looking(**body: Any) -> Any:
        seen.append(body["knn"]["num_candidates"])
        return search(**body)

    store.client.search = looking
    bare = store.as_retriever(search_kwargs={"k": 3, "fetch_k": 200})
    bare.invoke(QUERY)
    RecallRetriever(retriever=bare).invoke(QUERY)
    assert seen == [200, 200]
