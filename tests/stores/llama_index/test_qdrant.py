"""Qdrant in this process: every distance, dense, sparse and hybrid."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar
from zlib import crc32

import pytest
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient
from qdrant_client.models import (
    Distance,
    PointStruct,
    VectorParams,
)

from llama_index_recall_signal import RecallRetriever
from llama_index_recall_signal.stores import Hits, find_adapter
from recall_signal import ScoreKind
from tests.stores.cases import conformance
from tests.stores.llama_store_cases import (
    DIMENSION,
    OTHER_NORMS,
    QUERY,
    StoreConformance,
    ask_as_query,
    index_with_cosines,
    page_of,
)

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local")

Sparse = tuple[list[list[int]], list[list[float]]]


def words(texts: list[str]) -> Sparse:
    """Every word counts once."""
    found = [sorted({crc32(word.encode()) for word in text.split()}) for text in texts]
    return found, [[1.0] * len(text) for text in found]


class Async:
    """A client in this process shares nothing with its asynchronous twin, so this one stands in."""

    def __init__(self, client: QdrantClient) -> None:
        self.client = client

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def call(*args: Any, **settings: Any) -> Any:
            return getattr(self.client, name)(*args, **settings)

        return call


def empty_store(distance: Distance = Distance.COSINE, **settings: Any) -> QdrantVectorStore:
    client = QdrantClient(":memory:")
    dense = VectorParams(size=DIMENSION, distance=distance)
    # A store looks at its collection when it is made, and makes one at the first node only.
    QdrantVectorStore("texts", client, dense_config=dense, **settings)._create_collection(
        "texts", DIMENSION
    )
    aclient: Any = Async(client)
    return QdrantVectorStore("texts", client, aclient, **settings)


hybrid_store = partial(empty_store, enable_hybrid=True, sparse_doc_fn=words, sparse_query_fn=words)


class QdrantConformance(StoreConformance):
    norms = (1.0, *OTHER_NORMS)
    distance: ClassVar[Distance] = Distance.COSINE
    ties_keep_order = False

    def store(self, number: int) -> Any:
        return empty_store(self.distance)


class HybridConformance(StoreConformance):
    norms = (1.0, *OTHER_NORMS)
    ties_keep_order = False

    def store(self, number: int) -> Any:
        return hybrid_store()


CASES: dict[str, dict[str, Any]] = {
    "QdrantCosine": {},
    "QdrantDot": {"distance": Distance.DOT},
    "QdrantEuclid": {"distance": Distance.EUCLID},
    # No number a cosine can be had from, but the vectors are.
    "QdrantManhattan": {"distance": Distance.MANHATTAN, "ranks_by_cosine": False},
}
globals().update(conformance(QdrantConformance, CASES))
HYBRID: dict[str, dict[str, Any]] = {
    "QdrantHybridStoreInItsDefaultMode": {},
    "QdrantHybrid": {"mode": "hybrid", "ranks_by_cosine": False},
}
globals().update(conformance(HybridConformance, HYBRID))


def test_what_fusion_scores_is_never_taken_for_a_cosine() -> None:
    index = index_with_cosines(hybrid_store(), [0.12, 0.11, 0.1])
    bare = index.as_retriever(vector_store_query_mode="hybrid", similarity_top_k=3)
    asked = "stored text 0"  # by its words the first text is the best one as well
    ask_as_query(index, asked)
    assert bare.retrieve(asked)[0].score == 1.0
    response = RecallRetriever(bare).recall(asked)
    assert page_of(response.nodes) == page_of(bare.retrieve(asked))
    assert response.cosine_source == "vectors"
    assert response.confidence.top_score == pytest.approx(0.12)


async def test_a_sparse_search_gets_its_cosines_from_the_dense_vectors() -> None:
    index = index_with_cosines(hybrid_store(), [0.4, 0.3, 0.2])
    bare = index.as_retriever(vector_store_query_mode="sparse", similarity_top_k=3)
    asked = "text 2"
    ask_as_query(index, asked)
    response = RecallRetriever(bare).recall(asked)
    assert response.nodes[0].score == 2.0
    assert response.pool.cosines[0] == pytest.approx(0.2, abs=1e-4)
    cosines: Any = response.pool.cosines
    assert sorted(cosines) == pytest.approx([0.2, 0.3, 0.4], abs=1e-4)
    assert (await RecallRetriever(bare).arecall(asked)).to_dict() == response.to_dict()


def kind_of(store: QdrantVectorStore, mode: str = "default") -> ScoreKind:
    adapter: Any = find_adapter(store)
    kind: ScoreKind = adapter.score_kind(store, mode)
    return kind


def test_a_collection_of_another_distance_than_the_store_was_told() -> None:
    found = empty_store(Distance.EUCLID)
    dense = VectorParams(size=DIMENSION, distance=Distance.COSINE)
    store = QdrantVectorStore("texts", found.client, dense_config=dense)
    assert kind_of(store) is ScoreKind.L2


def test_an_asynchronous_client_alone_tells_nothing() -> None:
    aclient: Any = Async(QdrantClient(":memory:"))
    store = QdrantVectorStore("texts", aclient=aclient)
    adapter: Any = find_adapter(store)
    assert kind_of(store) is ScoreKind.UNKNOWN
    hits = index_with_cosines(empty_store(), [0.5]).as_retriever().retrieve(QUERY)
    assert adapter.vectors(store, adapter_hits(hits)) is None


def adapter_hits(nodes: Any) -> Any:
    return Hits(nodes, "hybrid")


def test_points_with_whole_numbers_for_ids() -> None:
    """Collections that were filled elsewhere may have them; a node's id is a text."""
    store = empty_store()
    bare = index_with_cosines(store, [0.9, 0.2]).as_retriever()
    hits = bare.retrieve(QUERY)
    points = store.client.retrieve("texts", [hit.node_id for hit in hits], with_vectors=True)
    store.client.upsert("texts", [PointStruct(id=7, vector=points[0].vector)])
    hits[0].node.id_ = "7"
    adapter: Any = find_adapter(store)
    first, second = adapter.vectors(store, adapter_hits(hits))
    assert first is not None
    assert second is not None
