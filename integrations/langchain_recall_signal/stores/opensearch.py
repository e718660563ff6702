"""``OpenSearchVectorSearch`` of langchain-community: the cosine comes from the stored vectors.

What its score is depends on the arguments of each search (approximate, by script, hybrid) and,
for one metric, on the server's version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_recall_signal.stores.base import StoreAdapter
from recall_signal import ScoreKind

__all__ = ["OpenSearchAdapter"]

_VECTOR, _TEXT = "vector_field", "text"
"""The store's default names of its two fields; it keeps no other ones."""


class OpenSearchAdapter(StoreAdapter):
    """Reads ``OpenSearchVectorSearch``."""

    def score_kind(self, store: Any) -> ScoreKind:  # noqa: ARG002
        """Not to be told from the store alone."""
        return ScoreKind.UNKNOWN

    def vectors(self, store: Any, documents: Sequence[Document]) -> Sequence[Any | None] | None:
        """The stored vectors: those that came along, else by id.

        A search may have gone to another index, where the same id can be another text: a vector
        counts only with its text. The serverless service reads nothing by id.
        """
        vectors = [document.metadata.get(_VECTOR) for document in documents]
        if any(vector is not None for vector in vectors):
            return vectors
        if store.is_aoss:
            return None
        route = {"routing": store.routing} if store.routing else {}
        found = store.client.mget(
            index=store.index_name,
            body={"ids": [document.id for document in documents]},
            params={"_source_includes": f"{_VECTOR},{_TEXT}", **route},
        )
        sources = {item["_id"]: item.get("_source", {}) for item in found["docs"]}
        return [_vector_of(document, sources) for document in documents]


def _vector_of(document: Document, sources: dict[str, dict[str, Any]]) -> Any | None:
    source = sources.get(document.id or "", {})
    return source.get(_VECTOR) if source.get(_TEXT) == document.page_content else None
