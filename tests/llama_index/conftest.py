from typing import Any

import pytest
from llama_index.core.vector_stores import SimpleVectorStore


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many hits each search of a `SimpleVectorStore` asked for."""
    asked: list[int] = []
    search = SimpleVectorStore.query

    def query(self: SimpleVectorStore, query: Any, **kwargs: Any) -> Any:
        asked.append(query.similarity_top_k)
        return search(self, query, **kwargs)

    monkeypatch.setattr(SimpleVectorStore, "query", query)
    return asked
