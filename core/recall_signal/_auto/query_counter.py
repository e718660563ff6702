"""Counts of the queries that a process runs, beside the searches in the background."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

__all__ = ["QueryCounter"]


class QueryCounter:
    """Counts queries, and those that met a search in the background.

    Attributes:
        running: Queries that run now.
        seen: Queries that began since `start_counting`.
        overlapped: Those of them that ran beside a search at its or their beginning.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_searching = False
        self.running = self.seen = self.overlapped = 0

    def start_counting(self) -> None:
        """Count from zero, but for those that run."""
        with self._lock:
            self.seen = self.overlapped = 0

    def begin(self) -> None:
        """Note that a query begins."""
        with self._lock:
            self.running += 1
            self.seen += 1
            self.overlapped += self._is_searching

    def end(self) -> None:
        """Note that a query has ended, whatever came of it."""
        with self._lock:
            self.running -= 1

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Hold while a search in the background runs."""
        with self._lock:
            self._is_searching = True
            self.overlapped += self.running
        try:
            yield
        finally:
            with self._lock:
                self._is_searching = False
