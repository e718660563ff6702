"""One call of `assess_many`: block by block, and by `assess` where a last bit decides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from recall_signal._many.columns import ABSENT, Columns
from recall_signal._many.rounding import units
from recall_signal._many.rows import Block, Rows, numbers
from recall_signal._many.rules import judge_rows
from recall_signal.assess import Calibrator, assess
from recall_signal.confidence import RecallConfidence, unknown
from recall_signal.errors import InvalidInputError
from recall_signal.thresholds import Thresholds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["Task"]


class Judged(Protocol):
    """The calibrated levels of many queries."""

    @property
    def level(self) -> NDArray[np.int8]:
        """Places in `LEVELS`."""

    @property
    def basis(self) -> NDArray[np.int8]:
        """Places in the bases; below 0 where the uncalibrated one stays."""

    @property
    def probability(self) -> NDArray[np.int16]:
        """In ten-thousandths; below 0 where there is none."""


class JudgesMany(Protocol):
    """A calibration that needs nothing but columns, and does not learn from them."""

    def judge_many(
        self, uncalibrated: NDArray[np.int8], top: Floats, coverage: Floats | None
    ) -> Judged:
        """Return the levels of many queries."""


@dataclass(frozen=True, slots=True)
class Task:
    """The arguments of one call, and the columns to fill.

    Attributes:
        rows: The cosines.
        scores: Keyword scores of the same queries.
        cuts: The cuts.
        calibration: Decides the level where cosines are usable.
        coverage: Term coverages as they were given.
        out: The columns.
        counts: Candidates of each query; it is written to where there are scores.
    """

    rows: Rows
    scores: Rows | None
    cuts: Thresholds
    calibration: Calibrator | None
    coverage: Any
    out: Columns
    counts: NDArray[np.int64]

    def run(self) -> None:
        """Fill the columns.

        Raises:
            InvalidInputError: A block holds what is no number, or no term coverage.
        """
        import numpy as np

        by_row = self.out.rationale is not None or not (
            self.calibration is None or hasattr(self.calibration, "judge_many")
        )
        with np.errstate(all="ignore"):
            for block, coverage in self._blocks():
                if by_row:
                    self._assess_block(block, coverage)
                else:
                    self._judge_block(block, coverage)

    def _blocks(self) -> Iterator[tuple[Block, Floats | None]]:
        """Return each block with its term coverages, which are kept."""
        import numpy as np

        for block in self.rows.blocks():
            if self.coverage is None or self.out.coverage is None:
                yield block, None
                continue
            place = slice(block.start, block.start + len(block.moments.top))
            shares = _shares(self.coverage[place])
            known = ~np.isnan(shares) & (self.counts[place] > 0)
            self.out.coverage[place] = np.where(known, units(shares, 3), ABSENT)
            yield block, shares

    def _judge_block(self, block: Block, coverage: Floats | None) -> None:
        import numpy as np

        start, moments = block
        place = slice(start, start + len(moments.top))
        for at in judge_rows(moments, self.rows.sizes[place], self.cuts, place, self.out).tolist():
            self._keep(start + at, self._signal(start + at))
        if self.scores is not None:
            for at in np.flatnonzero(moments.usable <= 0).tolist():
                self._keep(start + at, self._signal(start + at))
        probability = self.out.probability
        if self.calibration is None or probability is None:
            return
        judge_many = cast("JudgesMany", self.calibration).judge_many
        usable = (moments.usable > 0) & ~moments.beyond
        rows: slice | NDArray[np.intp] = place
        top, level = moments.top, self.out.level
        if not usable.all():
            at_usable = np.flatnonzero(usable)
            rows, top = at_usable + start, top[at_usable]
            coverage = None if coverage is None else coverage[at_usable]
        judged = judge_many(level[rows], top, coverage)
        level[rows] = judged.level
        self.out.basis[rows] = np.where(judged.basis < 0, self.out.basis[rows], judged.basis)
        probability[rows] = judged.probability

    def _assess_block(self, block: Block, coverage: Floats | None) -> None:
        """Fill the rows one after the other: some calibrations learn from each."""
        for at in range(len(block.moments.top)):
            share = None if coverage is None else float(coverage[at])
            row = block.start + at
            self._keep(row, self._signal(row, self.calibration, share))

    def _signal(
        self, row: int, calibration: Calibrator | None = None, share: float | None = None
    ) -> RecallConfidence:
        cosines = self.rows.row(row)
        scores = None if self.scores is None else self.scores.row(row)
        if cosines is None and scores is None:
            return unknown("no_scores", 0)
        return assess(
            [] if cosines is None else cosines,
            scores=scores,
            thresholds=self.cuts,
            calibration=calibration,
            term_coverage=share,
        )

    def _keep(self, row: int, signal: RecallConfidence) -> None:
        self.out.keep(row, signal)
        if self.scores is not None:
            self.counts[row] = signal.result_count


def _shares(given: Any) -> Floats:
    """Return term coverages, NaN where there is none.

    Raises:
        InvalidInputError: One lies outside of 0 to 1, or is no number.
    """
    import numpy as np

    shares = numbers(given)
    finite = np.isfinite(shares)
    if not finite.all():
        shares = np.where(finite, shares, np.nan)
    outside = shares[(shares < 0.0) | (shares > 1.0)]
    if outside.size:
        raise InvalidInputError(f"term_coverage must lie between 0 and 1, got {outside[0]}")
    return shares
