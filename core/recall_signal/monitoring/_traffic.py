"""Is a day's traffic another one: its quantiles against those of the four weeks before.

A day is compared with the days before it, not with a distribution: queries repeat, weekends
differ, and a Kolmogorov-Smirnov test of 5,000 such queries raises an alarm every month. Each
quantile's own standard deviation from day to day is the measure; two of five must leave it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import sqrt
from statistics import mean, median, stdev

from recall_signal.monitoring._days import Day

__all__ = ["DAYS", "QUANTILES", "Comparison", "Deviation", "compare_days"]

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)

DAYS = 28
"""Days of reference: fewer make the standard deviation so uncertain that quiet logs alarm (with
14, .8 alarms in 20 quiet months; with 28, .1)."""

SPAN = 49
"""Calendar days in which the reference must lie."""

DEVIATION, QUANTILES_OUT = 5.0, 2
"""Standard deviations, and the number of quantiles that must have left them. With 4, four of 400
simulated quiet months raised an alarm; the largest deviation of two quantiles in them was 4.9."""

SHARE_DEVIATION, SHARE_STEP = 5.0, 0.05
"""The same for the share of answerable queries (4.7 in 400 quiet months), and the smallest change
that is worth a word."""

SMALLEST = 0.002
"""Least standard deviation of a quantile: two bins."""

SMALLEST_SHARE = 0.005
"""Least standard deviation of a share."""

FEWEST = 100
"""Rows of a day from which it is compared."""

PART = 0.5
"""Share of the usual number of rows, from which a day is whole enough to be compared."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """One figure of a day beside those of the reference.

    Attributes:
        value: The day's.
        usual: Mean of the reference days.
        sd: Standard deviation of the reference days, for a day of as many rows.
    """

    value: float
    usual: float
    sd: float

    @property
    def z(self) -> float:
        """The difference in standard deviations."""
        return (self.value - self.usual) / self.sd


@dataclass(frozen=True, slots=True)
class Comparison:
    """A day against the four weeks before it.

    Attributes:
        day: ISO date.
        quantiles: One for each of `QUANTILES`.
        answerable: Of the expected share of answerable queries; None where it is not known, or for
            fewer than 28 days before that the same calibration decided.
    """

    day: str
    quantiles: tuple[Deviation, ...]
    answerable: Deviation | None

    @property
    def moved(self) -> int:
        """Number of quantiles that have left their usual range."""
        return sum(abs(found.z) > DEVIATION for found in self.quantiles)

    @property
    def traffic_changed(self) -> bool:
        """Two of five quantiles have left their usual range."""
        return self.moved >= QUANTILES_OUT

    @property
    def share_changed(self) -> bool:
        """The share of answerable queries has left its usual range."""
        share = self.answerable
        return (
            share is not None
            and abs(share.z) > SHARE_DEVIATION
            and abs(share.value - share.usual) >= SHARE_STEP
        )


def compare_days(days: Mapping[str, Day]) -> list[Comparison]:
    """Compare each day that has 28 days before it, in order.

    Args:
        days: By ISO date.
    """
    usable = [
        _Figures.of(name, days[name]) for name in sorted(days) if days[name].measured >= FEWEST
    ]
    found = []
    for place, figures in enumerate(usable):
        before = usable[max(0, place - SPAN) : place]
        reference = _reference(before, figures)
        if reference:
            quantiles = _quantiles(figures, reference)
            found.append(Comparison(figures.day, quantiles, _share(figures, before)))
    return found


@dataclass(frozen=True, slots=True)
class _Figures:
    day: str
    rows: int
    quantiles: tuple[float, ...]
    counts: Day

    @classmethod
    def of(cls, name: str, day: Day) -> _Figures:
        return cls(name, day.measured, tuple(map(day.quantile, QUANTILES)), day)


def _reference(before: Sequence[_Figures], figures: _Figures) -> Sequence[_Figures]:
    """Return the 28 days before, empty where there are fewer or this day is a part of one."""
    first = (date.fromisoformat(figures.day) - timedelta(SPAN)).isoformat()
    recent = [other for other in before[-DAYS:] if other.day >= first]
    if len(recent) < DAYS or figures.rows < PART * median(other.rows for other in recent):
        return ()
    return recent


def _quantiles(figures: _Figures, reference: Sequence[_Figures]) -> tuple[Deviation, ...]:
    few = _few(figures, reference)
    columns = zip(*(other.quantiles for other in reference), strict=True)
    return tuple(
        _deviation(value, column, SMALLEST, few)
        for value, column in zip(figures.quantiles, columns, strict=True)
    )


def _share(figures: _Figures, before: Sequence[_Figures]) -> Deviation | None:
    """Compare the share with days of the same calibration: another one estimates another share."""
    alike = [other for other in before if other.counts.decided_alike(figures.counts)]
    reference = _reference(alike, figures)
    value = figures.counts.answerable
    shares = [share for other in reference if (share := other.counts.answerable) is not None]
    if value is None or len(shares) < DAYS:
        return None
    return _deviation(value, shares, SMALLEST_SHARE, _few(figures, reference))


def _few(figures: _Figures, reference: Sequence[_Figures]) -> float:
    """Return how much more the figures of a day scatter that has fewer rows than usual."""
    return sqrt(max(1.0, median(other.rows for other in reference) / figures.rows))


def _deviation(value: float, others: Sequence[float], least: float, few: float) -> Deviation:
    return Deviation(value, mean(others), few * max(least, stdev(others)))
