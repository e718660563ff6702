"""Score kinds that only a store's server can tell, such as the metric of its index."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import Any
from weakref import ref

from recall_signal.scores import ScoreKind

__all__ = ["AskedOnce"]

log = logging.getLogger(__name__)

_PAUSE = 5.0
"""Seconds after which a server that did not tell is asked again: a fault passes, and a missing
permission, which stays, costs one request in so many seconds."""


@dataclass(slots=True)
class _Known:
    store: ref[Any]
    kind: ScoreKind | None = None
    failed_at: float = -inf

    @property
    def is_settled(self) -> bool:
        return self.kind is not None or monotonic() - self.failed_at < _PAUSE


class AskedOnce:
    """The kind of each store's score, asked for once and kept for as long as the store lives.

    Args:
        ask: Asks a store's server. What it raises means that the kind is not known yet; a query
            some seconds later asks again.
    """

    def __init__(self, ask: Callable[[Any], ScoreKind]) -> None:
        self._ask = ask
        # By id, since not every store can be hashed; the reference tells a new store from an
        # old one whose id it has inherited.
        self._known: dict[int, _Known] = {}

    def waits(self, store: Any) -> bool:
        """Whether :meth:`kind` would ask the server now."""
        return not self._of(store).is_settled

    def kind(self, store: Any) -> ScoreKind:
        """The kind of this store's score, ``unknown`` where its server does not tell."""
        known = self._of(store)
        if not known.is_settled:
            try:
                known.kind = self._ask(store)
            except Exception as error:
                known.failed_at = monotonic()
                log.warning("a store's server did not tell its metric: %s", type(error).__name__)
        return known.kind or ScoreKind.UNKNOWN

    def _of(self, store: Any) -> _Known:
        key = id(store)
        known = self._known.get(key)
        if known is None or known.store() is not store:
            gone = ref(store, lambda _: self._known.pop(key, None))
            known = self._known[key] = _Known(gone)
        return known
