"""`MongoDBAtlasVectorSearch`: the search index's similarity and the query mode decide."""

from typing import ClassVar, Protocol

from llama_index_recall_signal.stores._base import Hits, ServerMetricAdapter, Vectors
from recall_signal import ScoreKind
from recall_signal.stores import Kind
from recall_signal.stores._vendors import MongoCollection, mongodb_kind


class _Store(Protocol):
    """The part of the store that is read."""

    collection: MongoCollection
    _embedding_key: str
    _id_key: str
    _vector_index_name: str


class MongoDBAdapter(ServerMetricAdapter[_Store]):
    """Reads `MongoDBAtlasVectorSearch`."""

    other_modes: ClassVar = {"text_search": ScoreKind.BM25, "hybrid": ScoreKind.RRF}

    def fetch_kind(self, store: _Store) -> Kind:
        """Return the kind by the definition of the search index."""
        return mongodb_kind(store.collection, store._vector_index_name, store._embedding_key)

    def vectors(self, store: _Store, hits: Hits) -> Vectors | None:
        """Read the stored vectors by id."""
        ids, key, vector = hits.node_ids, store._id_key, store._embedding_key
        found = store.collection.find({key: {"$in": ids}}, {key: 1, vector: 1})
        known = {item[key]: item.get(vector) for item in found}
        return [known.get(id_) for id_ in ids]
