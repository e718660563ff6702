"""Resolve a reading of scores to the candidates' cosines, without any I/O.

Generators like the flow around them: where the store's number is not enough, they request the
stored vectors or the query's, and a framework's driver fetches them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import hypot
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from recall_signal._flow.embedding import EmbedQuery, VectorMismatch
from recall_signal._steps.compute import CallStore, Compute, computed
from recall_signal._steps.driver import Steps, contained_steps
from recall_signal._steps.failures import original
from recall_signal.errors import InvalidInputError
from recall_signal.reasons import REASONS
from recall_signal.stores._readings import ScoreReading, read_vectors

__all__ = [
    "FINAL_REASONS",
    "NormCheck",
    "Reads",
    "Vector",
    "VectorSource",
    "resolve_cosines",
]

Vector = Sequence[float] | NDArray[np.float32] | NDArray[np.float64]
"""Vector as a store or an encoder gives it."""

log = logging.getLogger(__name__)

_UNIT = 2e-5
"""Largest distance of a norm from 1: cosines by L2 or inner product are then exact to 1e-4."""

FINAL_REASONS = frozenset({"score_out_of_range", "score_inverted"})
"""Reasons that show a wrong setting, which cosines of another source would hide."""

_FAILED_CHECKS = FINAL_REASONS | {"norm_unknown"}

VectorRequest: TypeAlias = EmbedQuery | CallStore | Compute

Reads = Steps[VectorRequest, ScoreReading]


@dataclass(slots=True)
class NormCheck:
    """The state of one wrapper's check of its store's vectors.

    Attributes:
        unit: Whether the stored vectors have length 1; None until they were checked.
        warned: Reasons that were logged; each is logged once.
    """

    unit: bool | None = None
    warned: set[str] = field(default_factory=set)


@dataclass(slots=True)
class VectorSource:
    """The vectors that can be fetched for a search's hits.

    Attributes:
        vectors: Reads the stored vectors of the hits; None where that is impossible.
        encoder: The encoder of the query; None where it is unknown.
        query_vector: The query's vector, where the search exposed it.
        memory: The wrapper's check of the store.
        store: The store's class, for the log.
        count: Number of hits; None where it is unknown.
    """

    vectors: Callable[[], Sequence[Vector | None] | None] | None
    encoder: object = None
    query_vector: Vector | None = None
    memory: NormCheck = field(default_factory=NormCheck)
    store: str = "the retriever"
    count: int | None = None
    _read: Sequence[Vector | None] | None = None

    def read(self) -> Steps[VectorRequest, Sequence[Vector | None]]:
        """Read the stored vectors, once; empty where there are none.

        Raises:
            InvalidInputError: The adapter returned another number of vectors than of hits.
        """
        if self._read is None:
            found: Sequence[Vector | None] | None = None
            if self.vectors is not None:
                found = yield CallStore(self.vectors)
            if found is None or all(vector is None for vector in found):
                found = ()
            elif self.count is not None and len(found) != self.count:
                raise InvalidInputError(
                    f"an adapter's vectors must return one vector or None for each of "
                    f"{self.count} hits, got {len(found)}"
                )
            self._read = found
        return self._read

    def query(self) -> Steps[VectorRequest, Vector | None]:
        """Return the query's vector, None where nothing can compute it."""
        if self.query_vector is None and self.encoder is not None:
            self.query_vector = yield EmbedQuery(self.encoder)
        return self.query_vector


def resolve_cosines(reading: ScoreReading, access: VectorSource) -> Reads:
    """Return the reading where it can be trusted, else the cosines of the stored vectors.

    A formula for unit vectors only (L2, inner product) is trusted where the store's vectors
    have length 1. They are checked once per wrapper, on the vectors of the first hits and of
    the first query, as far as available; a query's length also whenever the search exposes it.
    """
    if reading.is_complete:
        return reading
    if reading.for_unit_vectors:
        try:
            unit = yield from contained_steps(_has_unit_vectors(access))
        except Exception as error:
            log.warning("checking the length of vectors failed: %s", type(original(error)).__name__)
            unit = False
        if not unit:
            reading = ScoreReading(None, reason="norm_unknown")
    if reading.cosines is None and reading.scores is None and reading.reason not in FINAL_REASONS:
        reading = yield from _from_vectors(reading, access)
    if reading.reason in _FAILED_CHECKS and reading.reason not in access.memory.warned:
        access.memory.warned.add(reading.reason)
        log.warning("%s: %s; the level is unknown", access.store, REASONS[reading.reason])
    return reading


def _from_vectors(reading: ScoreReading, access: VectorSource) -> Reads:
    failed = "adapter_failed"
    try:
        vectors = yield from contained_steps(access.read())
        failed = "embedding_failed"
        return (yield from contained_steps(_compared(reading, access, vectors)))
    except Exception as error:
        log.warning("comparing the stored vectors failed: %s", type(original(error)).__name__)
        mismatch = isinstance(error, VectorMismatch)
        return ScoreReading(None, reason="embedding_mismatch" if mismatch else failed)


def _compared(
    reading: ScoreReading, access: VectorSource, vectors: Sequence[Vector | None]
) -> Reads:
    query_vector = None if not len(vectors) else (yield from access.query())
    if query_vector is None:
        return reading
    return (yield from computed(partial(read_vectors, query_vector, vectors)))


def _has_unit_vectors(access: VectorSource) -> Steps[VectorRequest, bool]:
    memory = access.memory
    if memory.unit is None:
        known = [vector for vector in (yield from access.read()) if vector is not None]
        query_vector = yield from access.query()
        if query_vector is not None:
            known.append(query_vector)
        if known:
            memory.unit = yield from computed(lambda: all(map(_is_unit, known)))
    elif memory.unit and access.query_vector is not None:
        return _is_unit(access.query_vector)
    return bool(memory.unit)


def _is_unit(vector: Vector) -> bool:
    if type(vector) is list:  # the query's, mostly: several times faster than through an array
        return abs(hypot(*vector) - 1.0) <= _UNIT
    return abs(float(np.linalg.norm(np.asarray(vector, dtype=np.float64))) - 1.0) <= _UNIT
