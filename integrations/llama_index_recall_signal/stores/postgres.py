"""``PGVectorStore``: the score is the cosine in the default mode, for vectors of any norm.

A hybrid page mixes cosines with text ranks, row by row, and MMR has a value of its own: there
the stored vectors decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index_recall_signal.stores.base import Hits, StoreAdapter
from recall_signal import ScoreKind

__all__ = ["PostgresAdapter"]


class PostgresAdapter(StoreAdapter):
    """Reads ``PGVectorStore``."""

    def score_kind(self, store: Any, mode: str) -> ScoreKind:  # noqa: ARG002
        """The cosine, in the default mode only."""
        return ScoreKind.COSINE if mode == "default" else ScoreKind.UNKNOWN

    def vectors(self, store: Any, hits: Hits) -> Sequence[Any | None] | None:
        """The stored vectors, by the nodes' ids."""
        ids = [hit.node.node_id for hit in hits.nodes]
        if not ids:
            return None  # asked for no ids, the store gives the whole table
        try:
            known = {node.node_id: node.embedding for node in store.get_nodes(node_ids=ids)}
        except ValueError:  # the store cannot make a node with a vector of half precision
            return None
        return [known.get(id_) for id_ in ids]
