"""The waiting itself, where no model is needed to see it."""

import asyncio
import threading
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import pytest

from recall_signal._steps.failures import CallCancelled, StepFailed, is_timeout
from recall_signal._steps.timeouts import MAX_ABANDONED_CALLS, CallLimits

WHERE: ContextVar[str] = ContextVar("where", default="nowhere")


@pytest.mark.parametrize("limit", [None, 5])
async def test_a_value_comes_back(limit: float | None) -> None:
    async def value() -> int:
        return 7

    assert CallLimits().call_within(limit, lambda: 7) == 7
    assert await CallLimits().thread_within(limit, lambda: 7) == 7
    assert await CallLimits().await_within(limit, value()) == 7
    assert CallLimits().call_within(limit, lambda: None) is None


@pytest.mark.parametrize("limit", [None, 5])
async def test_an_error_comes_back_as_it_is(limit: float | None) -> None:
    error = KeyError("x")

    def fail() -> None:
        raise error

    async def afail() -> None:
        raise error

    for call in (
        CallLimits().thread_within(limit, fail),
        CallLimits().await_within(limit, afail()),
    ):
        with pytest.raises(KeyError) as caught:
            await call
        assert caught.value is error
    with pytest.raises(KeyError) as caught:
        CallLimits().call_within(limit, fail)
    assert caught.value is error


async def test_the_time_is_up() -> None:
    over = threading.Event()
    with pytest.raises(TimeoutError):
        CallLimits().call_within(0.01, lambda: over.wait(10))
    with pytest.raises(TimeoutError):
        await CallLimits().thread_within(0.01, lambda: over.wait(10))
    over.set()
    with pytest.raises(TimeoutError):
        await CallLimits().await_within(0.01, asyncio.sleep(10))


async def test_an_answer_in_the_time_of_grace_is_too_late() -> None:
    """Whoever is told `timeout` must be able to believe it."""

    async def answer() -> int:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            return 7
        return 8

    with pytest.raises(TimeoutError):
        await CallLimits().await_within(0.01, answer())
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("limit", [None, 5])
async def test_a_model_that_cancels_itself_has_failed(limit: float | None) -> None:
    """The caller was not cancelled and must not look as if it had been."""

    def cancel() -> None:
        raise asyncio.CancelledError

    async def acancel() -> None:
        raise asyncio.CancelledError

    with pytest.raises(CallCancelled):
        CallLimits().call_within(limit, cancel)
    with pytest.raises(CallCancelled):
        await CallLimits().thread_within(limit, cancel)
    with pytest.raises(CallCancelled):
        await CallLimits().await_within(limit, acancel())


async def test_the_context_goes_along() -> None:
    WHERE.set("here")

    async def where() -> str:
        return WHERE.get()

    assert CallLimits().call_within(5, WHERE.get) == "here"
    assert await CallLimits().thread_within(5, WHERE.get) == "here"
    assert await CallLimits().await_within(5, where()) == "here"


def test_without_a_limit_there_is_no_thread() -> None:
    assert CallLimits().call_within(None, threading.current_thread) is threading.current_thread()
    assert CallLimits().call_within(5, threading.current_thread).daemon


async def test_what_is_late_is_not_heard_of(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: heard.append(context))
    late = asyncio.Event()

    async def fail() -> None:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            await asyncio.sleep(0.1)
            late.set()
            raise ValueError("a document's text") from None

    with pytest.raises(TimeoutError):
        await CallLimits().await_within(0.01, fail())
    await late.wait()
    await asyncio.sleep(0.01)
    assert heard == []
    assert caplog.records == []


async def test_calls_that_hang_do_not_pile_up(caplog: pytest.LogCaptureFixture) -> None:
    """C2, C7: where many of one wrapper are still running past their time, no more are begun."""
    over, begun, limits = threading.Event(), list[int](), CallLimits()

    def hang() -> None:
        begun.append(1)
        over.wait(30)

    async def resist() -> None:
        begun.append(1)
        while not over.is_set():
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.05)

    for _ in range(8):
        with pytest.raises(TimeoutError):
            limits.call_within(0.001, hang)
        with pytest.raises(TimeoutError):
            await limits.thread_within(0.001, hang)
        with pytest.raises(TimeoutError):
            await limits.await_within(0.001, resist())
    assert len(begun) == MAX_ABANDONED_CALLS
    assert "16 calls are past their time" in caplog.text
    assert CallLimits().call_within(5, lambda: 7) == 7, "another wrapper knows nothing of it"
    assert await CallLimits().thread_within(5, lambda: 7) == 7
    over.set()
    await asyncio.sleep(0.1)
    for thread in threading.enumerate():
        if thread.name == "recall-signal-call":
            thread.join(5)
    limits.call_within(5, hang)
    assert len(begun) == MAX_ABANDONED_CALLS + 1


