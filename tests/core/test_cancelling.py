"""A cancellation of the running task, and one of what it awaits."""

import asyncio

import pytest

from recall_signal._steps.driver import raise_if_cancelled


async def test_a_task_that_nobody_cancels_goes_on() -> None:
    raise_if_cancelled()


async def test_a_task_that_is_being_cancelled_stops() -> None:
    async def swallowing() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise_if_cancelled()

    task = asyncio.create_task(swallowing())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_outside_of_any_task_a_cancellation_stands() -> None:
    """A callback of the event loop runs in none."""
    stopped = asyncio.get_running_loop().create_future()

    def call() -> None:
        try:
            raise_if_cancelled()
        except asyncio.CancelledError:
            stopped.set_result(True)

    asyncio.get_running_loop().call_soon(call)
    assert await stopped
