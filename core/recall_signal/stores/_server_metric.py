"""Score kinds that depend on settings of the store's server, such as the metric of its index."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import Generic, TypeVar
from weakref import ref

from recall_signal.scores import ScoreKind
from recall_signal.stores._kinds import Kind

__all__ = ["CachedServerMetric"]

log = logging.getLogger(__name__)

Store = TypeVar("Store")

_RETRY_AFTER = 5.0
"""Seconds between a failed request and the next one: a fault passes, and a missing permission,
which stays, costs one request per interval."""


@dataclass(slots=True)
class _Entry:
    store: ref[object]
    kind: Kind | None = None
    failed_at: float = -inf

    @property
    def is_settled(self) -> bool:
        return self.kind is not None or monotonic() - self.failed_at < _RETRY_AFTER


class CachedServerMetric(Generic[Store]):
    """The kind of each store's score, fetched once and kept for as long as the store lives.

    Args:
        fetch: Requests the kind from a store's server. An error means that the kind is unknown
            for now; a query some seconds later tries again.
    """

    def __init__(self, fetch: Callable[[Store], Kind]) -> None:
        self._fetch = fetch
        # By id, since not every store can be hashed; the reference distinguishes a new store
        # from an old one whose id it has inherited.
        self._entries: dict[int, _Entry] = {}

    def waits(self, store: object) -> bool:
        """Return whether `kind` would send a request now."""
        return not self._entry(store).is_settled

    def kind(self, store: Store) -> Kind:
        """Return the kind of this store's score, `unknown` where the request failed."""
        entry = self._entry(store)
        if not entry.is_settled:
            try:
                entry.kind = self._fetch(store)
            except Exception as error:
                entry.failed_at = monotonic()
                log.warning("fetching a store's metric failed: %s", type(error).__name__)
        return entry.kind or ScoreKind.UNKNOWN

    def _entry(self, store: object) -> _Entry:
        key = id(store)
        entry = self._entries.get(key)
        if entry is None or entry.store() is not store:
            reference = ref(store, lambda _: self._entries.pop(key, None))
            entry = self._entries[key] = _Entry(reference)
        return entry
