"""The input of `assess_many`: a table or Arrow lists, block by block, never copied as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from recall_signal._many.moments import Moments, Scratch, moments_of_lists, moments_of_table
from recall_signal.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray

    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["Block", "Rows", "as_array", "holds_lists", "numbers", "read_rows"]

VALUES = 50 * 1024
"""Values taken at a time: 400 KB of float64, so that every pass over them stays in the cache."""

ROWS = 16_384
"""Rows a block: many, since the rules take sixty steps on short columns, and few enough for the
columns to stay in the cache as well."""

EXPECTED = (
    "assess_many expects an array [queries, candidates] of numbers, with NaN where a cosine is "
    "missing, or Arrow lists of numbers"
)


class Block(NamedTuple):
    """Some rows that follow each other.

    Attributes:
        start: The first one.
        moments: Of each; overwritten by the next block's.
    """

    start: int
    moments: Moments


class Rows(Protocol):
    """The values of many queries."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Candidates of each query."""

    def __len__(self) -> int: ...

    def row(self, at: int) -> Floats | None:
        """Return one query's values, NaN where one is missing; None where the row is missing."""

    def blocks(self) -> Iterator[Block]:
        """Return the moments of all rows, block by block."""


def read_rows(given: ArrayLike | pa.Array | pa.ChunkedArray) -> Rows:
    """Return the rows of an array, of nested sequences, or of Arrow lists.

    Raises:
        InvalidInputError: It is ragged and not of Arrow, or nothing that holds numbers.
    """
    if _is_arrow(given):
        return _read_lists(given)
    table = as_array(given)
    if table.ndim != 2:
        raise InvalidInputError(
            f"assess_many expects two dimensions [queries, candidates], got {table.ndim}; "
            "for one query use assess"
        )
    return Table(table)


def _is_arrow(given: object) -> bool:
    """Return whether Arrow hands the values over; a table of columns is read as an array."""
    shape = getattr(given, "shape", None)
    is_table = hasattr(given, "__array__") and isinstance(shape, tuple) and len(shape) == 2
    return not is_table and any(
        hasattr(given, name) for name in ("__arrow_c_array__", "__arrow_c_stream__")
    )


def numbers(block: Any) -> Floats:
    """Return an array as float64, NaN where it is masked.

    Raises:
        InvalidInputError: It holds something else than numbers.
    """
    import numpy as np

    block = as_array(block)
    try:
        kind = block.dtype.kind
        if kind in "bc" or (
            kind in "OUSTMm"
            and any(isinstance(v, str | bytes | bool | np.bool_) for v in block.flat)
        ):
            raise TypeError  # numpy would make numbers of texts, truth values and complex ones
        made: Floats = np.ma.filled(block.astype(np.float64, copy=False), np.nan)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(EXPECTED) from None
    return made


def as_array(given: Any) -> Any:
    """Return an array, not copied where it is one already.

    Raises:
        InvalidInputError: It is ragged, or nothing that numpy takes.
    """
    import numpy as np

    try:
        if type(given) in (list, tuple) and any(map(_holds_truth_values, given)):
            raise TypeError  # an array would no longer show them
        return np.ma.asanyarray(given) if np.ma.isMaskedArray(given) else np.asarray(given)
    except (TypeError, ValueError, OverflowError):
        several = isinstance(given, list | tuple) and len({*map(_length, given)}) > 1
        remedy = "; rows of several lengths are Arrow lists: pyarrow.array(rows)" if several else ""
        raise InvalidInputError(EXPECTED + remedy) from None


def _length(row: object) -> int | None:
    return len(row) if isinstance(row, Sized) else None


_TRUTH = frozenset({"bool", "bool_"})
"""Python's type and numpy's, by name: numpy is loaded by the call only."""


def _holds_truth_values(row: object) -> bool:
    values = row if isinstance(row, list | tuple) else (row,)
    return not _TRUTH.isdisjoint(type(value).__name__ for value in values)


