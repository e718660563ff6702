"""A mark on searches that learn or check a scale: nobody's queries, which no log has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["is_learning", "learning"]

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
