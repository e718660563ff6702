"""A port to search in the background, and an engine without any pauses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from recall_signal import Pool
from recall_signal._auto.calibrator import AutoCalibrator
from recall_signal._auto.pace import Politeness
from recall_signal._auto.settings import AutoCalibration
from tests.calibration.stores import HashEncoder
from tests.calibration.toys import Toy

EAGER = Politeness(
    step=0.001,
    longest_pause=30.0,
    shortest=0.0,
    longest=0.0,
    first_delay=0.0,
    longest_delay=0.0,
)

LONG = 30.0
"""Seconds that no test waits for unless it fails."""


@dataclass
class Port:
    """Searches a toy.

    Attributes:
        toy: Answers.
        failing: Raises for some queries.
        held: Searches wait for it.
        began: Set when the first search begins.
    """

    toy: Callable[[str], Any] = field(default_factory=Toy)
    failing: Callable[[str], object] = lambda _: None
    held: Event | None = None
    began: Event = field(default_factory=Event)
    encoder: HashEncoder | None = None
    encoder_name: str | None = "toy"
    is_async_only: bool = False
    only_on_request: bool = False
    asked: list[str] = field(default_factory=list)

    def search(self, query: str, _ahead: Sequence[str] = (), /) -> Pool:
        assert not self.is_async_only
        return self._search(query)

    async def asearch(self, query: str, _ahead: Sequence[str] = (), /) -> Pool:
        return self._search(query)

    def _search(self, query: str) -> Pool:
        self.asked.append(query)
        self.began.set()
        if self.held is not None:
            self.held.wait(LONG)
        self.failing(query)
        found: Pool = self.toy(query)
        return found

    def embed_texts(self, texts: Sequence[str]) -> Any:
        return None if self.encoder is None else self.encoder(texts)

    async def aembed_texts(self, texts: Sequence[str]) -> Any:
        return self.embed_texts(texts)


def engine(
    port: Port, *, politeness: Politeness = EAGER, clock: Any = None, **settings: Any
) -> AutoCalibrator:
    """An engine that does not wait between searches."""
    more = {} if clock is None else {"clock": clock}
    return AutoCalibrator(AutoCalibration(**settings), lambda: port, politeness=politeness, **more)


def query(auto: AutoCalibrator, top: float | None = 0.5) -> None:
    """What a wrapper does around a query."""
    auto.begin_query()
    auto.end_query()
    auto.after_query(None if top is None else (top, None))


async def aquery(auto: AutoCalibrator, top: float | None = 0.5) -> None:
    auto.begin_query()
    auto.end_query()
    auto.after_async_query(None if top is None else (top, None))


def entry_of(auto: AutoCalibrator) -> dict[str, str | None]:
    """Of one that is not off."""
    entry = auto.entry()
    assert entry is not None
    return entry


def settle(auto: AutoCalibrator) -> None:
    """Wait until nothing runs in the background, a check included."""
    state = auto._state
    with state._ended:
        assert state._ended.wait_for(lambda: state._attempt is None, LONG)


class Clock:
    """Seconds that pass only when they are told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now
