"""``FAISS`` of langchain-community: the index decides, never the declared distance strategy.

The score is the index's own number: squared L2 (``metric_type`` 1) or the inner product (0),
both of which hold the cosine for vectors of one known norm. The norm is read back from the
index once per store and size. Where stored norms differ, the cosine comes from the hits' own
vectors. Quantised indexes give the cosine with the vector as it is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from langchain_recall_signal.stores.base import Hits, Reading, StoreAdapter
from recall_signal import ScoreKind
from recall_signal.embedding import cosines_of

__all__ = ["FaissAdapter"]

_KINDS = {0: ScoreKind.INNER_PRODUCT, 1: ScoreKind.SQUARED_L2}
_OTHER_NUMBERS = ("LSH", "Binary", "PreTransform")
"""Index types whose distance is not between the vectors themselves: bits, or a projection."""

_SAMPLE_WINDOWS, _WINDOW = 8, 128
"""Norms are looked at in eight windows of 128 vectors, spread over the whole index."""

_EQUAL_NORMS = 2e-5
"""Relative spread up to which norms count as equal; the cosine is then exact to 1e-4."""


@dataclass(slots=True)
class _Facts:
    """What was read from an index of one size."""

    size: int
    norm: float | None
    readable: bool
    positions: dict[str, int] | None = None


_facts: WeakKeyDictionary[Any, _Facts] = WeakKeyDictionary()


class FaissAdapter(StoreAdapter):
    """Reads ``FAISS``."""

    def score_kind(self, store: Any) -> ScoreKind:
        """By the index's own metric."""
        index = store.index
        if any(word in type(index).__name__ for word in _OTHER_NUMBERS):
            return ScoreKind.UNKNOWN
        return _KINDS.get(index.metric_type, ScoreKind.UNKNOWN)

    def read(self, store: Any, hits: Hits) -> Reading:
        """By the exact formula where norms are known, else from the stored vectors."""
        kind = self.score_kind(store)
        if not kind.convertible:
            return Reading(None, reason="score_not_convertible")
        facts = _facts_of(store)
        query_norm = _query_norm(store, hits.query_vector)
        if facts.norm and query_norm:
            cosines = _exact(hits.scores, kind, query_norm, facts.norm)
            return Reading(cosines, "store")
        if facts.readable and hits.query_vector is not None:
            return _from_vectors(store, facts, hits)
        return Reading(None, reason="norm_unknown")


def _exact(
    scores: Sequence[float], kind: ScoreKind, query_norm: float, norm: float
) -> list[float | None]:
    """The law of cosines, for a query and stored vectors of known norms."""
    product = query_norm * norm
    if kind is ScoreKind.INNER_PRODUCT:
        return [float(score) / product for score in scores]
    squares = query_norm * query_norm + norm * norm
    return [(squares - float(score)) / (2.0 * product) for score in scores]


def _query_norm(store: Any, vector: Sequence[float] | None) -> float | None:
    if getattr(store, "_normalize_L2", False):  # the store has no public name for this setting
        return 1.0
    return None if vector is None else hypot(*vector)


def _facts_of(store: Any) -> _Facts:
    facts = _facts.get(store)
    if facts is None or facts.size != store.index.ntotal:
        facts = _facts[store] = _read_facts(store)
    return facts


def _read_facts(store: Any) -> _Facts:
    index = store.index
    size = int(index.ntotal)
    starts = {size * window // _SAMPLE_WINDOWS for window in range(_SAMPLE_WINDOWS)}
    try:
        sample = [index.reconstruct_n(at, min(_WINDOW, size - at)) for at in sorted(starts)]
    except Exception:
        return _Facts(size, 1.0, readable=False)
    norms = np.linalg.norm(np.concatenate(sample), axis=1) if size else np.ones(1)
    mean = float(norms.mean())
    uniform = mean > 0.0 and float(np.ptp(norms)) <= _EQUAL_NORMS * mean
    return _Facts(size, mean if uniform else None, readable=True)


def _from_vectors(store: Any, facts: _Facts, hits: Hits) -> Reading:
    if facts.positions is None:
        facts.positions = {id_: at for at, id_ in store.index_to_docstore_id.items()}
    rows = []
    for document in hits.documents:
        at = facts.positions.get(document.id or "")
        if at is None:
            return Reading(None, reason="norm_unknown")
        rows.append(store.index.reconstruct(at))
    return Reading(cosines_of(hits.query_vector, rows), "vectors")
