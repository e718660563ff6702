"""Scoring in DuckDB's SQL, through a function."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from recall_signal.errors import MissingDependencyError
from recall_signal.logs._schema import require_arrow
from recall_signal.logs._score_batch import SCORED, BatchScorer

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

__all__ = ["register_duckdb", "scored_column"]

WORDS = ("level", "basis", "reason")

SQL_TYPES = {**dict.fromkeys(WORDS, "VARCHAR"), "result_count": "BIGINT"}
"""Types of columns in SQL; every other one is a figure."""

FIGURE = "DOUBLE"


def register_duckdb(
    connection: duckdb.DuckDBPyConnection,
    scorer: BatchScorer | None = None,
    *,
    name: str = "recall_signal",
) -> None:
    """Add the function `recall_signal(cosines, term_coverage)` to a connection.

    It returns a structure of the scored columns, as in `recall_signal(cosines, NULL).level`. Plain
    SQL (`sql_levels`) needs no Python and takes less time, but knows no calibration.

    Args:
        connection: Of DuckDB.
        scorer: Its calibration and thresholds are used; by default those of `BatchScorer()`.
        name: Name of the function.

    Raises:
        MissingDependencyError: DuckDB or pyarrow is not installed.
    """
    require_arrow()
    try:
        import duckdb
    except ImportError:
        raise MissingDependencyError("register_duckdb", "logs") from None
    options = import_module("duckdb.func" if find_spec("duckdb.func") else "duckdb.functional")
    given = scorer or BatchScorer()
    returned = duckdb.struct_type(
        {name: duckdb.type(SQL_TYPES.get(name, FIGURE)) for name in SCORED}
    )
    connection.create_function(
        name,
        lambda cosines, coverage: scored_column(given, cosines, coverage),  # it reads annotations
        [duckdb.type("DOUBLE[]"), duckdb.type("DOUBLE")],
        returned,
        type=options.PythonUDFType.ARROW,
        null_handling=options.FunctionNullHandling.SPECIAL,
    )


def scored_column(
    scorer: BatchScorer, cosines: pa.ChunkedArray, term_coverage: pa.ChunkedArray
) -> pa.Array:
    """Return the scored columns as a structure, absent ones too."""
    arrow = require_arrow()
    plain = replace(
        scorer,
        cosines="cosines",
        scores=None,
        term_coverage="term_coverage",
        keep=(),
        encoded=False,
    )
    made = plain(arrow.table({"cosines": cosines, "term_coverage": term_coverage}))
    absent = arrow.nulls(made.num_rows)
    fields = [arrow.field(name, _type(name)) for name in SCORED]
    columns = [made[name] if name in made.column_names else absent for name in SCORED]
    flat = [_flat(column, field.type) for column, field in zip(columns, fields, strict=True)]
    return arrow.StructArray.from_arrays(flat, fields=fields)


def _type(name: str) -> pa.DataType:
    arrow = require_arrow()
    kinds = {"VARCHAR": arrow.string(), "BIGINT": arrow.int64(), FIGURE: arrow.float64()}
    return kinds[SQL_TYPES.get(name, FIGURE)]


def _flat(column: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    column = column.cast(kind)
    return column.combine_chunks() if hasattr(column, "chunks") else column
