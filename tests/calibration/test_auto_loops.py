"""On an event loop the calibration is a task, which ends with its loop and begins on another."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar
from threading import Event, Thread, current_thread
from typing import Any

import pytest

from recall_signal import ConfigurationError, Pool
from recall_signal._auto.run import _await
from recall_signal._auto.state import AutoState
from tests.calibration.auto_toys import LONG, Port, aquery, engine, entry_of, query
from tests.calibration.toys import Toy

outer: ContextVar[str] = ContextVar("outer", default="nothing")


class AsyncPort(Port):
    """Searches that wait for a turn of the loop."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**{"is_async_only": True, **given})
        self.running = self.most = 0
        self.contexts: set[str] = set()
        self.threads: set[str] = set()
        self.gate: asyncio.Event | None = None

    def search(self, query: str, _ahead: Sequence[str] = (), /) -> Pool:
        self.threads.add(current_thread().name)
        return super().search(query)

    async def asearch(self, query: str, _ahead: Sequence[str] = (), /) -> Pool:
        self.contexts.add(outer.get())
        self.running += 1
        self.most = max(self.most, self.running)
        self.began.set()
        try:
            await asyncio.sleep(0)
            if self.gate is not None:
                await self.gate.wait()
            return self._search(query)
        finally:
            self.running -= 1


async def test_a_query_on_a_loop_starts_a_task_on_it() -> None:
    port = AsyncPort()
    auto = engine(port)
    outer.set("of the query")
    await aquery(auto)
    assert auto.status == "fitting"
    await aquery(auto)
    assert await auto.await_until_calibrated(LONG)
    assert (auto.status, port.most, port.contexts) == ("ready", 1, {"nothing"})
    assert not auto._tasks


async def test_waiting_starts_it_and_is_over_when_time_is_up() -> None:
    port = AsyncPort()
    port.gate = asyncio.Event()
    auto = engine(port)
    assert not await auto.await_until_calibrated(0.001)
    assert auto.status == "fitting"
    port.gate.set()
    both = await asyncio.gather(*(auto.await_until_calibrated(LONG) for _ in range(2)))
    assert both == [True, True]
    assert await auto.await_until_calibrated()


async def test_a_new_fit_on_request() -> None:
    port = AsyncPort()
    auto = engine(port)
    assert await auto.await_until_calibrated(LONG)
    old = entry_of(auto)["id"]
    port.toy = Toy(offset=0.1, factor=0.8)
    await auto.arecalibrate()
    assert auto.status == "fitting"
    assert await auto.await_until_calibrated(LONG)
    assert entry_of(auto)["id"] != old


async def test_it_is_off_where_it_may_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECALL_SIGNAL_AUTO", "off")
    port = AsyncPort()
    auto = engine(port)
    await aquery(auto)
    await auto.arecalibrate()
    assert not await auto.await_until_calibrated(LONG)
    assert port.asked == []


def test_a_loop_that_ends_takes_the_task_with_it_and_another_one_goes_on() -> None:
    port = AsyncPort()
    auto = engine(port)

    async def until(asked: int) -> None:
        await aquery(auto)
        while len(port.asked) < asked:
            await asyncio.sleep(0)

    for asked in (50, 100, 150):
        asyncio.run(until(asked))
        assert auto.status == "waiting"
        assert len(port.asked) - asked in (0, 1)  # the end of a computation may come in between

    async def rest() -> bool:
        await aquery(auto)
        return await auto.await_until_calibrated(LONG)

    assert asyncio.run(rest())
    assert len(port.asked) < 186


def test_a_program_with_a_loop_for_every_query_gets_a_thread() -> None:
    port = AsyncPort(is_async_only=False)
    auto = engine(port)
    for _ in range(3):
        asyncio.run(aquery(auto))
    assert auto.wait_until_calibrated(LONG)
    assert port.threads == {"recall-signal-calibration"}


def test_a_loop_that_is_closed_without_its_tasks_is_noticed() -> None:
    port = AsyncPort()
    auto = engine(port)
    loop = asyncio.new_event_loop()
    loop.run_until_complete(aquery(auto))
    tasks = list(auto._tasks)
    assert (auto.status, len(tasks)) == ("waiting", 1)  # the loop stands still

    async def elsewhere() -> bool:
        await aquery(auto)
        return await auto.await_until_calibrated(LONG)

    assert asyncio.run(elsewhere())
    before = len(port.asked)
    loop.run_until_complete(asyncio.wait(tasks))  # the old task finds that it was replaced
    loop.close()
    assert auto.status == "ready"
    assert len(port.asked) <= before + 1  # the search that was under way


def test_a_sync_query_goes_on_where_a_loop_stands_still() -> None:
    port = AsyncPort(is_async_only=False)
    auto = engine(port)
    loop = asyncio.new_event_loop()
    loop.run_until_complete(aquery(auto))
    query(auto)
    assert auto.wait_until_calibrated(LONG)
    loop.run_until_complete(asyncio.wait(list(auto._tasks)))
    loop.close()


