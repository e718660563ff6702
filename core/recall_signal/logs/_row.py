"""One query as a row: read where the query ends, turned into Arrow by the thread that writes."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from recall_signal._text import encodable
from recall_signal.calibration import Calibration
from recall_signal.calibration._baseline import CalibrationWithBaseline
from recall_signal.confidence import RecallConfidence
from recall_signal.reports import SelectionReport

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Finished", "Row", "batch_of", "row_of"]

Row: TypeAlias = tuple[int, *tuple[object, ...]]
"""The values of a row in the order of `COLUMNS`, with the question behind them; the first one is
the time in microseconds."""

COSINES = 20
"""Place of the cosines in a row."""

FOREIGN = (2, 3, 21)
"""Places of names and texts that come from outside, which may hold what UTF-8 cannot."""


class _Settings(Protocol):
    @property
    def retriever(self) -> str | None: ...


class Finished(Protocol):
    """The end of a query, as far as a log needs it."""

    @property
    def query(self) -> str | None: ...

    @property
    def items(self) -> Sequence[Any]: ...

    @property
    def confidence(self) -> RecallConfidence: ...

    @property
    def selection(self) -> SelectionReport: ...

    @property
    def report(self) -> Mapping[str, Any]: ...

    @property
    def calibrator(self) -> object: ...

    @property
    def cosines(self) -> Sequence[float | None]: ...

    @property
    def seconds(self) -> float | None: ...

    @property
    def encoder(self) -> str | None: ...

    @property
    def settings(self) -> _Settings: ...


def row_of(
    outcome: Finished, run_id: bytes, microseconds: int, retriever: str | None, texts: bool
) -> Row:
    """Return the row of a query; it holds nothing that anybody else may change.

    Args:
        outcome: The end of the query.
        run_id: 16 bytes.
        microseconds: Since the epoch, UTC.
        retriever: A name; None takes the class that was searched.
        texts: With the question.
    """
    confidence, selection, report = outcome.confidence, outcome.selection, outcome.report
    settings, used = outcome.settings, report.get("calibration") or _NONE
    seconds = outcome.seconds
    return (
        microseconds,
        run_id,
        retriever or settings.retriever,
        outcome.encoder,
        used.get("id"),
        used.get("status"),
        confidence.level,
        confidence.basis,
        confidence.reason,
        report.get("advice"),
        selection.applied,
        selection.reason,
        len(outcome.items),
        selection.kept,
        selection.dropped,
        confidence.result_count,
        confidence.term_coverage,
        _words_count(outcome),
        confidence.probability,
        None if seconds is None else 1000.0 * seconds,
        _packed(outcome.cosines),
        outcome.query if texts else None,
    )


_NONE: dict[str, str | None] = {}


def _words_count(outcome: Finished) -> bool | None:
    """Return False where missing words said nothing, None where no calibration read words."""
    coverage, calibration = outcome.confidence.term_coverage, outcome.calibrator
    if isinstance(calibration, CalibrationWithBaseline):
        calibration = calibration.calibration
    if not isinstance(calibration, Calibration) or calibration.words is None:
        return None
    if coverage is None or outcome.query is None:
        return None
    return calibration.words.count(outcome.query, coverage)


def _packed(cosines: Sequence[float | None]) -> object:
    """Return the cosines as an array of float32 where every candidate has one, in a microsecond."""
    try:
        return array("f", cosines)  # type: ignore[type-var]
    except TypeError:
        return None if all(cosine is None for cosine in cosines) else [*cosines]


def batch_of(rows: Sequence[Row], schema: pa.Schema) -> tuple[pa.RecordBatch | None, int]:
    """Return rows as one Arrow batch, and the number of rows that could not be had as such.

    Args:
        rows: As `row_of` makes them.
        schema: As `log_schema` makes it.
    """
    try:
        return _batch(rows, schema), 0
    except Exception:  # of whatever type: the values are somebody else's
        fit = [row for row in rows if _fits(row, schema)]
    return (_batch(fit, schema) if fit else None), len(rows) - len(fit)


def _fits(row: Row, schema: pa.Schema) -> bool:
    """Return whether a row can be had as Arrow: one that cannot must not take others with it."""
    try:
        _batch([row], schema)
    except Exception:
        return False
    return True


def _batch(rows: Sequence[Row], schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    columns: list[Sequence[Any]] = [*zip(*rows, strict=True)]
    for place in FOREIGN:
        columns[place] = [text and encodable(text) for text in columns[place]]
    arrays = [
        _cosines(columns[place]) if place == COSINES else pa.array(columns[place], field.type)
        for place, field in enumerate(schema)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _cosines(column: Sequence[Any]) -> pa.Array:
    """Return the lists of cosines; packed ones are joined without looking at each value."""
    import numpy as np
    import pyarrow as pa

    kind = pa.list_(pa.field("element", pa.float32()))
    if all(type(cosines) is array for cosines in column):
        offsets = np.zeros(len(column) + 1, np.int32)
        np.cumsum([len(cosines) for cosines in column], out=offsets[1:])
        values = np.frombuffer(b"".join(map(bytes, column)), np.float32)
        if np.isfinite(values).all():
            return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values), type=kind)
    return pa.array([_usable(cosines) for cosines in column], kind)


def _usable(cosines: Iterable[float | None] | None) -> list[float | None] | None:
    """Return the cosines with None for what is no number."""
    if cosines is None:
        return None
    return [c if c is not None and isfinite(c) else None for c in cosines]
