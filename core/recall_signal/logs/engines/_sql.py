"""The rules of `assess` as plain SQL, for warehouses that take no Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from recall_signal._given import given_column, given_names, kind_of
from recall_signal._safe_text import terminal_text
from recall_signal.errors import ConfigurationError
from recall_signal.thresholds import (
    MIN_BACKGROUND,
    RANGE_TOLERANCE,
    Thresholds,
    thresholds_in_force,
)

__all__ = ["Dialect", "sql_levels"]

Dialect: TypeAlias = Literal["duckdb", "spark"]


@dataclass(frozen=True, slots=True)
class Functions:
    """Peculiarities of a dialect: its quote, and its functions on lists.

    Attributes:
        quote: Of a column's name.
        usable: The finite values of a list, as float64.
        size: The length of a list.
        highest: The highest of `rs_values`.
        lowest: The lowest.
        total: Their sum, in any order.
        exact: The sum of all but the highest, as if it were rounded once: the error of each step
            is carried along (Neumaier, 1974).
    """

    quote: str
    usable: str
    size: str
    highest: str
    lowest: str
    total: str
    exact: str


_CARRIED = (
    "a.c + CASE WHEN ABS(a.s) >= ABS({x}) "
    "THEN (a.s - (a.s + {x})) + {x} ELSE ({x} - (a.s + {x})) + a.s END"
)
"""The error of adding x to the sum so far, added to the errors before it."""

_DUCKDB_EXACT = (
    "list_reduce(list_transform(list_reverse_sort(rs_values)[2:], "
    "lambda x: {'s': x, 'c': 0e0}), "
    f"lambda a, b: {{'s': a.s + b.s, 'c': {_CARRIED.format(x='b.s')}}})"
)

_FUNCTIONS: dict[Dialect, Functions] = {
    "duckdb": Functions(
        quote='"',
        usable="list_filter(CAST({0} AS DOUBLE[]), lambda x: isfinite(x))",
        size="len({0})",
        highest="list_max(rs_values)",
        lowest="list_min(rs_values)",
        total="list_sum(rs_values)",
        exact=f"({_DUCKDB_EXACT}).s + ({_DUCKDB_EXACT}).c",
    ),
    "spark": Functions(
        quote="`",
        usable="filter(transform({0}, x -> CAST(x AS DOUBLE)), x -> "
        "x IS NOT NULL AND NOT isnan(x) AND ABS(x) < CAST('Infinity' AS DOUBLE))",
        size="array_size({0})",
        highest="array_max(rs_values)",
        lowest="array_min(rs_values)",
        total="aggregate(rs_values, 0e0, (a, x) -> a + x)",
        exact="aggregate(slice(sort_array(rs_values, false), 2, rs_number), "
        "named_struct('s', 0e0, 'c', 0e0), "
        f"(a, x) -> named_struct('s', a.s + x, 'c', {_CARRIED.format(x='x')}), "
        "a -> a.s + a.c)",
    ),
}

_QUERY = """\
WITH rs_read AS (
  SELECT {read}{usable} AS rs_values, {size} AS rs_size
  FROM {table}
), rs_measured AS (
  SELECT *, {length} AS rs_number, {highest} AS rs_top, {lowest} AS rs_lowest,
    ({total} - {highest}) / NULLIF({length} - 1, 0) AS rs_mean
  FROM rs_read
), rs_settled AS (
  SELECT *, CASE
    WHEN rs_number > 1 AND ({near})
    THEN ({exact}) / (rs_number - 1) ELSE rs_mean END AS rs_background
  FROM rs_measured
), rs_compared AS (
  SELECT *, CASE WHEN rs_background > {least}
    THEN (rs_top - rs_background) / rs_background END AS rs_prominence
  FROM rs_settled
)
SELECT {kept}
  CASE
    WHEN rs_size = 0 THEN 'none'
    WHEN rs_size IS NULL OR rs_number = 0 THEN 'unknown'
    WHEN rs_top > {beyond} OR rs_lowest < -{beyond} THEN 'unknown'
    WHEN rs_number = 1 AND rs_top >= {cosine_high} THEN 'moderate'
    WHEN rs_number = 1 THEN 'low'
    WHEN rs_prominence IS NULL AND rs_top >= {cosine_high} THEN 'high'
    WHEN rs_prominence IS NULL AND rs_top >= {cosine_moderate} THEN 'moderate'
    WHEN rs_prominence IS NULL AND rs_top >= {cosine_low} THEN 'low'
    WHEN rs_prominence IS NULL THEN 'none'
    WHEN rs_prominence >= {prominence_high} AND rs_top >= {cosine_moderate} THEN 'high'
    WHEN rs_prominence >= {prominence_moderate} AND rs_top >= {cosine_low} THEN 'moderate'
    WHEN rs_top >= {cosine_high} THEN 'moderate'
    WHEN rs_prominence >= {prominence_low} THEN 'low'
    ELSE 'none'
  END AS level,
  CASE
    WHEN rs_number = 0 OR rs_top > {beyond} OR rs_lowest < -{beyond} THEN NULL
    WHEN rs_prominence IS NOT NULL THEN 'prominence'
    WHEN rs_number > 0 THEN 'absolute'
  END AS basis,
  CASE
    WHEN rs_size IS NULL OR (rs_size > 0 AND rs_number = 0) THEN 'no_scores'
    WHEN rs_top > {beyond} OR rs_lowest < -{beyond} THEN 'score_out_of_range'
  END AS reason,
  COALESCE(rs_size, 0) AS result_count,
  rs_top AS top_unrounded,
  rs_prominence AS prominence_unrounded
