"""Text files of a log, JSON lines and CSV, as DuckDB reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from recall_signal._safe_text import shown, terminal_text
from recall_signal.errors import InvalidInputError, MissingDependencyError
from recall_signal.logs._schema import require_arrow
from recall_signal.logs._score_batch import BatchScorer
from recall_signal.logs._text_lines import (
    damaged_json_line,
    json_line,
    odd_csv_line,
    record_line,
    row_line,
)
from recall_signal.logs._text_types import (
    RAW,
    TextFormat,
    column_type,
    literal,
    quoted,
    raw_type,
    tests_in_sql,
    values_in_sql,
)

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["describe_text", "nothing_in", "read_text"]


def describe_text(
    paths: Sequence[Path], kind: TextFormat, scorer: BatchScorer
) -> tuple[pa.Schema, dict[str, str]]:
    """Return the columns of text files, and their SQL types: what the files' beginnings say.

    Args:
        paths: Files that are not empty.
        kind: Of all of them.
        scorer: Names the columns of cosines, scores and coverages.

    Raises:
        InvalidInputError: There is no row or no such column, or a value is not of its type.
    """
    duck = _duckdb()
    given = {scorer.cosines: "DOUBLE[]"} if kind == "csv" else {}
    with duck.connect(config={"threads": 1}) as connection:
        try:
            source = _source(paths, kind, given, detect=True)
            rows = _columns(connection, source)
            if [name for name, _ in rows] == ["json"]:  # for DuckDB, too many keys for columns
                rows = _columns(connection, _source(paths, kind, given, detect=True, keys=True))
            if kind == "csv" and scorer.scores in dict(rows):
                given |= {scorer.scores: "DOUBLE[]"}
                rows = _columns(connection, _source(paths, kind, given, detect=True))
            if kind == "csv":
                _check_headers(connection, paths, scorer)
            else:
                _check_keys(connection, paths, [name for name, _ in rows])
            for name, found in rows:
                if name in (scorer.cosines, scorer.scores):
                    _check_numbers(connection, paths, name, found)
            if not any(_has_row(connection, path, kind, given) for path in paths):
                raise nothing_in(paths[0])
            types = {name: column_type(name, found, scorer) for name, found in rows}
            others = _written_otherwise(connection, paths, kind, tests_in_sql(types, scorer))
            types |= dict.fromkeys(others, "VARCHAR")
        except (duck.Error, RuntimeError) as error:
            if kind == "csv" and scorer.cosines in str(error):
                raise _without_list(paths, scorer) from None
            raise _stopped(_named(paths, error), kind, error) from None
        nothing = ", ".join(f"NULL::{found} AS {quoted(name)}" for name, found in types.items())
        schema = connection.sql(f"SELECT {nothing} LIMIT 0").to_arrow_table().schema
    return schema, types


def read_text(
    path: Path,
    kind: TextFormat,
    types: Mapping[str, str],
    columns: Sequence[str],
    *,
    size: int,
    skip: int = 0,
) -> Iterator[pa.RecordBatch]:
    """Read a text file; columns that it does not have are null.

    Args:
        path: The file.
        kind: Its format.
        types: SQL types of all columns of the log.
        columns: To be read, in this order.
        size: Rows of a batch.
        skip: Rows at the beginning that are passed over.

    Raises:
        InvalidInputError: The file is damaged, or a value is not of its column's type.
    """
    duck = _duckdb()
    with duck.connect(config={"threads": 1}) as connection:
        try:
            if kind == "csv":  # of JSON lines, a column that is nowhere reads as null
                held = _held(connection, path)
            else:
                held = {name.casefold(): name for name in types}
            own = {name: held.get(name.casefold()) for name in columns}
            given = {held: raw_type(types[name], kind) for name, held in own.items() if held}
            source = _source([path], kind, given)
            found = connection.sql(f"SELECT {values_in_sql(own, types)} FROM {source}")  # noqa: S608
            reader = getattr(found, "to_arrow_reader", found.fetch_arrow_reader)(size)
            row = 0
            for read in reader:
                _check_whole(read.column(len(columns)), path, kind, row, own)
                row += read.num_rows
                batch = read.select(list(range(len(columns))))
                if skip >= batch.num_rows:
                    skip -= batch.num_rows
                    continue
                yield batch.slice(skip)
                skip = 0
        except (duck.Error, RuntimeError, OSError) as error:  # the last one by way of Arrow
            raise _stopped(path, kind, error) from None


def _check_whole(
    flaws: pa.Array, path: Path, kind: TextFormat, row: int, own: Mapping[str, str | None]
) -> None:
    """Refuse a batch of which a row has something else in a column of whole numbers.

    Args:
        flaws: True for such a row.
        path: The file.
        kind: Its format.
        row: Of the file, that is the first of the batch.
        own: Columns, and what the file calls them.
    """
    if not flaws.true_count:
        return
    row += flaws.index(True).as_py()
    held = next(filter(None, own.values()), "")
    line = json_line(path, row) if kind == "json" else row_line(path, held, row)
    raise _bad_at(path, kind, line)


def nothing_in(path: Path) -> InvalidInputError:
    """Return the error for files without a row, of which this is the first."""
    return InvalidInputError(f"{shown(path)} holds no row: nothing to score")


def _check_headers(connection: Any, paths: Sequence[Path], scorer: BatchScorer) -> None:
    """Refuse CSV files of which one has no cosines: DuckDB unites them, and gives it nulls."""
    for path in paths:
        if scorer.cosines.casefold() not in _held(connection, path):
            raise _without_cosines(path, scorer)


def _check_keys(connection: Any, paths: Sequence[Path], names: Sequence[str]) -> None:
    """Refuse keys that differ in case alone: DuckDB names one anew, and finds nothing under that.

    Args:
        connection: Of DuckDB.
        paths: Files of JSON lines.
        names: Their columns, as DuckDB names them.
    """
    known = {name.casefold(): name for name in names}
    for name in names:
        key, is_numbered, _ = name.rpartition("_")
        twin = known.get(key.casefold())
        if is_numbered and twin is not None and not _has_key(connection, paths, name):
            raise InvalidInputError(
                f"the keys {terminal_text(twin)} and {terminal_text(key)} of the log differ in "
                "case alone, as two columns cannot: rename one of them"
            )


def _has_key(connection: Any, paths: Sequence[Path], name: str) -> bool:
    """Return whether any line has this very key."""
    source = f"read_json_objects({_files(paths)}, {_JSON_LINES})"
    query = f"SELECT 1 FROM {source} WHERE list_contains(json_keys(json), {literal(name)}) LIMIT 1"  # noqa: S608
    return bool(connection.execute(query).fetchall())


def _held(connection: Any, path: Path) -> dict[str, str]:
    """Return the columns of a CSV file, by their names without regard to case as DuckDB's are."""
    columns = _columns(connection, _source([path], "csv", {}))
    return {name.casefold(): name for name, _ in columns}


