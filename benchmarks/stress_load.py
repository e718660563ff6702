"""Load of the stress run: hanging neighbours, crowds, and memory over many calls."""

import asyncio
import gc
import os
import threading
import time
from pathlib import Path
from typing import Any

from stress_checks import THREAD_NAME, Row, check_raised, check_response, settled
from stress_faults import keeping, resist
from stress_worlds import World, worlds

from recall_signal import AutoCalibration
from recall_signal.reranking import RerankerOptions
from recall_signal.selection import Answer, SelectionOptions, SelectionRequest

PARALLEL = 16
"""Healthy calls at the same time."""

MOST_THREADS = 64
"""Calls of one wrapper in threads at the same time, as documented."""

FEWEST_HANGING = MOST_THREADS + 16
"""Hanging calls of a wrapper without which its bound would not be tried."""

RESISTING = 60
"""Coroutines of a wrapper that resist being cancelled."""

TASKS = 3
"""Tasks of two resisting coroutines, one in each framework: LangChain makes a second for its."""

MEGABYTE = 2**20
MOST_GROWTH = 8 * MEGABYTE
"""Bytes by which the process may grow over the second half of the calls."""


def slow_scores(query: str, texts: list[str]) -> list[float]:
    """Score after a moment."""
    time.sleep(0.004)
    return [0.5] * len(texts)


class Slow:
    """Selects after a moment, in a thread."""

    def select(self, request: SelectionRequest) -> Answer:
        """Answer."""
        time.sleep(0.004)
        return keeping(request)


class SlowAsync(Slow):
    """Selects after a moment, on the loop."""

    async def aselect(self, request: SelectionRequest) -> Answer:
        """Answer."""
        await asyncio.sleep(0.004)
        return keeping(request)


class HangingScores:
    """A reranker that hangs until it is released, and counts its calls."""

    def __init__(self, over: threading.Event) -> None:
        self.over, self.begun = over, 0

    def __call__(self, query: str, texts: list[str]) -> list[float]:
        """Hang."""
        self.begun += 1
        self.over.wait(120)
        return [0.5] * len(texts)


class HangingSelector:
    """A selector that hangs on the event loop, resists cancellation, and counts its calls."""

    def __init__(self, over: threading.Event) -> None:
        self.over, self.begun = over, 0

    def select(self, request: SelectionRequest) -> Answer:
        """Hang."""
        raise NotImplementedError

    async def aselect(self, request: SelectionRequest) -> Answer:
        """Hang."""
        self.begun += 1
        while not self.over.is_set():
            await resist(0.02)
        return keeping(request)


def sick_worlds(over: threading.Event, hanging: int) -> list[tuple[World, Any, int, int]]:
    """Return a wrapper of each framework and kind of hanging model.

    Each with its model, with the calls to make, and with the calls that may begin.
    """
    found: list[tuple[World, Any, int, int]] = []
    for at in (0, 2):  # LangChain's store, LlamaIndex's index
        scores, selector = HangingScores(over), HangingSelector(over)
        options = RerankerOptions(scores, timeout=0.3)
        world = worlds({"reranker": options, "use_rerank": True})[at]
        found.append((world, scores, hanging, MOST_THREADS))
        chosen = SelectionOptions(timeout=0.3)
        world = worlds({"selector": selector, "selector_options": chosen})[at]
        found.append((world, selector, RESISTING, RESISTING))
    return found


