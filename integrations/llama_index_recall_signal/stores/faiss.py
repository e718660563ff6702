"""``FaissVectorStore`` and ``FaissMapVectorStore``: the index's own metric decides.

The score is the index's own number: the inner product, or squared L2, where a lower one is
better although it is called a similarity. Only the second store knows which vector is whose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from math import hypot
from typing import Any

from llama_index_recall_signal.stores.base import Hits, StoreAdapter
from recall_signal import ScoreKind
from recall_signal.stores import Reading

__all__ = ["FaissAdapter"]

_KINDS = {0: ScoreKind.INNER_PRODUCT, 1: ScoreKind.SQUARED_L2}
_OTHER_NUMBERS = ("LSH", "Binary", "PreTransform")
"""Index types whose distance is not between the vectors themselves: bits, or a projection."""

_SAMPLE = 16
"""Stored vectors whose length is looked at, spread over the index: some 50 microseconds."""

_UNIT = 2e-5
"""How far a norm may be from 1; the cosine is then exact to 1e-4."""


class FaissAdapter(StoreAdapter):
    """Reads the two FAISS stores."""

    def score_kind(self, store: Any, mode: str) -> ScoreKind:
        """By the index's own metric, in the default mode only."""
        index = store.client
        parts = [type(part).__name__ for part in _parts(index)]
        if mode != "default" or any(word in part for word in _OTHER_NUMBERS for part in parts):
            return ScoreKind.UNKNOWN
        return _KINDS.get(index.metric_type, ScoreKind.UNKNOWN)

    def read(self, store: Any, hits: Hits) -> Reading:
        """The cosines of these hits, as far as their scores tell them.

        Where nobody can tell the hits' own vectors, at least some of the index's are looked at.
        """
        if _positions(store) is None and not _seems_to_hold_unit_vectors(store.client):
            return Reading(None, reason="norm_unknown")
        return super().read(store, hits)

    def vectors(self, store: Any, hits: Hits) -> Sequence[Any | None] | None:
        """The stored vectors, by the nodes' ids; not every index gives them back."""
        positions = _positions(store)
        if positions is None:
            return None
        try:
            return [_vector(store.client, positions, hit.node.node_id) for hit in hits.nodes]
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


def _seems_to_hold_unit_vectors(index: Any) -> bool:
    """Whether a sample has length 1; also where the index gives no vector back."""
    step = max(1, index.ntotal // _SAMPLE)
    try:
        sample = [index.reconstruct(at) for at in range(0, index.ntotal, step)]
    except RuntimeError:
        return True
    return all(abs(hypot(*vector) - 1.0) <= _UNIT for vector in sample)