def _columns(connection: Any, source: str) -> list[tuple[str, str]]:
    """Return the names and SQL types of the columns of a source."""
    rows = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()  # noqa: S608
    return [(name, kind) for name, kind, *_ in rows]


def _has_row(connection: Any, path: Path, kind: TextFormat, types: dict[str, str]) -> bool:
    source = _source([path], kind, types, detect=True)
    found = connection.execute(f"SELECT 1 FROM {source} LIMIT 1").fetchall()  # noqa: S608
    return bool(found)


def _check_numbers(connection: Any, paths: Sequence[Path], name: str, found: str) -> None:
    """Refuse lists of texts or truth values, which DuckDB would turn into numbers.

    Args:
        connection: Of DuckDB.
        paths: The files.
        name: Of the column.
        found: Its type, by the files' beginnings; JSON where they hold values of several types.
    """
    texts = found in ("VARCHAR[]", "BOOLEAN[]")
    if found == "JSON[]":
        source = _source(paths, "json", {name: "JSON[]"})
        held = f"list_transform({quoted(name)}, lambda x: json_type(x))"
        query = f"SELECT 1 FROM {source} WHERE list_has_any({held}, ['VARCHAR', 'BOOLEAN']) LIMIT 1"  # noqa: S608
        texts = bool(connection.execute(query).fetchall())
    if texts:
        raise InvalidInputError(
            f"the lists of the column {terminal_text(name)} hold texts or truth values; write "
            "cosines and scores as numbers, such as [0.8, 0.3]"
        )


def _written_otherwise(
    connection: Any, paths: Sequence[Path], kind: TextFormat, tests: Mapping[str, str]
) -> Iterable[str]:
    """Return those columns that hold other texts than their types would be written as.

    Args:
        connection: Of DuckDB.
        paths: The files, of which the first rows are read.
        kind: Their format.
        tests: Columns, and what is true of such a text, in SQL.
    """
    if not tests:
        return ()
    source = _source(paths, kind, dict.fromkeys(tests, RAW[kind]))
    found = ", ".join(f"bool_or({test})" for test in tests.values())
    query = f"SELECT {found} FROM (SELECT * FROM {source} LIMIT {SAMPLE})"  # noqa: S608
    (flaws,) = connection.execute(query).fetchall()
    return compress(tests, flaws)


