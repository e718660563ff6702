"""`PGVector` and `PGVectorStore` of langchain-postgres: the distance strategy decides.

Both return pgvector's distance, the older one the negative inner product, the newer one the
inner product itself. With a hybrid search configured, the newer one replaces the distance by
fused scores.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from langchain_core.documents import Document

from langchain_recall_signal.stores._base import (
    VECTOR_SEARCH,
    StoreAdapter,
    Vectors,
    by_id,
    ids_of,
)
from recall_signal import ScoreKind

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


class _PGVector(Protocol):
    """The part of `PGVector` that is read; its tables are classes of SQLAlchemy."""

    EmbeddingStore: Any
    async_mode: bool
    session_maker: Any
    _distance_strategy: str


class _Inner(Protocol):
    distance_strategy: Any
    hybrid_search_config: object


class _PGVectorStore(Protocol):
    """The part of `PGVectorStore` that is read."""

    _PGVectorStore__vs: _Inner
    _engine: Any

    def get(self, *, ids: Sequence[str], include: Sequence[str]) -> Mapping[str, Any]: ...


class PGVectorAdapter(StoreAdapter[_PGVector]):
    """Reads `PGVector`."""

    ties_keep_order = False

    def score_kind(self, store: _PGVector) -> ScoreKind:
        """Return the kind by the distance strategy, which has no public name."""
        return _STRATEGIES.get(store._distance_strategy, ScoreKind.UNKNOWN)

    def vector_search(self, store: object) -> str:  # noqa: ARG002
        """Name the search by a vector, which the scored search calls."""
        return VECTOR_SEARCH

    def vectors(self, store: _PGVector, documents: Sequence[Document]) -> Vectors | None:
        """Read the stored vectors by the documents' ids; None for a store in asynchronous mode.

        The connections of such a store belong to the event loop of its searches.
        """
        if store.async_mode:
            return None
        table = store.EmbeddingStore
        with store.session_maker() as session:
            rows = session.query(table.id, table.embedding).filter(table.id.in_(ids_of(documents)))
            return by_id(documents, dict(rows.all()))


class AsyncPGVectorStoreAdapter(StoreAdapter[_Inner]):
    """Reads `AsyncPGVectorStore`, whose vectors cannot be read from a worker thread."""

    ties_keep_order = False
    unsupported_kwargs = frozenset({"hybrid_search_config"})

    def score_kind(self, store: _Inner) -> ScoreKind:
        """Return the kind by the hybrid search, else by the function of the distance."""
        return _kind(store)


class PGVectorStoreAdapter(StoreAdapter[_PGVectorStore]):
    """Reads `PGVectorStore`, whose settings are those of the store inside of it."""

    ties_keep_order = AsyncPGVectorStoreAdapter.ties_keep_order
    unsupported_kwargs = AsyncPGVectorStoreAdapter.unsupported_kwargs

    def score_kind(self, store: _PGVectorStore) -> ScoreKind:
        """Return the kind by the store inside, which has no public name."""
        return _kind(store._PGVectorStore__vs)

    def vectors(self, store: _PGVectorStore, documents: Sequence[Document]) -> Vectors | None:
        """Read the stored vectors by id; None for an engine without an event loop of its own."""
        ids = ids_of(documents)
        if not ids or store._engine._loop is None:
            return None
        found = store.get(ids=ids, include=["embeddings"])
        parsed = map(json.loads, found["embeddings"])
        return by_id(documents, dict(zip(found["ids"], parsed, strict=True)))


def _kind(store: _Inner) -> ScoreKind:
    if store.hybrid_search_config:
        return ScoreKind.FUSED_NORMALIZED
    return _FUNCTIONS.get(store.distance_strategy.search_function, ScoreKind.UNKNOWN)
