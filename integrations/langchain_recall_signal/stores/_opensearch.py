"""`OpenSearchVectorSearch` of langchain-community: the cosine comes from the stored vectors.

The meaning of its score depends on the arguments of each search (approximate, by script,
hybrid) and, for one metric, on the server's version.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from langchain_core.documents import Document

from langchain_recall_signal.stores._base import StoreAdapter, Vectors, ids_of
from recall_signal import ScoreKind

_VECTOR, _TEXT = "vector_field", "text"
"""The store's default names of its two fields; it keeps no other ones."""


class _Client(Protocol):
    def mget(
        self, *, index: str, body: Mapping[str, object], params: Mapping[str, object]
    ) -> Mapping[str, Any]: ...


class _Store(Protocol):
    """The part of the store that is read."""

    client: _Client
    index_name: str
    is_aoss: bool
    routing: str | None


class OpenSearchAdapter(StoreAdapter[_Store]):
    """Reads `OpenSearchVectorSearch`."""

    def score_kind(self, store: object) -> ScoreKind:  # noqa: ARG002
        """Return `unknown`: the store alone does not decide it."""
        return ScoreKind.UNKNOWN

    def vectors(self, store: _Store, documents: Sequence[Document]) -> Vectors | None:
        """Return the vectors in the metadata, else read the stored ones by id.

        A search may have used another index, where the same id can be another text: a vector
        counts only together with its text. The serverless service reads nothing by id.
        """
        vectors = [document.metadata.get(_VECTOR) for document in documents]
        if any(vector is not None for vector in vectors):
            return vectors
        if store.is_aoss:
            return None
        route = {"routing": store.routing} if store.routing else {}
        found = store.client.mget(
            index=store.index_name,
            body={"ids": ids_of(documents)},
            params={"_source_includes": f"{_VECTOR},{_TEXT}", **route},
        )
        sources = [(item["_id"], item.get("_source", {})) for item in found["docs"]]
        known = {(id_, source.get(_TEXT)): source.get(_VECTOR) for id_, source in sources}
        return [known.get((document.id, document.page_content)) for document in documents]
