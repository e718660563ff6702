"""``PGVector`` and ``PGVectorStore`` of langchain-postgres: the distance strategy decides.

Both give pgvector's distance, the older one the negative inner product, the newer one the
inner product itself. With a hybrid search configured, the newer one writes fused scores over
the distance.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_recall_signal.stores.base import StoreAdapter
from recall_signal import ScoreKind

__all__ = ["AsyncPGVectorStoreAdapter", "PGVectorAdapter", "PGVectorStoreAdapter"]

_STRATEGIES = {
    "cosine": ScoreKind.COSINE_DISTANCE,
    "l2": ScoreKind.L2,
    "inner": ScoreKind.NEGATIVE_INNER_PRODUCT,
}
_FUNCTIONS = {
    "cosine_distance": ScoreKind.COSINE_DISTANCE,
    "l2_distance": ScoreKind.L2,
    "inner_product": ScoreKind.INNER_PRODUCT,
}


class PGVectorAdapter(StoreAdapter):
    """Reads ``PGVector``."""

    ties_keep_order = False

    def score_kind(self, store: Any) -> ScoreKind:
        """By the distance strategy, which the store has no public name for."""
        return _STRATEGIES.get(store._distance_strategy, ScoreKind.UNKNOWN)

    def vectors(self, store: Any, documents: Sequence[Document]) -> Sequence[Any | None] | None:
        """The stored vectors, by the documents' ids; None for a store in asynchronous mode.

        The connections of such a store belong to the event loop that it was used in.
        """
        if store.async_mode:
            return None
        table = store.EmbeddingStore
        ids = [document.id for document in documents]
        with store.session_maker() as session:
            known = dict(session.query(table.id, table.embedding).filter(table.id.in_(ids)).all())
        return [known.get(id_) for id_ in ids]


class AsyncPGVectorStoreAdapter(StoreAdapter):
    """Reads ``AsyncPGVectorStore``, which can give no vectors: it has no way to wait for them."""

    ties_keep_order = False
    unlike = frozenset({"hybrid_search_config"})

    def score_kind(self, store: Any) -> ScoreKind:
        """By the hybrid search, else by the function that the distance comes from."""
        if store.hybrid_search_config:
            return ScoreKind.FUSED_NORMALIZED
        return _FUNCTIONS.get(store.distance_strategy.search_function, ScoreKind.UNKNOWN)


class PGVectorStoreAdapter(AsyncPGVectorStoreAdapter):
    """Reads ``PGVectorStore``, whose settings are those of the store inside of it."""

    def score_kind(self, store: Any) -> ScoreKind:
        """By the store inside, which has no public name."""
        return super().score_kind(store._PGVectorStore__vs)

    def vectors(self, store: Any, documents: Sequence[Document]) -> Sequence[Any | None] | None:
        """The stored vectors, by the documents' ids; None for an engine without its own loop."""
        ids = [document.id for document in documents if document.id is not None]
        if not ids or store._engine._loop is None:
            return None
        found = store.get(ids=ids, include=["embeddings"])
        known = dict(zip(found["ids"], found["embeddings"], strict=True))
        texts = [known.get(document.id) for document in documents]
        return [None if text is None else json.loads(text) for text in texts]