def test_several_loops_at_once_fit_once() -> None:
    port = AsyncPort()
    auto = engine(port)
    results: list[bool] = []

    def serve() -> None:
        async def main() -> None:
            for _ in range(10):
                await aquery(auto)
            results.append(await auto.await_until_calibrated(LONG))

        asyncio.run(main())

    threads = [Thread(target=serve) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # The loop that carries the fit may end before others hear of it, never the fit itself.
    assert auto.status == "ready"
    assert any(results)
    assert port.most == 1


async def test_a_search_that_cancels_itself_is_a_failure() -> None:
    def failing(_: str) -> None:
        raise asyncio.CancelledError

    auto = engine(AsyncPort(failing=failing))
    assert not await auto.await_until_calibrated(LONG)
    assert auto.status == "failed"


async def test_a_task_that_is_cancelled_leaves_it_waiting() -> None:
    port = AsyncPort()
    auto = engine(port)
    await aquery(auto)
    (task,) = auto._tasks
    task.cancel()  # before its first step
    await asyncio.wait({task})
    assert auto.status == "waiting"
    assert auto._state.times_cut_short == 1
    await aquery(auto)
    assert await auto.await_until_calibrated(LONG)


async def test_a_thread_is_waited_for_without_holding_the_loop() -> None:
    held = Event()
    port = Port(held=held)
    auto = engine(port)
    query(auto)
    waiting = asyncio.ensure_future(auto.await_until_calibrated(LONG))
    await asyncio.sleep(0)
    assert not waiting.done()
    held.set()
    assert await waiting


async def test_queries_are_searched_around() -> None:
    """While a query awaits its own search, none is made in the background."""
    port = AsyncPort()
    auto = engine(port)
    await aquery(auto)
    auto.begin_query()
    await asyncio.sleep(0)
    before = len(port.asked)
    for _ in range(20):
        await asyncio.sleep(0.001)
    assert len(port.asked) <= before + 1
    auto.end_query()
    assert await auto.await_until_calibrated(LONG)


async def test_nothing_that_fails_reaches_a_query(monkeypatch: pytest.MonkeyPatch) -> None:
    auto = engine(AsyncPort())
    monkeypatch.setattr(AutoState, "due", lambda _: 1 / 0)
    await aquery(auto)


async def test_an_exit_passes_through_a_task() -> None:
    async def leave() -> None:
        raise SystemExit

    with pytest.raises(SystemExit):
        await _await(leave())


async def test_an_end_that_nobody_saw_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    auto = engine(AsyncPort())
    await aquery(auto)
    monkeypatch.setattr(AutoState, "listen", lambda *_: False)
    assert not await auto.await_until_calibrated(LONG)


async def test_a_task_on_a_loop_begins_nothing_beside_another() -> None:
    auto = engine(AsyncPort())
    await aquery(auto)
    await auto.arecalibrate()
    assert len(auto._tasks) == 1
    assert await auto.await_until_calibrated(LONG)


async def test_a_listener_of_a_closed_loop_is_no_trouble() -> None:
    port = AsyncPort()
    auto = engine(port)
    port.gate = asyncio.Event()
    await aquery(auto)
    other = asyncio.new_event_loop()
    waiting = other.create_task(auto.await_until_calibrated(LONG))
    thread = Thread(target=lambda: other.run_until_complete(asyncio.sleep(0)))
    thread.start()
    await asyncio.to_thread(thread.join)
    port.gate.set()
    assert await auto.await_until_calibrated(LONG)
    thread = Thread(target=lambda: other.run_until_complete(waiting))
    thread.start()
    await asyncio.to_thread(thread.join)
    other.close()
    assert waiting.result()


def test_a_loop_that_only_stops_under_its_attempt_is_not_waited_for() -> None:
    """Both ways of waiting look again: nobody tells that a loop has stopped."""
    port = AsyncPort()
    port.gate = asyncio.Event()
    auto = engine(port)
    loop, ended = asyncio.new_event_loop(), list[bool]()

    async def elsewhere() -> None:
        ended.append(await auto.await_until_calibrated(LONG))

    loop.run_until_complete(aquery(auto))

    async def for_a_while() -> None:
        await asyncio.sleep(0.1)

    carrying = Thread(target=lambda: loop.run_until_complete(for_a_while()))
    waiting = [
        Thread(target=lambda: ended.append(auto.wait_until_calibrated(LONG))),
        Thread(target=lambda: asyncio.run(elsewhere())),
    ]
    for thread in (carrying, *waiting):
        thread.start()
    for thread in (carrying, *waiting):
        thread.join(LONG)
    assert ended == [False, False]
    assert auto.status == "waiting"
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(for_a_while())
    loop.close()


async def test_the_loop_that_carries_it_cannot_wait_for_it_synchronously() -> None:
    auto = engine(AsyncPort())
    await aquery(auto)
    with pytest.raises(ConfigurationError, match="this event loop carries the fit"):
        auto.wait_until_calibrated()
    assert await auto.await_until_calibrated(LONG)
