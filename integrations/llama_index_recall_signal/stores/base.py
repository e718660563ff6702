"""What an adapter of a vector store has to know: what the store's number is in which mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.schema import NodeWithScore

from recall_signal import ScoreKind
from recall_signal.stores import Reading, read_scores

__all__ = ["Hits", "StoreAdapter"]


@dataclass(frozen=True, slots=True)
class Hits:
    """What one search of a store brought.

    Attributes:
        nodes: The hits as the store gave them, in rank order.
        mode: The query mode they were searched in (see :meth:`StoreAdapter.mode`).
        ids: The store's own ids of the hits; empty where it gave none.
    """

    nodes: Sequence[NodeWithScore]
    mode: str
    ids: Sequence[str] = ()

    @property
    def scores(self) -> list[float | None]:
        """The store's own number for each."""
        return [hit.score for hit in self.nodes]


class StoreAdapter:
    """Reads one kind of vector store. Most stores need :meth:`score_kind` only.

    An adapter holds no state of a query and never writes to the store.
    """

    def mode(self, store: Any, mode: str, options: Mapping[str, Any]) -> str:  # noqa: ARG002
        """The query mode that the store will really search in.

        Args:
            store: The store.
            mode: The retriever's, as ``VectorStoreQueryMode`` names it.
            options: What the retriever hands to the store beside the query.
        """
        return mode

    def score_kind(self, store: Any, mode: str) -> ScoreKind | None:  # noqa: ARG002
        """What ``NodeWithScore.score`` is, by the store's settings and the query mode.

        None from an adapter with a :meth:`read` of its own.
        """
        return None

    def waits(self, store: Any) -> bool:  # noqa: ARG002
        """Whether the settings or the scores cannot be read without waiting for the store.

        Asynchronous calls then do it in a worker thread.
        """
        return False

    def read(self, store: Any, hits: Hits) -> Reading:
        """The cosines of these hits, as far as their scores tell them."""
        kind = self.score_kind(store, hits.mode)
        if kind is None:  # neither named nor read in a way of its own
            return Reading(None, reason="adapter_failed")
        return read_scores(hits.scores, kind, "store", ranked=hits.mode == "default")

    def vectors(self, store: Any, hits: Hits) -> Sequence[Any | None] | None:  # noqa: ARG002
        """The stored vector of each hit, None where it cannot be had in one round trip.

        Asked for where scores give no cosine, and once to look at the vectors' length. Called
        from a worker thread in asynchronous calls.
        """
        return [hit.node.embedding for hit in hits.nodes]
