"""``FaissVectorStore`` and ``FaissMapVectorStore``: the index's own metric decides.

The score is the index's own number: the inner product, or squared L2, where a lower one is
better although it is called a similarity. Which vector is whose the first store tells by the ids
of its hits, the second by a map.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from llama_index_recall_signal.stores.base import Hits, StoreAdapter
from recall_signal import ScoreKind

__all__ = ["FaissAdapter"]

_KINDS = {0: ScoreKind.INNER_PRODUCT, 1: ScoreKind.SQUARED_L2}
_OTHER_NUMBERS = ("LSH", "Binary", "PreTransform")
"""Index types whose distance is not between the vectors themselves: bits, or a projection."""


class FaissAdapter(StoreAdapter):
    """Reads the two FAISS stores."""

    def score_kind(self, store: Any, mode: str) -> ScoreKind:
        """By the index's own metric, in the default mode only."""
        index = store.client
        parts = [type(part).__name__ for part in _parts(index)]
        if mode != "default" or any(word in part for word in _OTHER_NUMBERS for part in parts):
            return ScoreKind.UNKNOWN
        return _KINDS.get(index.metric_type, ScoreKind.UNKNOWN)

    def vectors(self, store: Any, hits: Hits) -> Sequence[Any | None] | None:
        """The stored vectors; not every index gives them back."""
        index, positions = store.client, _positions(store)
        try:
            if positions is None:  # the store's ids are places in the index
                return [index.reconstruct(int(id_)) for id_ in hits.ids]
            return [_vector(index, positions, hit.node.node_id) for hit in hits.nodes]
        except RuntimeError:
            return None


def _parts(index: Any) -> Iterator[Any]:
    """An index and those inside of it, whose types FAISS hides."""
    yield index
    if hasattr(index, "index"):
        yield from _parts(import_module("faiss").downcast_index(index.index))


def _positions(store: Any) -> dict[str, int] | None:
    """Where each node's vector stands; the store has no public name for that."""
    positions: dict[str, int] | None = getattr(store, "_node_id_to_faiss_id_map", None)
    return positions


def _vector(index: Any, positions: dict[str, int], node_id: str) -> Any | None:
    at = positions.get(node_id)
    return None if at is None else index.reconstruct(at)
