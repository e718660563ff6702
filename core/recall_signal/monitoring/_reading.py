"""Read parts of a log into the figures of their days; memory does not grow with the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recall_signal._many.rows import holds_lists
from recall_signal._text import encodable
from recall_signal.errors import InvalidInputError
from recall_signal.logs._schema import require_arrow
from recall_signal.monitoring._days import BINS, MICRO, Day, bin_counts

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Key", "Tally", "list_parts", "read_part", "top_cosines"]

Key: TypeAlias = tuple[str, str]
"""Retriever, ISO date."""

Tally: TypeAlias = dict[Key, Day]

BATCH = 65_536

NAMES = ("retriever", "encoder", "calibration", "level", "advice")
NEEDED = ("ts", "cosines")
PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
"""Of the units of a time."""
FIRST, LAST = -25_568, 2_932_896
"""Days since the epoch of `BEFORE` and 9999-12-31, on which whatever is earlier or later counts."""


def list_parts(log: str | Path) -> list[Path]:
    """Return the Parquet files of a log, a folder or one file, in order of their paths.

    Names that begin with `_` or `.` are passed over, as every reader of partitioned folders does.

    Raises:
        InvalidInputError: There is no such file or folder.
    """
    path = Path(log)
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InvalidInputError(
            f"{encodable(str(path))} is no log: expected the folder of a LogWriter, or a Parquet "
            "file"
        )
    found = (part for part in path.rglob("*.parquet") if part.is_file())
    return sorted(part for part in found if not _is_hidden(part.relative_to(path)))


def _is_hidden(path: Path) -> bool:
    return any(name.startswith(("_", ".")) for name in path.parts)


def read_part(part: Path) -> Tally:
    """Return the figures of one file by retriever and day.

    Raises:
        InvalidInputError: It is no Parquet file, or has not the columns of a log.
    """
    arrow = require_arrow()
    import pyarrow.parquet as pq

    tally: Tally = {}
    try:
        schema = pq.read_schema(part)
        columns = _columns(part, schema)
        _check_types(part, schema)
        names = [name for name in NAMES if name in columns]
        with pq.ParquetFile(part, read_dictionary=names) as file:
            for batch in file.iter_batches(BATCH, columns=columns):
                for key, day in _days_of(part, batch):
                    tally[key] = tally[key] + day if key in tally else day
    except (arrow.ArrowException, OSError) as error:
        raise InvalidInputError(
            f"{part.name} cannot be read as Parquet ({type(error).__name__}); a part of a log is "
            "whole or not there, so it was damaged later, or is no part of a log"
        ) from None
    return tally


def _columns(part: Path, schema: pa.Schema) -> list[str]:
    missing = [name for name in NEEDED if name not in schema.names]
    if missing:
        raise InvalidInputError(
            f"{part.name} has no column {', '.join(missing)}; expected those of "
            "recall_signal.logs.log_schema()"
        )
    return [name for name in (*NEEDED, *NAMES, "probability") if name in schema.names]


def _check_types(part: Path, schema: pa.Schema) -> None:
    """Refuse times that are none, and lists of something else than numbers."""
    types = require_arrow().types
    time, cosines = schema.field("ts").type, schema.field("cosines").type
    if not (types.is_timestamp(time) or types.is_date(time) or types.is_string(time)):
        raise InvalidInputError(f"the column ts of {part.name} must hold times, got {time}")
    if not holds_lists(cosines):
        raise InvalidInputError(
            f"the column cosines of {part.name} must hold a list of cosines for each query, got "
            f"{cosines}"
        )


def _days_of(part: Path, batch: pa.RecordBatch) -> Iterator[tuple[Key, Day]]:
    """Return the figures of a batch, one entry for each retriever and day in it.

    Rows without a time are of no day, and left out.
    """
    if batch["ts"].null_count:
        batch = batch.filter(batch["ts"].is_valid())
    days = _day_numbers(part, batch["ts"]).clip(FIRST, LAST)
    columns = {name: _codes(batch, name) for name in NAMES}
    tops = top_cosines(batch["cosines"])
    probability = _floats(batch, "probability")
    codes, retrievers = columns["retriever"]
    groups, place = np.unique(days * (len(retrievers) + 1) + codes, return_inverse=True)
    for at, group in enumerate(groups):
        rows = np.flatnonzero(place == at)
        day, code = divmod(int(group), len(retrievers) + 1)
        counted = {name: _count(columns[name], rows) for name in NAMES[1:]}
        known = probability[rows]
        known = known[(known >= 0.0) & (known <= 1.0)]
        measured = tops[rows]
        measured = measured[np.isfinite(measured)]
        yield (
            (retrievers[code] if code < len(retrievers) else "", str(np.datetime64(day, "D"))),
            Day(
                rows=len(rows),
                tops=bin_counts(measured) if len(measured) else np.zeros(BINS, np.int64),
                levels=counted["level"],
                advice=counted["advice"],
                encoders=counted["encoder"],
                calibrations=counted["calibration"],
                probable=len(known),
                millionths=int(np.rint(known.astype(np.float64) * MICRO).astype(np.int64).sum()),
            ),
        )


def _day_numbers(part: Path, times: pa.Array) -> NDArray[np.int64]:
    """Return the UTC days of times, counted from the epoch, by whole numbers of the times' unit.

    Times of another unit would be refused where they are too far away, or too exact.

    Raises:
        InvalidInputError: A text is no time, or has no zone.
    """
    arrow = require_arrow()
    if arrow.types.is_string(times.type):
        try:
            times = times.cast(arrow.timestamp("us", tz="UTC"))
        except arrow.ArrowInvalid:
            raise InvalidInputError(
                f"the column ts of {part.name} holds a text that is no time with a zone, as in "
                "2026-10-01T10:00:00Z"
            ) from None
    elif arrow.types.is_date(times.type):
        times = times.cast(arrow.timestamp("ms"))
    numbers: NDArray[np.int64] = times.cast(arrow.int64()).to_numpy(zero_copy_only=False)
    return numbers // PER_DAY[times.type.unit]


def _codes(batch: pa.RecordBatch, name: str) -> tuple[NDArray[np.int64], list[str]]:
    """Return a code for each row and the names behind them; a null has the code after the last."""
    if name not in batch.schema.names:
        return np.zeros(batch.num_rows, np.int64), []
    column = batch[name]
    if not hasattr(column, "dictionary"):
        column = column.dictionary_encode()
    names = [str(name) for name in column.dictionary.to_pylist()]
    codes = column.indices.fill_null(len(names)).to_numpy(zero_copy_only=False)
    return codes.astype(np.int64), names


def _count(
    column: tuple[NDArray[np.int64], list[str]], rows: NDArray[np.intp]
) -> Mapping[str, int]:
    codes, names = column
    counts = np.bincount(codes[rows], minlength=len(names))
    found: dict[str, int] = {}
    for name, count in zip(names, counts.tolist(), strict=False):  # without the nulls
        if count:
            found[name] = found.get(name, 0) + count
    return found


def _floats(batch: pa.RecordBatch, name: str) -> NDArray[Any]:
    if name not in batch.schema.names:
        return np.full(batch.num_rows, np.nan)
    values: NDArray[Any] = batch[name].to_numpy(zero_copy_only=False)
    return values.astype(np.float64)


def top_cosines(column: pa.Array) -> NDArray[np.float64]:
    """Return the highest cosine of each list, NaN where there is none.

    Args:
        column: A list array of numbers, or nulls only; nulls of both kinds are passed over, and
            infinities are no cosines, as in `assess`.
    """
    types = require_arrow().types
    if types.is_null(column.type) or types.is_null(column.type.value_type):
        return np.full(len(column), np.nan)
    if types.is_fixed_size_list(column.type):
        column = column.cast(require_arrow().list_(column.type.value_type))
    tops = np.full(len(column), np.nan)
    offsets = column.offsets.to_numpy()
    values = column.values.slice(offsets[0], offsets[-1] - offsets[0])
    numbers = values.to_numpy(zero_copy_only=False).astype(np.float64)
    numbers = np.where(np.isfinite(numbers), numbers, -np.inf)
    starts, lengths = offsets[:-1] - offsets[0], np.diff(offsets)
    filled = np.flatnonzero(lengths > 0)
    if len(filled):  # reduceat gives the next element for an empty list
        # A list between two of these may be empty or null with values underneath.
        ends = np.append(starts[filled[1:]], starts[filled[-1]] + lengths[filled[-1]])
        tops[filled] = np.maximum.reduceat(numbers[: ends[-1]], starts[filled])
    if column.null_count:
        tops[column.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return np.where(np.isneginf(tops), np.nan, tops)
