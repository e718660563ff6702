"""The figures of one day: counts only, so that parts merge exactly, in any order.

Top cosines are counted in 2,002 bins of .001 over [-1.001, 1.001]. Randomised sketches (KLL,
t-digest) are no smaller there and give other figures where a job is resumed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, model_validator

__all__ = ["BEFORE", "BINS", "Count", "Day", "SavedDay", "bin_counts", "quantile_of_counts"]

BINS, LOWEST, WIDTH = 2002, -1.001, 0.001

BEFORE = "1899-12-31"
"""The day of every row that is dated before 1900, which is no day of a log."""

MICRO = 1_000_000
"""Probabilities are summed in whole millionths: a sum of floats depends on its order."""

Counts = NDArray[np.int64]

Count = Annotated[int, Field(ge=0, le=10**15)]
"""Of rows or bytes in a file; sums of such counts fit in 64 bits."""


def bin_counts(tops: NDArray[np.floating[Any]]) -> Counts:
    """Count values in the bins; a value outside of what a cosine can be counts in the last one."""
    near = np.clip(tops.astype(np.float64), -2.0, 2.0)  # a huge one would overflow
    place = np.floor((near - LOWEST) / WIDTH)
    return np.bincount(np.clip(place, 0, BINS - 1).astype(np.int64), minlength=BINS)


def quantile_of_counts(counts: Counts, share: float) -> float:
    """Return a quantile of counted values, spread evenly over their bins; error .0005 at most."""
    total = int(counts.sum())
    below = np.cumsum(counts)
    rank = max(share * total, 1e-9)  # the least one is in the first bin that holds something
    place = min(int(np.searchsorted(below, rank)), BINS - 1)
    inside = int(counts[place])
    before = int(below[place]) - inside
    part = (rank - before) / inside if inside else 0.5
    return float(LOWEST + WIDTH * (place + part))


@dataclass(frozen=True, slots=True, eq=False)
class Day:
    """The queries of one UTC day through one retriever.

    Attributes:
        rows: Their number.
        tops: Counts of the top cosines, `[2002]`.
        levels: Rows by level.
        advice: Rows by advice.
        encoders: Rows by the encoder's name.
        calibrations: Rows by the calibration's id.
        probable: Rows with a probability.
        millionths: Sum of their probabilities, in millionths.
    """

    rows: int = 0
    tops: Counts = field(default_factory=lambda: np.zeros(BINS, np.int64))
    levels: Mapping[str, int] = field(default_factory=dict)
    advice: Mapping[str, int] = field(default_factory=dict)
    encoders: Mapping[str, int] = field(default_factory=dict)
    calibrations: Mapping[str, int] = field(default_factory=dict)
    probable: int = 0
    millionths: int = 0

    def __add__(self, other: Day) -> Day:
        """Return the figures of both."""
        return Day(
            rows=self.rows + other.rows,
            tops=self.tops + other.tops,
            levels=_sum(self.levels, other.levels),
            advice=_sum(self.advice, other.advice),
            encoders=_sum(self.encoders, other.encoders),
            calibrations=_sum(self.calibrations, other.calibrations),
            probable=self.probable + other.probable,
            millionths=self.millionths + other.millionths,
        )

    @property
    def measured(self) -> int:
        """Rows with a top cosine."""
        return int(self.tops.sum())

    def quantile(self, share: float) -> float:
        """Return a quantile of the top cosines."""
        return quantile_of_counts(self.tops, share)

    @property
    def is_probable(self) -> bool:
        """True where nine rows of ten have a probability."""
        return self.rows > 0 and self.probable >= 0.9 * self.rows

    @property
    def answerable(self) -> float | None:
        """The expected share of answerable queries, None without rows.

        The mean probability where `is_probable`, else the share that was advised to read.
        """
        if self.is_probable:
            return self.millionths / MICRO / self.probable
        decided = sum(self.advice.values())
        return self.advice.get("read", 0) / decided if decided else None

    @property
    def encoder(self) -> str | None:
        """The encoder's name of most rows."""
        return _most(self.encoders)

    @property
    def calibration(self) -> str | None:
        """The calibration's id of most rows."""
        return _most(self.calibrations)

    def decided_alike(self, other: Day) -> bool:
        """Return whether the same calibrations decided both days, so that `answerable` compares.

        It is the same kind of figure on both, and nine rows of ten were decided by calibrations
        that decided as large a part of the other day; a log may be that of several.
        """
        one, two = self._by_calibration(), other._by_calibration()
        same = sum(min(one[name], two[name]) for name in one.keys() & two.keys())
        return self.is_probable == other.is_probable and same >= 0.9

    def _by_calibration(self) -> dict[str | None, float]:
        rows = max(1, self.rows)
        parts: dict[str | None, float] = {n: count / rows for n, count in self.calibrations.items()}
        return {**parts, None: 1.0 - sum(parts.values())}

    def level_share(self, level: str) -> float:
        """Return the share of rows with this level."""
        return self.levels.get(level, 0) / self.rows if self.rows else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; only bins that hold something are named."""
        used = np.flatnonzero(self.tops)
        return {
            "rows": self.rows,
            "tops": [used.tolist(), self.tops[used].tolist()],
            "levels": dict(sorted(self.levels.items())),
            "advice": dict(sorted(self.advice.items())),
            "encoders": dict(sorted(self.encoders.items())),
            "calibrations": dict(sorted(self.calibrations.items())),
            "probable": self.probable,
            "millionths": self.millionths,
        }


Counted = dict[str, Count]


@dataclass(frozen=True, slots=True)
class SavedDay:
    """A day as `Day.to_dict` gives it; pydantic validates it.

    Attributes:
        tops: The bins that hold something in order, and how many each.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    rows: Count
    tops: tuple[list[Annotated[int, Field(ge=0, lt=BINS)]], list[Count]]
    levels: Counted
    advice: Counted
    encoders: Counted
    calibrations: Counted
    probable: Count
    millionths: Annotated[int, Field(ge=0)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Check that no figure is more than there can be of it."""
        places, counts = self.tops
        named = (self.levels, self.advice, self.encoders, self.calibrations)
        parts = [counts, *(found.values() for found in named), [self.probable]]
        if len(places) != len(counts) or sorted(set(places)) != places:
            raise ValueError("tops must be bins in order, and their counts")
        if any(sum(part) > self.rows for part in parts):
            raise ValueError("more rows of a kind than rows")
        if self.millionths > self.probable * MICRO:
            raise ValueError("a mean probability above 1")
        return self

    def day(self) -> Day:
        """Return the day."""
        tops = np.zeros(BINS, np.int64)
        places, counts = self.tops
        tops[places] = counts
        return Day(
            rows=self.rows,
            tops=tops,
            levels=self.levels,
            advice=self.advice,
            encoders=self.encoders,
            calibrations=self.calibrations,
            probable=self.probable,
            millionths=self.millionths,
        )


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return dict(Counter(one) + Counter(other))


def _most(counts: Mapping[str, int]) -> str | None:
    """Return the key with the most rows; of equals the first one in the alphabet."""
    return min(counts, key=lambda name: (-counts[name], name), default=None)
