"""Failures of extra steps: one kind of error, whatever they raise.

Only the end of the program (`FATAL`) and a cancellation of the running task pass through an extra
step. Everything else that one raises, a panic of native code or a `GeneratorExit` too, is a
failure like any other: an `Exception` that the flow turns into a reason.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable
from functools import partial
from typing import NoReturn, Self, TypeVar

__all__ = [
    "FATAL",
    "CallCancelled",
    "StepFailed",
    "contained",
    "contained_in_thread",
    "failure_of",
    "is_timeout",
    "original",
    "raise_original",
]

Value = TypeVar("Value")

FATAL = (KeyboardInterrupt, SystemExit)
"""Exceptions that end the program, and are raised from wherever they come."""


class StepFailed(Exception):
    """An optional step raised a `BaseException`, such as a panic of native code."""

    @classmethod
    def of(cls, error: BaseException) -> Self:
        """Name the class of the error and keep it as the cause."""
        failure = cls(type(error).__name__)
        failure.__cause__ = error
        return failure


class CallCancelled(StepFailed):
    """Cancellation of a call, but not by its caller: a failure like any other."""


def contained(call: Callable[[], Value]) -> Value:
    """Return the value of a call of foreign code that never waits.

    Whatever it raises arrives as an `Exception`; a cancellation that it raises itself is not
    one of the running task.
    """
    try:
        return call()
    except (Exception, *FATAL):
        raise
    except BaseException as error:
        raise failure_of(error) from error


def contained_in_thread(call: Callable[..., Value], *args: object) -> Value:
    """Return the value of a call whose end the event loop waits for.

    A `StopIteration` would never arrive: no future may hold one.
    """
    try:
        return contained(partial(call, *args))
    except StopIteration as error:
        raise StepFailed.of(error) from error


def failure_of(error: BaseException) -> Exception:
    """Return an error that is no `Exception` as the flow receives it."""
    return (CallCancelled if isinstance(error, CancelledError) else StepFailed).of(error)


def original(error: Exception) -> BaseException:
    """Return the error that was raised at first."""
    if isinstance(error, StepFailed) and error.__cause__ is not None:
        return error.__cause__
    return error


def raise_original(error: Exception) -> NoReturn:
    """Raise the error that was raised at first."""
    raise original(error)


def is_timeout(error: Exception) -> bool:
    """Return whether an error says that time was up; clients have errors of their own for that."""
    first = original(error)
    return isinstance(first, TimeoutError) or "timeout" in type(first).__name__.lower()
