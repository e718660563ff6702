"""How a store's scores are read, whatever its framework.

What knows a framework's documents or nodes adds to this: how the hits are seen, which of them
are the page, and where a stored vector or the query's is to be had.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from recall_signal.scores import ScoreKind, parse_score_kind
from recall_signal.stores.access import Reads, StoreAccess, StoreMemory, Wait
from recall_signal.stores.readings import Reading, checked, read_scores

__all__ = ["StoreReader"]

log = logging.getLogger(__name__)


class _ReadsScores(Protocol):
    """The part of every framework's adapter that needs no framework."""

    def score_kind(self, *args: Any, **kwargs: Any) -> ScoreKind | None: ...

    def waits(self, store: Any) -> bool: ...

    def read(self, store: Any, hits: Any) -> Reading: ...


Adapter = TypeVar("Adapter", bound=_ReadsScores)


class StoreReader(Generic[Adapter]):
    """Reads scores by the declared kind, else by the store's adapter.

    Args:
        kind: The declared kind; None to go by the store.
        store: The searched store; None where it is not known.
        adapter: The store's adapter; None where there is none.
        kind_by: What the adapter's kind depends on beside the store.
        ranked: Whether the hits come from one plain search, best first.
        memory: What the wrapper knows of the store; None where it knows nothing yet.
    """

    def __init__(
        self,
        kind: ScoreKind | None,
        store: Any,
        adapter: Adapter | None,
        *,
        kind_by: tuple[str, ...] = (),
        ranked: bool = True,
        memory: StoreMemory | None = None,
    ) -> None:
        self.kind, self.store, self.adapter = kind, store, adapter
        self.kind_by, self.ranked = kind_by, ranked
        self.memory = StoreMemory() if memory is None else memory

    @property
    def waits(self) -> bool:
        """Whether what is needed of the store's settings has to be waited for.

        A declared kind needs nothing of them. An adapter that cannot tell may wait.
        """
        if self.kind is not None or self.adapter is None:
            return False
        try:
            return self.adapter.waits(self.store)
        except Exception:  # said when the scores are read
            return True

    def keeps_order(self) -> bool:
        """Whether more hits mean more cosines, and leave those of the page alone.

        Fused and scaled scores may put other items first where more are asked for. What is not
        known yet may be known at the next call.
        """
        kind = self.kind
        try:
            if kind is None and self.adapter is not None:
                named = self.adapter.score_kind(self.store, *self.kind_by)
                if named is None:  # an adapter that reads in its own way
                    return True
                kind = parse_score_kind(named)
        except Exception:  # said when the scores are read
            return False
        return kind is ScoreKind.BM25 or (kind is not None and kind.convertible)

    def read(self, hits: Any) -> Reading:
        """What the scores of these hits say; a failure here becomes a reason.

        Args:
            hits: The framework's own, with one number or None per hit as ``scores``.
        """
        try:
            if self.kind is not None:
                return read_scores(hits.scores, self.kind, "declared", ranked=self.ranked)
            if self.adapter is not None:
                return checked(self.adapter.read(self.store, hits), len(hits.scores))
            scored = any(score is not None for score in hits.scores)
            return Reading(None, reason="store_not_recognised" if scored else "no_scores")
        except Exception as error:
            return _failed(error)

    def awaited(self, hits: Any) -> Reads:
        """:meth:`read`, where the store has to be waited for."""
        try:
            reading: Reading = yield Wait(partial(self.read, hits))
        except Exception as error:
            return _failed(error)
        return reading

    @property
    def why_not(self) -> str:
        """The reason for an unknown level where no scores are seen."""
        if self.kind not in (None, ScoreKind.BM25) and not self.kind.convertible:
            return "score_not_convertible"
        strange = self.store is not None and self.adapter is None and self.kind is None
        return "store_not_recognised" if strange else "no_score_access"

    def _access(
        self,
        vectors: Callable[[], Sequence[Any | None] | None] | None,
        encoder: Any,
        query_vector: Any,
    ) -> StoreAccess:
        """What else can be had of some hits (see :class:`StoreAccess`)."""
        name = "the retriever" if self.store is None else type(self.store).__name__
        return StoreAccess(vectors, encoder, query_vector, self.memory, name)


def _failed(error: Exception) -> Reading:
    log.warning("reading the store's scores failed: %s", type(error).__name__)
    return Reading(None, reason="adapter_failed")
