"""Time limits for calls that cannot be stopped.

A model's client may block for any time. It therefore runs in a daemon thread that is abandoned
when its time is up: a thread pool would be waited for at the end of the program. Results of
abandoned calls are discarded, and so are their errors, which may quote the text that was sent.

Every wrapper has limits of its own (`CallLimits`): a model that hangs takes no time and no
thread from another wrapper.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextvars import copy_context
from dataclasses import dataclass
from math import inf
from threading import TIMEOUT_MAX
from time import monotonic
from typing import TypeVar

from recall_signal._background import start_thread
from recall_signal._fork_safe import ForkSafeLock
from recall_signal._steps.failures import CallCancelled, contained, contained_in_thread

__all__ = ["CallLimits", "Workers"]

log = logging.getLogger(__name__)

Value = TypeVar("Value")

_GRACE = 0.05
"""Seconds in which a task may end by itself that is cancelled since its time is up."""

_TURNS = 20
"""Turns of the loop in which a task may end whose caller was cancelled, and no second more."""

MAX_ABANDONED_CALLS = 16
"""Calls of one wrapper that nobody waits for any more and that still run past their time, with
which the next one is refused."""

MAX_THREADS = 64
"""Calls of one wrapper that run in threads at the same time; further ones wait for their turn."""

MAX_WORKERS = 8
"""Computations of one wrapper in threads at the same time."""


@dataclass(slots=True, eq=False)
class _Call:
    """State of a call: when its time is up, and whether it has ended."""

    ends: float = -inf
    ended: bool = False


class CallLimits:
    """Time limits for the models of one wrapper, and bounds on what they leave behind.

    A child of a fork starts anew: the calls of its parent do not run in it. So do copies.

    Args:
        threads: Calls in threads at the same time.
        abandoned: Abandoned calls that may still run past their time; with so many, the next call
            with a time limit raises `TimeoutError` at once.
    """

    def __init__(self, threads: int = MAX_THREADS, abandoned: int = MAX_ABANDONED_CALLS) -> None:
        self._lock = ForkSafeLock()
        self._threads, self._most_abandoned = threads, abandoned
        self._start_anew()

    def __reduce__(self) -> tuple[type[CallLimits], tuple[int, int]]:
        return CallLimits, (self._threads, self._most_abandoned)  # a lock cannot be copied

    def _start_anew(self) -> None:
        self._pid = os.getpid()
        self._free, self._is_stuck = self._threads, False
        self._waiting: deque[Future[None]] = deque()
        self._abandoned: set[_Call] = set()

    def _notice_fork(self) -> None:
        if self._pid != os.getpid():
            self._start_anew()

    def call_within(self, timeout: float | None, call: Callable[[], Value]) -> Value:
        """Return the value of a call; raise `TimeoutError` after `timeout` seconds."""
        if timeout is None:
            return contained(call)
        timeout = min(timeout, TIMEOUT_MAX)
        ends = monotonic() + timeout
        turn = self._turn(timeout)
        try:
            turn.result(timeout)
        except BaseException as error:
            self._give_up(turn)
            if isinstance(error, FutureTimeout):
                raise TimeoutError from None
            raise
        done, running = self._start(call, ends)
        try:
            return done.result(max(0.0, ends - monotonic()))
        except FutureTimeout:
            if done.done():
                return done.result()  # the call's own TimeoutError, or a value at the last moment
            raise TimeoutError from None
        finally:
            self._leave(running)

    async def thread_within(self, timeout: float | None, call: Callable[[], Value]) -> Value:
        """`call_within` without blocking the event loop."""
        ends = None if timeout is None else monotonic() + timeout
        turn = self._turn(timeout)
        if not turn.done():
            try:
                await asyncio.wait({_in_loop(turn)}, timeout=timeout)
            except BaseException:
                self._give_up(turn)
                raise
            if not turn.done():
                self._give_up(turn)
                raise TimeoutError
        done, running = self._start(call, inf if ends is None else ends)
        answer = _in_loop(done)
        try:
            # Not wait_for: on Python 3.11 it loses a cancellation that comes as the call completes.
            left = None if ends is None else max(0.0, ends - monotonic())
            await asyncio.wait({answer}, timeout=left)
        finally:
            self._leave(running)  # also where the caller was cancelled
        if not answer.done():
            raise TimeoutError
        return answer.result()

    async def await_within(
        self, timeout: float | None, work: Coroutine[object, object, Value]
    ) -> Value:
        """Return the value of a coroutine; raise `TimeoutError` even where it resists.

        Whatever it raises but the end of the program arrives as an `Exception`.
        """
        if self._is_full():
            work.close()
            raise TimeoutError
        started, call = monotonic(), _Call()
        task = asyncio.ensure_future(work)
        task.add_done_callback(lambda ended: self._end_task(ended, call))
        was_cancelled = True
        try:
            await asyncio.wait({task}, timeout=timeout)
            was_cancelled = False
        finally:
            late = not task.done()
            if late:
                task.cancel()
                self._leave(call)
                await (_turns(task) if was_cancelled else asyncio.wait({task}, timeout=_GRACE))
        # Nothing stops a coroutine that blocks the loop, but its answer comes too late as well.
        if late or (timeout is not None and monotonic() - started > timeout + _GRACE):
            raise TimeoutError
        if task.cancelled():
            raise CallCancelled.of(asyncio.CancelledError())
        return contained(task.result)

    def _turn(self, timeout: float | None) -> Future[None]:
        """Take a thread's place, now or when one is free."""
        if timeout is not None and self._is_full():
            raise TimeoutError
        turn: Future[None] = Future()
        left, is_news = 0, False
        with self._lock:
            self._notice_fork()
            if self._free:
                self._free -= 1
                self._is_stuck = False
                turn.set_result(None)
            else:
                self._waiting.append(turn)
                left = len(self._abandoned)
                is_news = left >= self._most_abandoned and not self._is_stuck
                self._is_stuck = self._is_stuck or is_news
        if is_news:
            log.warning(
                "%d calls that nobody waits for are still running: further ones wait for a thread",
                left,
            )
        return turn

    def _give_up(self, turn: Future[None]) -> None:
        if not turn.cancel():  # the place came at the last moment
            self._free_place()

    def _free_place(self) -> None:
        with self._lock:
            while self._waiting:
                turn = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    turn.set_result(None)
                    return
            self._free += 1

    def _is_full(self) -> bool:
        with self._lock:
            self._notice_fork()
            now = monotonic()
            late = sum(call.ends <= now for call in self._abandoned)
        full = late >= self._most_abandoned
        if full:
            log.warning("%d calls are past their time and still running", late)
        return full

    def _leave(self, call: _Call) -> None:
        """Nobody waits for a call any more, which may still be running."""
        with self._lock:
            if not call.ended:
                self._abandoned.add(call)

    def _end(self, call: _Call) -> None:
        with self._lock:
            call.ended = True
            self._abandoned.discard(call)

    def _end_task(self, task: asyncio.Task[Value], call: _Call) -> None:
        self._end(call)
        if not task.cancelled():
            task.exception()  # or asyncio logs that nobody read it

    def _start(self, call: Callable[[], Value], ends: float) -> tuple[Future[Value], _Call]:
        context, done, running = copy_context(), Future[Value](), _Call(ends)

        def run() -> None:
            error: BaseException | None = None
            try:
                value = contained_in_thread(context.run, call)
            except BaseException as raised:  # raised where the value is waited for
                error = raised
            self._end(running)
            self._free_place()
            if error is None:
                done.set_result(value)
            else:
                done.set_exception(error)

        try:
            start_thread(run, "recall-signal-call")
        except BaseException:
            self._free_place()
            raise
        return done, running


