"""What an adapter of a vector store has to know: what the store's number is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document

from recall_signal import ScoreKind
from recall_signal.stores import Reading, read_scores

__all__ = ["SCORED_SEARCH", "Hits", "StoreAdapter"]

SCORED_SEARCH = "similarity_search_with_score"
"""The search with scores that most stores have."""


@dataclass(slots=True)
class Hits:
    """What one search of a store brought, in rank order.

    Attributes:
        documents: The hits as the store gave them.
        scores: The store's own number for each; empty where the search showed none.
        query_vector: The vector that was searched with, where the store let it be seen.
    """

    documents: Sequence[Document]
    scores: Sequence[float | None]
    query_vector: Sequence[float] | None = None


class StoreAdapter:
    """Reads one kind of vector store. Most stores need :meth:`score_kind` only.

    An adapter holds no state of a query and never writes to the store.

    Attributes:
        ties_keep_order: Whether the order of equal scores does not depend on how many hits are
            asked for.
        unlike: Search arguments with which the scored search is not the plain one, or its number
            is not of this kind. The plain search then runs, and its scores are not looked at.
    """

    ties_keep_order: bool = True
    unlike: frozenset[str] = frozenset()

    def score_kind(self, store: Any) -> ScoreKind | None:  # noqa: ARG002
        """What the number in :meth:`scored_search` is, by the store's settings.

        None from an adapter with a :meth:`read` of its own. Where it has to ask the store's
        server: :class:`recall_signal.stores.asked.AskedOnce`.
        """
        return None

    def scored_search(self, store: Any) -> str | None:  # noqa: ARG002
        """The store's method that does what its ``similarity_search`` does and gives scores.

        Its asynchronous twin has the same name with an ``a`` before it. None for a store whose
        ``similarity_search`` does more: that runs as it is, and the scores are seen where it
        calls ``similarity_search_with_score`` itself.
        """
        return SCORED_SEARCH

    def score_key(self, store: Any) -> str | None:  # noqa: ARG002
        """Where ``similarity_search`` itself puts the score in a document's metadata, if it does.

        For stores without a search that returns scores.
        """
        return None

    def encoder(self, store: Any) -> Any:
        """What the store embeds queries with, None where it does not tell."""
        return getattr(store, "embeddings", None)

    def waits(self, store: Any) -> bool:  # noqa: ARG002
        """Whether the settings or the scores cannot be read without waiting for the store.

        Asynchronous calls then do it in a worker thread.
        """
        return False

    def read(self, store: Any, hits: Hits) -> Reading:
        """The cosines of these hits, as far as their scores tell them."""
        kind = self.score_kind(store)
        if kind is None:  # neither named nor read in a way of its own
            return Reading(None, reason="adapter_failed")
        return read_scores(hits.scores, kind, "store", ranked=True)

    def vectors(
        self,
        store: Any,  # noqa: ARG002
        documents: Sequence[Document],  # noqa: ARG002
    ) -> Sequence[Any | None] | None:
        """The stored vector of each document, in one round trip; None where that cannot be had.

        Asked for where scores give no cosine, and once to look at the vectors' length. Called
        from a worker thread in asynchronous calls.
        """
        return None
