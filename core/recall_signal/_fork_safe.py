"""A lock that a fork does not inherit."""

from __future__ import annotations

import os
from threading import Lock

__all__ = ["ForkSafeLock"]


class ForkSafeLock:
    """A lock of each process: a child of a fork never waits for a thread that it does not have.

    Whatever the lock protects may have been left half-done by such a thread.
    """

    __slots__ = ("_locks",)

    def __init__(self) -> None:
        self._locks = {os.getpid(): Lock()}

    def __enter__(self) -> None:
        pid = os.getpid()
        lock = self._locks.get(pid) or self._locks.setdefault(pid, Lock())
        lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._locks[os.getpid()].release()
