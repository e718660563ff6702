"""How a caller further out hears of the retrievals inside its own call.

``retrieve`` can return nodes only, and a query engine a response only. Whoever wants the
reports as well opens a list for the time of its call. The list belongs to that call's context:
concurrent tasks and threads have their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from llama_index_recall_signal.response import RecallResponse

__all__ = ["tell", "watching"]

_open: ContextVar[list[RecallResponse] | None] = ContextVar("recall_signal_open", default=None)


@contextmanager
def watching() -> Iterator[list[RecallResponse]]:
    """A list of what is told inside the block, and to nobody outside it."""
    told: list[RecallResponse] = []
    token = _open.set(told)
    try:
        yield told
    finally:
        _open.reset(token)


def tell(responses: Sequence[RecallResponse]) -> None:
    """Tell whoever is watching."""
    told = _open.get()
    if told is not None:
        told.extend(responses)
