"""The columns of a log: one row for each query, figures only.

Kept apart from any writer, so that whoever reads or makes a log can build on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recall_signal.errors import MissingDependencyError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "COLUMNS",
    "LOG_VERSION",
    "QUERY",
    "Column",
    "log_schema",
    "parquet_options",
    "require_arrow",
]

LOG_VERSION = 1
"""Of the format. A column may be added without another version; none is removed or changes its
meaning."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        name: Its name.
        type: Its Arrow type in words: `timestamp[us, UTC]`, `uuid`, `string`, `bool`, `int32`,
            `float32` or `list<float32>`.
        meaning: The value, and the cases in which it is null.
    """

    name: str
    type: str
    meaning: str


COLUMNS = (
    Column("ts", "timestamp[us, UTC]", "End of the query."),
    Column("run_id", "uuid", "Of the framework's run (LangChain) or event (LlamaIndex)."),
    Column("retriever", "string", "Name given to the writer, else the class that is searched."),
    Column("encoder", "string", "Name of the encoder of the queries, null where not known."),
    Column("calibration", "string", "Id of the calibration in use, null without one."),
    Column("calibration_status", "string", "As in `calibration_status`, null without one."),
    Column("level", "string", "high, moderate, low, none or unknown."),
    Column("basis", "string", "The figure that decided the level, null with unknown."),
    Column("reason", "string", "Why the level is unknown, else null."),
    Column("advice", "string", "read, fallback or undecided."),
    Column("selection_applied", "bool", "True where the page is the selected one."),
    Column("selection_reason", "string", "Why no selection was applied, else null."),
    Column("k", "int32", "Results on the page that the caller got."),
    Column("kept", "int32", "Results that the selector left, null where none was applied."),
    Column("dropped", "int32", "Results that the selector removed, null likewise."),
    Column("candidates", "int32", "Candidates in the pool."),
    Column("term_coverage", "float32", "Share of the query's terms that were found, or null."),
    Column(
        "words_count",
        "bool",
        "False where missing words say nothing, as of a question in another language than the "
        "texts: words can only help then; null where no calibration read them.",
    ),
    Column("probability", "float32", "P(something relevant), null without a calibration."),
    Column("latency_ms", "float32", "From the call to its reports, with the search."),
    Column(
        "cosines",
        "list<float32>",
        "Of every candidate in rank order, null for one without; null where no candidate has one.",
    ),
)
"""Every column of a log without texts, in order. Only `ts`, `run_id` and `level` are never null."""

QUERY = Column("query", "string", "The question; only in a log that was opened with texts=True.")

_NEVER_NULL = ("ts", "run_id", "level")


def log_schema(*, texts: bool = False) -> pa.Schema:
    """Return the Arrow schema of a log; its metadata holds the version.

    Names are plain strings, which every engine reads; in a file they are dictionary encoded.

    Args:
        texts: With the column `query`.

    Raises:
        MissingDependencyError: pyarrow is not installed.
    """
    arrow = require_arrow()
    types = {
        "timestamp[us, UTC]": arrow.timestamp("us", tz="UTC"),
        "uuid": arrow.binary(16),
        "string": arrow.string(),
        "bool": arrow.bool_(),
        "int32": arrow.int32(),
        "float32": arrow.float32(),
        "list<float32>": arrow.list_(arrow.field("element", arrow.float32())),  # its name in a file
    }
    columns = (*COLUMNS, QUERY) if texts else COLUMNS
    fields = [
        arrow.field(column.name, types[column.type], nullable=column.name not in _NEVER_NULL)
        for column in columns
    ]
    return arrow.schema(fields, metadata={"recall_signal.log_version": str(LOG_VERSION)})


def parquet_options(schema: pa.Schema) -> dict[str, object]:
    """Return the options by which a `pyarrow.parquet.ParquetWriter` keeps a log small.

    Cosines repeat seldom: split by bytes they take 149 bytes a row of fifty and are read in a
    fifth of the time that pyarrow's default, a dictionary, takes. Names take a byte or less.

    Args:
        schema: Of the log; columns that are not there have no option.
    """
    names = [column.name for column in COLUMNS if column.type in ("string", "int32")]
    options: dict[str, object] = {
        "compression": "zstd",
        "use_dictionary": [name for name in names if name in schema.names],
    }
    if "cosines" in schema.names:
        options["column_encoding"] = {"cosines.list.element": "BYTE_STREAM_SPLIT"}
    return options


def require_arrow() -> pa:
    """Return pyarrow.

    Raises:
        MissingDependencyError: It is not installed.
    """
    try:
        import pyarrow
    except ImportError:
        raise MissingDependencyError("A log", "logs") from None
    return pyarrow