async def _turns(task: asyncio.Task[object]) -> None:
    """Let a cancelled task end, for which it needs some turns of the loop and no time."""
    for _ in range(_TURNS):
        if task.done():
            break
        await asyncio.sleep(0)


class Workers:
    """Threads of one wrapper for what it computes itself, and others for its encoder and store.

    Both are apart from those of its models and from those that a whole program shares: a model or
    an encoder that hangs must not keep a page from being read. A call is never refused. A copy and
    a pickle have threads of their own.

    Args:
        threads: Computations at the same time; further ones wait for their turn.
    """

    def __init__(self, threads: int = MAX_WORKERS) -> None:
        self._own, self._foreign = CallLimits(threads), CallLimits()

    def __reduce__(self) -> tuple[type[Workers], tuple[()]]:
        return Workers, ()  # a lock cannot be copied

    async def run(self, call: Callable[[], Value]) -> Value:
        """Return the value of a computation, which a thread makes and which always ends."""
        return await self._own.thread_within(None, call)

    async def run_if(self, call: Callable[[], Value], *, is_large: bool) -> Value:
        """Return the value of a computation; a small one is made at once and pays no thread."""
        return await self.run(call) if is_large else call()

    async def call(self, call: Callable[[], Value]) -> Value:
        """Return the value of a call of an encoder or a store, which a thread makes."""
        return await self._foreign.thread_within(None, call)

    async def wait_for(self, call: Callable[[], Awaitable[Value]]) -> Value:
        """Return the value of foreign async code, which a task of its own runs.

        Raises:
            TimeoutError: Too much of it has been cancelled and goes on running.
        """

        async def awaited() -> Value:
            return await call()  # whatever the call itself raises, it raises in the task

        return await self._foreign.await_within(None, awaited())


def _in_loop(done: Future[Value]) -> asyncio.Future[Value]:
    """Return a future of the running loop that settles with this one and never complains unread."""
    waiting = asyncio.wrap_future(done)
    waiting.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    return waiting
