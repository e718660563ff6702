"""`SQLiteVec` of langchain-community: the L2 distance, unless the table was made otherwise.

The store makes tables for the L2 distance and takes an existing one as it is. It returns no ids
of its hits, so their vectors are found by their texts.
"""

import re
from collections.abc import Sequence
from sqlite3 import Connection
from typing import Protocol

import numpy as np
from langchain_core.documents import Document

from langchain_recall_signal.stores._base import VECTOR_SEARCH, StoreAdapter, Vectors
from langchain_recall_signal.stores._texts import vectors_by_text
from recall_signal import ScoreKind

_KINDS = {"l2": ScoreKind.L2, "cosine": ScoreKind.COSINE_DISTANCE}


class _Store(Protocol):
    """The part of the store that is read."""

    _connection: Connection
    _table: str


class SQLiteVecAdapter(StoreAdapter[_Store]):
    """Reads `SQLiteVec`, which has no public names for its table."""

    is_local = True

    def score_kind(self, store: _Store) -> ScoreKind:
        """Return the kind by the statement that made the table."""
        query = "SELECT sql FROM sqlite_master WHERE name = ?"
        found = store._connection.execute(query, [f"{store._table}_vec"]).fetchone()
        metric = re.search(r"distance_metric\s*=\s*(\w+)", found[0], re.IGNORECASE)
        return _KINDS.get(metric[1].lower() if metric else "l2", ScoreKind.UNKNOWN)

    def vector_search(self, store: object) -> str:  # noqa: ARG002
        """Name the search by a vector, which the scored search calls."""
        return VECTOR_SEARCH

    def vectors(self, store: _Store, documents: Sequence[Document]) -> Vectors:
        """Read the stored vectors by the documents' texts."""
        texts = list({document.page_content for document in documents})
        marks = ", ".join("?" * len(texts))
        query = f"SELECT text, text_embedding FROM {store._table} WHERE text IN ({marks})"  # noqa: S608  (the store's own table)
        rows = store._connection.execute(query, texts).fetchall()
        found = [(text, np.frombuffer(vector, np.float32)) for text, vector in rows]
        return vectors_by_text(found, documents)
