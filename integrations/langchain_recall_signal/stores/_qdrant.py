"""`QdrantVectorStore` of langchain-qdrant: the retrieval mode and the collection decide.

In dense mode the score is the cosine, the inner product or the L2 distance. In hybrid mode it
is a fusion of ranks, in sparse mode a product of word weights; neither holds a cosine. The
store's own `distance` is not read: without validation it may differ from the collection's.
"""

from collections.abc import Sequence
from typing import Protocol

from langchain_core.documents import Document

from langchain_recall_signal.stores._base import VECTOR_SEARCH, ServerMetricAdapter, Vectors
from recall_signal import ScoreKind
from recall_signal.stores import Kind
from recall_signal.stores._vendors import QdrantClient, qdrant_kind, qdrant_vector


class _Store(Protocol):
    """The part of the store that is read."""

    client: QdrantClient
    collection_name: str
    retrieval_mode: str
    vector_name: str


class QdrantAdapter(ServerMetricAdapter[_Store]):
    """Reads `QdrantVectorStore`."""

    def local_kind(self, store: _Store) -> Kind | None:
        """Return the kind of the modes that are not dense."""
        if store.retrieval_mode == "dense":
            return None
        return ScoreKind.RRF if store.retrieval_mode == "hybrid" else ScoreKind.UNKNOWN

    def fetch_kind(self, store: _Store) -> Kind:
        """Return the kind by the collection's distance."""
        return qdrant_kind(store.client, store.collection_name, store.vector_name)

    def vector_search(self, store: _Store) -> str | None:
        """Name the search by a vector, which is the dense mode's."""
        return VECTOR_SEARCH if store.retrieval_mode == "dense" else None

    def vectors(self, store: _Store, documents: Sequence[Document]) -> Vectors:
        """Read the stored dense vectors by the point ids that the store puts into metadata."""
        ids = [document.metadata.get("_id") for document in documents]
        name = store.vector_name
        points = store.client.retrieve(
            store.collection_name,
            ids=[id_ for id_ in ids if id_ is not None],
            with_payload=False,
            with_vectors=[name] if name else True,
        )
        known = {point.id: qdrant_vector(point.vector, name) for point in points}
        return [known.get(id_) for id_ in ids]
