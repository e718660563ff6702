"""The rules of `assess` for many queries at once, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from recall_signal._many.columns import BASES, COLUMNS, REASON_NAMES, Columns, figures
from recall_signal._many.rows import as_array, read_rows
from recall_signal._many.task import Task
from recall_signal.assess import Calibrator, require_calibrator
from recall_signal.confidence import LEVELS
from recall_signal.errors import InvalidInputError, MissingDependencyError
from recall_signal.thresholds import Thresholds, thresholds_in_force

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray

    Many: TypeAlias = "ArrayLike | pa.Array | pa.ChunkedArray"

__all__ = ["Assessments", "assess_many"]


@dataclass(frozen=True, eq=False, repr=False)
class Assessments:
    """The signals of Q queries as columns of length Q.

    Kept as small whole numbers, 23 bytes a query and 2 more for each of probability and term
    coverage; numpy's columns are made of them when they are first read.
    """

    _columns: Columns
    _counts: NDArray[np.integer[Any]]

    def __len__(self) -> int:
        return len(self._counts)

    def __repr__(self) -> str:
        """Name the number of queries, and how many have which level."""
        codes = self._columns.level.tolist()
        counts = {name: codes.count(code) for code, name in enumerate(LEVELS) if code in codes}
        return f"Assessments(queries={len(self)}, levels={counts})"

    @property
    def top_score(self) -> NDArray[np.float64]:
        """Float64, 3 decimals, NaN where `RecallConfidence` has None."""
        return self._columns.top

    @property
    def relative_margin(self) -> NDArray[np.float64]:
        """Likewise."""
        return self._columns.margin

    @cached_property
    def prominence(self) -> NDArray[np.float64]:
        """Likewise."""
        return figures(self._columns.prominence, 3)

    @property
    def result_count(self) -> NDArray[np.integer[Any]]:
        """Whole numbers: the candidates of each query."""
        return self._counts

    @cached_property
    def probability(self) -> NDArray[np.float64] | None:
        """Float64, 4 decimals, NaN where there is none; None without a calibration."""
        column = self._columns.probability
        return None if column is None else figures(column, 4)

    @cached_property
    def term_coverage(self) -> NDArray[np.float64] | None:
        """Float64, 3 decimals, NaN where there is none; None where no column was given."""
        column = self._columns.coverage
        return None if column is None else figures(column, 3)

    @cached_property
    def level(self) -> NDArray[np.str_]:
        """Level names, as text."""
        return _named(LEVELS, self._columns.level)

    @cached_property
    def basis(self) -> NDArray[np.str_]:
        """Bases, as text; empty where `RecallConfidence` has None."""
        return _named(BASES, self._columns.basis)

    @cached_property
    def reason(self) -> NDArray[np.str_]:
        """Reasons, as text; empty likewise."""
        return _named(REASON_NAMES, self._columns.reason)

    @property
    def rationale(self) -> NDArray[np.object_] | None:
        """Rationales, as text; None where they were not asked for."""
        return self._columns.rationale

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name, not copied; those that were not asked for are left out."""
        columns = {name: getattr(self, name) for name in COLUMNS}
        return {name: column for name, column in columns.items() if column is not None}

    def to_arrow(self) -> pa.Table:
        """Return the columns as an Arrow table, with nulls where a value is absent.

        Level, basis and reason are dictionary encoded, at one byte a query.

        Raises:
            MissingDependencyError: pyarrow is not installed.
        """
        try:
            import pyarrow as pa
        except ImportError:
            raise MissingDependencyError("Assessments.to_arrow()", "eval") from None
        encoded = {
            "level": (LEVELS, self._columns.level),
            "basis": (BASES, self._columns.basis),
            "reason": (REASON_NAMES, self._columns.reason),
        }
        columns = {}
        for name in COLUMNS:
            if name in encoded:
                names, codes = encoded[name]
                indices = _with_nulls(codes, codes < 0)
                columns[name] = pa.DictionaryArray.from_arrays(indices, pa.array(names))
            elif (values := getattr(self, name)) is not None:
                columns[name] = _with_nulls(values, values != values)  # NaN is no figure
        return pa.table(columns)


def assess_many(
    cosines: Many,
    *,
    scores: Many | None = None,
    thresholds: Thresholds | None = None,
    calibration: Calibrator | None = None,
    term_coverage: ArrayLike | pa.Array | pa.ChunkedArray | None = None,
    rationale: bool = False,
) -> Assessments:
    """Assess each row of an array, row for row equal to `assess`.

    Works in blocks: the input is not copied. Cosines of float64 and float32, in a table or in
    Arrow lists without nulls, are read where they are.

    Args:
        cosines: `[queries, candidates]` raw cosines, NaN and inf count as unscored; or Arrow
            lists of numbers, one list a query: an array or a chunked array of lists, large lists
            or lists of a fixed size, or a column of another library that hands over one. A null
            in a list is a candidate without a cosine; a null list is a query of which nothing was
            measured, `unknown`.
        scores: Keyword or hybrid scores of the same queries, in either form. They decide only
            where no cosine is usable; these rows go through `assess` one by one.
        thresholds: Other thresholds than the default ones.
        calibration: Decides the level where cosines are usable. A `Baseline` takes the
            rows as a stream, one by one.
        term_coverage: `[queries]`, 0 to 1, NaN or null where it is not known; without candidates
            there is none.
        rationale: Write the rationale of each row, which takes a hundred times as long.

    Raises:
        ConfigurationError: The calibration or the thresholds are something else.
        InvalidInputError: The input is not a two-dimensional array of numbers, or the other columns
            do not fit it.
    """
    import numpy as np

    if calibration is not None:
        require_calibrator(calibration)
    in_force = thresholds_in_force(thresholds)
    rows = read_rows(cosines)
    other = None if scores is None else read_rows(scores)
    if other is not None and len(other) != len(rows):
        raise InvalidInputError(
            f"scores must hold one row for each of {len(rows)} queries, got {len(other)}"
        )
    coverage = None if term_coverage is None else as_array(term_coverage)
    if coverage is not None and coverage.shape != (len(rows),):
        raise InvalidInputError(
            f"term_coverage must hold one number for each of {len(rows)} queries, got an array of "
            f"shape {coverage.shape}"
        )
    counts = rows.sizes
    if other is not None:
        counts = np.where(other.sizes > 0, other.sizes, counts)
    out = Columns.make(
        len(rows),
        probability=calibration is not None,
        coverage=coverage is not None,
        rationale=rationale,
    )
    task = Task(rows, other, in_force, calibration, coverage, out, counts)
    task.run()
    return Assessments(out, counts)


def _with_nulls(column: NDArray[Any], absent: NDArray[np.bool_]) -> pa.Array:
    """Return a column for Arrow; one without nulls is not copied, in a tenth of the time."""
    import pyarrow as pa

    return pa.array(column, mask=absent) if absent.any() else pa.array(column)


def _named(names: tuple[str, ...], codes: NDArray[np.int8]) -> NDArray[np.str_]:
    """Return the names of codes; -1 is the empty text."""
    import numpy as np

    column: NDArray[np.str_] = np.take(np.array([*names, ""]), codes)
    return column
