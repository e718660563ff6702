"""Canaries: a dozen bundled probes whose results are remembered, to notice a change later."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from statistics import median
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import Field

from recall_signal._statistics import quantile
from recall_signal._steps.compute import Compute
from recall_signal._steps.driver import Steps
from recall_signal.calibration._corpus_size import estimate_size
from recall_signal.calibration._fingerprint import Fingerprint
from recall_signal.calibration._observation import as_pool, top_of
from recall_signal.calibration._probes import choose_probes
from recall_signal.calibration._requests import Search
from recall_signal.errors import InvalidInputError, RecallSignalError
from recall_signal.pool import Pool

__all__ = [
    "AGAIN",
    "CANARIES",
    "Canaries",
    "CanaryPool",
    "Sighting",
    "canary_pool",
    "canary_queries",
    "growth",
    "overlap",
    "recorded",
    "sighting",
    "summarise",
]

CANARIES, AGAIN = 12, 6
"""Probes that are remembered, and those asked a second time for a measure of noise."""

FIRST = 5
"""Candidates of each canary that are remembered."""

FEWEST_TWICE = 10
"""Texts that two pools have, about, from which a size is compared: those of n candidates in all
are n^2 / 2 by the size. With fewer, an index that misses a tenth of the candidates looks grown."""

CorpusSize: TypeAlias = Annotated[int, Field(ge=1, le=10**12)]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Sighting:
    """The result of one canary, in figures.

    Attributes:
        query: A hash of its query.
        top: The top cosine.
        first: Hashes of the best candidates (of their texts, else of their ids), best first;
            empty where the pool had neither.
    """

    query: int
    top: float
    first: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CanaryPool:
    """The candidates and the figures of one canary.

    Attributes:
        sighting: Its figures.
        candidates: Hashes of all candidates (of their texts, else of their ids), best first; empty
            where the pool had neither.
    """

    sighting: Sighting
    candidates: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Canaries:
    """The results of all canaries at a fit.

    Attributes:
        seen: One entry for each canary that brought a cosine back.
        noise: Median absolute difference of the tops between two askings; None where none was
            repeated.
        stability: Mean `overlap` between two askings, in [0, 1]; None likewise.
        fingerprint: Of the encoder, where one could be reached.
        size: Texts in the corpus, estimated from the canaries' pools alone; None where these had
            neither ids nor texts.
        depth: Candidates in the largest of these pools, at least 1; None likewise.
    """

    seen: tuple[Sighting, ...]
    noise: float | None = None
    stability: float | None = None
    fingerprint: Fingerprint | None = None
    size: CorpusSize | None = None
    depth: CorpusSize | None = None

    @property
    def spread(self) -> float:
        """The interquartile range of the tops: the scale on which a shift matters."""
        tops = [sighting.top for sighting in self.seen]
        return quantile(tops, 0.75) - quantile(tops, 0.25) if tops else 0.0


@cache
def canary_queries() -> tuple[str, ...]:
    """Return the canaries' texts: the first probes of a fit with the default seed."""
    return tuple(probe.text for probe in choose_probes(CANARIES, 0))


def sighting(query: str, found: Any) -> Sighting | None:
    """Return the figures of a search, None where it brought no usable cosine back."""
    pool = canary_pool(query, found)
    return None if pool is None else pool.sighting


def canary_pool(query: str, found: Any) -> CanaryPool | None:
    """Return what a search has brought back, None where that is no usable cosine."""
    try:
        pool = as_pool(found)
        top = top_of(pool.cosines)
    except InvalidInputError:
        return None
    if top is None:
        return None
    candidates = _ranked(pool)
    return CanaryPool(Sighting(_hash(query), top, candidates[:FIRST]), candidates)


def overlap(then: Sighting, now: Sighting) -> float | None:
    """Return the share of the first candidates that still are; None where not known."""
    if not then.first or not now.first:
        return None
    kept = set(then.first)
    return len(kept & set(now.first)) / len(kept)


