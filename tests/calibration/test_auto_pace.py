"""Searches in the background keep out of the way, and do not insist."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from recall_signal import Pool
from recall_signal._auto.pace import Abandoned, Pace, Politeness, Unmeasurable, Wait
from recall_signal._auto.query_counter import QueryCounter
from recall_signal._steps.driver import drive
from recall_signal.calibration._requests import EmbedTexts, Search
from tests.calibration.auto_toys import Clock

POOL = Pool([0.5])


class Bench:
    """Carries the steps of a pace out on a clock of its own, and notes them."""

    def __init__(self, took: float = 1 / 64, budget: int = 200, **politeness: Any) -> None:
        self.clock, self.took = Clock(), took
        self.queries = QueryCounter()
        self.answers: dict[str, Pool] = {}
        polite = replace(Politeness(), **politeness)
        self.pace = Pace(self.queries, budget, self.answers, polite, self.clock)
        self.waits: list[float] = []
        self.asked: list[str] = []
        self.during: Callable[[], None] = lambda: None
        self.meanwhile: Callable[[], None] = lambda: None
        self.errors: list[BaseException] = []
        self.pool = POOL

    def run(self, steps: Generator[Any, Any, Any]) -> Any:
        return drive(steps, lambda request: request.by(self))

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.clock.now += seconds
        self.meanwhile()

    def search(self, query: str, ahead: Sequence[str]) -> Pool:
        self.asked.append(query)
        self.clock.now += self.took
        self.during()
        if self.errors:
            raise self.errors.pop(0)
        return self.pool

    def embed_texts(self, texts: Any) -> Any:
        return texts


def test_a_search_leaves_as_much_time_as_it_took() -> None:
    bench = Bench(took=0.25)
    assert bench.run(bench.pace.ask("q")) is POOL
    assert (bench.asked, bench.waits) == (["q"], [0.25])


def test_a_search_waits_until_no_query_runs() -> None:
    bench = Bench()
    bench.queries.begin()
    bench.queries.begin()
    left = iter([None, bench.queries.end, None, bench.queries.end, None])
    bench.meanwhile = lambda: (next(left) or (lambda: None))()
    bench.run(bench.pace.ask("q"))
    assert bench.waits == pytest.approx([0.02] * 4 + [1 / 64])


def test_a_query_that_hangs_does_not_stop_it_for_ever() -> None:
    bench = Bench(step=1.0)
    bench.queries.begin()
    assert bench.run(bench.pace.ask("q")) is POOL
    assert bench.waits[:-1] == [1.0] * 6
    assert bench.queries.overlapped == 1


def test_a_debt_is_forgotten_where_no_query_comes_any_more() -> None:
    bench = Bench(took=0.1)
    bench.during = bench.queries.begin
    bench.run(bench.pace.ask("q1"))
    bench.queries.end()
    assert bench.waits.pop() == pytest.approx(2.4)
    bench.during = lambda: None
    bench.run(bench.pace.ask("q2"))
    assert bench.waits.pop() == pytest.approx(0.1)


def test_no_more_than_one_query_in_twenty_five_meets_a_search() -> None:
    """Once one did, searches take a twenty-fifth of the time until 25 queries have run."""
    bench = Bench(took=0.1)

    def met() -> None:
        bench.queries.begin()
        bench.queries.end()

    bench.during = met
    bench.run(bench.pace.ask("q1"))
    assert bench.waits.pop() == pytest.approx(2.4)
    bench.during = lambda: None
    for _ in range(24):
        met()
    bench.run(bench.pace.ask("q2"))
    assert bench.waits.pop() == pytest.approx(0.1)
    bench.took = 60.0
    bench.run(bench.pace.ask("q3"))
    assert bench.waits.pop() == 5.0


def test_a_failed_search_is_repeated_after_growing_delays() -> None:
    bench = Bench()
    bench.errors = [ConnectionError(), TimeoutError()]
    assert bench.run(bench.pace.ask("q")) is POOL
    assert (bench.asked, bench.waits) == (["q"] * 3, [1.0, 2.0, 1 / 64])
    bench.errors = [ConnectionError()]
    bench.run(bench.pace.ask("r"))
    assert bench.waits[3:] == [1.0, 1 / 64]


def test_delays_are_capped_and_four_lost_searches_end_the_attempt() -> None:
    bench = Bench()
    bench.errors = [ConnectionError("secret") for _ in range(12)]
    for n in range(3):
        with pytest.raises(ConnectionError):
            bench.run(bench.pace.ask(f"q{n}"))
    with pytest.raises(Abandoned, match=r"4 searches in a row failed.*ConnectionError") as error:
        bench.run(bench.pace.ask("q"))
    assert "secret" not in str(error.value)
    assert bench.waits == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60]
    assert bench.pace.searches == 12


def test_the_budget_counts_every_search() -> None:
    bench = Bench(budget=20)
    bench.errors = [ConnectionError()]
    empty = 0
    for n in range(186):
        empty += len(bench.run(bench.pace.ask(f"q{n}"))) == 0
    assert (len(bench.asked), empty) == (20, 167)


def test_a_small_budget_is_spread_over_the_whole_fit() -> None:
    bench = Bench(budget=93)
    answered = [bool(len(bench.run(bench.pace.ask(f"q{n}")))) for n in range(186)]
    assert answered == [False, True] * 93


def test_a_retriever_without_cosines_is_given_up_soon() -> None:
    bench = Bench()
    bench.pool = Pool([None], scores=[3.0])
    for n in range(29):
        bench.run(bench.pace.ask(f"q{n}"))
    with pytest.raises(Unmeasurable, match="30 searches brought no cosine"):
        bench.run(bench.pace.ask("q"))
    assert len(bench.asked) == 30


def test_what_an_attempt_that_was_cut_short_found_is_not_asked_again() -> None:
    bench = Bench()
    bench.run(bench.pace.ask("q"))
    second = Pace(bench.queries, 200, bench.answers, Politeness(), bench.clock)
    assert bench.run(second.ask("q")) is POOL
    assert bench.asked == ["q"]
    bench.run(second.ask("q"))  # a fit that repeats a query means it
    assert bench.asked == ["q", "q"]


def test_texts_are_embedded_when_no_query_runs() -> None:
    bench = Bench()
    bench.queries.begin()
    bench.meanwhile = bench.queries.end
    assert bench.run(bench.pace.embed(["a"])) == ["a"]
    assert bench.waits == [0.02]


def test_requests_know_who_carries_them_out() -> None:
    bench = Bench()
    assert Search("q").by(bench) is POOL
    assert EmbedTexts(["a"]).by(bench) == ["a"]
    assert Wait(1.0).by(bench) is None
