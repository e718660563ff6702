"""The window of real queries, and the calibration that follows it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from recall_signal.calibration._baseline import MIN_QUERIES
from recall_signal.calibration._calibration import Calibration

__all__ = ["Observed", "TrafficWindow"]

Observed = tuple[float, float | None]
"""Top cosine and term coverage of one query."""

Follow = Callable[[Calibration, Sequence[Observed]], Calibration]

EVERY = 10
"""Queries after which the calibration in force is worked out again."""


class TrafficWindow:
    """The last real queries, as figures. Not thread-safe: its owner holds a lock.

    Args:
        size: How many are kept.
        follow: Returns the calibration in force, given the fitted one and the window.
    """

    def __init__(self, size: int, follow: Follow = Calibration.with_traffic) -> None:
        self._pairs: deque[Observed] = deque(maxlen=size)
        self._follow = follow
        self._since = EVERY
        self._base: Calibration | None = None
        self._moved: Calibration | None = None

    def __len__(self) -> int:
        return len(self._pairs)

    def add(self, pair: Observed) -> None:
        """Let a query join."""
        self._pairs.append(pair)
        self._since += 1

    def clear(self) -> None:
        """Forget all queries: they were scored on another scale."""
        self._pairs.clear()

    def moved(self, calibration: Calibration | None) -> Calibration | None:
        """Return the calibration in force: the fitted one until 30 queries have joined."""
        if calibration is None or len(self._pairs) < MIN_QUERIES:
            return calibration
        if self._base is not calibration or self._since >= EVERY:
            self._base, self._since = calibration, 0
            self._moved = self._follow(calibration, tuple(self._pairs))
        return self._moved