@pytest.mark.parametrize("limit", [0.05, None])
async def test_cancelled_calls_are_counted_once_their_time_is_up(limit: float | None) -> None:
    """C7: a thread goes on when its caller is cancelled; one that hangs then counts as others."""
    over, limits = threading.Event(), CallLimits(threads=8, abandoned=4)
    calls = [
        asyncio.create_task(limits.thread_within(limit, lambda: over.wait(30))) for _ in range(4)
    ]
    await asyncio.sleep(0.01)
    for call in calls:
        call.cancel()
    for call in calls:
        with pytest.raises(asyncio.CancelledError):
            await call
    assert await limits.thread_within(5, lambda: 7) == 7, "they may still end in their time"
    await asyncio.sleep(0.1)
    if limit is not None:
        with pytest.raises(TimeoutError):
            await limits.thread_within(5, lambda: 7)
    over.set()
    await asyncio.sleep(0.1)
    assert await limits.thread_within(5, lambda: 7) == 7


def test_a_fork_starts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    over, limits = threading.Event(), CallLimits(threads=1)
    with pytest.raises(TimeoutError):
        limits.call_within(0.01, lambda: over.wait(30))
    with pytest.raises(TimeoutError):
        limits.call_within(0.01, lambda: 7)
    with monkeypatch.context() as patched:
        patched.setattr("os.getpid", lambda: -1)
        assert limits.call_within(5, lambda: 7) == 7
    over.set()


async def test_calls_in_time_are_not_counted() -> None:
    over, limits = threading.Event(), CallLimits()
    calls = [
        asyncio.create_task(limits.thread_within(30, lambda: over.wait(30))) for _ in range(40)
    ]
    await asyncio.sleep(0.05)
    over.set()
    assert await asyncio.gather(*calls) == [True] * 40


async def test_further_calls_wait_for_their_turn() -> None:
    """Threads are bounded; a call that gets no turn in its time has no answer."""
    over, limits = threading.Event(), CallLimits(threads=2)
    held = [asyncio.create_task(limits.thread_within(30, lambda: over.wait(30))) for _ in range(2)]
    await asyncio.sleep(0.05)
    with pytest.raises(TimeoutError):
        limits.call_within(0.01, lambda: 7)
    with pytest.raises(TimeoutError):
        await limits.thread_within(0.01, lambda: 7)
    leaving = asyncio.create_task(limits.thread_within(30, lambda: 7))
    waiting = asyncio.create_task(limits.thread_within(30, lambda: 7))
    await asyncio.sleep(0.05)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    over.set()
    assert await waiting == 7
    assert await asyncio.gather(*held) == [True, True]
    assert await asyncio.to_thread(limits.call_within, 5, lambda: 8) == 8


def test_a_turn_that_comes_too_late_is_passed_on() -> None:
    limits = CallLimits(threads=1)
    turn = limits._turn(None)
    waiting = limits._turn(None)
    limits._give_up(turn)
    assert waiting.done()
    limits._give_up(waiting)
    assert limits.call_within(5, lambda: 7) == 7


def test_a_thread_that_cannot_start_holds_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = CallLimits(threads=1)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            limits.call_within(5, lambda: 7)
    assert limits.call_within(5, lambda: 7) == 7


async def test_a_timeout_of_the_model_itself_is_its_own() -> None:
    def late() -> None:
        raise TimeoutError("the client's")

    with pytest.raises(TimeoutError, match="the client's"):
        CallLimits().call_within(5, late)
    with pytest.raises(TimeoutError, match="the client's"):
        await CallLimits().thread_within(5, late)


@pytest.mark.parametrize("error", [StopIteration, GeneratorExit])
async def test_errors_that_no_future_holds_come_back(error: type[BaseException]) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(StepFailed):
        CallLimits().call_within(5, fail)
    with pytest.raises(StepFailed):
        await CallLimits().thread_within(5, fail)


@pytest.mark.parametrize("kind", ["thread", "task"])
async def test_a_cancellation_as_the_call_completes_is_raised(kind: str) -> None:
    """C1: `asyncio.wait_for` of Python 3.11 loses some."""
    limits = CallLimits()
    for delay in range(60):
        done = threading.Event()

        async def native(done: threading.Event = done) -> None:
            await asyncio.sleep(0)
            done.set()

        work = limits.thread_within(5, done.set) if kind == "thread" else None
        task = asyncio.create_task(work or limits.await_within(5, native()))
        for _ in range(1 + delay % 12):
            await asyncio.sleep(0)
        if task.done():
            continue
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


def test_timeouts_are_recognised() -> None:
    class GatewayTimeout(BaseException): ...

    assert is_timeout(StepFailed.of(GatewayTimeout()))
    assert is_timeout(TimeoutError())
    assert not is_timeout(StepFailed())
    assert not is_timeout(KeyError())
