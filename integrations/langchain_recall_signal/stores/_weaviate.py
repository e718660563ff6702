"""`WeaviateVectorStore` of langchain-weaviate: every search is a hybrid one.

Its score is fused and normalised within each result list, so that the best hit is near 1 every
time. A cosine takes the stored vectors, which a search returns on request only:
`search_kwargs={"include_vector": True}` for the vectors, `{"return_uuids": True}` for the
ids to read them by.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from langchain_core.documents import Document

from langchain_recall_signal.stores._base import StoreAdapter, Vectors
from recall_signal import ScoreKind


class _Store(Protocol):
    """The part of the store that is read."""

    _collection: Any
    _multi_tenancy_enabled: bool


class WeaviateAdapter(StoreAdapter[_Store]):
    """Reads `WeaviateVectorStore`."""

    def score_kind(self, store: object) -> ScoreKind:  # noqa: ARG002
        """Return the fused score."""
        return ScoreKind.FUSED_NORMALIZED

    def vectors(self, store: _Store, documents: Sequence[Document]) -> Vectors | None:
        """Return the vectors in the metadata, else read the stored ones by the ids there."""
        brought = [document.metadata.get("vector") for document in documents]
        vectors = [vector if isinstance(vector, list) else None for vector in brought]
        ids = [document.metadata.get("uuid") for document in documents]
        known = [id_ for id_ in ids if id_ is not None]
        if any(vector is not None for vector in vectors) or not known:
            return vectors
        if store._multi_tenancy_enabled:  # the tenant of the search is unknown here
            return None
        found = store._collection.query.fetch_objects_by_ids(
            known, limit=len(known), include_vector=True, return_properties=False
        )
        by_uuid = {str(item.uuid): item.vector.get("default") for item in found.objects}
        return [by_uuid.get(id_ or "") for id_ in ids]