class Table:
    """The rows of an array `[queries, candidates]` of any kind of numbers."""

    def __init__(self, values: Any) -> None:
        import numpy as np

        self._values = values
        # Integers and objects may hold what no float can; floats are cast into a buffer.
        self._plain = values.dtype.kind == "f" and not np.ma.isMaskedArray(values)

    def __len__(self) -> int:
        return len(self._values)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The same number for each."""
        import numpy as np

        rows, candidates = self._values.shape
        return np.broadcast_to(np.int64(candidates), rows)

    def row(self, at: int) -> Floats:
        """Return the values of one row."""
        return numbers(self._values[at])

    def blocks(self) -> Iterator[Block]:
        """Return the moments of all rows."""
        rows, candidates = self._values.shape
        height = max(1, VALUES // max(1, candidates))
        scratch, room = Scratch(), Moments.room(min(rows, ROWS))
        for start in range(0, rows, ROWS):
            end = min(rows, start + ROWS)
            for begin in range(start, end, height):
                stop = min(end, begin + height)
                block = self._cast(self._values[begin:stop], scratch)
                part = room.part(begin - start, stop - start)
                if candidates:
                    moments_of_table(block, scratch, part)
                else:
                    offsets = scratch.starts(len(block) + 1, 0)
                    moments_of_lists(scratch.floats(0), offsets, scratch, part)
            yield Block(start, room.part(0, end - start))

    def _cast(self, block: Any, scratch: Scratch) -> Floats:
        import numpy as np

        if not self._plain:
            return np.ascontiguousarray(numbers(block))
        if block.dtype == np.float64 and block.flags.c_contiguous:
            ready: Floats = block
            return ready
        room = scratch.floats(block.size).reshape(block.shape)
        np.copyto(room, block)
        return room


class Lists:
    """The rows of one Arrow array of lists; its buffers are read where they are."""

    def __init__(self, values: pa.Array, offsets: NDArray[np.integer[Any]], null: Any) -> None:
        import numpy as np

        self._values, self._offsets, self._null = values, offsets, null
        lengths = np.diff(offsets).astype(np.int64, copy=False)
        self.sizes: NDArray[np.int64] = lengths if null is None else np.where(null, 0, lengths)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def row(self, at: int) -> Floats | None:
        """Return the values of one list."""
        if self._null is not None and self._null[at]:
            return None
        return self._cast(int(self._offsets[at]), int(self._offsets[at + 1]), Scratch())

    def blocks(self) -> Iterator[Block]:
        """Return the moments of all lists."""
        import numpy as np

        rows, scratch = len(self), Scratch()
        room = Moments.room(min(rows, ROWS))
        for start in range(0, rows, ROWS):
            end, begin = min(rows, start + ROWS), start
            while begin < end:
                stop = self._next(begin, end)
                offsets = self._offsets[begin : stop + 1].astype(np.int64)
                flat = self._cast(int(offsets[0]), int(offsets[-1]), scratch)
                part = room.part(begin - start, stop - start)
                moments_of_lists(flat, offsets - offsets[0], scratch, part)
                begin = stop
            block = room.part(0, end - start)
            if self._null is not None:
                null = self._null[start:end]
                block.usable[null], block.beyond[null] = -1, False
            yield Block(start, block)

    def _next(self, begin: int, end: int) -> int:
        """Return the row before which values enough for a block have passed."""
        import numpy as np

        last = self._offsets[begin] + VALUES
        return max(begin + 1, int(np.searchsorted(self._offsets[begin:end], last)) + begin)

    def _cast(self, begin: int, end: int, scratch: Scratch) -> Floats:
        """Return the values between two places as float64, NaN where one is null."""
        import numpy as np

        part = self._values[begin:end]
        values = part.to_numpy(zero_copy_only=False)
        if values.dtype == np.float64:
            ready: Floats = values
            return ready
        room = scratch.floats(values.size)
        np.copyto(room, values, casting="unsafe")  # decimals are objects, rounded as by `assess`
        return room


class Chunks:
    """The rows of several arrays of lists, one after the other."""

    def __init__(self, parts: list[Table | Lists]) -> None:
        import numpy as np

        self._parts = parts
        self._ends = np.cumsum([len(part) for part in parts])
        self.sizes: NDArray[np.int64] = np.concatenate(
            [np.zeros(0, dtype=np.int64), *(part.sizes for part in parts)]
        )

    def __len__(self) -> int:
        return len(self.sizes)

    def row(self, at: int) -> Floats | None:
        """Return the values of one list."""
        import numpy as np

        place = int(np.searchsorted(self._ends, at, side="right"))
        part = self._parts[place]
        return part.row(at - int(self._ends[place]) + len(part))

    def blocks(self) -> Iterator[Block]:
        """Return the moments of all lists."""
        start = 0
        for part in self._parts:
            for block in part.blocks():
                yield Block(start + block.start, block.moments)
            start += len(part)


def _read_lists(given: Any) -> Rows:
    """Read what hands its columns over through Arrow's interface."""
    import pyarrow as pa

    column = given
    if not isinstance(given, pa.Array | pa.ChunkedArray):
        stream = hasattr(given, "__arrow_c_stream__")
        column = pa.chunked_array(given) if stream else pa.array(given)
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    parts = [_lists(chunk) for chunk in chunks if len(chunk)]
    if not parts:
        _lists(pa.array([], column.type))
    return parts[0] if len(parts) == 1 else Chunks(parts)


def _lists(array: pa.Array) -> Table | Lists:
    import numpy as np
    import pyarrow as pa

    kind = array.type
    if not holds_lists(kind):
        raise InvalidInputError(f"{EXPECTED}; got Arrow values of type {kind}")
    if pa.types.is_null(kind) or pa.types.is_null(kind.value_type):
        array = pa.array(array.to_pylist(), pa.list_(pa.float32()))
        kind = array.type
    null = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    if pa.types.is_fixed_size_list(kind):
        width, first = kind.list_size, array.offset
        offsets = np.arange(first, first + len(array) + 1) * width
    else:
        offsets = array.offsets.to_numpy()
    table = None if null is not None else _table(array.values, offsets)
    return Lists(array.values, offsets, null) if table is None else Table(table)


def _table(values: pa.Array, offsets: NDArray[np.integer[Any]]) -> NDArray[np.floating[Any]] | None:
    """Return the values of lists of one length, not copied; None where they make no table."""
    import numpy as np
    import pyarrow as pa

    lengths = np.diff(offsets)
    if not (pa.types.is_floating(values.type) and lengths.size and lengths[0]):
        return None
    part = values[int(offsets[0]) : int(offsets[-1])]
    if part.null_count or (lengths != lengths[0]).any():
        return None
    table: NDArray[np.floating[Any]] = part.to_numpy().reshape(len(lengths), -1)
    return table


def holds_lists(kind: pa.DataType) -> bool:
    """Return whether a type of Arrow is one of lists of numbers, or of nothing but nulls."""
    from pyarrow import types

    if types.is_null(kind):
        return True
    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    numbers = (types.is_floating, types.is_integer, types.is_decimal, types.is_null)
    return bool(lists) and any(is_kind(kind.value_type) for is_kind in numbers)
