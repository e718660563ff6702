"""Chroma: `exp(-distance)` in each of the three spaces."""

from typing import Any, ClassVar

import chromadb
import pytest
from llama_index.vector_stores.chroma import ChromaVectorStore

from llama_index_recall_signal import RecallRetriever
from llama_index_recall_signal.stores import find_adapter
from recall_signal import ScoreKind
from tests.stores.cases import conformance
from tests.stores.llama_store_cases import (
    MMR,
    OTHER_NORMS,
    QUERY,
    StoreConformance,
    index_with_cosines,
)


def empty_store(name: str, **settings: Any) -> ChromaVectorStore:
    client = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
    if name in [known.name for known in client.list_collections()]:
        client.delete_collection(name)
    return ChromaVectorStore(chroma_collection=client.create_collection(name, **settings))


class ChromaConformance(StoreConformance):
    norms = (1.0, *OTHER_NORMS)
    space: ClassVar[str] = "l2"

    def store(self, number: int) -> Any:
        # An exact search: HNSW finds the neighbours of far vectors badly.
        index = {"space": self.space, "ef_search": 400, "max_neighbors": 64}
        return empty_store(f"{type(self).__name__}-{number}", configuration={"hnsw": index})


CASES: dict[str, dict[str, Any]] = {
    "ChromaL2": {},
    "ChromaCosine": {"space": "cosine"},
    "ChromaInnerProduct": {"space": "ip"},
    "ChromaMmr": MMR | {"can_be_empty": False},
}
globals().update(conformance(ChromaConformance, CASES))


@pytest.mark.parametrize("space", ["l2", "cosine", "ip"])
def test_a_space_given_in_the_old_way(space: str) -> None:
    store = empty_store(f"old-{space}", metadata={"hnsw:space": space})
    response = RecallRetriever(index_with_cosines(store, [0.9, 0.3, -0.2]).as_retriever())
    assert response.recall(QUERY).pool.cosines == pytest.approx([0.9, 0.3, -0.2], abs=1e-4)


def test_a_space_that_is_not_known() -> None:
    store = empty_store("unknown-space")
    adapter: Any = find_adapter(store)
    assert adapter.score_kind(store, "default") is ScoreKind.EXP_NEG_SQUARED_L2

    class Collection:
        configuration: ClassVar[dict[str, Any]] = {"hnsw": None, "spann": {"space": "jaccard"}}

    class Store:
        client: Collection | None = Collection()

    assert adapter.score_kind(Store(), "default") is ScoreKind.UNKNOWN
    Store.client = None
    assert adapter.score_kind(Store(), "default") is ScoreKind.UNKNOWN


def test_products_of_vectors_so_long_that_nothing_is_left_of_the_score() -> None:
    store = empty_store("long", configuration={"hnsw": {"space": "ip"}})
    index = index_with_cosines(store, [-0.1, -0.5, -0.9], norm=1000.0)
    bare = index.as_retriever(similarity_top_k=3)
    assert bare.retrieve(QUERY)[-1].score == 0.0
    response = RecallRetriever(bare).recall(QUERY)
    assert response.cosine_source == "vectors"
    assert response.pool.cosines == pytest.approx([-0.1, -0.5, -0.9], abs=1e-4)
