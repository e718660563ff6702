"""A lock that a fork does not inherit, and a cached value without one."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, Self, TypeVar, overload

__all__ = ["ForkSafeLock", "cached_value"]

Value = TypeVar("Value")


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


class cached_value(Generic[Value]):
    """A property that is computed at its first reading, and kept with the instance.

    Before Python 3.12 `functools.cached_property` holds one lock for all instances meanwhile: a
    child of a fork may inherit it, and one instance that computes for long holds up the others.
    Here two threads may compute the value at the same time, so it has to come out equal.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> Self | Value:
        if instance is None:
            return self
        value = vars(instance)[self._name] = self._compute(instance)
        return value
