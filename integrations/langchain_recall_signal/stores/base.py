"""What an adapter of a vector store has to know: what the store's number is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document

from recall_signal import ScoreKind
from recall_signal.stores import Reading, read_scores

__all__ = ["Hits", "StoreAdapter"]


@dataclass(slots=True)
class Hits:
    """What one search of a store brought, in rank order.

    Attributes:
        documents: The hits as the store gave them.
        scores: The store's own number for each.
        query_vector: The vector that was searched with, where the store let it be seen.
    """

    documents: Sequence[Document]
    scores: Sequence[float]
    query_vector: Sequence[float] | None = None


class StoreAdapter:
    """Reads one kind of vector store. Most stores need :meth:`score_kind` only.

    An adapter holds no state of a query and never writes to the store.

    Attributes:
        ties_keep_order: Whether the order of equal scores does not depend on how many hits are
            asked for.
    """

    ties_keep_order: bool = True

    def score_kind(self, store: Any) -> ScoreKind:
        """What the number in ``similarity_search_with_score`` is, by the store's settings."""
        raise NotImplementedError

    def read(self, store: Any, hits: Hits) -> Reading:
        """The cosines of these hits."""
        return read_scores(hits.scores, self.score_kind(store), "store")
