"""The waiting itself, where no model is needed to see it."""

import asyncio
import threading
from contextvars import ContextVar
from typing import Any

import pytest

from recall_signal.deadline import (
    _MOST_HANGING,
    CallCancelled,
    await_within,
    call_within,
    thread_within,
)

WHERE: ContextVar[str] = ContextVar("where", default="nowhere")


@pytest.mark.parametrize("limit", [None, 5])
async def test_a_value_comes_back(limit: float | None) -> None:
    async def value() -> int:
        return 7

    assert call_within(limit, lambda: 7) == 7
    assert await thread_within(limit, lambda: 7) == 7
    assert await await_within(limit, value()) == 7
    assert call_within(limit, lambda: None) is None


@pytest.mark.parametrize("limit", [None, 5])
async def test_an_error_comes_back_as_it_is(limit: float | None) -> None:
    error = KeyError("x")

    def fail() -> None:
        raise error

    async def afail() -> None:
        raise error

    for call in (thread_within(limit, fail), await_within(limit, afail())):
        with pytest.raises(KeyError) as caught:
            await call
        assert caught.value is error
    with pytest.raises(KeyError) as caught:
        call_within(limit, fail)
    assert caught.value is error


async def test_the_time_is_up() -> None:
    over = threading.Event()
    with pytest.raises(TimeoutError):
        call_within(0.01, lambda: over.wait(10))
    with pytest.raises(TimeoutError):
        await thread_within(0.01, lambda: over.wait(10))
    over.set()
    with pytest.raises(TimeoutError):
        await await_within(0.01, asyncio.sleep(10))


async def test_an_answer_in_the_time_of_grace_is_too_late() -> None:
    """Whoever is told ``timeout`` must be able to believe it."""

    async def answer() -> int:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            return 7
        return 8

    with pytest.raises(TimeoutError):
        await await_within(0.01, answer())
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("limit", [None, 5])
async def test_a_model_that_cancels_itself_has_failed(limit: float | None) -> None:
    """The caller was not cancelled and must not look as if it had been."""

    def cancel() -> None:
        raise asyncio.CancelledError

    async def acancel() -> None:
        raise asyncio.CancelledError

    with pytest.raises(CallCancelled):
        call_within(limit, cancel)
    with pytest.raises(CallCancelled):
        await thread_within(limit, cancel)
    with pytest.raises(CallCancelled):
        await await_within(limit, acancel())


async def test_the_context_goes_along() -> None:
    WHERE.set("here")

    async def where() -> str:
        return WHERE.get()

    assert call_within(5, WHERE.get) == "here"
    assert await thread_within(5, WHERE.get) == "here"
    assert await await_within(5, where()) == "here"


def test_without_a_limit_there_is_no_thread() -> None:
    assert call_within(None, threading.current_thread) is threading.current_thread()
    assert call_within(5, threading.current_thread).daemon


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
        await await_within(0.01, fail())
    await late.wait()
    await asyncio.sleep(0.01)
    assert heard == []
    assert caplog.records == []


async def test_calls_that_hang_do_not_pile_up() -> None:
    """Where many of one kind are still running past their time, no more are begun."""
    over, begun = threading.Event(), list[int]()

    def hang() -> None:
        begun.append(1)
        over.wait(30)

    for _ in range(40):
        with pytest.raises(TimeoutError):
            call_within(0.001, hang)
        with pytest.raises(TimeoutError):
            await thread_within(0.001, hang)
    assert len(begun) == _MOST_HANGING
    assert call_within(5, lambda: 7) == 7
    assert await thread_within(5, lambda: 7) == 7
    over.set()
    for thread in threading.enumerate():
        if thread.name == "recall-signal-call":
            thread.join(5)
    call_within(5, hang)
    assert len(begun) == _MOST_HANGING + 1


async def test_calls_in_time_are_not_counted() -> None:
    over = threading.Event()
    calls = [asyncio.create_task(thread_within(30, lambda: over.wait(30))) for _ in range(40)]
    await asyncio.sleep(0.05)
    over.set()
    assert await asyncio.gather(*calls) == [True] * 40
