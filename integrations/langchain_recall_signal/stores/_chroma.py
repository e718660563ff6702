"""`Chroma` of langchain-chroma: the collection's space decides the distance.

The score is Chroma's own distance in the space `l2` (squared), `cosine` or `ip` (1 minus
the inner product). The store's relevance scores are not used: for `l2` they come from the
formula for a distance that is not squared.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from langchain_core.documents import Document

from langchain_recall_signal.stores._base import StoreAdapter, Vectors, by_id, ids_of
from recall_signal import ScoreKind
from recall_signal.stores import Kind, unit_only

_KINDS: dict[str, Kind] = {
    "l2": ScoreKind.SQUARED_L2,
    "cosine": ScoreKind.COSINE_DISTANCE,
    "ip": unit_only(ScoreKind.COSINE_DISTANCE),  # 1 - inner product
}


class _Collection(Protocol):
    configuration_json: Mapping[str, Mapping[str, str]]


class _Store(Protocol):
    """The part of the store that is read."""

    _collection: _Collection

    def get(
        self,
        *,
        ids: Any = None,
        where: Any = None,
        where_document: Any = None,
        limit: int | None = None,
        include: Sequence[str],
    ) -> Mapping[str, Any]: ...


class ChromaAdapter(StoreAdapter[_Store]):
    """Reads `Chroma`."""

    ties_keep_order = False

    def score_kind(self, store: _Store) -> Kind:
        """Return the kind by the space of the collection, which has no public name."""
        configuration = store._collection.configuration_json
        index = configuration.get("hnsw") or configuration.get("spann") or {}
        return _KINDS.get(index.get("space", ""), ScoreKind.UNKNOWN)

    def vector_search(self, store: object) -> str:  # noqa: ARG002
        """Name the search by a vector, whose number is the distance as well."""
        return "similarity_search_by_vector_with_relevance_scores"

    def item_count(self, store: _Store, arguments: Mapping[str, object], limit: int) -> int:
        """Count the records that pass the filters: hits without a text are dropped later."""
        chosen = store.get(
            ids=arguments.get("ids"),
            where=arguments.get("filter"),
            where_document=arguments.get("where_document"),
            limit=limit,
            include=[],
        )
        return len(chosen["ids"])

    def vectors(self, store: _Store, documents: Sequence[Document]) -> Vectors | None:
        """Read the stored vectors by the documents' ids."""
        ids = ids_of(documents)
        if not ids:
            return None
        found = store.get(ids=ids, include=["embeddings"])
        return by_id(documents, dict(zip(found["ids"], found["embeddings"], strict=True)))
