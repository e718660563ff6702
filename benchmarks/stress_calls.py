"""Calls of the stress run: injected faults, cancellations, malformed answers."""

import asyncio
import time
from collections.abc import Callable
from random import Random
from typing import Any

from stress_checks import Row, check_raised, check_response, settled
from stress_faults import (
    LIMIT,
    FaultyAsyncSelector,
    FaultyEncoder,
    FaultyReranker,
    FaultySelector,
    keeping,
    resist,
    strange_value,
)
from stress_load import Slow, SlowAsync, slow_scores
from stress_worlds import RAISING, World, worlds

from recall_signal.reranking import RerankerOptions
from recall_signal.selection import Answer, SelectionOptions, SelectionRequest

PARALLEL = 16
"""Asynchronous calls at the same time where faults are injected."""

AT_ONCE = 1.0
"""Seconds after which a cancellation or the end of a time limit is late."""


def draw_query(rng: Random) -> str:
    """Draw a question; the wrapped retriever fails at some."""
    if rng.random() < 0.06:
        return rng.choice(list(RAISING))
    return f"what about subject {rng.randrange(40)}?"


def faulty_worlds(rng: Random) -> list[World]:
    """Return wrappers whose every part fails now and then."""
    options = SelectionOptions(timeout=LIMIT, on_empty="drop")
    found: list[World] = []
    for selector in (FaultySelector(rng), FaultyAsyncSelector(rng)):
        found += worlds(
            {
                "selector": selector,
                "selector_options": options,
                "reranker": RerankerOptions(FaultyReranker(rng), timeout=LIMIT),
                "use_rerank": True,
                "encoder": FaultyEncoder(rng),
            },
            rng,
        )
    return found


async def inject(tries: int, seed: int = 0) -> Row:
    """Call wrappers whose parts fail, half of the time asynchronously, some cancelled."""
    row, rng = Row("injected faults", tries), Random(seed)
    made = faulty_worlds(rng)
    for world in made:
        await world.learn()
    before = len(asyncio.all_tasks())
    for _ in range(tries // 2):
        world, query = rng.choice(made), draw_query(rng)
        try:
            response = world.recall(query)
        except BaseException as error:
            check_raised(row, world, query, error, is_async=False)
        else:
            check_response(row, world, query, response)

    async def one() -> None:
        world, query = rng.choice(made), draw_query(rng)
        task = asyncio.create_task(world.arecall(query))
        cancelled = False
        if rng.random() < 0.2:
            await asyncio.sleep(rng.random() * 0.01)
            cancelled = task.cancel()
        await asyncio.wait({task})
        _judge(row, world, query, task, cancelled)

    for start in range(0, tries - tries // 2, PARALLEL):
        await asyncio.gather(*(one() for _ in range(min(PARALLEL, tries - tries // 2 - start))))
    await settled(row, before)
    return row


def _judge(row: Row, world: World, query: str, task: asyncio.Task[Any], cancelled: bool) -> None:
    if task.cancelled():
        if not cancelled and RAISING.get(query) is not asyncio.CancelledError:
            row.faults["lost"] += 1
            row.note(f"{world.name}: cancelled by nobody")
        return
    error = task.exception()
    if cancelled and (error is None or query not in RAISING):
        row.faults["swallowed"] += 1
        row.note(f"{world.name}: a cancellation became {type(error).__name__}")
    elif error is not None:
        check_raised(row, world, query, error, is_async=True)
    else:
        check_response(row, world, query, task.result())


async def cancel(tries: int, seed: int = 1) -> Row:
    """Cancel calls at random moments, by hand and by `asyncio.timeout`."""
    row, rng = Row("cancellations", tries), Random(seed)
    made = [
        world
        for selector in (Slow(), SlowAsync(), Resisting())
        for world in worlds({"selector": selector, "reranker": slow_scores, "use_rerank": True})
    ]
    before = len(asyncio.all_tasks())

    async def by_hand() -> None:
        world = rng.choice(made)
        task = asyncio.create_task(world.arecall("what about it?"))
        await asyncio.sleep(rng.random() * 0.02)
        asked = task.cancel()
        began = time.monotonic()
        await asyncio.wait({task})
        if asked and not task.cancelled():
            row.faults["swallowed"] += 1
            row.note(f"{world.name}: a cancellation was swallowed")
        note_late(world, "cancellation", asked, time.monotonic() - began)

    def note_late(world: World, kind: str, counts: bool, late: float) -> None:
        if counts and late > AT_ONCE:
            row.faults["late cancellations"] += 1
            row.note(f"{world.name}: a {kind} came over {AT_ONCE} s late")

    async def by_timeout() -> None:
        world, limit = rng.choice(made), rng.random() * 0.02
        began, on_time = time.monotonic(), False
        try:
            async with asyncio.timeout(limit) as scope:
                await world.arecall("what about it?")
        except TimeoutError:
            on_time = True
        if scope.expired() and not on_time:
            row.faults["swallowed"] += 1
            row.note(f"{world.name}: a timeout was missed")
        note_late(world, "timeout", True, time.monotonic() - began - limit)

    for start in range(0, tries, PARALLEL):
        count = min(PARALLEL, tries - start)
        await asyncio.gather(*(rng.choice((by_hand, by_timeout))() for _ in range(count)))
    await settled(row, before)
    return row


class Resisting(Slow):
    """Selects on the loop, and does not let itself be cancelled."""

    async def aselect(self, request: SelectionRequest) -> Answer:
        """Answer."""
        await resist(0.01)
        return keeping(request)


class Answering:
    """A selector that gives the next of some answers, whatever it is asked."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def select(self, request: SelectionRequest) -> Any:
        """Answer."""
        return self.answer

    async def aselect(self, request: SelectionRequest) -> Any:
        """Answer."""
        await asyncio.sleep(0)
        return self.answer


async def malform(tries: int, seed: int = 2) -> Row:
    """Give answers that are none, of the selector, the reranker and the encoder."""
    row, rng = Row("malformed answers", tries), Random(seed)
    for at in range(tries):
        value = strange_value(rng, 6)
        part = ("selector", "reranker", "encoder")[at % 3]
        parts: dict[str, Any] = {
            "selector": {"selector": Answering(value)},
            "reranker": {"reranker": lambda query, texts, value=value: value, "use_rerank": True},
            "encoder": {"encoder": _Encoding(value)},
        }[part]
        world, query = rng.choice(worlds(parts)), f"what about subject {at}?"
        try:
            response = world.recall(query) if at % 2 else await world.arecall(query)
        except BaseException as error:
            check_raised(row, world, query, error, is_async=not at % 2)
        else:
            check_response(row, world, query, response)
    return row


class _Encoding:
    def __init__(self, value: Any) -> None:
        self.embed_documents: Callable[[list[str]], Any] = lambda texts: value
        self.embed_query: Callable[[str], Any] = lambda text: value
