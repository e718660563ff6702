"""Running a generator that asks for what it needs: once synchronously, once not.

Everything in recall-signal that involves somebody else's I/O is written as such a generator, so
that there is one flow and a driver for each way of carrying its requests out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

from recall_signal.deadline import CallCancelled

__all__ = ["drive", "drive_async", "raise_if_cancelled"]

Asked = TypeVar("Asked")
Result = TypeVar("Result")


def drive(flow: Generator[Asked, Any, Result], perform: Callable[[Asked], Any]) -> Result:
    """Run a flow to its end, carrying out each request synchronously."""
    try:
        request = next(flow)
        while True:
            try:
                answer = perform(request)
            except Exception as error:
                request = flow.throw(error)
            else:
                request = flow.send(answer)
    except StopIteration as stop:
        result: Result = stop.value
        return result


async def drive_async(
    flow: Generator[Asked, Any, Result],
    perform: Callable[[Asked], Awaitable[Any]],
    own: tuple[type, ...] = (),
) -> Result:
    """Run a flow to its end, awaiting each request.

    Args:
        flow: What asks.
        perform: Carries out one request.
        own: Requests for extra steps of ours. Where one of those is cancelled by what it calls,
            the flow hears of a failure: :class:`CallCancelled`.
    """
    try:
        request = next(flow)
        while True:
            try:
                answer = await perform(request)
            except asyncio.CancelledError:
                if not isinstance(request, own):
                    raise
                raise_if_cancelled()
                request = flow.throw(CallCancelled())
            except Exception as error:
                request = flow.throw(error)
            else:
                request = flow.send(answer)
    except StopIteration as stop:
        result: Result = stop.value
        return result


def raise_if_cancelled() -> None:
    """Raise where the running task itself is being cancelled, not something that it awaited."""
    task = asyncio.current_task()
    if task is None or task.cancelling():
        raise asyncio.CancelledError
