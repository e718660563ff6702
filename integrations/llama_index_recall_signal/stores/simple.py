"""``SimpleVectorStore``: the score is the cosine in the default mode, for vectors of any norm.

The other modes (MMR and the learners) score by something else, but the store keeps its vectors
at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index_recall_signal.stores.base import Hits, StoreAdapter
from recall_signal import ScoreKind

__all__ = ["SimpleAdapter"]


class SimpleAdapter(StoreAdapter):
    """Reads ``SimpleVectorStore``."""

    def score_kind(self, store: Any, mode: str) -> ScoreKind:  # noqa: ARG002
        """The cosine, in the default mode only."""
        return ScoreKind.COSINE if mode == "default" else ScoreKind.UNKNOWN

    def vectors(self, store: Any, hits: Hits) -> Sequence[Any | None]:
        """The vectors as they were stored."""
        return [_vector(store, hit.node.node_id) for hit in hits.nodes]


def _vector(store: Any, node_id: str) -> Any | None:
    try:
        return store.get(node_id)
    except KeyError:
        return None
