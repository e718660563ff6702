"""The same rules for many queries at once, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from recall_signal.assess import assess
from recall_signal.confidence import LEVELS, Basis, RecallConfidence
from recall_signal.errors import InvalidInputError, MissingDependencyError
from recall_signal.thresholds import (
    DEFAULT_THRESHOLDS,
    MIN_BACKGROUND,
    RANGE_TOLERANCE,
    Thresholds,
)

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Assessments", "assess_many"]

_BASES: tuple[Basis, ...] = get_args(Basis)
_BLOCK = 1024
"""Rows a block: 1,024 x 50 float64 are 400 KB, so that every pass stays in the cache."""

_KNIFE_EDGE = 1e-9
"""Closer than this to a cut or to a rounding boundary, the order in which a sum is taken could
decide, so the row goes through :func:`assess` instead."""

_FLAT_SHARE, _FLAT_VARIANCE = 1e-4, 1e-12
"""Where the background holds less than this share of the sum of squares, or varies less than
this, its variance is mostly rounding error: these rows go through :func:`assess` as well."""


@dataclass(frozen=True, slots=True, eq=False)
class Assessments:
    """The signals of Q queries as columns of length Q.

    Without the rationale, which :func:`assess` writes for a single row, and without what takes a
    calibration or a reranker.

    Attributes:
        level: Level names, as text.
        top_score: float64, 3 decimals, NaN where :class:`RecallConfidence` has None.
        prominence: Likewise.
        relative_margin: Likewise.
        result_count: int64, candidates per query.
        basis: Text, empty where :class:`RecallConfidence` has None.
        reason: Likewise.
    """

    level: NDArray[np.str_]
    top_score: NDArray[np.float64]
    prominence: NDArray[np.float64]
    relative_margin: NDArray[np.float64]
    result_count: NDArray[np.int64]
    basis: NDArray[np.str_]
    reason: NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.level)

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """The columns by name, not copied."""
        return {name: getattr(self, name) for name in self.__slots__}

    def to_arrow(self) -> pa.Table:
        """The columns as an Arrow table, with nulls where a value is absent.

        Raises:
            MissingDependencyError: pyarrow is not installed.
        """
        try:
            import pyarrow as pa
        except ImportError:
            raise MissingDependencyError("Assessments.to_arrow()", "eval") from None
        columns = {}
        for name, values in self.to_dict().items():
            absent = values == "" if values.dtype.kind == "U" else values != values
            columns[name] = pa.array(values, mask=absent)
        return pa.table(columns)


def assess_many(cosines: ArrayLike, *, thresholds: Thresholds | None = None) -> Assessments:
    """:func:`assess` for each row of an array, row for row equal to it.

    Args:
        cosines: ``[queries, candidates]`` raw cosines; NaN and inf count as unscored.
        thresholds: Other cuts than the default ones.

    Raises:
        InvalidInputError: The input is not a two-dimensional array of numbers.
    """
    import numpy as np

    try:
        given: Any = np.ma.asarray(cosines)
        if given.dtype.kind in "OUSTMm" and any(isinstance(v, str | bytes) for v in given.flat):
            raise TypeError  # numpy would read numbers out of texts
        table = np.ma.filled(given.astype(np.float64), np.nan)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(
            "assess_many expects an array [queries, candidates] of numbers, with NaN where a "
            "cosine is missing"
        ) from None
    if table.ndim != 2:
        raise InvalidInputError(
            f"assess_many expects two dimensions [queries, candidates], got {table.ndim}; "
            "for one query use assess"
        )
    cuts = thresholds or DEFAULT_THRESHOLDS
    queries, candidates = table.shape
    out = Assessments(
        level=np.empty(queries, dtype="<U8"),
        top_score=np.full(queries, np.nan),
        prominence=np.full(queries, np.nan),
        relative_margin=np.full(queries, np.nan),
        result_count=np.full(queries, candidates, dtype=np.int64),
        basis=np.zeros(queries, dtype="<U11"),
        reason=np.zeros(queries, dtype="<U18"),
    )
    for start in range(0, queries, _BLOCK):
        _assess_block(table[start : start + _BLOCK], start, cuts, out)
    return out


def _assess_block(block: NDArray[np.float64], start: int, cuts: Thresholds, out: Any) -> None:
    """Fill the rows from ``start`` on; rows without a simple answer go through `assess`."""
    import numpy as np

    rows, candidates = block.shape
    certain = np.zeros(rows, dtype=bool)
    if candidates > 1:
        with np.errstate(all="ignore"):
            certain = _by_background(block, slice(start, start + rows), cuts, out)
    for row in np.flatnonzero(~certain):
        _store(out, start + int(row), assess(block[row], thresholds=cuts))


def _by_background(
    block: NDArray[np.float64], rows: slice, cuts: Thresholds, out: Any
) -> NDArray[np.bool_]:
    """Rules 1 to 3 of `assess` for a block of rows; returns the rows it decided for certain."""
    import numpy as np

    top, background, squares, others = _moments(block)
    lead = top - background
    variance = (squares - lead * lead) / others
    margin = np.where(others > 1, lead / np.sqrt(variance), np.nan)
    prominence = lead / background
    separable = background > MIN_BACKGROUND

    grade = np.where(separable, prominence, top)
    low, moderate, high = _cut_columns(separable, cuts)
    code = np.full(len(top), LEVELS.index("none"))
    code[grade >= low] = LEVELS.index("low")
    code[(grade >= moderate) & (top >= cuts.cosine_low)] = LEVELS.index("moderate")
    code[(grade >= high) & (top >= cuts.cosine_moderate)] = LEVELS.index("high")
    code[(code >= LEVELS.index("low")) & (top >= cuts.cosine_high)] = LEVELS.index("moderate")

    out.level[rows] = np.take(LEVELS, code)
    out.top_score[rows] = np.round(top, 3)
    out.prominence[rows] = np.where(separable, np.round(prominence, 3), np.nan)
    out.relative_margin[rows] = np.round(margin, 3)
    out.basis[rows] = np.where(separable, "prominence", "absolute")

    certain: NDArray[np.bool_] = np.isfinite(background) & (others >= 1) & (top <= RANGE_TOLERANCE)
    if not block.min() >= -RANGE_TOLERANCE:
        certain &= np.where(np.isfinite(block), block, 0.0).min(axis=1) >= -RANGE_TOLERANCE
    spread = (variance * others > _FLAT_SHARE * squares) & (variance > _FLAT_VARIANCE)
    certain &= (others == 1) | spread
    certain &= np.abs(background - MIN_BACKGROUND) > _KNIFE_EDGE
    for cut in (low, moderate, high):
        certain &= ~separable | (np.abs(grade - cut) > _KNIFE_EDGE)
    for figure in (top, np.where(separable, prominence, top), np.where(others > 1, margin, top)):
        thousands = np.abs(figure * 1000.0)
        certain &= np.abs(thousands % 1.0 - 0.5) > _KNIFE_EDGE * (1.0 + thousands)
    return certain


def _moments(block: NDArray[np.float64]) -> tuple[Any, Any, Any, Any]:
    """Of each row's finite values: top, mean of the others, squares around it, how many others."""
    import numpy as np

    top, total = block.max(axis=1), block.sum(axis=1)
    if np.isfinite(total).all():
        others: Any = np.full(len(block), block.shape[1] - 1)
        background = (total - top) / others
        spread = block - background[:, None]
    else:
        usable = np.isfinite(block)
        filled = np.where(usable, block, 0.0)
        others = np.count_nonzero(usable, axis=1) - 1
        top = np.where(usable, block, -np.inf).max(axis=1)
        background = (filled.sum(axis=1) - top) / others
        spread = np.where(usable, block - background[:, None], 0.0)
    return top, background, np.einsum("ij,ij->i", spread, spread), others


def _cut_columns(separable: NDArray[np.bool_], cuts: Thresholds) -> tuple[Any, Any, Any]:
    """The cuts of each row's own scale: prominence where there is a background, else cosine."""
    import numpy as np

    low, moderate, high = (
        np.where(separable, getattr(cuts, f"prominence_{level}"), getattr(cuts, f"cosine_{level}"))
        for level in ("low", "moderate", "high")
    )
    return low, moderate, high


def _store(out: Any, row: int, confidence: RecallConfidence) -> None:
    for name, value in confidence:
        if value is not None and hasattr(out, name):
            getattr(out, name)[row] = value
    for name in ("top_score", "prominence", "relative_margin"):
        if getattr(confidence, name) is None:
            getattr(out, name)[row] = float("nan")
    for name in ("basis", "reason"):
        if getattr(confidence, name) is None:
            getattr(out, name)[row] = ""
