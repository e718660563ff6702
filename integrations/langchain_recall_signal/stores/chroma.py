"""``Chroma`` of langchain-chroma: the collection's space decides what the distance is.

The score is Chroma's own distance in the space ``l2`` (squared), ``cosine`` or ``ip`` (1 minus
the inner product). What the store calls relevance scores is not used: for ``l2`` it is made by
the formula for a distance that is not squared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_recall_signal.stores.base import Hits, StoreAdapter
from langchain_recall_signal.stores.products import read_product_distances
from recall_signal import ScoreKind
from recall_signal.stores import Reading

__all__ = ["ChromaAdapter"]

_KINDS = {
    "l2": ScoreKind.SQUARED_L2,
    "cosine": ScoreKind.COSINE_DISTANCE,
    "ip": ScoreKind.INNER_PRODUCT,  # once it is turned round: see read
}


class ChromaAdapter(StoreAdapter):
    """Reads ``Chroma``."""

    ties_keep_order = False

    def score_kind(self, store: Any) -> ScoreKind:
        """By the space of the collection's index."""
        return _KINDS.get(_space(store), ScoreKind.UNKNOWN)

    def read(self, store: Any, hits: Hits) -> Reading:
        """The cosines of these hits."""
        if _space(store) == "ip":
            return read_product_distances(hits)
        return super().read(store, hits)

    def vectors(self, store: Any, documents: Sequence[Document]) -> Sequence[Any | None]:
        """The stored vectors, by the documents' ids."""
        ids = [document.id for document in documents if document.id is not None]
        found = store.get(ids=ids, include=["embeddings"]) if ids else {"ids": (), "embeddings": ()}
        known = dict(zip(found["ids"], found["embeddings"], strict=True))
        return [known.get(document.id) for document in documents]


def _space(store: Any) -> str:
    """The space of the index; the store has no public name for its collection."""
    configuration = store._collection.configuration_json
    index = configuration.get("hnsw") or configuration.get("spann") or {}
    return str(index.get("space", ""))
