"""Searches in the background that get into nobody's way: pauses, spacing, retries, a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol, TypeVar

from recall_signal._auto.query_counter import QueryCounter
from recall_signal._steps.driver import Steps
from recall_signal.calibration._requests import EmbedTexts, Performer, Search
from recall_signal.errors import CalibrationError
from recall_signal.pool import Pool

__all__ = ["Abandoned", "Pace", "PacedPerformer", "Politeness", "Unmeasurable", "Wait"]

Done = TypeVar("Done")
Done_co = TypeVar("Done_co", covariant=True)

FIT_SEARCHES = 186
"""Searches of one fit at most: 120 probes, 60 pieces of stored texts, 6 to repeat canaries."""

BLIND_AFTER = 30
"""Searches without a single cosine after which the retriever counts as not measurable."""


class Abandoned(CalibrationError):
    """The attempt ends here: another one has taken its place, or too many searches failed."""


class Unmeasurable(CalibrationError):
    """The retriever gives no cosines."""


class PacedPerformer(Performer[Done_co], Protocol[Done_co]):
    """Carries requests out, and pauses between them."""

    def wait(self, seconds: float) -> Done_co:
        """Let so many seconds pass."""
        ...


@dataclass(frozen=True, slots=True)
class Wait:
    """Let so many seconds pass."""

    seconds: float

    def by(self, performer: PacedPerformer[Done]) -> Done:
        """Have it carried out."""
        return performer.wait(self.seconds)


@dataclass(frozen=True, slots=True)
class Politeness:
    """Limits by which searches in the background keep out of the way of queries.

    Attributes:
        step: Seconds between two looks whether queries are running.
        longest_pause: Seconds after which a search is made although queries are running.
        overlap: Share of the queries that may meet a search. A twenty-fifth, so that the 95th
            percentile of their time stays that of a query alone.
        shortest, longest: Bounds of the seconds between two searches.
        retries: Times that a failed search is made again.
        first_delay, longest_delay: Seconds after the first error in a row, doubled by each
            further one up to the second.
        given_up: Searches in a row that fail with all their retries, and end the attempt.
    """

    step: float = 0.02
    longest_pause: float = 5.0
    overlap: float = 1 / 25
    shortest: float = 0.005
    longest: float = 5.0
    retries: int = 2
    first_delay: float = 1.0
    longest_delay: float = 60.0
    given_up: int = 4


class Pace:
    """The pace of one attempt, as steps without any I/O.

    Args:
        queries: Counts of the queries of this process: how many are running.
        max_searches: Budget, retries included.
        answers: Pools of an attempt that was cut short, by query; those are not asked again.
        politeness: All times and limits.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        queries: QueryCounter,
        max_searches: int,
        answers: dict[str, Pool],
        politeness: Politeness,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._queries = queries
        self.budget = max_searches
        self._share = min(1.0, max_searches / FIT_SEARCHES)
        self._answers, self._earlier = answers, dict(answers)
        self._polite = politeness
        self._clock = clock
        self._wanted = 0
        self.searches = 0
        self._cosines = 0
        self._errors_in_row = 0
        self._lost_in_row = 0
        self._seen = 0
        queries.start_counting()

    def ask(self, query: str) -> Steps[Search | Wait, Pool]:
        """Search once for a fit; return an empty pool where the budget has no room for it.

        Raises:
            Abandoned: Several searches in a row failed with all their retries.
            Unmeasurable: No search brought a cosine back.
            Exception: Of this search, after its retries.
        """
        self._wanted += 1
        if query in self._earlier:
            return self._earlier.pop(query)
        admitted = int(self._wanted * self._share) > int((self._wanted - 1) * self._share)
        if not admitted or self.searches >= self.budget:
            return Pool(())
        pool = yield from self.search(query)
        self._answers[query] = pool
        self._cosines += sum(cosine is not None for cosine in pool.cosines)
        if not self._cosines and self.searches >= BLIND_AFTER:
            raise Unmeasurable(
                f"{self.searches} searches brought no cosine back: the store is empty, or this "
                "retriever gives no cosines"
            )
        return pool

    def search(self, query: str) -> Steps[Search | Wait, Pool]:
        """Search once, when nobody is in its way, repeated after errors."""
        attempt = 0
        while True:
            yield from self._pause()
            try:
                pool: Pool = yield from self._timed(query)
            except Exception as error:
                self._errors_in_row += 1
                last = attempt == self._polite.retries or self.searches >= self.budget
                attempt += 1
                if last:
                    self._lost_in_row += 1
                    if self._lost_in_row >= self._polite.given_up:
                        raise Abandoned(
                            f"{self._lost_in_row} searches in a row failed, the last one with "
                            f"{type(error).__name__}"
                        ) from None
                yield Wait(self._delay())
                if last:
                    raise
            else:
                self._errors_in_row = self._lost_in_row = 0
                return pool

    def embed(self, texts: Sequence[str]) -> Steps[EmbedTexts | Wait, Any]:
        """Call the encoder once, when nobody is in its way."""
        yield from self._pause()
        return (yield EmbedTexts(texts))

    def _timed(self, query: str) -> Steps[Search | Wait, Pool]:
        """Return the search, and the time that it leaves to others after it."""
        self.searches += 1
        started = self._clock()
        with self._queries.searching():
            pool: Pool = yield Search(query)
        took = self._clock() - started
        before, self._seen = self._seen, self._queries.seen
        met_too_many = self._queries.overlapped > self._polite.overlap * self._seen
        indebted = met_too_many and self._seen > before  # where no query came, nobody waits
        factor = (1 / self._polite.overlap - 1) if indebted else 1.0
        yield Wait(min(max(took * factor, self._polite.shortest), self._polite.longest))
        return pool

    def _pause(self) -> Steps[Wait, None]:
        started = self._clock()
        while self._queries.running:
            if self._clock() - started > self._polite.longest_pause:
                return
            yield Wait(self._polite.step)

    def _delay(self) -> float:
        doubled = self._polite.first_delay * 2.0 ** min(self._errors_in_row - 1, 30)
        return min(doubled, self._polite.longest_delay)
