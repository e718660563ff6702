"""``AzureSearch`` of langchain-community and langchain-azure-ai: read by the stored vectors.

The store does not keep the index's metric, and a key for queries may not ask for it. Hybrid
searches fuse ranks. ``AzureSearch.as_retriever()`` gives a retriever class of its own, which
shows neither scores nor the store's vectors here.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_recall_signal.stores.base import StoreAdapter
from recall_signal import ScoreKind

__all__ = ["AzureSearchAdapter"]


class AzureSearchAdapter(StoreAdapter):
    """Reads ``AzureSearch``."""

    def score_kind(self, store: Any) -> ScoreKind:  # noqa: ARG002
        """Not to be told from the store alone."""
        return ScoreKind.UNKNOWN

    def vectors(self, store: Any, documents: Sequence[Document]) -> Sequence[Any | None] | None:
        """The stored vectors by key, if the index gives them out and filters by its key.

        A document's own metadata may hold something else under the key's name: a vector counts
        only with its text.
        """
        key, text, vector = _field_names(store)
        ids = [document.metadata.get(key) for document in documents]
        known = [id_ for id_ in ids if isinstance(id_, str) and "'" not in id_]
        if not known:
            return None
        found = store.client.search(
            search_text=None,
            filter=f"search.in({key}, '{','.join(known)}', ',')",
            select=[key, text, vector],
            top=len(known),
        )
        by_id = {(item[key], item[text]): item.get(vector) for item in found}
        return [
            by_id.get((id_, document.page_content))
            for id_, document in zip(ids, documents, strict=True)
        ]


def _field_names(store: Any) -> tuple[str, str, str]:
    """The index's fields, which the environment can name for the store's whole module."""
    for store_class in type(store).__mro__:
        names: Any = sys.modules.get(store_class.__module__)
        if hasattr(names, "FIELDS_CONTENT_VECTOR"):
            return names.FIELDS_ID, names.FIELDS_CONTENT, names.FIELDS_CONTENT_VECTOR
    raise LookupError("the store's module names no fields")
