"""Daemon threads, which an exit of the interpreter stops and lets come to rest.

CPython below 3.14 ends a daemon thread that wants the interpreter back while it is taken down.
Where native code has called Python in that thread, as pydantic's does, that aborts the process.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from threading import Thread
from time import monotonic

__all__ = ["GRACE", "come_to_rest", "start_thread"]

GRACE = 1.0
"""Seconds that an exit waits for all threads together; one that hangs is left alone."""


@dataclass(eq=False, slots=True)
class _Running:
    """One thread of a process, and the way to end it."""

    thread: Thread
    stop: Callable[[], object] | None
    pid: int


_running: set[_Running] = set()


def start_thread(
    run: Callable[[], object], name: str, stop: Callable[[], object] | None = None
) -> Thread:
    """Start a daemon thread.

    Args:
        run: Its work.
        name: Its name.
        stop: Called when the interpreter exits: asks the work to end.

    Raises:
        RuntimeError: There is no room for a thread, or the interpreter exits.
    """

    def tracked() -> None:
        try:
            run()
        finally:
            _running.discard(entry)

    entry = _Running(Thread(target=tracked, name=name, daemon=True), stop, os.getpid())
    _register()
    _running.add(entry)
    try:
        entry.thread.start()
    except BaseException:
        _running.discard(entry)
        raise
    return entry.thread


def come_to_rest(grace: float = GRACE) -> bool:
    """Stop the threads of this process, and wait for them; return False where one still runs.

    Args:
        grace: Seconds for all of them together.
    """
    own = [entry for entry in _running.copy() if entry.pid == os.getpid()]
    for entry in own:
        if entry.stop is not None:
            entry.stop()
    end = monotonic() + grace
    for entry in own:
        entry.thread.join(max(0.0, end - monotonic()))
    return not any(entry.thread.is_alive() for entry in own)


@cache
def _register() -> None:
    """Let an exit wait; from the first thread on."""
    atexit.register(come_to_rest)
