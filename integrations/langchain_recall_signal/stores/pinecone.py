"""``PineconeVectorStore`` of langchain-pinecone: the index's metric decides.

The store's own ``distance_strategy`` is not read: it defaults to the cosine whatever the index
is. A euclidean index reports the squared distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_recall_signal.stores.base import StoreAdapter
from recall_signal import ScoreKind
from recall_signal.stores.asked import AskedOnce

__all__ = ["PineconeAdapter"]

_METRICS = {
    "cosine": ScoreKind.COSINE,
    "dotproduct": ScoreKind.INNER_PRODUCT,
    "euclidean": ScoreKind.SQUARED_L2,
}


class PineconeAdapter(StoreAdapter):
    """Reads ``PineconeVectorStore``."""

    def __init__(self) -> None:
        self._kinds = AskedOnce(_kind_by_metric)

    def waits(self, store: Any) -> bool:
        """Until the server has told."""
        return self._kinds.waits(store)

    def score_kind(self, store: Any) -> ScoreKind:
        """By the index's metric, which its statistics tell."""
        return self._kinds.kind(store)

    def vectors(self, store: Any, documents: Sequence[Document]) -> Sequence[Any | None] | None:
        """The stored vectors, by id.

        A search may have gone to another namespace than the store's own, where the same id can
        be another text: a vector counts only with its text.
        """
        ids = [document.id for document in documents if document.id is not None]
        if not ids:
            return None
        found = store.index.fetch(ids=ids, namespace=store._namespace).vectors
        return [_vector_of(document, found, store._text_key) for document in documents]


def _kind_by_metric(store: Any) -> ScoreKind:
    told = store.index.describe_index_stats()
    return _METRICS.get(getattr(told, "metric", ""), ScoreKind.UNKNOWN)


def _vector_of(document: Document, found: Any, text_key: str) -> Any | None:
    record = found.get(document.id)
    if record is None or (record.metadata or {}).get(text_key) != document.page_content:
        return None
    return record.values or None
