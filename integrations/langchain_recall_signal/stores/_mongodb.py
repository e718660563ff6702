"""`MongoDBAtlasVectorSearch` of langchain-mongodb: the search index's similarity decides.

A reranked search carries its reranker's score.
"""

from collections.abc import Sequence
from typing import Protocol

from langchain_core.documents import Document

from langchain_recall_signal.stores._base import Hits, ServerMetricAdapter, Vectors, by_id, ids_of
from recall_signal.stores import Kind, ScoreReading
from recall_signal.stores._vendors import MongoCollection, mongodb_kind


class _Store(Protocol):
    """The part of the store that is read."""

    collection: MongoCollection
    _embedding_key: str | None
    _index_name: str


class MongoDBAdapter(ServerMetricAdapter[_Store]):
    """Reads `MongoDBAtlasVectorSearch`."""

    unsupported_kwargs = frozenset({"post_filter_pipeline"})
    """Stages of it may replace the score."""

    def fetch_kind(self, store: _Store) -> Kind:
        """Return the kind by the definition of the search index."""
        return mongodb_kind(store.collection, store._index_name, store._embedding_key)

    def scored_search(self, store: object) -> None:  # noqa: ARG002
        """Return None: the plain search writes scores into the metadata on request."""
        return

    def read(self, store: _Store, hits: Hits) -> ScoreReading:
        """Read these hits, unless a reranker has replaced their scores."""
        if any("rerankScore" in document.metadata for document in hits.documents):
            return ScoreReading(None, reason="score_not_convertible")
        return super().read(store, hits)

    def vectors(self, store: _Store, documents: Sequence[Document]) -> Vectors | None:
        """Return the vectors in the metadata, else read the stored ones by id."""
        key = store._embedding_key
        if key is None:  # the server embeds by itself
            return None
        vectors = [document.metadata.get(key) for document in documents]
        if any(vector is not None for vector in vectors):
            return vectors
        from bson import ObjectId  # comes with the store's own driver

        known = ids_of(documents)
        ids = [*known, *(ObjectId(id_) for id_ in known if ObjectId.is_valid(id_))]
        found = store.collection.find({"_id": {"$in": ids}}, {key: 1})
        return by_id(documents, {str(item["_id"]): item.get(key) for item in found})
