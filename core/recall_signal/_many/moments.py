"""The moments of each row's finite values: what the rules need of a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from recall_signal.thresholds import RANGE_TOLERANCE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["Moments", "Scratch", "moments_of_lists", "moments_of_table"]


class Moments(NamedTuple):
    """Columns with one entry a row; figures of rows without a usable value are undefined.

    Attributes:
        top: The highest value.
        total: The sum, in any order: its last bits are not those of a sorted sum.
        squares: The sum of squares.
        usable: Number of finite values; -1 where the row itself is missing.
        beyond: True where a value lies outside what a cosine can be.
    """

    top: Floats
    total: Floats
    squares: Floats
    usable: NDArray[np.int64]
    beyond: NDArray[np.bool_]

    @classmethod
    def room(cls, rows: int) -> Moments:
        """Return columns to be filled."""
        import numpy as np

        counts, flags = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=bool)
        return cls(np.empty(rows), np.empty(rows), np.empty(rows), counts, flags)

    def part(self, begin: int, end: int) -> Moments:
        """Return some of the rows, not copied."""
        rows = slice(begin, end)
        return Moments(
            self.top[rows],
            self.total[rows],
            self.squares[rows],
            self.usable[rows],
            self.beyond[rows],
        )


class Scratch:
    """Buffers that all blocks of a call share: memory that is not asked for again is fast."""

    def __init__(self) -> None:
        import numpy as np

        self._floats = np.empty(0)
        self._masks = np.empty(0, dtype=np.int64)
        self._finite = np.empty(0, dtype=bool)
        self._ones = np.ones(0)
        self._starts = np.empty(0, dtype=np.intp)
        self._width = 0
        self.expects_gaps = False

    def ones(self, size: int) -> Floats:
        """Return so many ones."""
        import numpy as np

        if self._ones.size != size:
            self._ones = np.ones(size)
        return self._ones

    def starts(self, rows: int, width: int) -> NDArray[np.intp]:
        """Return where rows of a width begin."""
        import numpy as np

        if self._width != width or self._starts.size < rows:
            self._starts, self._width = np.arange(rows) * width, width
        return self._starts[:rows]

    def floats(self, size: int) -> Floats:
        """Return room for so many numbers."""
        import numpy as np

        if self._floats.size < size:
            self._floats = np.empty(size)
        return self._floats[:size]

    def without_gaps(self, flat: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return a copy with 0 for every value that is not finite, and which are finite.

        A mask of 64 ones or 64 zeros does it in half the time of a copy by condition.
        """
        import numpy as np

        size = flat.size
        if self._masks.size < size:
            self._masks = np.empty(size, dtype=np.int64)
            self._finite = np.empty(size, dtype=bool)
        mask, finite = self._masks[:size], self._finite[:size]
        np.isfinite(flat, out=finite)
        np.negative(finite.view(np.int8), out=mask)
        filled = self.floats(size)
        np.bitwise_and(flat.view(np.int64), mask, out=filled.view(np.int64))
        return filled, finite


def moments_of_table(block: Floats, scratch: Scratch, out: Moments) -> None:
    """Fill in the moments of rows of equal length.

    Args:
        block: `[rows, candidates]`, contiguous, at least one candidate; it is left alone.
        scratch: Buffers.
        out: As many rows.
    """
    import numpy as np

    rows, candidates = block.shape
    ones = scratch.ones(candidates)
    finite = None
    out.usable[:] = candidates
    if not scratch.expects_gaps:
        block.dot(ones, out=out.total)  # a third of the time of sum(axis=1)
        scratch.expects_gaps = not np.isfinite(out.total).all()
    if scratch.expects_gaps:
        flat, finite = scratch.without_gaps(block.ravel())
        block = flat.reshape(rows, candidates)
        block.dot(ones, out=out.total)
        out.usable[:] = _count(finite.reshape(rows, candidates), scratch)
        scratch.expects_gaps = bool((out.usable < candidates).any())
    flat, starts = block.ravel(), scratch.starts(rows, candidates)
    top = np.maximum.reduceat(flat, starts, out=out.top)  # half the time of max(axis=1)
    if finite is not None:
        # A gap, which holds 0, is not the best of negative values.
        hidden = np.flatnonzero((top <= 0.0) & (out.usable < candidates))
        usable = finite.reshape(rows, candidates)[hidden]
        top[hidden] = np.where(usable, block[hidden], -np.inf).max(axis=1)
    np.greater(top, RANGE_TOLERANCE, out=out.beyond)
    if not flat.min() >= -RANGE_TOLERANCE:
        out.beyond[:] |= block.min(axis=1) < -RANGE_TOLERANCE
    _squares(block, out.squares)


def moments_of_lists(
    flat: Floats, offsets: NDArray[np.int64], scratch: Scratch, out: Moments
) -> None:
    """Fill in the moments of rows of any lengths.

    Args:
        flat: The values of all rows, one after the other; left alone.
        offsets: `[rows + 1]`, where each row begins in `flat`, from 0 on.
        scratch: Buffers.
        out: As many rows.
    """
    import numpy as np

    lengths = np.diff(offsets)
    if lengths[0] and (lengths == lengths[0]).all():
        moments_of_table(flat.reshape(len(lengths), lengths[0]), scratch, out)
        return
    out.top[:], out.beyond[:], out.usable[:] = -np.inf, False, lengths
    out.total[:] = out.squares[:] = 0.0
    filled = np.flatnonzero(lengths)  # reduceat would give an empty row its neighbour's value
    if not filled.size:
        return
    starts, finite = offsets[filled], None
    totals = np.add.reduceat(flat, starts)
    if not np.isfinite(totals).all():
        flat, finite = scratch.without_gaps(flat)
        totals = np.add.reduceat(flat, starts)
        out.usable[filled] = np.add.reduceat(finite, starts, dtype=np.int64)
    tops = np.maximum.reduceat(flat, starts)
    if finite is not None and (hidden := np.flatnonzero(tops <= 0.0)).size:
        lowered = np.where(finite, flat, -np.inf)
        tops[hidden] = np.maximum.reduceat(lowered, starts)[hidden]
    beyond = tops > RANGE_TOLERANCE
    if not flat.min() >= -RANGE_TOLERANCE:
        beyond |= np.minimum.reduceat(flat, starts) < -RANGE_TOLERANCE
    out.top[filled], out.total[filled], out.beyond[filled] = tops, totals, beyond
    out.squares[filled] = np.add.reduceat(flat * flat, starts)


def _squares(block: Floats, out: Floats) -> None:
    import numpy as np

    if hasattr(np, "vecdot"):  # from numpy 2 on, in two thirds of the time
        np.vecdot(block, block, out=out)
    else:  # pragma: no cover  (numpy 1.26, which the oldest packages are run with)
        np.einsum("ij,ij->i", block, block, out=out)


def _count(flags: NDArray[np.bool_], scratch: Scratch) -> NDArray[np.integer]:
    """Return how many are True in each row."""
    import numpy as np

    rows, candidates = flags.shape
    if candidates > np.iinfo(np.uint8).max:
        many: NDArray[np.integer] = np.count_nonzero(flags, axis=1)
        return many
    starts = scratch.starts(rows, candidates)
    counts: NDArray[np.uint8] = np.add.reduceat(
        flags.view(np.uint8).ravel(), starts, dtype=np.uint8
    )
    return counts
