"""Read a store's scores, whatever its framework.

A framework's subclass adds how the hits are seen, which of them are the page, and where the
stored vectors and the query's come from.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from recall_signal._flow.values import Candidates, Item, SearchFlow
from recall_signal._steps.compute import CallStore
from recall_signal._steps.failures import contained, original
from recall_signal.scores import ScoreKind, parse_score_kind
from recall_signal.stores._readings import ScoreReading, read_scores, validated
from recall_signal.stores._vectors import (
    NormCheck,
    Reads,
    Vector,
    VectorSource,
    resolve_cosines,
)

__all__ = ["StoreReader", "covers_reading", "has_itself", "home_of"]

log = logging.getLogger(__name__)

_FUSED = frozenset({ScoreKind.RRF, ScoreKind.FUSED_NORMALIZED})
"""Kinds of fused lists, whose order depends on their length."""


class _Hits(Protocol):
    """Hits of a framework."""

    @property
    def scores(self) -> Sequence[float | None]: ...


Store_contra = TypeVar("Store_contra", contravariant=True)
Hits_contra = TypeVar("Hits_contra", contravariant=True)


class _ScoreAdapter(Protocol[Store_contra, Hits_contra]):
    """The part of every framework's adapter that needs no framework."""

    @property
    def score_kind(self) -> Callable[..., ScoreKind | str | None]: ...

    def waits(self, store: Store_contra, /) -> bool: ...

    def read(self, store: Store_contra, hits: Hits_contra, /) -> ScoreReading: ...


Adapter = TypeVar("Adapter", bound=_ScoreAdapter[Any, Any])


class StoreReader(Generic[Adapter]):
    """Reads scores by the declared kind, else by the store's adapter.

    Args:
        kind: The declared kind; None to go by the store.
        store: The searched store; None where it is unknown.
        adapter: The store's adapter; None where there is none.
        ranked: Whether the hits come from one plain search, best first.
        memory: The wrapper's check of the store; None for a new one.
    """

    def __init__(
        self,
        kind: ScoreKind | None,
        store: object,
        adapter: Adapter | None,
        *,
        ranked: bool = True,
        memory: NormCheck | None = None,
    ) -> None:
        self.kind, self.store, self.adapter, self.ranked = kind, store, adapter, ranked
        self.memory = NormCheck() if memory is None else memory

    def kind_by_adapter(self, adapter: Adapter) -> ScoreKind | str | None:
        """Return the kind by the store's settings.

        A framework whose kind depends on the search as well overrides this.
        """
        return adapter.score_kind(self.store)

    @property
    def waits(self) -> bool:
        """Return whether reading may have to wait for the store's settings.

        A declared kind needs none of them. An adapter that fails here is assumed to wait.
        """
        adapter = self.adapter
        if self.kind is not None or adapter is None:
            return False
        try:
            return bool(contained(lambda: adapter.waits(self.store)))
        except Exception:  # logged when the scores are read
            return True

    def is_prefix_stable(self) -> bool:
        """Return whether a longer search adds cosines without changing the first hits.

        Fused scores put other items first in a longer list, whatever was declared; scaled ones may.
        A kind that is unknown now may be known at the next call.
        """
        kind, adapter = self.kind, self.adapter
        try:
            if adapter is not None and (kind is None or not adapter.waits(self.store)):
                named = contained(lambda: self.kind_by_adapter(adapter))
                found = None if named is None else parse_score_kind(named)
                if found in _FUSED:
                    return False
                if kind is None and found is None:  # an adapter with a read of its own
                    return True
                kind = kind or found
        except Exception:  # logged when the scores are read
            if kind is None:
                return False
        return kind is ScoreKind.BM25 or (kind is not None and kind.convertible)

    def read(self, hits: _Hits) -> ScoreReading:
        """Read the scores of these hits; a failure becomes a reason.

        Args:
            hits: The framework's own, with one number or None per hit as `scores`.
        """
        try:
            return contained(partial(self._read, hits))
        except Exception as error:
            return _failed(error)

    def _read(self, hits: _Hits) -> ScoreReading:
        if self.kind is not None:
            return read_scores(hits.scores, self.kind, "declared", ranked=self.ranked)
        if self.adapter is not None:
            return validated(self.adapter.read(self.store, hits), len(hits.scores))
        scored = any(score is not None for score in hits.scores)
        return ScoreReading(None, reason="store_not_recognised" if scored else "no_scores")

    def read_in_thread(self, hits: _Hits) -> Reads:
        """Do `read` where waiting for the store blocks nothing else."""
        try:
            reading: ScoreReading = yield CallStore(partial(self.read, hits))
        except Exception as error:
            return _failed(error)
        return reading

    def candidates(
        self,
        items: Sequence[Item],
        page: Sequence[int],
        hits: _Hits,
        source: Callable[[], VectorSource],
        *,
        seen: bool = True,
        blocks: bool = False,
    ) -> SearchFlow[Item]:
        """Return what was found, with its cosines.

        Args:
            items: Every candidate.
            page: Positions in `items`.
            hits: What the store found, with its scores.
            source: Returns the source of further vectors, for scores that are not enough.
            seen: Whether the scores are the store's own.
            blocks: Whether waiting for the store may block.
        """
        if not seen:
            reading = ScoreReading(None, reason=self.missing_score_reason)
        elif not blocks and self.waits:
            reading = yield from self.read_in_thread(hits)
        else:
            reading = self.read(hits)
        if not reading.is_complete:
            reading = yield from resolve_cosines(reading, source())
        return Candidates(
            items=items,
            page=page,
            cosines=reading.cosines,
            scores=reading.scores,
            source=reading.source,
            reason=reading.reason,
        )

    @property
    def missing_score_reason(self) -> str:
        """Return the reason for an unknown level where the search exposes no scores."""
        if self.kind not in (None, ScoreKind.BM25) and not self.kind.convertible:
            return "score_not_convertible"
        strange = self.store is not None and self.adapter is None and self.kind is None
        return "store_not_recognised" if strange else "no_score_access"

    def _access(
        self,
        vectors: Callable[[], Sequence[Vector | None] | None] | None,
        encoder: object,
        query_vector: Vector | None,
        count: int | None = None,
    ) -> VectorSource:
        """Return the source of further vectors of `count` hits (see `VectorSource`)."""
        name = "the retriever" if self.store is None else type(self.store).__name__
        return VectorSource(vectors, encoder, query_vector, self.memory, name, count)


def _failed(error: Exception) -> ScoreReading:
    log.warning("reading the store's scores failed: %s", type(original(error)).__name__)
    return ScoreReading(None, reason="adapter_failed")


def covers_reading(adapter_class: type, name: str) -> bool:
    """Return whether what an adapter says of its reading is said of the reading that it does.

    A class that derives from an adapter, and reads hits in its own way, has to say it again.

    Args:
        adapter_class: The adapter's.
        name: The attribute that says it.
    """
    said = home_of(adapter_class, name)
    homes = (home_of(adapter_class, reading) for reading in ("read", "vectors"))
    return said is not None and all(home is None or issubclass(said, home) for home in homes)


def home_of(of: type, name: str) -> type | None:
    """Return the class in whose body an attribute stands."""
    return next((line for line in of.__mro__ if name in vars(line)), None)


def has_itself(part: object, methods: frozenset[str]) -> bool:
    """Return whether an object has one of these methods itself, and not by its class."""
    return not methods.isdisjoint(getattr(part, "__dict__", ()))
