"""`AstraDBVectorStore` of langchain-astradb: the collection's metric and the search decide.

The database maps every metric into [0, 1]. A hybrid search carries its reranker's score.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from langchain_core.documents import Document

from langchain_recall_signal.stores._base import ServerMetricAdapter, Vectors, by_id, ids_of
from recall_signal import ScoreKind
from recall_signal.stores import Kind, Vector, unit_only

_METRICS: dict[str, Kind] = {
    "cosine": ScoreKind.HALF_COSINE,
    "dot_product": unit_only(ScoreKind.HALF_COSINE),  # (1 + inner product) / 2
    "euclidean": ScoreKind.INVERSE_SQUARED_L2,
}
_MAX_IDS = 100
"""The database's limit for one request."""


class _Store(Protocol):
    """The part of the store that is read; its answers are models of the database's client."""

    astra_env: Any
    hybrid_search: object

    def run_query(self, *, n: int, ids: Sequence[str], include_embeddings: bool) -> Any: ...


class AstraDBAdapter(ServerMetricAdapter[_Store]):
    """Reads `AstraDBVectorStore`."""

    def local_kind(self, store: _Store) -> Kind | None:
        """Return the kind of a hybrid search."""
        return ScoreKind.RERANKER_LOGIT if store.hybrid_search else None

    def fetch_kind(self, store: _Store) -> Kind:
        """Return the kind by the collection's metric."""
        vector = store.astra_env.collection.options().vector
        return _METRICS.get(vector.metric, ScoreKind.UNKNOWN)

    def vectors(self, store: _Store, documents: Sequence[Document]) -> Vectors:
        """Read the stored vectors by id."""
        ids = ids_of(documents)
        found: dict[str, Vector | None] = {}
        for start in range(0, len(ids), _MAX_IDS):
            part = ids[start : start + _MAX_IDS]
            items = store.run_query(n=len(part), ids=part, include_embeddings=True)
            found.update({item.id: item.embedding for item in items})
        return by_id(documents, found)
