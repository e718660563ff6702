"""`InMemoryVectorStore`: the score is the cosine itself, for vectors of any norm."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from langchain_core.documents import Document

from langchain_recall_signal.stores._base import VECTOR_SEARCH, Hits, StoreAdapter, Vectors
from recall_signal import ScoreKind
from recall_signal.stores import ScoreReading
from recall_signal.stores._readings import are_stand_ins


class _Store(Protocol):
    """The part of the store that is read."""

    store: Mapping[str | None, Mapping[str, Any]]


class InMemoryAdapter(StoreAdapter[_Store]):
    """Reads `InMemoryVectorStore`."""

    is_local = True
    search_arguments = frozenset({"filter"})

    def score_kind(self, store: object) -> ScoreKind:  # noqa: ARG002
        """Return the cosine."""
        return ScoreKind.COSINE

    def vector_search(self, store: object) -> str:  # noqa: ARG002
        """Name the search by a vector, which the scored search calls."""
        return VECTOR_SEARCH

    def read(self, store: _Store, hits: Hits) -> ScoreReading:
        """Return the scores, unless the store may have made them up for vectors of no length."""
        if are_stand_ins(hits.scores):
            return ScoreReading(None, reason="norm_unknown")
        return super().read(store, hits)

    def vectors(self, store: _Store, documents: Sequence[Document]) -> Vectors:
        """Read the stored vectors by id."""
        rows = [store.store.get(document.id) for document in documents]
        return [None if row is None else row["vector"] for row in rows]
