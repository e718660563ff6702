"""Run a generator of requests: synchronously or asynchronously.

All I/O in recall-signal is written as such a generator, so that there is one flow and one driver
for each way of carrying out its requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any, TypeAlias, TypeVar

from recall_signal._steps.failures import FATAL, contained, failure_of

__all__ = [
    "Steps",
    "contained_steps",
    "drive",
    "drive_async",
    "passed_through",
    "raise_if_cancelled",
]

Requested = TypeVar("Requested")
Result = TypeVar("Result")

Steps: TypeAlias = Generator[Requested, Any, Result]
"""Generator of requests that returns a result.

What it is sent depends on the request that it has yielded, which no type of a generator can say.
"""


def _never(_request: object) -> bool:
    return False


def drive(
    flow: Steps[Requested, Result],
    perform: Callable[[Requested], object],
    recoverable: Callable[[Requested], bool] = _never,
) -> Result:
    """Run a flow to its end and perform each request synchronously.

    A flow that may not see an error is closed here. The garbage collector would close it at any
    moment, and its end gives context variables back: CPython's do not survive that while another is
    being set.

    Args:
        flow: Yields the requests.
        perform: Performs one request.
        recoverable: Whether the flow survives the failure of a request whatever is raised. It then
            receives `StepFailed` in place of a `BaseException`.
    """
    try:
        request = next(flow)
        while True:
            try:
                answer = perform(request)
            except BaseException as error:
                request = _throw(flow, _failure(error, recoverable(request)))
            else:
                request = flow.send(answer)
    except StopIteration as stop:
        result: Result = stop.value
        return result
    except _Passed as passed:
        stopped = passed.error
    except BaseException:
        flow.close()
        raise
    raise stopped


async def drive_async(
    flow: Steps[Requested, Result],
    perform: Callable[[Requested], Awaitable[object]],
    recoverable: Callable[[Requested], bool] = _never,
) -> Result:
    """Run a flow to its end and await each request.

    A cancellation of the running task is raised even where a recoverable request swallowed it.
    One of something that such a request awaited is a failure like any other:
    `CallCancelled`. A `GeneratorExit` passes, since a task that awaits a future with one closes
    its coroutines: requests of foreign code await it in a task of its own (`await_within`).

    Args:
        flow: Yields the requests.
        perform: Performs one request.
        recoverable: As in `drive`.
    """
    task = asyncio.current_task()
    before = 0 if task is None else task.cancelling()
    try:
        request = next(flow)
        while True:
            optional = recoverable(request)
            try:
                answer = await perform(request)
            except BaseException as error:
                if isinstance(error, GeneratorExit):  # the coroutine is closed
                    raise
                if optional and (task is not None or isinstance(error, asyncio.CancelledError)):
                    raise_if_cancelled(before)
                request = flow.throw(_failure(error, optional))
            else:
                if optional and task is not None:
                    raise_if_cancelled(before)
                request = flow.send(answer)
    except StopIteration as stop:
        result: Result = stop.value
        return result
    except BaseException:
        flow.close()
        raise


def contained_steps(steps: Steps[Requested, Result]) -> Steps[Requested, Result]:
    """Run steps that read foreign values; whatever they raise is an `Exception`.

    A driver can close steps only where they wait for an answer, so a `GeneratorExit` out of
    anywhere else was raised by what they read.
    """
    advance: Callable[[], Requested] = partial(next, steps)
    while True:
        try:
            request = contained(advance)
        except StopIteration as stop:
            result: Result = stop.value
            return result
        try:
            answer = yield request
        except GeneratorExit:
            steps.close()
            raise
        except Exception as error:
            advance = partial(steps.throw, error)
        else:
            advance = partial(steps.send, answer)


def raise_if_cancelled(before: int = 0) -> None:
    """Raise `CancelledError` where the running task itself is being cancelled.

    Args:
        before: Cancellations of the task that were already requested when the work began, as in a
            clean-up of a cancelled task.
    """
    task = asyncio.current_task()
    if task is None or task.cancelling() > before:
        raise asyncio.CancelledError


def passed_through(error: BaseException, functions: frozenset[str]) -> bool:
    """Return whether an error came out of a function with one of these names, by its traceback."""
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_name in functions:
            return True
        step = step.tb_next
    return False


def _failure(error: BaseException, recoverable: bool) -> Exception:
    """Return what the flow receives in place of an error, or raise what it must not receive."""
    if isinstance(error, Exception):
        return error
    if isinstance(error, FATAL) or not recoverable:
        raise error
    return failure_of(error)


class _Passed(Exception):
    """Carries a `StopIteration` of the performed call past the flow's own."""

    def __init__(self, error: StopIteration) -> None:
        super().__init__()
        self.error = error


def _throw(flow: Steps[Requested, object], error: Exception) -> Requested:
    """Throw into the flow; a generator turns a `StopIteration` that it lets pass (PEP 479)."""
    if not isinstance(error, StopIteration):
        return flow.throw(error)
    try:
        return flow.throw(error)
    except RuntimeError as turned:
        if turned.__cause__ is error:
            raise _Passed(error) from None
        raise
