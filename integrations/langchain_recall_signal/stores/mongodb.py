"""``MongoDBAtlasVectorSearch`` of langchain-mongodb: the search index's similarity decides.

For euclidean indexes the vendor's page says ``1 / (1 + distance)`` where the engine underneath
squares the distance, so that the stored vectors are compared instead. A reranked search carries
its reranker's score.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_recall_signal.stores.base import Hits, StoreAdapter
from recall_signal import ScoreKind
from recall_signal.stores import Reading, read_scores
from recall_signal.stores.asked import AskedOnce

__all__ = ["MongoDBAdapter"]

_SIMILARITIES = {
    "cosine": ScoreKind.HALF_COSINE,
    "dotProduct": ScoreKind.INNER_PRODUCT,  # once it is read from (1 + product) / 2
}


class MongoDBAdapter(StoreAdapter):
    """Reads ``MongoDBAtlasVectorSearch``."""

    unlike = frozenset({"post_filter_pipeline"})  # a stage of it may put another score in place

    def __init__(self) -> None:
        self._kinds = AskedOnce(_kind_by_index)

    def waits(self, store: Any) -> bool:
        """Until the server has told."""
        return self._kinds.waits(store)

    def score_kind(self, store: Any) -> ScoreKind:
        """By the definition of the search index."""
        return self._kinds.kind(store)

    def scored_search(self, store: Any) -> None:  # noqa: ARG002
        """None: the plain search also writes scores into the metadata where it is asked to."""
        return

    def read(self, store: Any, hits: Hits) -> Reading:
        """By the similarity, unless a reranker has put its score in place of it."""
        if any("rerankScore" in document.metadata for document in hits.documents):
            return Reading(None, reason="score_not_convertible")
        kind = self.score_kind(store)
        if kind is not ScoreKind.INNER_PRODUCT:
            return read_scores(hits.scores, kind, "store", ranked=True)
        products = [None if score is None else 2.0 * score - 1.0 for score in hits.scores]
        return read_scores(products, kind, "store", ranked=True)

    def vectors(self, store: Any, documents: Sequence[Document]) -> Sequence[Any | None] | None:
        """The stored vectors: those that came along, else by id."""
        key = store._embedding_key
        if key is None:  # the server embeds by itself
            return None
        vectors = [document.metadata.get(key) for document in documents]
        if any(vector is not None for vector in vectors):
            return vectors
        from bson import ObjectId  # comes with the store's own driver

        ids: list[Any] = [document.id for document in documents if document.id is not None]
        ids += [ObjectId(id_) for id_ in ids if ObjectId.is_valid(id_)]
        found = store.collection.find({"_id": {"$in": ids}}, {key: 1})
        by_id = {str(item["_id"]): item.get(key) for item in found}
        return [by_id.get(document.id or "") for document in documents]


def _kind_by_index(store: Any) -> ScoreKind:
    """By the vector field that the store searches in the index of the store's name."""
    for index in store.collection.list_search_indexes(store._index_name):
        for field in index["latestDefinition"].get("fields", ()):
            if field.get("type") == "vector" and field.get("path") == store._embedding_key:
                return _SIMILARITIES.get(field.get("similarity"), ScoreKind.UNKNOWN)
    return ScoreKind.UNKNOWN
