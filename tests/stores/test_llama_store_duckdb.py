"""DuckDB: the cosine, always."""

from typing import Any, ClassVar

import duckdb
import pytest
from llama_index.vector_stores.duckdb import DuckDBVectorStore
from llama_store_cases import (
    DIMENSION,
    OTHER_NORMS,
    QUERY,
    StoreConformance,
    index_with_cosines,
)

from llama_index_recall_signal import RecallRetriever


@pytest.fixture(scope="module", autouse=True)
def _without_a_download() -> Any:
    """The store fetches two extensions from the internet and uses neither."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("install_extension", "load_extension"):
            patch.setattr(duckdb.DuckDBPyConnection, name, lambda self, extension: None)
        yield


class DuckDBConformance(StoreConformance):
    norms = (1.0, *OTHER_NORMS)
    ties_keep_order = False
    embed_dim: ClassVar[int | None] = None

    def store(self, number: int) -> Any:
        return DuckDBVectorStore(embed_dim=self.embed_dim)


class TestDuckDBLists(DuckDBConformance):
    pass


class TestDuckDBArrays(DuckDBConformance):
    embed_dim = DIMENSION


def test_a_mode_is_not_believed() -> None:
    """The store knows no modes; the vectors that hits carry decide."""
    index = index_with_cosines(DuckDBVectorStore(), [0.8, 0.3, 0.1])
    bare = index.as_retriever(vector_store_query_mode="mmr")
    response = RecallRetriever(bare).recall(QUERY)
    assert response.cosine_source == "vectors"
    assert response.pool.cosines == pytest.approx([0.8, 0.3], abs=1e-4)
