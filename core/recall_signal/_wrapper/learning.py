"""Searches that learn or check a scale: nobody's queries, which no log has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from recall_signal.pool import Pool

__all__ = ["EncodersSeen", "Searched", "is_learning", "learning"]

_learning: ContextVar[bool] = ContextVar("recall_signal_learning", default=False)


@contextmanager
def learning() -> Iterator[None]:
    """Mark the searches of the block, in this thread or task."""
    token = _learning.set(True)
    try:
        yield
    finally:
        _learning.reset(token)


def is_learning() -> bool:
    """Return True for a search that learns or checks."""
    return _learning.get()


class Searched(Protocol):
    """A response, as far as it matters here."""

    @property
    def pool(self) -> Pool: ...

    @property
    def _encoder(self) -> str | None:
        """Name of the encoder of its cosines."""


class EncodersSeen:
    """Notes whose cosines the searches of a fit bring back.

    A wrapper has two encoders where its own is not that of the store, and a retriever of several
    stores has theirs.
    """

    def __init__(self) -> None:
        self._names: Counter[str] = Counter()

    def pool(self, response: Searched) -> Pool:
        """Return the pool of a search."""
        if response._encoder is not None:
            self._names[response._encoder] += 1
        return response.pool

    def name(self, default: str | None) -> str | None:
        """Return the encoder of most searches, the default where none was seen."""
        return self._names.most_common(1)[0][0] if self._names else default