SAMPLE = 20_480
"""Rows from which DuckDB finds the types of the columns of a CSV file, too."""

_PATTERN = re.compile(r"([*?\[])")

_NO_FOLDERS = "hive_partitioning=false"
_JSON_LINES = f"format='newline_delimited', {_NO_FOLDERS}"


def _source(
    paths: Sequence[Path],
    kind: TextFormat,
    types: dict[str, str],
    *,
    detect: bool = False,
    keys: bool = False,
) -> str:
    """Return the table function of DuckDB that reads these text files, and no others.

    DuckDB takes a path for a pattern, and finds columns in the names of folders.

    Args:
        paths: The files.
        kind: Their format.
        types: SQL types of columns; of JSON lines, no other ones are read.
        detect: Find out the other columns and their types.
        keys: Each key of JSON lines is a column, however many there are.
    """
    files = _files(paths)
    columns = "{" + ", ".join(f"{literal(n)}: {literal(t)}" for n, t in types.items()) + "}"
    if kind == "json":
        if detect:
            more = ", map_inference_threshold=-1" if keys else ""
            return f"read_json({files}, {_JSON_LINES}, union_by_name=true{more})"
        return f"read_json({files}, {_JSON_LINES}, columns={columns})"
    given = f", types={columns}" if types else ""
    return f"read_csv({files}, header=true, {_NO_FOLDERS}, union_by_name=true{given})"


def _files(paths: Sequence[Path]) -> str:
    return "[" + ", ".join(literal(_PATTERN.sub(r"[\1]", str(path))) for path in paths) + "]"


def _without_cosines(path: Path, scorer: BatchScorer) -> InvalidInputError:
    return InvalidInputError(
        f"{shown(path)} has no column {scorer.cosines}, a list of cosines for each query, such as "
        '"[0.8, 0.3]"; name the right one'
    )


def _without_list(paths: Sequence[Path], scorer: BatchScorer) -> InvalidInputError:
    """Return the error for CSV files in one of which DuckDB finds no cosines.

    Where a row has other values than the header, DuckDB takes all of them for one column.
    """
    for path in paths:
        if (line := odd_csv_line(path, scorer.cosines)) is not None:
            return InvalidInputError(
                f"{shown(path)} cannot be read as CSV at line {line}: the row there has more or "
                "fewer values than the header, or a quote that is not closed; mend or remove it"
            )
    return _without_cosines(paths[0], scorer)


def _named(paths: Sequence[Path], error: Exception) -> Path:
    """Return the file that DuckDB's message names, else the first one."""
    said = str(error)
    return next((path for path in paths if f'"{path}"' in said or f" = {path}\n" in said), paths[0])


def _stopped(path: Path, kind: TextFormat, error: Exception) -> BaseException:
    """Return what ended a query of DuckDB, which turns Ctrl-C into an error of its own."""
    if re.match("(query |interrupt error: )interrupted", str(error), re.IGNORECASE):
        return KeyboardInterrupt()  # the message of any other error may quote the log
    is_told = isinstance(error, (_duckdb().Error, OSError))
    return _bad_text(path, kind, error) if is_told else error


def _bad_text(path: Path, kind: TextFormat, error: Exception) -> InvalidInputError:
    """Return an error that names the place; DuckDB's own message shows what stands there."""
    found = re.search(r"[Ll]ine:? (\d+)", str(error))
    line = None if found is None else int(found[1])
    if kind == "json":  # DuckDB counts no empty line
        line = damaged_json_line(path) or (line and json_line(path, line - 1))
    else:  # and a value of several lines as one
        line = line and (record_line(path, line) or line)
    return _bad_at(path, kind, line)


def _bad_at(path: Path, kind: TextFormat, line: int | None) -> InvalidInputError:
    place = "" if line is None else f" at line {line}"
    return InvalidInputError(
        f"{shown(path)} cannot be read as {'JSON lines' if kind == 'json' else 'CSV'}{place}: it "
        "is cut there, or a value is of another type than in the lines before; mend or remove it"
    )


def _duckdb() -> ModuleType:
    require_arrow()
    try:
        import duckdb
    except ImportError:
        raise MissingDependencyError("A log of JSON lines or CSV", "logs") from None
    found: ModuleType = duckdb
    return found
