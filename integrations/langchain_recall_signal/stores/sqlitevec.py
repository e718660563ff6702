"""``SQLiteVec`` of langchain-community: the L2 distance, unless the table was made otherwise.

The store makes tables for the L2 distance and takes an existing one as it is. It tells no ids of
its hits, so their vectors are found by the texts that they were made from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from langchain_core.documents import Document

from langchain_recall_signal.stores.base import StoreAdapter
from langchain_recall_signal.stores.texts import vectors_by_text
from recall_signal import ScoreKind

__all__ = ["SQLiteVecAdapter"]

_KINDS = {"l2": ScoreKind.L2, "cosine": ScoreKind.COSINE_DISTANCE}


class SQLiteVecAdapter(StoreAdapter):
    """Reads ``SQLiteVec``, which has no public names for its table."""

    def score_kind(self, store: Any) -> ScoreKind:
        """By the statement that the table was made with."""
        query = "SELECT sql FROM sqlite_master WHERE name = ?"
        found = store._connection.execute(query, [f"{store._table}_vec"]).fetchone()
        metric = re.search(r"distance_metric\s*=\s*(\w+)", found[0], re.IGNORECASE)
        return _KINDS.get(metric[1].lower() if metric else "l2", ScoreKind.UNKNOWN)

    def vectors(self, store: Any, documents: Sequence[Document]) -> Sequence[Any | None] | None:
        """The stored vectors, by the documents' texts."""
        texts = list({document.page_content for document in documents})
        marks = ", ".join("?" * len(texts))
        query = f"SELECT text, text_embedding FROM {store._table} WHERE text IN ({marks})"  # noqa: S608  (the store's own table)
        rows = store._connection.execute(query, texts).fetchall()
        found = [(text, np.frombuffer(vector, np.float32)) for text, vector in rows]
        return vectors_by_text(found, documents)