FROM rs_compared
"""

MADE = frozenset(
    {"level", "basis", "reason", "result_count", "top_unrounded", "prominence_unrounded"}
)
"""The columns that the query makes."""

NEAR = "1e-9"
"""Closer than this to a cut, the last bits of the sum decide, so that it is added exactly."""


def sql_levels(
    table: str,
    *,
    keep: Sequence[str] = ("run_id",),
    cosines: str = "cosines",
    thresholds: Thresholds | None = None,
    dialect: Dialect = "duckdb",
) -> str:
    """Return a query that gives each row of a table its level, as `assess` does.

    Its columns are those that are kept, `level`, `basis`, `reason`, `result_count`, and the top
    cosine and the prominence, not rounded. Without a calibration and without keyword scores; a
    null list is `unknown`, an empty one `none`. The last step, the rules, is standard SQL; for a
    warehouse of another dialect write the functions on lists of the first three steps in its own.

    Args:
        table: A table, view or subquery in parentheses, as the dialect writes it. It is put into
            the query as it is, so it must not come from a stranger.
        keep: Columns of the table that the result keeps, other ones than it makes.
        cosines: Name of its column of lists of numbers.
        thresholds: Other cuts than the default ones.
        dialect: `duckdb` or `spark`.

    Raises:
        ConfigurationError: A setting is wrong.
    """
    if dialect not in list(_FUNCTIONS):
        given = f"{dialect!r:.40}" if isinstance(dialect, str) else kind_of(dialect)
        raise ConfigurationError(f"dialect must be one of {', '.join(_FUNCTIONS)}, got {given}")
    functions = _FUNCTIONS[dialect]
    kept = list(dict.fromkeys(given_names("keep", keep, "names of columns")))
    made = [name for name in kept if name.casefold() in MADE]
    if made:
        raise ConfigurationError(
            f"keep names {terminal_text(', '.join(made))}, which the query makes anew; give a "
            "subquery as the table, with another name for the old column"
        )
    cuts = thresholds_in_force(thresholds)
    column = _quoted(given_column("cosines", cosines), functions.quote)
    numbers = {name: _number(value) for name, value in cuts.to_dict().items() if _is_cut(name)}
    prominences = (numbers[f"prominence_{level}"] for level in ("low", "moderate", "high"))
    gaps = (f"ABS((rs_top - rs_mean) / rs_mean - {cut}) <= {NEAR}" for cut in prominences)
    near = f"ABS(rs_mean - {_number(MIN_BACKGROUND)}) <= {NEAR} OR (rs_mean > {NEAR} AND ("
    # Under names of its own, or a kept rs_top would be taken for the highest cosine.
    held = {f"rs_kept_{place}": _quoted(name, functions.quote) for place, name in enumerate(kept)}
    return _QUERY.format(
        read="".join(f"{name} AS {alias}, " for alias, name in held.items()),
        kept="".join(f"{alias} AS {name}, " for alias, name in held.items()),
        table=table,
        usable=functions.usable.format(column),
        size=functions.size.format(column),
        length=functions.size.format("rs_values"),
        highest=functions.highest,
        lowest=functions.lowest,
        total=functions.total,
        exact=functions.exact,
        near=near + " OR ".join(gaps) + "))",
        least=_number(MIN_BACKGROUND),
        beyond=_number(RANGE_TOLERANCE),
        **numbers,
    )


def _is_cut(name: str) -> bool:
    return name.startswith(("cosine_", "prominence_"))


def _number(value: float) -> str:
    """Return a number that a dialect reads as that float64, and not as a decimal."""
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def _quoted(name: str, quote: str) -> str:
    return quote + name.replace(quote, quote * 2) + quote
