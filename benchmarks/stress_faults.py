"""Parts of a wrapper that fail in every way, drawn at random."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

import numpy as np

from recall_signal.selection import Answer, SelectionRequest

HANG = 0.03
"""Seconds for which a part hangs, and the time limit of its wrapper."""

LIMIT = 0.01


class Panic(BaseException):
    """As native code raises it."""


class Evil:
    """Raises a `BaseException` however it is read."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def _raise(self, *_: Any) -> Any:
        raise self.error

    __float__ = __int__ = __index__ = __len__ = __iter__ = __array__ = __bool__ = _raise
    __eq__ = __lt__ = __getitem__ = tolist = item = keys = _raise
    __hash__ = object.__hash__


class EvilMapping(Mapping[str, Any]):
    """A mapping that looks right from outside, and raises when it is read."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def __getitem__(self, key: str) -> Any:
        raise self.error

    def __iter__(self) -> Iterator[str]:
        raise self.error

    def __len__(self) -> int:
        return 1


ERRORS: tuple[type[BaseException], ...] = (
    RuntimeError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    NotImplementedError,
    RecursionError,
    MemoryError,
    TimeoutError,
    ConnectionResetError,
    StopIteration,
    StopAsyncIteration,
    Panic,
    GeneratorExit,
    asyncio.CancelledError,
)

FOREIGN = (RuntimeError, Panic, GeneratorExit, asyncio.CancelledError)


def strange_value(rng: Random, count: int) -> Any:
    """Draw an answer that is none: of a wrong type, length, range, or one that raises when read."""
    evil = Evil(rng.choice(FOREIGN))
    values: tuple[Callable[[], Any], ...] = (
        lambda: None,
        lambda: 5,
        lambda: "0.5",
        lambda: b"0.5",
        list,
        dict,
        object,
        lambda: [None] * count,
        lambda: [0.5] * (count + 1),
        lambda: [0.5] * max(0, count - 1),
        lambda: [True] * count,
        lambda: ["0.5"] * count,
        lambda: [float("nan")] * count,
        lambda: [float("inf")] * count,
        lambda: [10**400] * count,
        lambda: [evil] * count,
        lambda: evil,
        lambda: EvilMapping(evil.error),
        lambda: np.full((count, 2, 2), 0.5),
        lambda: np.array(["a"] * count),
        lambda: [[0.1] * (3 + n) for n in range(count)],
        lambda: [[evil] * 16] * count,
        lambda: (0.5 for _ in range(count)),
        lambda: Answer(EvilMapping(evil.error), "m"),
        lambda: Answer({"keep": [evil]}, "m"),
        lambda: Answer({"keep": evil}, "m"),
        lambda: Answer('{"keep": [1, 2]}', "m"),
        lambda: Answer('{"keep": ["\\ud800"]}', "\ud800"),
        lambda: Answer(evil, evil),  # type: ignore[arg-type]
    )
    return rng.choice(values)()


class Faulty:
    """A part that works, or fails in some way, by chance.

    Args:
        rng: Decides.
        rate: Share of the calls that fail.
    """

    def __init__(self, rng: Random, rate: float = 0.7) -> None:
        self.rng, self.rate = rng, rate

    def act(self, count: int, works: Callable[[], Any], given: list[Any] | None = None) -> Any:
        """Return what a synchronous call gives."""
        rng = self.rng
        if given is not None and rng.random() < 0.1:
            rng.choice((given.clear, given.reverse, given.sort))()
        chance = rng.random()
        if chance > self.rate:
            return works()
        if chance < 0.03:
            time.sleep(HANG)
            return works()
        if chance < self.rate / 2:
            raise rng.choice(ERRORS)
        return strange_value(rng, count)

    async def aact(self, count: int, works: Callable[[], Any]) -> Any:
        """Return what an asynchronous call gives."""
        rng = self.rng
        await asyncio.sleep(rng.choice((0, 0, 0.001)))
        chance = rng.random()
        if chance < 0.05:
            await asyncio.sleep(HANG)
        elif chance < 0.08:
            await resist(HANG)
        return self.act(count, works)


async def resist(seconds: float) -> None:
    """Wait, and resist being cancelled meanwhile."""
    ends = time.monotonic() + seconds
    while (left := ends - time.monotonic()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue


class FaultySelector(Faulty):
    """A selector; where it works it keeps every second result."""

    def select(self, request: SelectionRequest) -> Any:
        """Answer or fail."""
        return self.act(len(request.labels), lambda: keeping(request))


class FaultyAsyncSelector(FaultySelector):
    """The same with async code."""

    async def aselect(self, request: SelectionRequest) -> Any:
        """Answer or fail."""
        return await self.aact(len(request.labels), lambda: keeping(request))


def keeping(request: SelectionRequest) -> Answer:
    """Keep every second result."""
    return Answer({"keep": list(request.labels[::2])}, "stress")


class FaultyReranker(Faulty):
    """A function that scores texts; where it works the last one is the best."""

    def __call__(self, query: str, texts: list[str]) -> Any:
        """Score or fail."""
        count = len(texts)
        return self.act(count, lambda: [n / (count + 1) for n in range(count)], texts)


def vector_of(text: str) -> list[float]:
    """Embed a text by chance, always alike."""
    rng = Random(text)
    return [rng.gauss(0.3, 1.0) for _ in range(16)]


class FaultyEncoder(Faulty):
    """Embeds texts for the wrapper."""

    def embed_documents(self, texts: list[str]) -> Any:
        """Embed or fail."""
        right = [vector_of(text) for text in texts]
        return self.act(len(texts), lambda: right, texts)

    def embed_query(self, text: str) -> Any:
        """Embed or fail."""
        return self.act(16, lambda: vector_of(text))
