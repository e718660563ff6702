"""``QdrantVectorStore`` of langchain-qdrant: the retrieval mode and the distance decide.

In dense mode the score is the cosine, the inner product or the L2 distance. In hybrid mode it
is a fusion of ranks, in sparse mode a product of word weights; neither holds a cosine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_recall_signal.stores.base import StoreAdapter
from recall_signal import ScoreKind

__all__ = ["QdrantAdapter"]

_DENSE = {
    "Cosine": ScoreKind.COSINE,
    "Dot": ScoreKind.INNER_PRODUCT,
    "Euclid": ScoreKind.L2,
}


class QdrantAdapter(StoreAdapter):
    """Reads ``QdrantVectorStore``."""

    def score_kind(self, store: Any) -> ScoreKind:
        """By the retrieval mode, and in dense mode by the distance."""
        if store.retrieval_mode == "dense":
            return _DENSE.get(store.distance, ScoreKind.UNKNOWN)
        return ScoreKind.RRF if store.retrieval_mode == "hybrid" else ScoreKind.UNKNOWN

    def vectors(self, store: Any, documents: Sequence[Document]) -> Sequence[Any | None] | None:
        """The stored dense vectors, by the point ids that the store puts into the metadata."""
        ids = [document.metadata.get("_id") for document in documents]
        points = store.client.retrieve(
            store.collection_name,
            ids=[id_ for id_ in ids if id_ is not None],
            with_payload=False,
            with_vectors=[store.vector_name] if store.vector_name else True,
        )
        known = {point.id: _dense(point.vector, store.vector_name) for point in points}
        return [known.get(id_) for id_ in ids]


def _dense(vector: Any, name: str) -> Any:
    """The one vector that is compared: a point may hold several by name."""
    return vector.get(name) if isinstance(vector, dict) else vector
