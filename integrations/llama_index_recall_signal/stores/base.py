"""What an adapter of a vector store has to know: what the store's number is in which mode."""

from __future__ import annotations

from collections.abc import Sequence
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
        mode: The query mode they were searched in, as ``VectorStoreQueryMode`` names it.
    """

    nodes: Sequence[NodeWithScore]
    mode: str

    @property
    def scores(self) -> list[float | None]:
        """The store's own number for each."""
        return [hit.score for hit in self.nodes]


class StoreAdapter:
    """Reads one kind of vector store. Most stores need :meth:`score_kind` only.

    An adapter holds no state of a query and never writes to the store.
    """

    def score_kind(self, store: Any, mode: str) -> ScoreKind:
        """What ``NodeWithScore.score`` is, by the store's settings and the query mode."""
        raise NotImplementedError

    def read(self, store: Any, hits: Hits) -> Reading:
        """The cosines of these hits."""
        return read_scores(hits.scores, self.score_kind(store, hits.mode), "store")

    def vectors(self, store: Any, hits: Hits) -> Sequence[Any | None]:  # noqa: ARG002
        """The stored vector of each hit, None where it cannot be had without another search."""
        return [hit.node.embedding for hit in hits.nodes]
