"""Asynchronous code that does not wait but blocks, and the coroutine that is watched for it.

A coroutine that never awaits holds the event loop for as long as it runs, so it runs in a thread.
So does one that only hands work over to the loop's own threads: all of a program share them, and a
call that hangs would take them from everybody. Other coroutines cannot be judged by their code
alone; what they do is measured.
"""

from __future__ import annotations

import asyncio
import dis
import time
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from functools import lru_cache, partial
from inspect import CO_COROUTINE
from itertools import pairwise
from time import monotonic
from types import FunctionType, coroutine
from typing import Any, TypeVar

from recall_signal._steps.timeouts import Workers

__all__ = ["HOLDS", "Watched", "holds_loop", "run_apart"]

Value = TypeVar("Value")

HOLDS = 0.5
"""Seconds in one go from which a coroutine counts as one that blocks. A slow import in a first call
takes less."""

_AWAITS = frozenset({"GET_AWAITABLE", "GET_AITER", "GET_ANEXT", "BEFORE_ASYNC_WITH"})
_LOADS = frozenset({"LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD"})
_HANDS_OVER = frozenset({"to_thread", "run_in_executor"})
"""Functions by which code is run in a thread of the loop's executor."""

_LONGEST_CHAIN = 20


def holds_loop(function: object) -> bool:
    """Return whether a coroutine function blocks the loop or its threads, as far as its code shows.

    It does where it never awaits, sleeps by `time.sleep`, or awaits nothing but `to_thread` and
    `run_in_executor`. Code of anything but a Python coroutine function, decorated ones included,
    shows nothing.
    """
    inner = _undecorated(function)
    return inner is not None and _blocks(inner)


async def run_apart(
    workers: Workers, call: Callable[[], Coroutine[object, object, Value]], leaf: object
) -> Value:
    """Return the value of foreign async code; where it blocks, a thread has a loop of its own.

    Args:
        workers: Threads and tasks of the wrapper.
        call: Makes the coroutine.
        leaf: The coroutine function whose code is judged by `holds_loop`.
    """
    if holds_loop(leaf):
        return await workers.call(lambda: asyncio.run(call()))
    return await workers.wait_for(call)


class Watched:
    """Runs a coroutine as it is, and notes for how long it holds the loop.

    Args:
        start: Makes the coroutine.

    Attributes:
        longest: Seconds of its longest stretch without waiting.
    """

    def __init__(self, start: Callable[[], Coroutine[object, object, Value]]) -> None:
        self._start = start
        self.longest = 0.0

    async def run(self) -> Any:
        """Return the value of the coroutine."""
        return await self._stretches()

    @coroutine
    def _stretches(self) -> Generator[object, object, Any]:
        work = self._start()
        advance: Callable[[], object] = partial(work.send, None)
        while True:
            began = monotonic()
            try:
                waited = advance()
            except StopIteration as stop:
                return stop.value
            finally:
                self.longest = max(self.longest, monotonic() - began)
            try:
                answer = yield waited
            except GeneratorExit:
                work.close()
                raise
            except BaseException as error:
                advance = partial(work.throw, error)
            else:
                advance = partial(work.send, answer)


def _undecorated(function: object) -> FunctionType | None:
    """Return the function at the bottom of a method and of decorators."""
    for _ in range(_LONGEST_CHAIN):
        inner = getattr(function, "__func__", None) or _decorated(function)
        if inner is None:
            break
        function = inner
    return function if isinstance(function, FunctionType) else None


def _decorated(function: object) -> object:
    """Return what a decorator holds: by `functools.wraps`, or under its name in the closure."""
    wrapped = getattr(function, "__wrapped__", None)
    if callable(wrapped):
        return wrapped
    if not isinstance(function, FunctionType) or function.__closure__ is None:
        return None
    for cell in function.__closure__:
        with suppress(ValueError):  # an empty one
            if getattr(cell.cell_contents, "__qualname__", None) == function.__qualname__:
                return cell.cell_contents
    return None


@lru_cache(maxsize=256)
def _blocks(function: FunctionType) -> bool:
    """Judge a function by its instructions; that is done once for each of the last ones."""
    if not function.__code__.co_flags & CO_COROUTINE:
        return False
    code = list(dis.get_instructions(function.__code__))
    awaits = [instruction.opname for instruction in code if instruction.opname in _AWAITS]
    names = [instruction.argval for instruction in code if instruction.opname in _LOADS]
    handed_over = sum(name in _HANDS_OVER for name in names)
    if not awaits or awaits == ["GET_AWAITABLE"] * handed_over:
        return True
    for instruction, following in pairwise(code):
        if instruction.opname == "LOAD_GLOBAL":
            value = function.__globals__.get(instruction.argval)
            if value is time.sleep or (value is time and following.argval == "sleep"):
                return True
    return False
