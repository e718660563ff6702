"""`FAISS` of langchain-community: the index decides, never the declared distance strategy.

The score is the index's own number: squared L2 (`metric_type` 1) or the inner product (0),
both of which hold the cosine for vectors of one known norm. The norms are read back from the
index once, and again when it changes. Where stored norms differ, the cosine comes from the
hits' own vectors. Quantised indexes give the cosine with the vector as it is stored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot, inf
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np
from langchain_core.documents import Document
from numpy.typing import NDArray

from langchain_recall_signal.stores._base import VECTOR_SEARCH, Hits, StoreAdapter, Vectors
from recall_signal import ScoreKind
from recall_signal.stores import ScoreReading, Vector
from recall_signal.stores._vendors import FaissIndex, faiss_kind, faiss_vectors

_BLOCK = 16_384
"""Vectors read at a time: 25 MB at 384 dimensions."""

_MAX_IN_LISTS = 200_000
"""Vectors read of an inverted file without a direct map, which walks over all of it for every
range."""

_GREATER_IS_BETTER = frozenset({"MAX_INNER_PRODUCT", "JACCARD"})
"""Declared strategies with which the store keeps the scores above a threshold."""

_INNER_PRODUCT = 0
"""`metric_type` of an index that ranks by the inner product."""

_EQUAL_NORMS = 2e-5
"""Relative spread up to which norms count as equal; the cosine is then exact to 1e-4."""


class _Index(FaissIndex, Protocol):
    ntotal: int

    def reconstruct(self, key: int, /) -> object: ...

    def reconstruct_n(self, start: int, count: int, /) -> NDArray[np.float32]: ...


class _Store(Protocol):
    """The part of the store that is read."""

    index: _Index
    index_to_docstore_id: Mapping[int, str]
    distance_strategy: object

    def __hash__(self) -> int: ...


@dataclass(slots=True)
class _Facts:
    """Facts read from an index.

    Attributes:
        index: The index itself.
        ids: The store's own map of positions to ids; deleting replaces it.
        known: Number of ids at that time.
        kind: Kind of the index's number.
        shortest: Smallest length of a stored vector.
        longest: Greatest length.
        readable: Whether the index returns single vectors.
        positions: Position of each id, read on demand.
    """

    index: _Index
    ids: object
    known: int
    kind: ScoreKind
    shortest: float = inf
    longest: float = 0.0
    readable: bool = False
    positions: dict[str, int] | None = None

    def is_about(self, store: _Store) -> bool:
        """Return whether the store still has this index, which may have grown."""
        return self.ids is store.index_to_docstore_id and self.index is store.index

    def is_current(self, store: _Store) -> bool:
        """Return whether the store is still as it was."""
        return self.is_about(store) and self.known == len(store.index_to_docstore_id)

    def cosines(
        self, scores: Sequence[float | None], query_norm: float
    ) -> list[float | None] | None:
        """Return the cosines of a query of this norm, by the law of cosines.

        None where the stored norms are not known, or not equal enough for it.
        """
        norm = (self.shortest + self.longest) / 2.0 if self.longest else 0.0
        if not query_norm or not norm:
            return None
        spread = (self.longest - self.shortest) / norm * max(1.0, norm / query_norm)
        if not spread <= _EQUAL_NORMS:  # NaN, where a norm is infinite
            return None
        product = query_norm * norm
        if self.kind is ScoreKind.INNER_PRODUCT:
            return [None if score is None else float(score) / product for score in scores]
        step = 0.5 / product
        middle = (query_norm * query_norm + norm * norm) * step
        return [None if score is None else middle - float(score) * step for score in scores]

    def measure(self, start: int, end: int) -> None:
        """Read the lengths of the vectors at these positions."""
        for at in range(start, end, _BLOCK):
            vectors = self.index.reconstruct_n(at, min(_BLOCK, end - at))
            norms = np.linalg.norm(vectors, axis=1)
            self.shortest = min(self.shortest, float(norms.min()))
            self.longest = max(self.longest, float(norms.max()))


class FaissAdapter(StoreAdapter[_Store]):
    """Reads `FAISS`."""

    ties_keep_order = False
    is_local = True
    search_arguments = frozenset({"score_threshold"})

    def __init__(self) -> None:
        self._facts: WeakKeyDictionary[object, _Facts] = WeakKeyDictionary()

    def score_kind(self, store: _Store) -> ScoreKind:
        """Return the kind by the index's own metric."""
        return faiss_kind(store.index)

    def dimension(self, store: _Store) -> int:
        """Return the length that the index was made for."""
        return store.index.d

    def vector_search(self, store: object) -> str:  # noqa: ARG002
        """Name the search by a vector, which the scored search calls."""
        return VECTOR_SEARCH

    def hit_ids(self, store: _Store) -> Mapping[int, str]:
        """Return the ids, by which the search reads each hit from the document store."""
        return store.index_to_docstore_id

    def item_count(self, store: _Store, arguments: Mapping[str, object], limit: int) -> int | None:
        """Count the vectors where a threshold goes by another metric than the index.

        The store applies it behind the limit and by its declared strategy: where the index ranks
        the other way round, it leaves out the best hits.
        """
        if arguments.get("score_threshold") is None:
            return None
        strategy = str(getattr(store.distance_strategy, "value", store.distance_strategy))
        keeps_greater = strategy in _GREATER_IS_BETTER
        if keeps_greater == (store.index.metric_type == _INNER_PRODUCT):
            return None
        return min(limit, int(store.index.ntotal))

    def waits(self, store: _Store) -> bool:
        """Return True while there are lengths to be read: 3 seconds for 300,000 vectors."""
        facts = self._facts.get(store)
        return facts is None or not facts.is_current(store)

    def read(self, store: _Store, hits: Hits) -> ScoreReading:
        """Compute exact cosines, where the norms are known; elsewhere the vectors decide."""
        facts = self._facts_of(store)
        cosines = facts.cosines(hits.scores, _query_norm(store, hits.query_vector))
        if cosines is not None:
            return ScoreReading(cosines, "store")
        # No norm is read where the number holds no cosine.
        reason = "norm_unknown" if facts.kind.convertible else "score_not_convertible"
        return ScoreReading(None, reason=reason)

    def vectors(self, store: _Store, documents: Sequence[Document]) -> Vectors | None:
        """Read the stored vectors by id; not every index returns them."""
        facts = self._facts_of(store)
        if not facts.readable:
            return None
        if facts.positions is None:
            facts.positions = {id_: at for at, id_ in store.index_to_docstore_id.items()}
        places = [facts.positions.get(document.id or "") for document in documents]
        return faiss_vectors(store.index, places)

    def _facts_of(self, store: _Store) -> _Facts:
        """Return what is known of a store's index, after reading what was added since."""
        facts = self._facts.get(store)
        if facts is not None and facts.is_current(store):
            return facts
        ids, size = store.index_to_docstore_id, int(store.index.ntotal)
        if facts is None or not facts.is_about(store) or not facts.readable or size < facts.known:
            facts = _Facts(store.index, ids, len(ids), self.score_kind(store))
            _measure_all(facts, size)
        else:
            facts.measure(facts.known, size)
            facts.known, facts.positions = len(ids), None
        self._facts[store] = facts
        return facts


def _measure_all(facts: _Facts, size: int) -> None:
    if not size or not facts.kind.convertible:
        return
    try:
        # One first: where an index returns none, asking for a range ends the process, since
        # FAISS throws inside of OpenMP.
        facts.index.reconstruct(0)
        facts.readable = True
    except Exception:
        if not hasattr(facts.index, "invlists"):
            return
        size = min(size, _MAX_IN_LISTS)
    facts.measure(0, size)


def _query_norm(store: object, vector: Vector | None) -> float:
    """Return the length of the searched vector, 0 where it is unknown or zero."""
    length = 0.0 if vector is None else hypot(*vector)
    if getattr(store, "_normalize_L2", False):  # the store has no public name for this setting
        return 1.0 if length or vector is None else 0.0
    return length
