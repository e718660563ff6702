"""LanceDB: vector search with every metric and index, full-text and hybrid search."""

import tempfile
from typing import Any, ClassVar

import numpy as np
import pytest
from lancedb.index import HnswSq, IvfFlat, IvfPq
from llama_index.vector_stores.lancedb import LanceDBVectorStore
from llama_index.vector_stores.lancedb.base import TableNotFoundError

from llama_index_recall_signal import RecallRetriever
from llama_index_recall_signal.stores import find_adapter
from recall_signal import ScoreKind
from tests.stores.cases import conformance
from tests.stores.llama_store_cases import (
    OTHER_NORMS,
    QUERY,
    StoreConformance,
    ask_as_query,
    index_with_cosines,
    page_of,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")

COSINES = list(np.linspace(0.95, -0.9, 300))


def empty_store(folder: str, **settings: Any) -> LanceDBVectorStore:
    return LanceDBVectorStore(uri=folder, **settings)


class LanceConformance(StoreConformance):
    norms = (1.0, *OTHER_NORMS)
    can_be_empty = False  # LlamaIndex's own search fails there
    query_type: ClassVar[str] = "vector"
    folder: ClassVar[tempfile.TemporaryDirectory[str]]

    @classmethod
    def setup_class(cls) -> None:
        super().setup_class()
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def teardown_class(cls) -> None:
        super().teardown_class()
        cls.folder.cleanup()

    def store(self, number: int) -> Any:
        return empty_store(f"{self.folder.name}/{number}", query_type=self.query_type)


CASES: dict[str, dict[str, Any]] = {
    "LanceVector": {},
    "LanceHybrid": {"query_type": "hybrid", "ranks_by_cosine": False},
}
globals().update(conformance(LanceConformance, CASES))


@pytest.fixture
def store(tmp_path: Any) -> LanceDBVectorStore:
    return empty_store(str(tmp_path))


def recalled(store: Any, k: int = 4, **search: Any) -> Any:
    """What is said of a store, and that its page is left alone."""
    index = index_with_cosines(store, COSINES) if store._table is None else search.pop("index")
    bare = index.as_retriever(similarity_top_k=k, **search)
    response = RecallRetriever(bare).recall(QUERY)
    assert page_of(response.nodes) == page_of(bare.retrieve(QUERY))
    return response


def exact(response: Any) -> Any:
    return pytest.approx([COSINES[item.metadata["number"]] for item in response.nodes], abs=1e-4)


@pytest.mark.parametrize("metric", ["l2", "cosine", "dot"])
@pytest.mark.parametrize("kind", [IvfFlat, IvfPq, HnswSq])
def test_a_vector_index(store: LanceDBVectorStore, metric: Any, kind: Any) -> None:
    """The score is that of shortened vectors where the index holds such, and LanceDB measures
    twice the cosine distance in `HnswSq`: there the vectors that hits carry decide."""
    index = index_with_cosines(store, COSINES)
    partitions = {"num_partitions": 2} | ({"num_sub_vectors": 4} if kind is IvfPq else {})
    assert store.table is not None
    store.table.create_index("vector", config=kind(distance_type=metric, **partitions))
    response = recalled(store, index=index)
    assert response.cosine_source == ("store" if kind is IvfFlat else "vectors")
    assert len(response.pool) > 4
    assert response.pool.cosines[:4] == exact(response)


def test_an_index_of_words_is_none_of_vectors(store: LanceDBVectorStore) -> None:
    index = index_with_cosines(store, COSINES)
    assert store.table is not None
    store.table.create_fts_index("text")
    assert recalled(store, index=index).cosine_source == "store"


def test_full_text_search_makes_the_best_hit_one(store: LanceDBVectorStore) -> None:
    """However little it has to do with the question."""
    index = index_with_cosines(store, COSINES)
    store.query_type = "fts"
    bare = index.as_retriever(similarity_top_k=3)
    asked = "text 299"
    ask_as_query(index, asked)
    assert bare.retrieve(asked)[0].score == 1.0
    response = RecallRetriever(bare).recall(asked)
    assert page_of(response.nodes) == page_of(bare.retrieve(asked))
    assert response.cosine_source == "vectors"
    assert response.pool.cosines[0] == pytest.approx(-0.9, abs=1e-4)
    assert response.pool.cosines == exact(response)


def test_a_query_type_for_one_retriever_is_not_taken_for_a_vector_search(
    store: LanceDBVectorStore,
) -> None:
    """The store says `vector`, the retriever `hybrid`: the scores count down from 1 to 0."""
    index = index_with_cosines(store, COSINES)
    bare = index.as_retriever(similarity_top_k=4, vector_store_kwargs={"query_type": "hybrid"})
    response = RecallRetriever(bare, pool_size=4).recall(QUERY)
    assert [item.score for item in response.nodes] == pytest.approx([1.0, 2 / 3, 1 / 3, 0.0])
    assert response.cosine_source == "vectors"
    assert response.pool.cosines == exact(response)


def test_a_query_type_for_one_retriever_leaves_its_page_alone(store: LanceDBVectorStore) -> None:
    index = index_with_cosines(store, COSINES)
    recalled(store, index=index, vector_store_kwargs={"query_type": "hybrid"})


def test_an_equal_vector(store: LanceDBVectorStore) -> None:
    index = index_with_cosines(store, [1.0, 0.5, 0.1])
    response = RecallRetriever(index.as_retriever()).recall(QUERY)
    assert response.cosine_source == "store"
    assert response.pool.cosines == pytest.approx([1.0, 0.5, 0.1], abs=1e-4)


@pytest.mark.parametrize("metric", ["hamming", None])
def test_a_metric_that_is_not_known(
    store: LanceDBVectorStore, metric: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_with_cosines(store, COSINES)
    assert store.table is not None
    store.table.create_index("vector", config=IvfFlat(num_partitions=2))

    class Stats:
        distance_type = metric

    monkeypatch.setattr(type(store.table), "index_stats", lambda self, name: Stats())
    adapter: Any = find_adapter(store)
    assert adapter.score_kind(store, "default") is ScoreKind.UNKNOWN


def test_a_table_that_is_not_there(store: LanceDBVectorStore) -> None:
    adapter: Any = find_adapter(store)
    with pytest.raises(TableNotFoundError):  # which the wrapper turns into a reason
        adapter.score_kind(store, "default")
