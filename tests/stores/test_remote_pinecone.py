"""Pinecone, read and not run: three metrics of an index, and both frameworks' stores."""

from copy import deepcopy
from typing import Any, ClassVar

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_pinecone import PineconeVectorStore
from langchain_world import Encoder
from llama_index.core import VectorStoreIndex
from llama_index.vector_stores.pinecone import PineconeVectorStore as LlamaPinecone
from llama_store_cases import Embedding
from remote_rows import (
    OTHERS,
    AsyncTwin,
    LlamaRemoteConformance,
    Metric,
    RemoteConformance,
    Rows,
    Shape,
    cosine,
    filled,
    product,
    squared,
)

from langchain_recall_signal import RecallRetriever
from langchain_recall_signal.stores import find_adapter
from llama_index_recall_signal import RecallRetriever as LlamaRecall
from recall_signal import ScoreKind

METRICS: dict[str, Metric] = {"cosine": cosine, "dotproduct": product, "euclidean": squared}


class FakeIndex:
    """The data side of one index. Texts lie in the metadata."""

    config = Shape(host="index.example", api_key="none")

    def __init__(self, rows: Rows, metric: str) -> None:
        self.rows, self.metric, self.described = rows, metric, 0

    def describe_index_stats(self) -> Any:
        self.described += 1
        told = {"metric": self.metric} if self.metric else {}
        return Shape(dimension=16, vector_type="dense", **told)

    def query(
        self,
        vector: list[float],
        top_k: int,
        include_values: bool = False,
        sparse_vector: Any = None,
        **rest: Any,
    ) -> Any:
        metric = METRICS.get(self.metric, cosine)
        matches = [
            Shape(
                id=row.id,
                score=score + (0.0 if sparse_vector is None else 0.3),
                values=list(row.vector) if include_values else [],
                metadata=_held(row),
            )
            for row, score in self.rows.nearest(vector, metric, top_k)
        ]
        return Shape(matches=matches, namespace="")

    def fetch(self, ids: list[str], namespace: str | None = None) -> Any:
        found = {
            row.id: Shape(id=row.id, values=list(row.vector), metadata=_held(row))
            for row in self.rows.of(ids)
        }
        return Shape(vectors=found, namespace=namespace)


def _held(row: Any) -> dict[str, Any]:
    return {**deepcopy(row.metadata), "text": row.text}


class InPinecone(RemoteConformance):
    metric = "cosine"

    def serve(self, rows: Rows, encoder: Embeddings) -> Any:
        index = FakeIndex(rows, self.metric)
        store = PineconeVectorStore(index, encoder)
        # The class makes its asynchronous client itself, from a real one only.
        store._async_index, store._async_index_provided = AsyncTwin(index), True  # type: ignore[assignment]
        return store


class TestCosine(InPinecone):
    norms = (1.0, *OTHERS)


class TestDotProduct(InPinecone):
    metric = "dotproduct"


class TestDotProductOfOtherNorms(TestDotProduct):
    norms = OTHERS
    source = "vectors"


class TestEuclidean(InPinecone):
    metric = "euclidean"


class TestEuclideanOfOtherNorms(TestEuclidean):
    norms = OTHERS
    source = "vectors"


class TestMetricNotTold(InPinecone):
    """An older service does not tell it; the vectors still do."""

    norms = (1.0, *OTHERS)
    metric = ""
    source = "vectors"


class TestMmr(InPinecone):
    """Its documents carry no ids to read vectors by."""

    search = "mmr"
    expected_reason = "no_score_access"
    can_be_empty = False


def store_of(metric: str, namespace: str | None = None) -> tuple[PineconeVectorStore, FakeIndex]:
    encoder = Encoder({"t0": [1.0, 0.0], "t1": [0.0, 2.0], "q": [2.0, 0.0]}, dimension=2)
    index = FakeIndex(Rows(), metric)
    for number in range(2):
        index.rows.add(f"id{number}", f"t{number}", {}, encoder.vectors[f"t{number}"])
    return PineconeVectorStore(index, encoder, namespace=namespace), index


def test_the_index_is_asked_for_its_metric_once() -> None:
    store, index = store_of("cosine")
    for _ in range(3):
        assert RecallRetriever.from_vectorstore(store).recall("q").pool.cosines == [1.0, 0.0]
    assert index.described == 1


def test_the_declared_distance_strategy_is_not_believed() -> None:
    store, _ = store_of("dotproduct")
    adapter: Any = find_adapter(store)
    assert str(store.distance_strategy) == "DistanceStrategy.COSINE"
    assert adapter.score_kind(store) is ScoreKind.INNER_PRODUCT


def test_the_same_id_in_another_namespace_is_not_the_same_text() -> None:
    store, _ = store_of("dotproduct", namespace="mine")
    adapter: Any = find_adapter(store)
    elsewhere = Document(id="id0", page_content="another text")
    mine, gone = Document(id="id1", page_content="t1"), Document(id="id7", page_content="t7")
    assert adapter.vectors(store, [elsewhere, mine, gone]) == [None, [0.0, 2.0], None]


class LlamaInPinecone(LlamaRemoteConformance):
    metric = "cosine"
    norms = (1.0, *OTHERS)

    def serve(self, rows: Rows) -> Any:
        return LlamaPinecone(pinecone_index=FakeIndex(rows, self.metric))


class TestLlamaCosine(LlamaInPinecone):
    pass


class TestLlamaDotProduct(LlamaInPinecone):
    metric = "dotproduct"
    source = "vectors"


class TestLlamaEuclidean(LlamaInPinecone):
    metric = "euclidean"
    source = "vectors"


class TestLlamaMetricNotTold(LlamaInPinecone):
    metric = ""
    source = "vectors"


class TestLlamaAlpha(LlamaInPinecone):
    """The store scales the query by it, so that products are not what they seem."""

    metric = "dotproduct"
    search: ClassVar[dict[str, Any]] = {"alpha": 0.5}
    source = "vectors"


class WordWeights:
    """A sparse encoder."""

    def get_query_embedding(self, query: str) -> dict[int, float]:
        return {1: 0.5}


class TestLlamaHybrid(LlamaInPinecone):
    mode = "hybrid"
    source = "vectors"

    def serve(self, rows: Rows) -> Any:
        store = super().serve(rows)
        store._sparse_embedding_model = WordWeights()
        return store


def test_llama_without_the_vectors() -> None:
    """A caller can keep them from being sent; products then tell nothing."""
    rows = filled(["t0", "t1"], [[1.0, 0.0], [0.6, 0.8]])
    index = VectorStoreIndex.from_vector_store(
        LlamaPinecone(pinecone_index=FakeIndex(rows, "dotproduct")),
        embed_model=Embedding({"q": [1.0, 0.0]}),
    )
    bare = index.as_retriever(vector_store_kwargs={"include_values": False})
    assert LlamaRecall(bare).recall("q").confidence.reason == "score_not_convertible"


@pytest.mark.parametrize("metric", ["hamming", ""])
def test_a_metric_that_is_not_known(metric: str) -> None:
    store, _ = store_of(metric)
    adapter: Any = find_adapter(store)
    assert adapter.score_kind(store) is ScoreKind.UNKNOWN
