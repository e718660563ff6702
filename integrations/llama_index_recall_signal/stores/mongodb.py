"""``MongoDBAtlasVectorSearch``: the search index's similarity and the query mode decide.

For euclidean indexes the vendor's page says ``1 / (1 + distance)`` where the engine underneath
squares the distance, so that the stored vectors are compared instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index_recall_signal.stores.base import Hits, StoreAdapter
from recall_signal import ScoreKind
from recall_signal.stores import Reading, read_scores
from recall_signal.stores.asked import AskedOnce

__all__ = ["MongoDBAdapter"]

_SIMILARITIES = {
    "cosine": ScoreKind.HALF_COSINE,
    "dotProduct": ScoreKind.INNER_PRODUCT,  # once it is read from (1 + product) / 2
}
_MODES = {"text_search": ScoreKind.BM25, "hybrid": ScoreKind.RRF}


class MongoDBAdapter(StoreAdapter):
    """Reads ``MongoDBAtlasVectorSearch``."""

    def __init__(self) -> None:
        self._kinds = AskedOnce(_kind_by_index)

    def waits(self, store: Any) -> bool:
        """Until the server has told."""
        return self._kinds.waits(store)

    def score_kind(self, store: Any, mode: str) -> ScoreKind:
        """By the query mode, and in the default one by the definition of the search index."""
        return self._kinds.kind(store) if mode == "default" else _MODES.get(mode, ScoreKind.UNKNOWN)

    def read(self, store: Any, hits: Hits) -> Reading:
        """By the similarity."""
        kind = self.score_kind(store, hits.mode)
        if kind is not ScoreKind.INNER_PRODUCT:
            return read_scores(hits.scores, kind, "store", ranked=hits.mode == "default")
        products = [None if score is None else 2.0 * score - 1.0 for score in hits.scores]
        return read_scores(products, kind, "store", ranked=True)

    def vectors(self, store: Any, hits: Hits) -> Sequence[Any | None] | None:
        """The stored vectors, by id."""
        ids = [hit.node_id for hit in hits.nodes]
        found = store.collection.find({store._id_key: {"$in": ids}}, _fields(store))
        by_id = {item[store._id_key]: item.get(store._embedding_key) for item in found}
        return [by_id.get(id_) for id_ in ids]


def _fields(store: Any) -> dict[str, int]:
    return {store._id_key: 1, store._embedding_key: 1}


def _kind_by_index(store: Any) -> ScoreKind:
    """By the vector field that the store searches in the index of the store's name."""
    for index in store.collection.list_search_indexes(store._vector_index_name):
        for field in index["latestDefinition"].get("fields", ()):
            if field.get("type") == "vector" and field.get("path") == store._embedding_key:
                return _SIMILARITIES.get(field.get("similarity"), ScoreKind.UNKNOWN)
    return ScoreKind.UNKNOWN
