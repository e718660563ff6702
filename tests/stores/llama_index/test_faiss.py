"""FAISS: the index decides, and only `FaissMapVectorStore` can tell whose vector is whose."""

from typing import Any
from uuid import UUID

import faiss
import numpy as np
import pytest
from llama_index.vector_stores.faiss import FaissMapVectorStore, FaissVectorStore

from llama_index_recall_signal import RecallRetriever
from llama_index_recall_signal.stores import Hits, find_adapter
from recall_signal import ScoreKind
from tests.stores.cases import conformance
from tests.stores.llama_store_cases import (
    DIMENSION,
    OTHER_NORMS,
    QUERY,
    StoreConformance,
    index_with_cosines,
)

COSINES = list(np.linspace(0.9, -0.5, 40))


class FaissConformance(StoreConformance):
    norms = (1.0, *OTHER_NORMS)
    metric = faiss.METRIC_L2
    ties_keep_order = False

    def store(self, number: int) -> Any:
        return FaissVectorStore(faiss.IndexFlat(DIMENSION, self.metric))


class MapConformance(FaissConformance):
    def store(self, number: int) -> Any:
        return FaissMapVectorStore(faiss.IndexIDMap2(faiss.IndexFlat(DIMENSION, self.metric)))


PRODUCT = {"metric": faiss.METRIC_INNER_PRODUCT}
CASES: dict[str, dict[str, Any]] = {"FaissL2": {}, "FaissInnerProduct": PRODUCT}
globals().update(conformance(FaissConformance, CASES))
globals().update(conformance(MapConformance, {"MapL2": {}, "MapInnerProduct": PRODUCT}))


def recalled(store: Any, **settings: Any) -> Any:
    index = index_with_cosines(store, COSINES, **settings)
    return RecallRetriever(index.as_retriever(similarity_top_k=4)).recall(QUERY)


def trained(name: str) -> Any:
    index = faiss.index_factory(DIMENSION, name)
    random = np.random.default_rng(2).standard_normal((400, DIMENSION), np.float32)
    index.train(random / np.linalg.norm(random, axis=1, keepdims=True))
    return index


@pytest.mark.parametrize("name", ["Flat", "HNSW8", "IVF2,Flat", "Flat,RFlat"])
def test_exact_indexes(name: str) -> None:
    response = recalled(FaissVectorStore(trained(name)))
    assert response.cosine_source == "store"
    exact = [COSINES[UUID(id_).int] for id_ in response.pool.ids]
    assert response.pool.cosines == pytest.approx(exact, abs=1e-4)


@pytest.mark.parametrize(
    "index",
    [
        faiss.IndexLSH(DIMENSION, 64),
        trained("PCA8,Flat"),
        faiss.IndexIDMap2(trained("PCA8,Flat")),
        faiss.IndexFlat(DIMENSION, faiss.METRIC_L1),
    ],
)
def test_other_numbers_are_refused(index: Any) -> None:
    adapter: Any = find_adapter(FaissVectorStore(index))
    assert adapter.score_kind(FaissVectorStore(index), "default") is ScoreKind.UNKNOWN


def test_the_store_knows_one_search_only_and_other_modes_are_not_believed() -> None:
    store = FaissMapVectorStore(faiss.IndexIDMap2(faiss.IndexFlatL2(DIMENSION)))
    bare = index_with_cosines(store, COSINES).as_retriever(vector_store_query_mode="mmr")
    response = RecallRetriever(bare).recall(QUERY)
    assert response.cosine_source == "vectors"
    assert response.pool.cosines == pytest.approx(COSINES[:2], abs=1e-4)


def test_an_id_map_that_gives_nothing_back() -> None:
    store = FaissMapVectorStore(faiss.IndexIDMap(faiss.IndexFlatL2(DIMENSION)))
    assert recalled(store).cosine_source == "store"
    longer = FaissMapVectorStore(faiss.IndexIDMap(faiss.IndexFlatL2(DIMENSION)))
    bare = index_with_cosines(longer, COSINES).as_retriever(vector_store_query_mode="mmr")
    assert RecallRetriever(bare).recall(QUERY).confidence.reason == "score_not_convertible"


def test_a_vector_that_is_gone() -> None:
    store = FaissMapVectorStore(faiss.IndexIDMap2(faiss.IndexFlatL2(DIMENSION)))
    bare = index_with_cosines(store, COSINES).as_retriever(vector_store_query_mode="mmr")
    adapter: Any = find_adapter(store)
    hits = bare.retrieve(QUERY)
    store.delete_nodes([hits[0].node_id])
    first, second = adapter.vectors(store, Hits(hits, "mmr"))
    assert first is None
    assert second is not None


def test_longer_vectors_in_an_index_without_a_map() -> None:
    response = recalled(FaissVectorStore(faiss.IndexFlatL2(DIMENSION)), norm=2.0)
    assert response.cosine_source == "vectors"


def test_the_private_map_that_is_read_is_still_there() -> None:
    store = FaissMapVectorStore(faiss.IndexIDMap2(faiss.IndexFlatL2(DIMENSION)))
    index_with_cosines(store, COSINES[:2])
    assert list(store._node_id_to_faiss_id_map.values()) == [0, 1], (
        "FaissMapVectorStore keeps its ids elsewhere: change _positions in stores/faiss.py"
    )


@pytest.mark.parametrize("metric", [faiss.METRIC_L2, faiss.METRIC_INNER_PRODUCT])
@pytest.mark.parametrize("is_map", [False, True])
async def test_a_page_alone_carries_what_it_carries_beside_its_pool(
    is_map: bool, metric: int
) -> None:
    """Its first query checks the lengths of vectors whose nodes it does not read."""
    flat = faiss.IndexFlat(DIMENSION, metric)
    store: Any = FaissVectorStore(flat)
    if is_map:
        store = FaissMapVectorStore(faiss.IndexIDMap2(flat))
    bare = index_with_cosines(store, COSINES).as_retriever(similarity_top_k=4)
    alone, later = (
        RecallRetriever(bare).retrieve(QUERY),
        await RecallRetriever(bare).aretrieve(QUERY),
    )
    response = RecallRetriever(bare).recall(QUERY)
    assert response.cosine_source == "store"
    for nodes in (alone, later):
        assert [node.node_id for node in nodes] == [node.node_id for node in response.nodes]
        assert [node.metadata["recall"] for node in nodes] == [
            node.metadata["recall"] for node in response.nodes
        ]