async def hang(tries: int, hanging: int) -> Row:
    """Run healthy calls of some wrappers beside hanging ones of others, in two waves.

    In the first wave a wrapper's threads are bounded; in the second, with so many calls late, it
    begins none at all. `hanging` is the number of concurrent calls of each hanging reranker.
    """
    hanging = max(hanging, FEWEST_HANGING)
    row, over = Row(f"healthy beside {hanging} hanging", tries), threading.Event()
    threads, tasks = set(threading.enumerate()), len(asyncio.all_tasks())
    sick = sick_worlds(over, hanging)
    healthy = worlds({"selector": SlowAsync()}) + worlds({"selector": Slow()})
    calls = [world for world, _, count, _ in sick for _ in range(count)]
    try:
        for _ in range(2):
            stuck = [asyncio.create_task(world.arecall("a?")) for world in calls]
            await asyncio.sleep(0.05)
            await _stay_healthy(row, healthy, -(-tries // 2))
            await asyncio.wait(stuck)
            for world, task in zip(calls, stuck, strict=True):
                _check_task(row, world, "a?", task)
        for world, model, _, most in sick:
            _bound(row, f"calls of a model hang in {world.name}", model.begun, most)
        started = set(threading.enumerate()) - threads
        running = sum(thread.name == THREAD_NAME for thread in started)
        _bound(row, "threads", running, MOST_THREADS * 2)
        _bound(row, "tasks", len(asyncio.all_tasks()) - tasks, RESISTING * TASKS)
    finally:
        over.set()
    await settled(row, tasks)
    return row


def _bound(row: Row, what: str, count: int, most: int) -> None:
    if count > most:
        row.faults["leaked"] += count - most
        row.note(f"{count} {what}, at most {most} may be left")


async def _stay_healthy(row: Row, healthy: list[World], tries: int) -> None:
    for start in range(0, tries, PARALLEL):
        batch = [healthy[(start + n) % len(healthy)] for n in range(min(PARALLEL, tries - start))]
        tasks = [asyncio.create_task(world.arecall("b?")) for world in batch]
        await asyncio.wait(tasks)
        for world, task in zip(batch, tasks, strict=True):
            _check_task(row, world, "b?", task, healthy=True)


def _check_task(
    row: Row, world: World, query: str, task: asyncio.Task[Any], *, healthy: bool = False
) -> None:
    """Check the outcome of a call; one of a healthy wrapper has carried out every step."""
    error = asyncio.CancelledError() if task.cancelled() else task.exception()
    if error is not None:
        check_raised(row, world, query, error, is_async=True)
        return
    response = task.result()
    check_response(row, world, query, response)
    for step in (response.selection, response.rerank) if healthy else ():
        if step is not None and not step.applied:
            row.faults["refused"] += 1
            row.note(f"{world.name}: {step.reason} of a healthy step")


async def crowd(tries: int) -> Row:
    """Make many calls at the same time."""
    row, before = Row("concurrent calls", tries), len(asyncio.all_tasks())
    made = worlds({"selector": SlowAsync(), "reranker": slow_scores, "use_rerank": True})
    calls = [(made[n % len(made)], f"what about subject {n}?") for n in range(tries)]
    tasks = [asyncio.create_task(world.arecall(query)) for world, query in calls]
    await asyncio.wait(tasks)
    for (world, query), task in zip(calls, tasks, strict=True):
        _check_task(row, world, query, task, healthy=True)
    await settled(row, before)
    return row


async def remember(tries: int) -> Row:
    """Make many calls, and see whether memory grows between the middle and the end.

    Half of the wrappers learn their calibration meanwhile and check it again and again.
    """
    row = Row("memory over many calls", tries)
    auto = AutoCalibration(window=30, check_every=max(4, tries // 80))
    made = worlds({"selector": AtOnce()}) + worlds({"selector": AtOnce(), "calibration": auto})
    for world in made:
        await world.wrapper.arecall("what about it?")
    for world in made[len(made) // 2 :]:
        await world.wrapper.await_until_calibrated(60)
    sizes = []
    for _ in range(2):
        for n in range(tries // 2):
            world, query = made[n % len(made)], f"what about subject {n % 50}?"
            response = await world.arecall(query)
            if n % 50 < len(made):
                check_response(row, world, query, response)
        del response
        gc.collect()
        sizes.append((len(gc.get_objects()), resident()))
    objects, grown = (after - before for before, after in zip(*sizes, strict=True))
    if objects > 2_000 + tries // 100:
        row.faults["leaked"] += objects
        row.note(f"{objects} more objects after {tries // 2} more calls")
    if grown > MOST_GROWTH:
        row.faults["leaked"] += 1
        row.note(f"{grown / MEGABYTE:.0f} MB more memory after {tries // 2} more calls")
    return row


def resident() -> int:
    """Return the bytes of this process in memory; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf(
            "SC_PAGE_SIZE"
        )
    except OSError:
        return 0


class AtOnce(Slow):
    """Selects at once."""

    async def aselect(self, request: SelectionRequest) -> Answer:
        """Answer."""
        await asyncio.sleep(0)
        return keeping(request)
