"""``FAISS`` of langchain-community: the index decides, never the declared distance strategy.

The score is the index's own number: squared L2 (``metric_type`` 1) or the inner product (0),
both of which hold the cosine for vectors of one known norm. The norms are read back from the
index once, and again when it changes. Where stored norms differ, the cosine comes from the
hits' own vectors. Quantised indexes give the cosine with the vector as it is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from langchain_recall_signal.stores.base import Hits, StoreAdapter
from recall_signal import ScoreKind
from recall_signal.embedding import cosines_of
from recall_signal.stores import Reading

__all__ = ["FaissAdapter"]

_KINDS = {0: ScoreKind.INNER_PRODUCT, 1: ScoreKind.SQUARED_L2}
_OTHER_NUMBERS = ("LSH", "Binary", "PreTransform")
"""Index types whose distance is not between the vectors themselves: bits, or a projection."""

_BLOCK = 16_384
"""Vectors read at a time while norms are looked at: 25 MB at 384 dimensions."""

_MOST_IN_LISTS = 200_000
"""An inverted file without a direct map gives ranges only, each by a walk over all of it, so
that one range of at most so many vectors is looked at."""

_EQUAL_NORMS = 2e-5
"""Relative spread up to which norms count as equal; the cosine is then exact to 1e-4."""


@dataclass(slots=True)
class _Facts:
    """What was read from an index, as long as nothing was added, removed or replaced."""

    index: Any
    ids: Any
    known: int
    kind: ScoreKind
    norm: float = 0.0
    spread: float = 0.0
    readable: bool = False
    positions: dict[str, int] | None = None

    def still_hold(self, store: Any) -> bool:
        """Whether the store is still as it was; deleting gives it another dict of ids."""
        ids = store.index_to_docstore_id
        return self.ids is ids and self.known == len(ids) and self.index is store.index

    def hold_for(self, query_norm: float) -> bool:
        """Whether the stored norms are known and equal enough for a query of this norm."""
        if not self.norm or not query_norm:
            return False
        return self.spread * max(1.0, self.norm / query_norm) <= _EQUAL_NORMS


_facts: WeakKeyDictionary[Any, _Facts] = WeakKeyDictionary()


class FaissAdapter(StoreAdapter):
    """Reads ``FAISS``."""

    ties_keep_order = False

    def score_kind(self, store: Any) -> ScoreKind:
        """By the index's own metric."""
        index = store.index
        if any(word in type(index).__name__ for word in _OTHER_NUMBERS):
            return ScoreKind.UNKNOWN
        return _KINDS.get(index.metric_type, ScoreKind.UNKNOWN)

    def read(self, store: Any, hits: Hits) -> Reading:
        """By the exact formula where norms are known, else from the stored vectors."""
        facts = _facts.get(store)
        if facts is None or not facts.still_hold(store):
            facts = _facts[store] = _read_facts(store, self.score_kind(store))
        kind = facts.kind
        if not kind.convertible:
            return Reading(None, reason="score_not_convertible")
        query_norm = _query_norm(store, hits.query_vector)
        if facts.hold_for(query_norm):
            return Reading(_exact(hits.scores, kind, query_norm, facts.norm), "store")
        if facts.readable and hits.query_vector is not None:
            return _from_vectors(store, facts, hits)
        return Reading(None, reason="norm_unknown")


def _exact(
    scores: Sequence[Any], kind: ScoreKind, query_norm: float, norm: float
) -> list[float | None]:
    """The law of cosines, for a query and stored vectors of known norms."""
    product = query_norm * norm
    if kind is ScoreKind.INNER_PRODUCT:
        return [float(score) / product for score in scores]
    squares = query_norm * query_norm + norm * norm
    return [(squares - float(score)) / (2.0 * product) for score in scores]


def _query_norm(store: Any, vector: Sequence[float] | None) -> float:
    """The length of what was searched with, 0 where it is not known or there is none."""
    length = 0.0 if vector is None else hypot(*vector)
    if getattr(store, "_normalize_L2", False):  # the store has no public name for this setting
        return 1.0 if length or vector is None else 0.0
    return length


def _read_facts(store: Any, kind: ScoreKind) -> _Facts:
    index = store.index
    ids, size = store.index_to_docstore_id, int(index.ntotal)
    facts = _Facts(index, ids, len(ids), kind)
    if not size or not kind.convertible:
        return facts
    try:
        # One first: where an index gives nothing back, asking for a range ends the process,
        # since FAISS throws inside of OpenMP.
        index.reconstruct(0)
        facts.readable = True
        blocks = [(at, min(_BLOCK, size - at)) for at in range(0, size, _BLOCK)]
    except Exception:
        if not hasattr(index, "invlists"):
            return facts
        blocks = [(0, min(size, _MOST_IN_LISTS))]
    norms = np.concatenate(
        [np.linalg.norm(index.reconstruct_n(at, count), axis=1) for at, count in blocks]
    )
    facts.norm = float(norms.mean())
    facts.spread = float(np.ptp(norms)) / facts.norm if facts.norm else 0.0
    return facts


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
