"""``ChromaVectorStore``: the collection's space decides what the distance is.

The score is ``exp(-distance)`` in the space ``l2`` (squared), ``cosine`` or ``ip`` (1 minus the
inner product).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index_recall_signal.stores.base import Hits, StoreAdapter
from llama_index_recall_signal.stores.products import read_product_exponentials
from recall_signal import ScoreKind
from recall_signal.stores import Reading

__all__ = ["ChromaAdapter"]

_KINDS = {
    "l2": ScoreKind.EXP_NEG_SQUARED_L2,
    "cosine": ScoreKind.EXP_NEG_COSINE_DISTANCE,
    "ip": ScoreKind.EXP_NEG_COSINE_DISTANCE,  # for unit vectors; see read
}


class ChromaAdapter(StoreAdapter):
    """Reads ``ChromaVectorStore``."""

    def score_kind(self, store: Any, mode: str) -> ScoreKind:
        """By the space of the collection's index, in the default mode only."""
        kind = _KINDS.get(_space(store), ScoreKind.UNKNOWN)
        return kind if mode == "default" else ScoreKind.UNKNOWN

    def read(self, store: Any, hits: Hits) -> Reading:
        """The cosines of these hits, as far as their scores tell them."""
        if hits.mode == "default" and _space(store) == "ip":
            return read_product_exponentials(hits)
        return super().read(store, hits)

    def vectors(self, store: Any, hits: Hits) -> Sequence[Any | None] | None:
        """The stored vectors, by the nodes' ids."""
        ids = [hit.node.node_id for hit in hits.nodes]
        if not ids:
            return None
        found = store.client.get(ids=ids, include=["embeddings"])
        known = dict(zip(found["ids"], found["embeddings"], strict=True))
        return [known.get(id_) for id_ in ids]


def _space(store: Any) -> str:
    """The space of the index, which is in memory or distributed; older releases do not tell."""
    configuration = getattr(store.client, "configuration", None) or {}
    index = configuration.get("hnsw") or configuration.get("spann") or {}
    return str(index.get("space", ""))
