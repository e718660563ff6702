"""The columns that `assess_many` fills: small whole numbers, made into figures when read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, get_args

from recall_signal.confidence import LEVELS, Basis, RecallConfidence
from recall_signal.reasons import REASONS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes: TypeAlias = NDArray[np.int8]
    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["ABSENT", "BASES", "COLUMNS", "REASON_NAMES", "Columns", "figures", "whole"]

COLUMNS = (
    "level",
    "top_score",
    "prominence",
    "relative_margin",
    "result_count",
    "basis",
    "reason",
    "probability",
    "term_coverage",
    "rationale",
)
"""The columns of `assess_many`, in order; the last three only where they were asked for."""

BASES: tuple[Basis, ...] = get_args(Basis)
REASON_NAMES = tuple(REASONS)

ABSENT = -1
"""Code of a basis or reason, and of a figure that is never negative, where there is none."""


@dataclass(frozen=True, slots=True)
class Columns:
    """One entry a query, 23 bytes for the signal, 2 for each of the optional figures.

    Attributes:
        top: Best cosine or score, rounded; NaN where there is none.
        margin: Relative margin, likewise.
        prominence: In thousandths; below zero where there is none.
        level: Place in `LEVELS`.
        basis: Place in `BASES`.
        reason: Place in `REASON_NAMES`.
        probability: In ten-thousandths; None without a calibration.
        coverage: In thousandths; None where none was given.
        rationale: Texts, where they were asked for.
    """

    top: Floats
    margin: Floats
    prominence: NDArray[np.int32]
    level: Codes
    basis: Codes
    reason: Codes
    probability: NDArray[np.int16] | None
    coverage: NDArray[np.int16] | None
    rationale: NDArray[np.object_] | None

    @classmethod
    def make(
        cls, rows: int, *, probability: bool, coverage: bool, rationale: bool = False
    ) -> Columns:
        """Return columns to be filled; those of which most entries are absent are so."""
        import numpy as np

        return cls(
            top=np.empty(rows),
            margin=np.empty(rows),
            prominence=np.empty(rows, dtype=np.int32),
            level=np.empty(rows, dtype=np.int8),
            basis=np.empty(rows, dtype=np.int8),
            reason=np.full(rows, ABSENT, dtype=np.int8),
            probability=np.full(rows, ABSENT, dtype=np.int16) if probability else None,
            coverage=np.empty(rows, dtype=np.int16) if coverage else None,
            rationale=np.empty(rows, dtype=object) if rationale else None,
        )

    def part(self, rows: slice) -> Columns:
        """Return some rows of the columns that the rules fill, not copied."""
        return replace(
            self,
            top=self.top[rows],
            margin=self.margin[rows],
            prominence=self.prominence[rows],
            level=self.level[rows],
            basis=self.basis[rows],
            reason=self.reason[rows],
        )

    def keep(self, row: int, signal: RecallConfidence) -> None:
        """Store the signal of one row."""
        self.top[row] = _or_nan(signal.top_score)
        self.margin[row] = _or_nan(signal.relative_margin)
        self.prominence[row] = whole(signal.prominence, 3)
        self.level[row] = LEVELS.index(signal.level)
        self.basis[row] = ABSENT if signal.basis is None else BASES.index(signal.basis)
        self.reason[row] = ABSENT if signal.reason is None else REASON_NAMES.index(signal.reason)
        if self.probability is not None:
            self.probability[row] = whole(signal.probability, 4)
        if self.rationale is not None:
            self.rationale[row] = signal.rationale


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value


def whole(value: float | None, decimals: int) -> int:
    """Return a rounded figure in units of its last decimal."""
    return ABSENT if value is None else round(value * 10**decimals)


def figures(column: NDArray[np.integer], decimals: int) -> Floats:
    """Return figures out of whole numbers, NaN where there is none."""
    import numpy as np

    made: Floats = column / 10.0**decimals
    made[column < 0] = np.nan
    return made