def growth(canaries: Canaries, now: Iterable[CanaryPool]) -> float | None:
    """Return by which factor the corpus has grown, as far as the canaries' pools tell.

    Both sizes are estimates from as many candidates a pool, so that what they leave out is about
    the same share. None where either is not known, or the one at the fit rests on too few texts
    that several pools had.
    """
    pools = [pool.candidates[: canaries.depth] for pool in now]
    if canaries.size is None or canaries.depth is None or not any(pools):
        return None
    candidates = canaries.depth * len(canaries.seen)
    if canaries.size * 2 * FEWEST_TWICE > candidates**2:
        return None
    return estimate_size(pools) / canaries.size


def summarise(
    first: Mapping[str, CanaryPool],
    again: Mapping[str, CanaryPool],
    fingerprint: Fingerprint | None,
) -> Canaries:
    """Return the figures of the canaries that were seen once, and of those that were repeated."""
    pairs = [
        (first[query].sighting, pool.sighting) for query, pool in again.items() if query in first
    ]
    shares = [share for pair in pairs if (share := overlap(*pair)) is not None]
    pools = [pool.candidates for pool in first.values() if pool.candidates]
    return Canaries(
        seen=tuple(pool.sighting for pool in first.values()),
        noise=median(abs(now.top - then.top) for then, now in pairs) if pairs else None,
        stability=sum(shares) / len(shares) if shares else None,
        fingerprint=fingerprint,
        size=estimate_size(pools) if pools else None,
        depth=max(map(len, pools)) if pools else None,
    )


def recorded(
    flow: Steps[Search | Compute, Result],
) -> Steps[Search | Compute, tuple[Result, Canaries | None]]:
    """Run a fit and record its canaries; those that it did not ask are asked after it.

    A canary whose search fails is left out.

    Args:
        flow: The fit: searches, answered with pools or cosines, and computations.

    Returns:
        The fit's result, and the canaries; None where none brought a cosine back.
    """
    first: dict[str, CanaryPool] = {}
    fitted = yield from _listening(flow, first)
    for query in canary_queries():
        if query not in first:
            yield from _ask(Search(query), first)
    again: dict[str, CanaryPool] = {}
    for query in list(first)[:AGAIN]:
        yield from _ask(Search(query), again)
    return fitted, summarise(first, again, None) if first else None


def _listening(
    flow: Steps[Search | Compute, Result], seen: dict[str, CanaryPool]
) -> Steps[Search | Compute, Result]:
    wanted = frozenset(canary_queries())
    try:
        request = next(flow)
        while True:
            try:
                found = yield request
            except Exception as error:
                request = flow.throw(error)
            else:
                if not isinstance(request, Compute) and request.query in wanted - seen.keys():
                    _keep(request.query, found, seen)
                request = flow.send(found)
    except StopIteration as stop:
        result: Result = stop.value
        return result


def _ask(request: Search, seen: dict[str, CanaryPool]) -> Steps[Search, None]:
    try:
        found = yield request
    except RecallSignalError:
        raise
    except Exception:  # the fit is done: one search less is no reason to lose it
        return
    _keep(request.query, found, seen)


def _keep(query: str, found: Any, seen: dict[str, CanaryPool]) -> None:
    pool = canary_pool(query, found)
    if pool is not None:
        seen[query] = pool


def _ranked(pool: Pool) -> tuple[int, ...]:
    """Return the candidates, best first, whatever order the pool has them in."""
    column: Sequence[Any] | None = pool.ids if pool.texts is None else pool.texts
    if column is None:
        return ()
    scored = [
        (-float(cosine), _hash(str(item)))
        for cosine, item in zip(pool.cosines, column, strict=True)
        if cosine is not None and cosine == cosine and item is not None
    ]
    return tuple(hashed for _, hashed in sorted(scored))


def _hash(text: str) -> int:
    """32 bits: enough to recognise a candidate among a few, too few to tell its text."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "big")
