"""`DuckDB` of langchain-community: the cosine itself, among the documents' metadata.

The store has no search with scores. Where a document has no metadata, the store leaves the
score out; its vector is then found by its text.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from langchain_core.documents import Document

from langchain_recall_signal.stores._base import StoreAdapter, Vectors
from langchain_recall_signal.stores._texts import vectors_by_text
from recall_signal import ScoreKind


class _Store(Protocol):
    """The part of the store that is read."""

    _connection: Any  # DB-API
    _table_name: str
    _text_key: str
    _vector_key: str


class DuckDBAdapter(StoreAdapter[_Store]):
    """Reads `DuckDB`, which has no public names for its table."""

    ties_keep_order = False

    def score_kind(self, store: object) -> ScoreKind:  # noqa: ARG002
        """Return the cosine."""
        return ScoreKind.COSINE

    def score_key(self, store: object) -> str:  # noqa: ARG002
        """Return the store's key."""
        return "_similarity_score"

    def vectors(self, store: _Store, documents: Sequence[Document]) -> Vectors:
        """Read the stored vectors by the documents' texts."""
        texts = list({document.page_content for document in documents})
        columns = f"{store._text_key}, {store._vector_key}"
        marks = ", ".join("?" * len(texts))
        query = f"SELECT {columns} FROM {store._table_name} WHERE {store._text_key} IN ({marks})"  # noqa: S608  (names of the store's own columns)
        rows = store._connection.cursor().execute(query, texts).fetchall()
        return vectors_by_text(rows, documents)
