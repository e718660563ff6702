"""``InMemoryVectorStore``: the score is the cosine itself, for vectors of any norm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_recall_signal.stores.base import StoreAdapter
from recall_signal import ScoreKind

__all__ = ["InMemoryAdapter"]


class InMemoryAdapter(StoreAdapter):
    """Reads ``InMemoryVectorStore``."""

    def score_kind(self, store: Any) -> ScoreKind:  # noqa: ARG002
        """Always the cosine."""
        return ScoreKind.COSINE

    def vectors(self, store: Any, documents: Sequence[Document]) -> Sequence[Any | None]:
        """The stored vectors, by id."""
        rows = [store.store.get(document.id) for document in documents]
        return [None if row is None else row["vector"] for row in rows]
