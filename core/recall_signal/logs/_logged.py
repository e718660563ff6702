"""Figures of a log that its cosines do not show: candidates, and the reason of an unknown level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from recall_signal.errors import InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "CANDIDATES",
    "check_counts",
    "joined",
    "with_candidates",
    "with_counts",
    "with_unknown",
]

CANDIDATES = "candidates"
"""Column of the number of candidates."""

MEASURED = ("no_scores", "score_out_of_range")
"""Reasons that are found again in the cosines."""

MOST_REASONS = 100
"""Reasons of a batch at most, further ones are null: their codes take one byte."""


def check_counts(kind: pa.DataType) -> None:
    """Refuse a column of candidates that holds no numbers.

    Raises:
        InvalidInputError: It holds something else.
    """
    from pyarrow import types

    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_null(kind)):
        raise _no_counts(kind)


def with_counts(signals: pa.Table) -> pa.Table:
    """Return signals whose `result_count` is of one type, whatever lists the cosines are."""
    import pyarrow as pa

    counts = {"result_count": signals["result_count"].cast(pa.int64())}
    return _changed(signals, counts)


def with_candidates(
    signals: pa.Table, unmeasured: pa.Array, candidates: pa.Array | pa.ChunkedArray
) -> pa.Table:
    """Return signals that count the candidates of pools without any cosine.

    Raises:
        InvalidInputError: A number of candidates is not whole.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        given = candidates.cast(pa.int64())
    except pa.ArrowInvalid:
        raise _no_counts(candidates.type) from None
    known = pc.max_element_wise(pc.fill_null(given, 0), 0)
    empty = pc.and_(unmeasured, pc.equal(pc.fill_null(given, 1), 0))
    return _changed(
        signals,
        {
            "result_count": pc.if_else(unmeasured, known, signals["result_count"]),
            "level": pc.if_else(empty, "none", signals["level"].cast(pa.string())),
            "reason": pc.if_else(empty, None, signals["reason"].cast(pa.string())),
        },
    )


def with_unknown(
    signals: pa.Table, level: pa.Array | pa.ChunkedArray, reason: pa.Array | pa.ChunkedArray
) -> pa.Table:
    """Return signals in which a query stays unknown where no cosine shows the reason.

    Args:
        signals: Made anew.
        level: As logged.
        reason: As logged.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (_is_text(level.type) and _is_text(reason.type)):
        return signals
    logged = reason.cast(pa.string())
    found_again = pc.is_in(logged, value_set=pa.array([None, *MEASURED], pa.string()))
    unknown = pc.fill_null(pc.equal(level.cast(pa.string()), "unknown"), False)
    kept = pc.and_(unknown, pc.invert(found_again))
    if not pc.any(kept, min_count=0).as_py():
        return signals
    absent = ("top_score", "prominence", "relative_margin", "basis", "probability")
    columns = {name: signals[name] for name in absent if name in signals.column_names}
    texts = {"level": "unknown", "reason": logged}
    return _changed(
        signals,
        {
            **{
                name: pc.if_else(kept, pa.scalar(None, _plain(column.type)), _decoded(column))
                for name, column in columns.items()
            },
            **{
                name: pc.if_else(kept, text, signals[name].cast(pa.string()))
                for name, text in texts.items()
            },
        },
    )


def joined(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece."""
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _no_counts(kind: pa.DataType) -> InvalidInputError:
    return InvalidInputError(
        f"the column {CANDIDATES} must hold whole numbers, how many candidates a query had, got "
        f"{kind}; give it another name where it means something else"
    )


def _is_text(kind: pa.DataType) -> bool:
    from pyarrow import types

    value = _plain(kind)
    return bool(types.is_string(value) or types.is_large_string(value) or types.is_null(value))


def _plain(kind: pa.DataType) -> pa.DataType:
    from pyarrow import types

    return kind.value_type if types.is_dictionary(kind) else kind


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(_plain(column.type))


def _changed(signals: pa.Table, columns: Mapping[str, pa.ChunkedArray]) -> pa.Table:
    """Return signals with other columns, names encoded as before."""
    from pyarrow import types

    for name, column in columns.items():
        place = signals.schema.get_field_index(name)
        encoded = types.is_dictionary(signals.schema.field(name).type)
        made = _encoded(column, signals[name]) if encoded else column
        signals = signals.set_column(place, name, made)
    return signals


def _encoded(column: pa.ChunkedArray, like: pa.ChunkedArray) -> pa.Array:
    """Return names encoded by the dictionary of another column, and an adapter's own behind it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = joined(like).dictionary
    own = pc.unique(joined(column)).drop_null()
    own = own.filter(pc.invert(pc.is_in(own, value_set=names)))
    if len(own):
        names = pa.concat_arrays([names, own[: MOST_REASONS - len(names)]])
    codes = pc.index_in(joined(column), value_set=names).cast(pa.int8())
    return pa.DictionaryArray.from_arrays(codes, names)
