"""From what a store's search showed to the candidates' cosines, without any I/O.

A generator like the flow around it: where the store's number is not enough, it asks for the
stored vectors or for the query's, and a framework's driver brings them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from math import hypot
from typing import Any

from recall_signal.confidence import REASONS
from recall_signal.embedding import VectorMismatch
from recall_signal.stores.readings import Reading, read_vectors

__all__ = ["EmbedQuery", "Reads", "StoreAccess", "StoreMemory", "Wait", "completed"]

log = logging.getLogger(__name__)

_UNIT = 2e-5
"""How far a norm may be from 1: by L2 or inner product the cosine is then exact to 1e-4."""

_FINAL = frozenset({"score_out_of_range", "score_inverted"})
"""Reasons that show a wrong setting. Other cosines would hide it."""

_FAILED_CHECKS = _FINAL | {"norm_unknown"}


@dataclass(frozen=True, slots=True)
class EmbedQuery:
    """Embed the query with the encoder that the search used. Answered with its vector."""

    encoder: Any


@dataclass(frozen=True, slots=True)
class Wait:
    """Call this, which may wait for the store. Answered with what it returns."""

    call: Callable[[], Any]


Reads = Generator[EmbedQuery | Wait, Any, Reading]


@dataclass(slots=True)
class StoreMemory:
    """What one wrapper has found out about its store.

    Attributes:
        unit: Whether the stored vectors have length 1; None until that was looked at.
        told: Failed checks that were logged: each is, once.
    """

    unit: bool | None = None
    told: set[str] = field(default_factory=set)


@dataclass(slots=True)
class StoreAccess:
    """What else can be had of a search's hits.

    Attributes:
        vectors: Reads the stored vectors of the hits; None where that cannot be done.
        encoder: What embedded the query; None where it is not known.
        query_vector: The query's vector, where the search let it be seen.
        memory: What the wrapper knows of the store.
        store: The store's class, for the log.
    """

    vectors: Callable[[], Sequence[Any | None] | None] | None
    encoder: Any = None
    query_vector: Any = None
    memory: StoreMemory = field(default_factory=StoreMemory)
    store: str = "the retriever"
    _read: Sequence[Any | None] | None = None

    def read(self) -> Generator[EmbedQuery | Wait, Any, Sequence[Any | None]]:
        """The stored vectors, read once; empty where there are none."""
        if self._read is None:
            found = None if self.vectors is None else (yield Wait(self.vectors))
            usable = found is not None and any(vector is not None for vector in found)
            self._read = found if usable and found is not None else ()
        return self._read

    def query(self) -> Generator[EmbedQuery | Wait, Any, Any]:
        """The query's vector, None where nothing can tell it."""
        if self.query_vector is None and self.encoder is not None:
            self.query_vector = yield EmbedQuery(self.encoder)
        return self.query_vector


def completed(reading: Reading, access: StoreAccess) -> Reads:
    """The reading itself where it can be trusted, else what the stored vectors say.

    A number that holds the cosine of unit vectors only (L2, inner product) is trusted where the
    store's vectors have length 1. That is looked at once for a wrapper, on the vectors of the
    first hits and of the first query, whichever can be had; a query's length also whenever the
    search lets it be seen.
    """
    if reading.is_enough:
        return reading
    if reading.for_unit_vectors:
        try:
            unit = yield from _has_unit_vectors(access)
        except Exception as error:
            log.warning("looking at the length of vectors failed: %s", type(error).__name__)
            unit = False
        if not unit:
            reading = Reading(None, reason="norm_unknown")
    if reading.cosines is None and reading.scores is None and reading.reason not in _FINAL:
        reading = yield from _from_vectors(reading, access)
    if reading.reason in _FAILED_CHECKS and reading.reason not in access.memory.told:
        access.memory.told.add(reading.reason)
        log.warning("%s: %s; the level is unknown", access.store, REASONS[reading.reason])
    return reading


def _from_vectors(reading: Reading, access: StoreAccess) -> Reads:
    failed = "adapter_failed"
    try:
        vectors = yield from access.read()
        failed = "embedding_failed"
        query_vector = None if not len(vectors) else (yield from access.query())
        return reading if query_vector is None else read_vectors(query_vector, vectors)
    except Exception as error:
        log.warning("comparing the stored vectors failed: %s", type(error).__name__)
        mismatch = isinstance(error, VectorMismatch)
        return Reading(None, reason="embedding_mismatch" if mismatch else failed)


def _has_unit_vectors(access: StoreAccess) -> Generator[EmbedQuery | Wait, Any, bool]:
    memory = access.memory
    if memory.unit is None:
        known = [vector for vector in (yield from access.read()) if vector is not None]
        query_vector = yield from access.query()
        if query_vector is not None:
            known.append(query_vector)
        if known:
            memory.unit = all(map(_is_unit, known))
    elif memory.unit and access.query_vector is not None:
        return _is_unit(access.query_vector)
    return bool(memory.unit)


def _is_unit(vector: Any) -> bool:
    return abs(hypot(*vector) - 1.0) <= _UNIT
