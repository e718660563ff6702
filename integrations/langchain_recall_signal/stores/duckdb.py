"""``DuckDB`` of langchain-community: the cosine itself, among the documents' metadata.

The store has no search with scores. Where a document has no metadata, it leaves the score out
as well; its vector is then found by the text that it was made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_recall_signal.stores.base import StoreAdapter
from langchain_recall_signal.stores.texts import vectors_by_text
from recall_signal import ScoreKind

__all__ = ["DuckDBAdapter"]


class DuckDBAdapter(StoreAdapter):
    """Reads ``DuckDB``, which has no public names for its table."""

    ties_keep_order = False

    def score_kind(self, store: Any) -> ScoreKind:  # noqa: ARG002
        """Always the cosine."""
        return ScoreKind.COSINE

    def score_key(self, store: Any) -> str:  # noqa: ARG002
        """Where the store puts it."""
        return "_similarity_score"

    def vectors(self, store: Any, documents: Sequence[Document]) -> Sequence[Any | None] | None:
        """The stored vectors, by the documents' texts."""
        texts = list({document.page_content for document in documents})
        columns = f"{store._text_key}, {store._vector_key}"
        marks = ", ".join("?" * len(texts))
        query = f"SELECT {columns} FROM {store._table_name} WHERE {store._text_key} IN ({marks})"  # noqa: S608  (names of the store's own columns)
        rows = store._connection.cursor().execute(query, texts).fetchall()
        return vectors_by_text(rows, documents)
