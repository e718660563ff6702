"""Carrying an attempt out: in a daemon thread, or as a task on an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass
from threading import Event
from typing import TypeVar

from recall_signal import _background
from recall_signal._auto.attempt import AttemptSteps, PacedSearch
from recall_signal._auto.state import Attempt, AutoState
from recall_signal._steps.driver import drive, drive_async, raise_if_cancelled
from recall_signal.calibration._calibration import Calibration
from recall_signal.calibration._port import RetrieverPort, Vectors
from recall_signal.pool import Pool

__all__ = ["read_silently", "start_task", "start_thread"]

Result = TypeVar("Result")


class _Stopped(BaseException):
    """The process ends, or another attempt has taken this one's place."""


def start_thread(
    state: AutoState, attempt: Attempt, port: RetrieverPort, steps: Callable[[], AttemptSteps]
) -> None:
    """Run an attempt in a daemon thread; an exit stops it at its next search."""
    performer = _InThread(state, attempt, port)

    def run() -> None:
        flow = steps()
        with suppress(BaseException):  # it has to stop, and there is nobody to tell
            drive(flow, lambda request: request.by(performer))
        flow.close()
        state.cut_short(attempt)  # nothing where it was finished

    try:
        _background.start_thread(
            lambda: Context().run(run), "recall-signal-calibration", stop=state.stop.set
        )
    except RuntimeError:  # the interpreter ends, or there is no room for a thread
        state.cut_short(attempt)


def start_task(
    state: AutoState,
    attempt: Attempt,
    port: RetrieverPort,
    steps: Callable[[], AttemptSteps],
    tasks: set[asyncio.Task[None]],
) -> None:
    """Run an attempt as a task on the running loop, outside of the caller's context.

    Args:
        state: What the attempt belongs to.
        attempt: The attempt.
        port: The retriever.
        steps: Its steps.
        tasks: Keeps the task, since a loop does not.
    """
    performer = _OnLoop(state, attempt, port)

    async def run() -> None:
        flow = steps()
        try:
            with suppress(_Stopped):
                await drive_async(flow, lambda request: request.by(performer))
        finally:
            flow.close()

    loop = asyncio.get_running_loop()
    task = loop.create_task(run(), name="recall-signal-calibration", context=Context())
    tasks.add(task)

    def done(ended: asyncio.Task[None]) -> None:
        tasks.discard(ended)
        read_silently(ended)
        state.cut_short(attempt)  # nothing where it was finished

    task.add_done_callback(done, context=Context())


def read_silently(ended: asyncio.Task[None]) -> None:
    """Read what a task raised, or asyncio logs it, with texts that it may quote."""
    if not ended.cancelled():
        ended.exception()


def _check_current(state: AutoState, attempt: Attempt) -> None:
    if not state.is_current(attempt):
        raise _Stopped


class _CallFailed(Exception):
    """A call ended with something that is no ordinary error: a panic, a cancellation of its own."""


def _call(call: Callable[[], Result]) -> Result:
    try:
        return call()
    except Exception:
        raise
    except BaseException as error:
        raise _CallFailed(type(error).__name__) from None


async def _await(call: Awaitable[Result]) -> Result:
    try:
        return await call
    except (Exception, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise_if_cancelled()
        raise _CallFailed(type(error).__name__) from None


@dataclass(frozen=True, slots=True)
class _InThread:
    """Carries requests out in the thread that runs the attempt."""

    state: AutoState
    attempt: Attempt
    port: RetrieverPort

    def wait(self, seconds: float) -> None:
        stop: Event = self.state.stop
        if stop.wait(seconds):
            raise _Stopped

    def search(self, query: str, ahead: Sequence[str]) -> Pool:
        _check_current(self.state, self.attempt)
        return _call(lambda: self.port.search(query, ahead))

    def embed_texts(self, texts: Sequence[str]) -> Vectors | None:
        _check_current(self.state, self.attempt)
        return _call(lambda: self.port.embed_texts(texts))

    def fit(self, search: PacedSearch, encoder: str | None) -> Calibration:
        def found(query: str) -> Pool:
            return drive(search(query), lambda request: request.by(self))

        return Calibration.fit(found, encoder=encoder)


@dataclass(frozen=True, slots=True)
class _OnLoop:
    """Carries requests out on the loop whose task runs the attempt."""

    state: AutoState
    attempt: Attempt
    port: RetrieverPort

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        _check_current(self.state, self.attempt)

    async def search(self, query: str, ahead: Sequence[str]) -> Pool:
        _check_current(self.state, self.attempt)
        return await _await(self.port.asearch(query, ahead))

    async def embed_texts(self, texts: Sequence[str]) -> Vectors | None:
        _check_current(self.state, self.attempt)
        return await _await(self.port.aembed_texts(texts))

    async def fit(self, search: PacedSearch, encoder: str | None) -> Calibration:
        async def found(query: str) -> Pool:
            return await drive_async(search(query), lambda request: request.by(self))

        return await Calibration.afit(found, encoder=encoder)
