"""`AzureSearch` of langchain-community and langchain-azure-ai: read by the stored vectors.

The store does not keep the index's metric, and a key for queries may not read it. Hybrid
searches fuse ranks. `AzureSearch.as_retriever()` returns a retriever class of its own, which
exposes neither scores nor the store's vectors here.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from langchain_core.documents import Document

from langchain_recall_signal.stores._base import StoreAdapter, Vectors
from recall_signal import ScoreKind


class _Client(Protocol):
    def search(self, **query: object) -> Iterable[Mapping[str, Any]]: ...


class _Store(Protocol):
    """The part of the store that is read."""

    client: _Client


class AzureSearchAdapter(StoreAdapter[_Store]):
    """Reads `AzureSearch`."""

    def score_kind(self, store: object) -> ScoreKind:  # noqa: ARG002
        """Return `unknown`: the store alone does not decide it."""
        return ScoreKind.UNKNOWN

    def vectors(self, store: _Store, documents: Sequence[Document]) -> Vectors | None:
        """Read the stored vectors by key, if the index returns them and filters by its key.

        Metadata of the user may hold another value under the key's name: a vector counts only
        together with its text.
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
        by_key = {(item[key], item[text]): item.get(vector) for item in found}
        return [
            by_key.get((id_, document.page_content))
            for id_, document in zip(ids, documents, strict=True)
        ]


def _field_names(store: object) -> tuple[str, str, str]:
    """Return the index's fields, which the environment can name for the store's whole module."""
    for store_class in type(store).__mro__:
        names = vars(sys.modules[store_class.__module__]) if store_class is not object else {}
        if "FIELDS_CONTENT_VECTOR" in names:
            return names["FIELDS_ID"], names["FIELDS_CONTENT"], names["FIELDS_CONTENT_VECTOR"]
    raise LookupError("the store's module names no fields")
