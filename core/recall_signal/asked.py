"""Score kinds that only a store's server can tell, such as the metric of its index."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import ref

from recall_signal.scores import ScoreKind

__all__ = ["AskedOnce"]

log = logging.getLogger(__name__)

_PATIENCE = 3
"""How often a server may fail to tell: a fault passes, a missing permission stays."""


@dataclass(slots=True)
class _Known:
    store: ref[Any]
    kind: ScoreKind | None = None
    failures: int = 0


class AskedOnce:
    """The kind of each store's score, asked for once and kept for as long as the store lives.

    Args:
        ask: Asks a store's server. What it raises means that the kind is not known yet; the next
            queries ask again, a few times.
    """

    def __init__(self, ask: Callable[[Any], ScoreKind]) -> None:
        self._ask = ask
        # By id, since not every store can be hashed; the reference tells a new store from an
        # old one whose id it has inherited.
        self._known: dict[int, _Known] = {}

    def kind(self, store: Any) -> ScoreKind:
        """The kind of this store's score, ``unknown`` where its server does not tell."""
        key = id(store)
        known = self._known.get(key)
        if known is None or known.store() is not store:
            gone = ref(store, lambda _: self._known.pop(key, None))
            known = self._known[key] = _Known(gone)
        if known.kind is None and known.failures < _PATIENCE:
            try:
                known.kind = self._ask(store)
            except Exception as error:
                known.failures += 1
                log.warning("a store's server did not tell its metric: %s", type(error).__name__)
        return known.kind or ScoreKind.UNKNOWN
