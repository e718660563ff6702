"""DuckDB: the cosine, always."""

from typing import Any, ClassVar

import duckdb
import pytest
from llama_index.vector_stores.duckdb import DuckDBVectorStore

from tests.stores.cases import conformance
from tests.stores.llama_store_cases import (
    DIMENSION,
    OTHER_NORMS,
    StoreConformance,
)


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


CASES = {"DuckDBLists": {}, "DuckDBArrays": {"embed_dim": DIMENSION}}
globals().update(conformance(DuckDBConformance, CASES))
