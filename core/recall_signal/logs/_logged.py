"""Figures of a log that its cosines do not show: candidates, and levels that rest on no cosine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from recall_signal.confidence import LEVELS
from recall_signal.errors import InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "CANDIDATES",
    "WORDS_COUNT",
    "check_counts",
    "joined",
    "with_candidates",
    "with_helping_words",
    "with_logged",
    "words_only_help",
]

CANDIDATES = "candidates"
"""Column of the number of candidates."""

MEASURED = ("no_scores", "score_out_of_range")
"""Reasons that are found again in the cosines."""

KNOWN_LEVELS = tuple(level for level in LEVELS if level != "unknown")

WORDS_COUNT = "words_count"
"""Column that is False where the missing words of a query say nothing."""

FIGURES = {
    "top_score": 3,
    "prominence": 3,
    "relative_margin": 3,
    "probability": 4,
    "term_coverage": 3,
}
"""Columns of figures that scoring makes, and their decimals."""

MOST_REASONS = 100
"""Reasons of a batch at most, further ones are null: their codes take one byte."""


def check_counts(kind: pa.DataType) -> None:
    """Refuse a column of candidates that holds no numbers.

    Raises:
        InvalidInputError: It holds something else.
    """
    from pyarrow import types

    if not (_is_number(kind) or types.is_null(kind)):
        raise _no_counts(kind)


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


def words_only_help(words_count: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return True for each query whose missing words say nothing; other types say nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = words_count.type
    if not (pa.types.is_boolean(kind) or pa.types.is_integer(kind)):
        words_count = pa.nulls(len(words_count), pa.bool_())
    return joined(pc.invert(pc.fill_null(words_count.cast(pa.bool_()), True)))


def with_helping_words(signals: pa.Table, only_help: pa.Array, alone: pa.Table) -> pa.Table:
    """Return signals in which words that can only help do so.

    Args:
        signals: Made with term coverages.
        only_help: True for the queries of such words.
        alone: The signals of these queries by their cosines alone.
    """
    import pyarrow.compute as pc

    both = signals.filter(only_help)
    harmed = pc.fill_null(pc.greater(alone["probability"], both["probability"]), False)
    columns = {}
    for name in ("level", "probability"):
        kind = _plain(signals[name].type)
        best = pc.if_else(harmed, alone[name].cast(kind), both[name].cast(kind))
        columns[name] = pc.replace_with_mask(signals[name].cast(kind), only_help, joined(best))
    return _changed(signals, columns)


def with_logged(signals: pa.Table, logged: Mapping[str, pa.Array | pa.ChunkedArray]) -> pa.Table:
    """Return signals in which a query keeps what was logged where no cosine can show it.

    That is an unknown level whose reason no cosine shows, and a level by keyword scores that are
    not in the log.

    Args:
        signals: Made anew.
        logged: The columns of the same names that the log has.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if "level" not in logged:  # a log of cosines alone: 6 % of the time of a file
        return signals
    words = {name: _texts(logged.get(name), len(signals)) for name in ("level", "basis", "reason")}
    level, basis, reason = words.values()
    found_again = pc.is_in(reason, value_set=pa.array([None, *MEASURED], pa.string()))
    kept = pc.and_(pc.equal(level, "unknown"), pc.invert(found_again))
    made = {name: signals[name].cast(pa.string()) for name in words}
    if made["reason"].null_count < len(signals):  # most batches have a figure in each row
        by_scores = pc.and_(
            pc.equal(basis, "separation"),
            pc.is_in(level, value_set=pa.array(KNOWN_LEVELS)),
        )
        kept = pc.or_kleene(kept, pc.and_(by_scores, pc.equal(made["reason"], "no_scores")))
    kept = pc.fill_null(kept, False)
    if not pc.any(kept, min_count=0).as_py():
        return signals
    columns = {name: pc.if_else(kept, text, made[name]) for name, text in words.items()}
    for name in FIGURES:
        if name in signals.column_names:
            columns[name] = pc.if_else(kept, _figure(logged.get(name), name), signals[name])
    return _changed(signals, columns)


def _texts(column: pa.Array | pa.ChunkedArray | None, rows: int) -> pa.Array | pa.ChunkedArray:
    """Return a logged column of names; nulls where there is none, or it is something else."""
    import pyarrow as pa

    if column is None or not _is_text(column.type):
        return pa.nulls(rows, pa.string())
    return column.cast(pa.string())


def _figure(
    column: pa.Array | pa.ChunkedArray | None, name: str
) -> pa.Array | pa.ChunkedArray | pa.Scalar:
    """Return a logged figure, rounded as it was before a log kept it in 32 bits; null likewise.

    One that is not finite is null, too.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if column is None or not _is_number(column.type):
        return pa.scalar(None, pa.float64())
    figure = pc.round(column.cast(pa.float64()), FIGURES[name])
    return pc.if_else(pc.is_finite(figure), figure, None)


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


def _is_number(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind))


def _is_text(kind: pa.DataType) -> bool:
    from pyarrow import types

    value = _plain(kind)
    are_texts = (types.is_string, types.is_large_string, types.is_string_view, types.is_null)
    return any(is_one(value) for is_one in are_texts)


def _plain(kind: pa.DataType) -> pa.DataType:
    from pyarrow import types

    return kind.value_type if types.is_dictionary(kind) else kind


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
