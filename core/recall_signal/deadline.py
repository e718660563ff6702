"""Waiting for at most so long, for calls that cannot be stopped.

A model's client may block for as long as it likes. It therefore runs in a daemon thread that is
left to itself when the time is up: a thread pool would be waited for when the program ends.

What was left to itself ends unheard: its value comes too late, and its error may quote what it
was asked, which must not reach a log by way of asyncio's "exception was never retrieved".

A model that hangs every time would leave a thread behind with every call. Where too many hang,
the next call is not made: its time counts as up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import copy_context
from math import inf
from queue import Empty, SimpleQueue
from threading import TIMEOUT_MAX, Thread
from threading import enumerate as threads
from time import monotonic
from typing import Any, Generic, NamedTuple, TypeVar

__all__ = ["CallCancelled", "await_within", "call_within", "is_timeout", "thread_within"]

Value = TypeVar("Value")

_GRACE = 0.05
"""Seconds that a cancelled task gets to end by itself."""


_MOST_HANGING = 16
"""Calls past their time, of one kind, that may still run when another one begins."""


class CallCancelled(Exception):
    """The call was cancelled, and not by whoever waits for it: a failure like any other."""


class _Outcome(NamedTuple, Generic[Value]):
    """How a call in another thread ended."""

    value: Value | None
    error: BaseException | None

    def unpack(self) -> Value:
        """The value, or the error raised."""
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]  # without an error there is a value


def call_within(timeout: float | None, call: Callable[[], Value]) -> Value:
    """The value of a call, or ``TimeoutError`` after so many seconds."""
    if timeout is None:
        return _run(call).unpack()
    done: SimpleQueue[_Outcome[Value]] = SimpleQueue()
    _start(timeout, call, done.put)
    try:
        outcome = done.get(timeout=min(timeout, TIMEOUT_MAX))
    except Empty:
        raise TimeoutError from None
    return outcome.unpack()


async def thread_within(timeout: float | None, call: Callable[[], Value]) -> Value:
    """:func:`call_within` without blocking the event loop."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_Outcome[Value]] = loop.create_future()

    def settle(outcome: _Outcome[Value]) -> None:
        if not future.done():
            future.set_result(outcome)

    def report(outcome: _Outcome[Value]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, outcome)

    _start(timeout, call, report)
    return (await asyncio.wait_for(future, timeout)).unpack()


async def await_within(timeout: float | None, work: Coroutine[Any, Any, Value]) -> Value:
    """The value of a coroutine, or ``TimeoutError``, even where it resists cancellation."""
    started = monotonic()
    task = asyncio.ensure_future(work)
    task.add_done_callback(_hear)
    try:
        await asyncio.wait({task}, timeout=timeout)
    finally:
        late = not task.done()
        if late:
            task.cancel()
            await asyncio.wait({task}, timeout=_GRACE)
    # A coroutine that blocks the loop cannot be stopped, but its answer comes too late as well.
    if late or (timeout is not None and monotonic() - started > timeout + _GRACE):
        raise TimeoutError
    if task.cancelled():
        raise CallCancelled
    return task.result()


def _hear(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()


def _run(call: Callable[[], Value]) -> _Outcome[Value]:
    try:
        return _Outcome(call(), None)
    except asyncio.CancelledError as error:
        failure = CallCancelled()
        failure.__cause__ = error
        return _Outcome(None, failure)
    except BaseException as error:  # what the call raises belongs to whoever waits for it
        return _Outcome(None, error)


class _Call(Thread):
    """A call in a thread of its own.

    Attributes:
        kind: The line of code that calls, which tells rerankers and selectors of each framework
            apart: one that hangs does not take the time of the others.
        ends: When its time is up.
    """

    def __init__(
        self, timeout: float | None, call: Callable[[], Any], run: Callable[[], None]
    ) -> None:
        super().__init__(target=run, name="recall-signal-call", daemon=True)
        self.kind = _kind(call)
        self.ends = inf if timeout is None else monotonic() + timeout


def _kind(call: Callable[[], Any]) -> Any:
    return getattr(call, "__code__", None)


def _start(
    timeout: float | None,
    call: Callable[[], Value],
    report: Callable[[_Outcome[Value]], object],
) -> None:
    context = copy_context()

    def run() -> None:
        report(context.run(_run, call))

    now, kind = monotonic(), _kind(call)
    started = [thread for thread in threads() if isinstance(thread, _Call)]
    hanging = sum(thread.kind == kind and thread.ends < now for thread in started)
    if timeout is not None and hanging >= _MOST_HANGING:
        raise TimeoutError
    _Call(timeout, call, run).start()


def is_timeout(error: Exception) -> bool:
    """Whether it says that time was up; clients have errors of their own for their own limits."""
    return isinstance(error, TimeoutError) or "timeout" in type(error).__name__.lower()
