"""`PineconeVectorStore` of langchain-pinecone: the index's metric decides.

The store's `distance_strategy` is not read: it defaults to the cosine whatever the index
is. A euclidean index reports the squared distance.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from langchain_core.documents import Document

from langchain_recall_signal.stores._base import ServerMetricAdapter, Vectors, ids_of
from recall_signal.stores import Kind
from recall_signal.stores._vendors import PineconeIndex, pinecone_kind


class _Index(PineconeIndex, Protocol):
    def fetch(self, *, ids: Sequence[str], namespace: str | None) -> Any: ...


class _Store(Protocol):
    """The part of the store that is read."""

    index: _Index
    _namespace: str | None
    _text_key: str


class PineconeAdapter(ServerMetricAdapter[_Store]):
    """Reads `PineconeVectorStore`."""

    def fetch_kind(self, store: _Store) -> Kind:
        """Return the kind by the index's metric."""
        return pinecone_kind(store.index)

    def vectors(self, store: _Store, documents: Sequence[Document]) -> Vectors | None:
        """Read the stored vectors by id.

        A search may have used another namespace than the store's own, where the same id can
        be another text: a vector counts only together with its text.
        """
        ids, key = ids_of(documents), store._text_key
        if not ids:
            return None
        found = store.index.fetch(ids=ids, namespace=store._namespace).vectors
        known = {(id_, (row.metadata or {}).get(key)): row.values for id_, row in found.items()}
        return [known.get((document.id, document.page_content)) or None for document in documents]
