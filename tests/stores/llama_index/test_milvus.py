"""Milvus Lite: the metric of the index decides, not the one the store was told."""

import tempfile
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest
from llama_index.vector_stores.milvus import MilvusVectorStore
from llama_index.vector_stores.milvus.utils import BaseSparseEmbeddingFunction

from llama_index_recall_signal import RecallRetriever
from llama_index_recall_signal.stores import Hits, find_adapter
from recall_signal import ScoreKind
from tests.stores.cases import conformance
from tests.stores.llama_store_cases import (
    DIMENSION,
    MMR,
    OTHER_NORMS,
    QUERY,
    StoreConformance,
    index_with_cosines,
    page_of,
)

COSINES = list(np.linspace(0.9, -0.6, 30))


@pytest.fixture(scope="module", autouse=True)
def database() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        Milvus.uri = f"{folder}/milvus.db"
        yield Milvus.uri


class Milvus:
    """One file for all collections: the process behind it takes a second to start."""

    uri = ""

    @classmethod
    def store(cls, name: str, **settings: Any) -> MilvusVectorStore:
        return MilvusVectorStore(
            uri=cls.uri,
            collection_name=name,
            dim=DIMENSION,
            overwrite=settings.pop("overwrite", True),
            use_async_client=False,
            **settings,
        )


class MilvusConformance(StoreConformance):
    norms = (1.0, *OTHER_NORMS)
    has_async = False  # Milvus Lite has no asynchronous client
    metric: ClassVar[str] = "IP"

    def store(self, number: int) -> Any:
        return Milvus.store(f"{type(self).__name__}{number}", similarity_metric=self.metric)


CASES: dict[str, dict[str, Any]] = {
    "MilvusInnerProduct": {},
    "MilvusL2": {"metric": "L2"},
    "MilvusCosine": {"metric": "COSINE"},
    "MilvusMmr": MMR | {"can_be_empty": False},
}
globals().update(conformance(MilvusConformance, CASES))


class Letters(BaseSparseEmbeddingFunction):
    """Counts letters."""

    def encode_queries(self, queries: list[str]) -> list[dict[int, float]]:
        return [{ord(letter): float(text.count(letter)) for letter in text} for text in queries]

    def encode_documents(self, documents: list[str]) -> list[dict[int, float]]:
        return self.encode_queries(documents)


def test_a_hybrid_search_gets_its_cosines_from_the_dense_vectors() -> None:
    store = Milvus.store("hybrid", enable_sparse=True, sparse_embedding_function=Letters())
    index = index_with_cosines(store, COSINES)
    bare = index.as_retriever(similarity_top_k=4, vector_store_query_mode="hybrid")
    response = RecallRetriever(bare).recall(QUERY)
    assert page_of(response.nodes) == page_of(bare.retrieve(QUERY))
    assert max(item.score or 0.0 for item in response.nodes) <= 2 / 60
    assert response.cosine_source == "vectors"
    exact = [COSINES[item.metadata["number"]] for item in response.nodes]
    assert response.pool.cosines == pytest.approx(exact, abs=1e-4)


def kind_of(store: MilvusVectorStore) -> ScoreKind:
    adapter: Any = find_adapter(store)
    kind: ScoreKind = adapter.score_kind(store, "default")
    return kind


def test_a_collection_of_another_metric_than_the_store_was_told() -> None:
    index_with_cosines(Milvus.store("found", similarity_metric="L2"), COSINES)
    again = Milvus.store("found", similarity_metric="COSINE", overwrite=False)
    assert again.similarity_metric == "COSINE"
    assert kind_of(again) is ScoreKind.SQUARED_L2
    told = Milvus.store("told", index_config={"metric_type": "L2"}, similarity_metric="IP")
    assert kind_of(told) is ScoreKind.SQUARED_L2


@pytest.mark.parametrize("names", [[], ["one", "two"]])
def test_settings_that_do_not_tell(names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    store = Milvus.store(f"without{len(names)}")
    monkeypatch.setattr(store.client, "list_indexes", lambda *args, **settings: names)
    metrics = {"one": "IP", "two": "L2"}
    monkeypatch.setattr(
        store.client, "describe_index", lambda collection, name: {"metric_type": metrics[name]}
    )
    assert kind_of(store) is ScoreKind.UNKNOWN


def test_a_vector_that_is_gone() -> None:
    store = Milvus.store("gone")
    hits = index_with_cosines(store, COSINES).as_retriever().retrieve(QUERY)
    store.delete_nodes([hits[0].node_id])
    adapter: Any = find_adapter(store)
    first, second = adapter.vectors(store, Hits(hits, "sparse"))
    assert first is None
    assert second is not None
    assert adapter.vectors(store, Hits([], "sparse")) is None
