"""Refusals: a store that refuses what a wrapper asks of it beside the page."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic

__all__ = ["UNSUPPORTED", "Refusals"]

log = logging.getLogger(__name__)

UNSUPPORTED = (AttributeError, LookupError, NotImplementedError, TypeError, ValueError)
"""Errors of a search that a store does not take, such as a limit that is too high; an outage, which
passes, is another."""

FEWEST = 3
"""Refusals in a row after which there is a pause."""

PAUSE, LONGEST_PAUSE = 60.0, 3600.0
"""Seconds of the first pause, which doubles with every further refusal, and of the longest one."""


class Refusals:
    """Wider searches in a row that were refused where the one for the page alone was not.

    Each costs a second search, or seconds behind a retriever that tries again: after three there is
    a pause, and after each further one a longer pause.

    Args:
        clock: Seconds.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._count, self._until = 0, 0.0

    @property
    def pauses(self) -> bool:
        """True while no wider search is to be made."""
        return self._count >= FEWEST and self._clock() < self._until

    def add(self, error: BaseException) -> None:
        """Note a search that failed where the bare one did not."""
        if not isinstance(error, UNSUPPORTED):
            return
        self._count += 1
        if self._count >= FEWEST:
            pause = min(PAUSE * 2.0 ** min(self._count - FEWEST, 10), LONGEST_PAUSE)
            self._until = self._clock() + pause
            log.warning(
                "%d searches in a row were refused that look further than the page (%s): the page "
                "alone is searched for in the next %.0f s",
                self._count,
                type(error).__name__,
                pause,
            )

    def clear(self) -> None:
        """Note one that went well."""
        self._count = 0
