"""The rules of `assess` on the moments of many rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from recall_signal._many.columns import ABSENT, BASES, REASON_NAMES, Columns
from recall_signal._many.moments import Moments
from recall_signal._many.rounding import NEAR, near_ties, units
from recall_signal.confidence import LEVELS
from recall_signal.thresholds import MIN_BACKGROUND, Thresholds

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bools: TypeAlias = NDArray[np.bool_]
    Codes: TypeAlias = NDArray[np.int8]
    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["judge_rows"]

HIGH, MODERATE, LOW, NONE, UNKNOWN = range(len(LEVELS))
PROMINENCE, ABSOLUTE = BASES.index("prominence"), BASES.index("absolute")
NO_SCORES, OUT_OF_RANGE = map(REASON_NAMES.index, ("no_scores", "score_out_of_range"))

FLAT_SHARE, LONG, FLAT_VARIANCE = 1e-6, 1000.0, 1e-12
"""A variance below this share of the mean square has lost too many digits to the sums that it is
the difference of, in a pool of `LONG` candidates below twice that; or it is below this number, a
thousand times what counts as flat. A background that spreads over a thousandth of its mean is
rare."""

NEAR_MARGIN = 1e-8
"""As `NEAR`, for the margin, whose variance is such a difference."""


def judge_rows(
    moments: Moments, sizes: NDArray[np.int64], cuts: Thresholds, rows: slice, out: Columns
) -> NDArray[np.intp]:
    """Fill the columns of a block by rules 1 to 4, 6 and 7.

    Args:
        moments: Of each row.
        sizes: Candidates of each row.
        cuts: The cuts.
        rows: The place of the block in the columns.
        out: The columns.

    Returns:
        Places in the block that `assess` has to decide: a figure lies on a cut or on a rounding
        boundary, or the background is flat, so that the last bits of the sums count.
    """
    import numpy as np

    top, others = moments.top, moments.usable.astype(np.float64)
    others -= 1.0
    background = (moments.total - top) / others
    lead = top - background
    np.divide(units(top, 3), 1000.0, out=out.top[rows])
    is_open = _judge_prominence(lead / background, background, top, cuts, out.part(rows))
    margin_open = _measure_margin(moments, background, lead, others, out.margin[rows])
    if others.min(initial=2.0) >= 2.0 and not moments.beyond.any():
        return np.flatnonzero(is_open | margin_open)
    _mend(moments, sizes, cuts, out.part(rows))
    margin_open &= others > 1.0
    return np.flatnonzero((is_open | margin_open) & (others > 0.0) & ~moments.beyond)


def _judge_prominence(
    prominence: Floats, background: Floats, top: Floats, cuts: Thresholds, out: Columns
) -> Bools:
    """Fill prominence, level and basis by rules 1 to 3; return which rows are open."""
    import numpy as np

    scaled = prominence * 1000.0
    thousandths = np.rint(scaled)
    is_open = near_ties(scaled, thousandths)
    is_open |= _by_prominence(prominence, top, cuts, out.level)
    separable = background > MIN_BACKGROUND
    if separable.all():
        out.prominence[:], out.basis[:] = thousandths, PROMINENCE
    else:
        is_open &= separable
        others = ~separable
        out.level[others] = _band(top[others], cuts)
        out.prominence[:] = np.where(separable, thousandths, ABSENT)
        out.basis[:] = np.where(separable, np.int8(PROMINENCE), np.int8(ABSOLUTE))
    is_open |= np.abs(background - MIN_BACKGROUND) <= NEAR
    strong = top >= cuts.cosine_high
    out.level[strong] = np.minimum(out.level[strong], MODERATE)
    return is_open


def _by_prominence(prominence: Floats, top: Floats, cuts: Thresholds, level: Codes) -> Bools:
    """Fill in the levels by rule 1; return which rows are near one of its cuts.

    A higher level needs more on both scales, so that each step passed is one level.
    """
    import numpy as np

    np.subtract(NONE, (prominence >= cuts.prominence_low).view(np.int8), out=level)
    near: Bools = np.abs(prominence - cuts.prominence_low) <= NEAR
    for least, guard in (
        (cuts.prominence_moderate, cuts.cosine_low),
        (cuts.prominence_high, cuts.cosine_moderate),
    ):
        passed = prominence >= least
        passed &= top >= guard
        level -= passed.view(np.int8)
        near |= np.abs(prominence - least) <= NEAR
    return near


def _band(top: Floats, cuts: Thresholds) -> Codes:
    """Return the levels by rule 2."""
    import numpy as np

    level = np.full(len(top), NONE, dtype=np.int8)
    for least in (cuts.cosine_low, cuts.cosine_moderate, cuts.cosine_high):
        level -= (top >= least).view(np.int8)
    return level


def _measure_margin(
    moments: Moments, background: Floats, lead: Floats, others: Floats, out: Floats
) -> Bools:
    """Fill in the relative margins; return which rows are open."""
    import numpy as np

    mean_square = (moments.squares - moments.top * moments.top) / others
    variance = mean_square - background * background
    share = FLAT_SHARE * (1.0 + others.max(initial=0.0) / LONG)
    flat: Bools = ~(variance > FLAT_VARIANCE + share * mean_square)
    margins = lead / np.sqrt(variance)
    margins *= 1000.0
    rounded = np.rint(margins)
    np.divide(rounded, 1000.0, out=out)
    flat |= near_ties(margins, rounded, NEAR_MARGIN)
    return flat


def _mend(moments: Moments, sizes: NDArray[np.int64], cuts: Thresholds, out: Columns) -> None:
    """Mend the rows with fewer than three cosines, or with one out of range."""
    import numpy as np

    usable, beyond = moments.usable, moments.beyond
    out.margin[usable < 3] = np.nan  # one other has no spread
    one = usable == 1
    out.prominence[usable < 2] = ABSENT
    out.basis[one] = ABSOLUTE
    out.level[one] = np.where(moments.top[one] >= cuts.cosine_high, MODERATE, LOW)
    nothing = beyond | (usable < 1)
    out.top[nothing] = out.margin[nothing] = np.nan
    out.prominence[nothing] = ABSENT
    out.basis[nothing] = ABSENT
    out.level[nothing] = UNKNOWN
    out.reason[nothing] = np.where(beyond[nothing], OUT_OF_RANGE, NO_SCORES)
    empty = (usable == 0) & (sizes == 0)
    out.level[empty], out.reason[empty] = NONE, ABSENT
