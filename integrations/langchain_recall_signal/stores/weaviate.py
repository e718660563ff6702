"""``WeaviateVectorStore`` of langchain-weaviate: every search is a hybrid one.

Its score is fused and normalised within each result list, so that the best hit is near 1 every
time. A cosine takes the stored vectors, which a search gives by request only:
``search_kwargs={"include_vector": True}`` brings them along, ``{"return_uuids": True}`` the ids
to read them by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_recall_signal.stores.base import StoreAdapter
from recall_signal import ScoreKind

__all__ = ["WeaviateAdapter"]

_UNNAMED = "default"


class WeaviateAdapter(StoreAdapter):
    """Reads ``WeaviateVectorStore``."""

    def score_kind(self, store: Any) -> ScoreKind:  # noqa: ARG002
        """Always a fused score."""
        return ScoreKind.FUSED_NORMALIZED

    def vectors(self, store: Any, documents: Sequence[Document]) -> Sequence[Any | None] | None:
        """The stored vectors: those that came along, else by the ids that did."""
        vectors = [_brought_along(document) for document in documents]
        ids = [document.metadata.get("uuid") for document in documents]
        known = [id_ for id_ in ids if id_ is not None]
        # With tenants, nothing tells here which one was searched.
        if any(vector is not None for vector in vectors) or not known:
            return vectors
        if store._multi_tenancy_enabled:
            return None
        found = store._collection.query.fetch_objects_by_ids(
            known, limit=len(known), include_vector=True, return_properties=False
        )
        by_id = {str(item.uuid): item.vector.get(_UNNAMED) for item in found.objects}
        return [by_id.get(id_ or "") for id_ in ids]


def _brought_along(document: Document) -> Any | None:
    vector = document.metadata.get("vector")
    return vector if isinstance(vector, list) else None
