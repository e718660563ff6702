"""`QdrantVectorStore`: the mode and the collection's distance decide.

In the default mode the score is the cosine, the inner product or the L2 distance. In hybrid
mode it is a fusion of both lists, each scaled to its own range, in sparse mode a product of word
weights: there the stored vectors decide.
"""

from typing import Protocol

from llama_index_recall_signal.stores._base import Hits, ServerMetricAdapter, Vectors
from recall_signal import ScoreKind
from recall_signal.stores import Kind
from recall_signal.stores._vendors import QdrantClient, qdrant_kind, qdrant_vector


class _Store(Protocol):
    """The part of the store that is read."""

    client: QdrantClient | None
    collection_name: str
    dense_vector_name: str


class QdrantAdapter(ServerMetricAdapter[_Store]):
    """Reads `QdrantVectorStore`, through its synchronous client."""

    def fetch_kind(self, store: _Store) -> Kind:
        """Return the kind by the collection's distance; none for an asynchronous client alone."""
        if store.client is None:
            return ScoreKind.UNKNOWN
        return qdrant_kind(store.client, store.collection_name, store.dense_vector_name)

    def vectors(self, store: _Store, hits: Hits) -> Vectors | None:
        """Read the stored dense vectors by the nodes' ids, which are the points'."""
        # A point's id is a whole number or a UUID; the node's is a text either way.
        ids = [int(id_) if id_.isdecimal() else id_ for id_ in hits.node_ids]
        if not ids or store.client is None:
            return None
        name = store.dense_vector_name
        points = store.client.retrieve(
            store.collection_name, ids=ids, with_payload=False, with_vectors=True
        )
        known = {point.id: qdrant_vector(point.vector, name) for point in points}
        return [known.get(id_) for id_ in ids]
