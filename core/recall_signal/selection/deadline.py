"""Waiting for at most so long, for calls that cannot be stopped.

A model client may block for as long as it likes. It therefore runs in a daemon thread that is
left to itself when the time is up: a thread pool would be waited for when the program ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

__all__ = ["await_within", "call_within", "thread_within"]

Value = TypeVar("Value")

_GRACE = 0.05
"""Seconds that a cancelled task gets to end by itself."""


def call_within(timeout: float | None, call: Callable[[], Value]) -> Value:
    """The value of a call, or ``TimeoutError`` after so many seconds."""
    if timeout is None:
        return call()
    done: SimpleQueue[tuple[Value | None, BaseException | None]] = SimpleQueue()
    _start(call, lambda *outcome: done.put(outcome))
    try:
        value, error = done.get(timeout=timeout)
    except Empty:
        raise TimeoutError from None
    if error is not None:
        raise error
    return value  # type: ignore[return-value]  # without an error there is a value


async def thread_within(timeout: float | None, call: Callable[[], Value]) -> Value:
    """:func:`call_within` without blocking the event loop."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Value] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if not future.done():
            future.set_result(value) if error is None else future.set_exception(error)

    def report(value: Any, error: BaseException | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, value, error)

    _start(call, report)
    return await asyncio.wait_for(future, timeout)


async def await_within(timeout: float | None, work: Coroutine[Any, Any, Value]) -> Value:
    """The value of a coroutine, or ``TimeoutError``, even where it resists cancellation."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=timeout)
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=_GRACE)
    if not task.done() or task.cancelled():
        raise TimeoutError
    return task.result()


def _start(call: Callable[[], Any], report: Callable[[Any, BaseException | None], object]) -> None:
    context = copy_context()

    def run() -> None:
        try:
            value = context.run(call)
        except BaseException as error:  # what the call raises belongs to whoever waits for it
            report(None, error)
        else:
            report(value, None)

    Thread(target=run, name="recall-signal-selector", daemon=True).start()
