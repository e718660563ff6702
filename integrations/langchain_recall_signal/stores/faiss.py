"""``FAISS`` of langchain-community: the index decides, never the declared distance strategy.

The score is the index's own number: squared L2 (``metric_type`` 1) or the inner product (0),
both of which hold the cosine for vectors of one known norm. The norms are read back from the
index once, and again when it changes. Where stored norms differ, the cosine comes from the
hits' own vectors. Quantised indexes give the cosine with the vector as it is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, inf
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from langchain_core.documents import Document

from langchain_recall_signal.stores.base import Hits, StoreAdapter
from recall_signal import ScoreKind
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
    """What was read from an index.

    Attributes:
        index: The index itself.
        ids: The store's own record of places and ids; deleting gives it another one.
        known: How many ids there were.
        kind: What the index's number is.
        shortest: The smallest length of a stored vector.
        longest: The greatest.
        norm: The length of the stored vectors, where they have one.
        spread: How far lengths differ, relative to it.
        readable: Whether the index gives single vectors back.
        positions: The place of each id, read when it is needed.
    """

    index: Any
    ids: Any
    known: int
    kind: ScoreKind
    shortest: float = inf
    longest: float = 0.0
    norm: float = 0.0
    spread: float = inf
    readable: bool = False
    positions: dict[str, int] | None = None

    def fit(self, store: Any) -> bool:
        """Whether they are still about this store's index, which may have grown."""
        return self.ids is store.index_to_docstore_id and self.index is store.index

    def still_hold(self, store: Any) -> bool:
        """Whether the store is still as it was."""
        ids = store.index_to_docstore_id
        return self.ids is ids and self.known == len(ids) and self.index is store.index

    def hold_for(self, query_norm: float) -> bool:
        """Whether the stored norms are known and equal enough for a query of this norm."""
        if not query_norm or not self.norm:
            return False
        return self.spread * max(1.0, self.norm / query_norm) <= _EQUAL_NORMS

    def measure(self, start: int, end: int) -> None:
        """Look at the lengths of the vectors at these places."""
        for at in range(start, end, _BLOCK):
            vectors = self.index.reconstruct_n(at, min(_BLOCK, end - at))
            norms = np.linalg.norm(vectors, axis=1)
            self.shortest = min(self.shortest, float(norms.min()))
            self.longest = max(self.longest, float(norms.max()))
        self.norm = (self.shortest + self.longest) / 2.0 if self.longest else 0.0
        self.spread = (self.longest - self.shortest) / self.norm if self.norm else inf


_facts: WeakKeyDictionary[Any, _Facts] = WeakKeyDictionary()


class FaissAdapter(StoreAdapter):
    """Reads ``FAISS``."""

    ties_keep_order = False

    def score_kind(self, store: Any) -> ScoreKind:
        """By the index's own metric."""
        return _kind_of(store.index)

    def waits(self, store: Any) -> bool:
        """While there are lengths to be looked at: 3 seconds for 300,000 vectors."""
        facts = _facts.get(store)
        return facts is None or not facts.still_hold(store)

    def read(self, store: Any, hits: Hits) -> Reading:
        """By the exact formula, where the norms are known; elsewhere the vectors decide."""
        facts = _facts_of(store)
        query_norm = _query_norm(store, hits.query_vector)
        if facts.hold_for(query_norm):
            cosines = _exact(hits.scores, facts.kind, query_norm, facts.norm)
            return Reading(cosines, "store")
        # No norm is looked at where the number holds no cosine.
        reason = "norm_unknown" if facts.kind.convertible else "score_not_convertible"
        return Reading(None, reason=reason)

    def vectors(self, store: Any, documents: Sequence[Document]) -> Sequence[Any | None] | None:
        """The stored vectors, by id; not every index gives them back."""
        facts = _facts_of(store)
        if not facts.readable:
            return None
        if facts.positions is None:
            facts.positions = {id_: at for at, id_ in store.index_to_docstore_id.items()}
        places = [facts.positions.get(document.id or "") for document in documents]
        return [None if at is None else store.index.reconstruct(at) for at in places]


def _facts_of(store: Any) -> _Facts:
    """What is known of a store's index; of what was added since, only that is looked at."""
    facts = _facts.get(store)
    if facts is not None and facts.still_hold(store):
        return facts
    ids, size = store.index_to_docstore_id, int(store.index.ntotal)
    if facts is None or not facts.fit(store) or not facts.readable or size < facts.known:
        facts = _read_facts(store, ids, size)
    else:
        facts.measure(facts.known, size)
        facts.known, facts.positions = len(ids), None
    _facts[store] = facts
    return facts


def _exact(
    scores: Sequence[Any], kind: ScoreKind, query_norm: float, norm: float
) -> list[float | None]:
    """The law of cosines, for a query and stored vectors of known norms."""
    product = query_norm * norm
    if kind is ScoreKind.INNER_PRODUCT:
        return [float(score) / product for score in scores]
    step = 0.5 / product
    middle = (query_norm * query_norm + norm * norm) * step
    return [middle - float(score) * step for score in scores]


def _query_norm(store: Any, vector: Sequence[float] | None) -> float:
    """The length of what was searched with, 0 where it is not known or there is none."""
    length = 0.0 if vector is None else hypot(*vector)
    if getattr(store, "_normalize_L2", False):  # the store has no public name for this setting
        return 1.0 if length or vector is None else 0.0
    return length


def _kind_of(index: Any) -> ScoreKind:
    if any(word in type(index).__name__ for word in _OTHER_NUMBERS):
        return ScoreKind.UNKNOWN
    return _KINDS.get(index.metric_type, ScoreKind.UNKNOWN)


def _read_facts(store: Any, ids: Any, size: int) -> _Facts:
    facts = _Facts(store.index, ids, len(ids), _kind_of(store.index))
    if not size or not facts.kind.convertible:
        return facts
    try:
        # One first: where an index gives nothing back, asking for a range ends the process,
        # since FAISS throws inside of OpenMP.
        store.index.reconstruct(0)
        facts.readable = True
    except Exception:
        if not hasattr(store.index, "invlists"):
            return facts
        size = min(size, _MOST_IN_LISTS)
    facts.measure(0, size)
    return facts
