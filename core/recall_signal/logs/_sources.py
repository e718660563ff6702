"""The files of a log, whatever their format: cut into units, each read in small batches."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from urllib.parse import unquote

from recall_signal._safe_text import terminal_text
from recall_signal.errors import InvalidInputError, MissingDependencyError
from recall_signal.logs._logged import CANDIDATES, WORDS_COUNT
from recall_signal.logs._schema import require_arrow
from recall_signal.logs._score_batch import OUTDATED, BatchScorer

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Format", "Log", "Unit", "find_log", "naming"]

Format: TypeAlias = Literal["parquet", "json", "csv"]

ENDINGS: dict[str, Format] = {
    ".parquet": "parquet",
    ".jsonl": "json",
    ".ndjson": "json",
    ".jsonl.gz": "json",
    ".csv": "csv",
    ".csv.gz": "csv",
}

BATCH = 8192
"""Rows read at a time: twice as fast as eight times as many, since they stay in the cache."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of work that is done in one go.

    Attributes:
        file: Path relative to the log.
        group: The row group of a Parquet file; None for the whole of a text file.
        size: Rows of a group, bytes of a text file.
    """

    file: str
    group: int | None
    size: int


@dataclass(frozen=True, slots=True)
class Log:
    """The files of a log.

    Attributes:
        folder: What their paths are relative to.
        files: Relative paths, sorted.
        format: Of all of them.
        schema: Of the columns that can be read.
        types: Columns and their SQL types, of text files.
        partitions: Columns whose values are names of folders, as in `day=2026-03-04`.
    """

    folder: Path
    files: tuple[str, ...]
    format: Format
    schema: pa.Schema
    types: tuple[tuple[str, str], ...] = ()
    partitions: tuple[str, ...] = ()

    def with_partitions(self, scorer: BatchScorer) -> Log:
        """Return this log with its partitions as columns of texts, behind its own.

        Those whose name a column has already, or one that scoring reads or makes, are left out.
        """
        import pyarrow as pa

        read = {scorer.cosines, scorer.scores, scorer.term_coverage, CANDIDATES, WORDS_COUNT}
        taken = {*self.schema.names, *OUTDATED, *read}
        found = dict.fromkeys(chain.from_iterable(map(_partitions, self.files)))
        names = tuple(name for name in found if name not in taken)
        schema = pa.schema([*self.schema, *(pa.field(name, pa.string()) for name in names)])
        return replace(self, schema=schema, partitions=names)

    def units(self) -> list[Unit]:
        """Return the units in order.

        Raises:
            InvalidInputError: There is no row.
        """
        if self.format != "parquet":
            return [Unit(name, None, (self.folder / name).stat().st_size) for name in self.files]
        import pyarrow.parquet as pq

        units = []
        for name in self.files:
            found = pq.read_metadata(self.folder / name)
            rows = (found.row_group(at).num_rows for at in range(found.num_row_groups))
            units += [Unit(name, at, size) for at, size in enumerate(rows) if size]
        if not units:
            raise InvalidInputError(f"the log {_shown(self.folder)} holds no row: nothing to score")
        return units

    def names_calibration(self) -> bool:
        """Return whether rows name a calibration: all by statistics, or the first ones of texts."""
        name = "calibration"
        if self.format != "parquet":
            first = next(self.batches(self.units()[0], [name]), None) if self._has(name) else None
            return first is not None and first.column(0).null_count < len(first)
        return self._has(name) and any(_holds(self.folder / file, name) for file in self.files)

    def _has(self, name: str) -> bool:
        return name in self.schema.names

    def batches(
        self, unit: Unit, columns: Sequence[str], skip: int = 0
    ) -> Iterator[pa.RecordBatch]:
        """Read a unit; columns that its file does not have are null.

        Args:
            unit: The unit.
            columns: To be read, in this order.
            skip: Rows at the beginning that are passed over; text files only.

        Raises:
            InvalidInputError: The file is damaged, or a value is not of its column's type.
        """
        path = self.folder / unit.file
        read = self._parquet if unit.group is not None else self._text
        names = [name for name in columns if name not in self.partitions]
        for batch in read(path, unit, names, skip):
            yield self._fitted(batch, unit, columns)

    def _fitted(self, batch: pa.RecordBatch, unit: Unit, columns: Sequence[str]) -> pa.RecordBatch:
        """Return a batch with these columns, each of the log's type."""
        import pyarrow as pa

        folders = _partitions(unit.file)
        made = []
        for name in columns:
            kind = self.schema.field(name).type
            if name in batch.schema.names:
                column = batch.column(name)
                made.append(column if column.type == kind else column.cast(kind))
            else:
                value = folders.get(name) if name in self.partitions else None
                made.append(pa.repeat(pa.scalar(value, kind), batch.num_rows))
        return pa.RecordBatch.from_arrays(made, names=list(columns))

    def _parquet(
        self, path: Path, unit: Unit, columns: Sequence[str], _skip: int
    ) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with pq.ParquetFile(path) as file:
                held = file.schema_arrow.names
                names = [name for name in columns if name in held]
                yield from file.iter_batches(
                    BATCH, row_groups=[unit.group], columns=names, use_threads=False
                )
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(path, error) from None

    def _text(
        self, path: Path, _unit: Unit, columns: Sequence[str], skip: int
    ) -> Iterator[pa.RecordBatch]:
        duck = _duckdb()
        types = dict(self.types)
        with duck.connect(config={"threads": 1}) as connection:
            try:
                if self.format == "csv":  # of JSON lines, a column that is nowhere reads as null
                    held = _held(connection, path)
                else:
                    held = {name.casefold(): name for name in types}
                own = {name: held.get(name.casefold()) for name in columns}
                given = {held_as: types[name] for name, held_as in own.items() if held_as}
                source = _source([path], self.format, given)
                names = ", ".join(
                    f"{_quoted(held_as) if held_as else f'NULL::{types[name]}'} AS {_quoted(name)}"
                    for name, held_as in own.items()
                )
                found = connection.sql(f"SELECT {names} FROM {source}")  # noqa: S608
                reader = getattr(found, "to_arrow_reader", found.fetch_arrow_reader)(BATCH)
                for batch in reader:
                    if skip >= batch.num_rows:
                        skip -= batch.num_rows
                        continue
                    yield batch.slice(skip)
                    skip = 0
            except (duck.Error, RuntimeError) as error:
                raise _stopped(path, self.format, error) from None


def _partitions(file: str) -> dict[str, str | None]:
    """Return what the names of a file's folders say, None for the name that stands for null."""
    pairs = (part.partition("=") for part in PurePosixPath(file).parent.parts)
    read = {unquote(name): unquote(value) for name, sign, value in pairs if sign}
    return {name: None if value == _NULL_FOLDER else value for name, value in read.items()}


_NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"


def _holds(path: Path, name: str) -> bool:
    """Return whether the statistics of a Parquet file know of a value in a column."""
    import pyarrow.parquet as pq

    found = pq.read_metadata(path)
    for at in range(found.num_row_groups):
        group = found.row_group(at)
        columns = (group.column(place) for place in range(group.num_columns))
        for column in columns:
            stats = column.statistics if column.path_in_schema == name else None
            if stats is not None and stats.num_values:
                return True
    return False


def find_log(log: str | Path, scorer: BatchScorer) -> Log:
    """Return the files of a log, a single file or a folder of files of one format.

    Names that begin with `_` or `.` are passed over, as readers of partitioned folders do.

    Raises:
        InvalidInputError: There is no such file, more than one format, or no such column.
    """
    path = Path(log)
    folder = path.parent if path.is_file() else path
    if path.is_file():
        files = [path.name]
    elif path.is_dir():
        found = (part.relative_to(path) for part in path.rglob("*") if part.is_file())
        files = sorted(part.as_posix() for part in found if _counts(part))
    else:
        raise InvalidInputError(f"there is no log {_shown(path)}: give a file or a folder")
    kinds = {kind for name in files if (kind := _format(name))}
    if len(kinds) != 1:
        raise InvalidInputError(
            f"{_shown(path)} holds files of {' and '.join(sorted(kinds)) or 'no known format'}; "
            f"expected one of {', '.join(ENDINGS)}"
        )
    kind = kinds.pop()
    if kind == "parquet":
        return _parquet_log(folder, files, scorer)
    made = _text_log(folder, files, kind, scorer)
    scorer.check(made.schema)
    return made


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Name the file of a log in what refuses its columns or values."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(f"{_shown(Path(file))}: {error}") from None


def _counts(path: Path) -> bool:
    return _format(path.name) is not None and not any(
        name.startswith(("_", ".")) for name in path.parts
    )


def _format(name: str) -> Format | None:
    return next((kind for end, kind in ENDINGS.items() if name.lower().endswith(end)), None)


def _parquet_log(folder: Path, files: Sequence[str], scorer: BatchScorer) -> Log:
    """Unite the columns of Parquet files; each has to have cosines."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema: pa.Schema | None = None
    for name in files:
        try:
            found = pq.read_schema(folder / name).remove_metadata()
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(folder / name, error) from None
        if schema is None or not found.equals(schema):
            with naming(name):
                scorer.check(found)
                schema = found if schema is None else _united(schema, found)
    return Log(folder, tuple(files), "parquet", schema)


def _united(schema: pa.Schema, found: pa.Schema) -> pa.Schema:
    """Return a schema with the columns of another one behind its own.

    Raises:
        InvalidInputError: A column of both has two types.
    """
    import pyarrow as pa

    for field in found:
        place = schema.get_field_index(field.name)
        if place < 0:
            schema = schema.append(field)
            continue
        own = schema.field(place)
        try:
            both = pa.unify_schemas([pa.schema([own]), pa.schema([field])])
        except pa.ArrowException:
            raise InvalidInputError(
                f"the column {terminal_text(field.name)} is {field.type} here and {own.type} in "
                "the files before; bring them to one type, or score the files one by one"
            ) from None
        schema = schema.set(place, both.field(0))
    return schema


def _text_log(folder: Path, files: Sequence[str], kind: Format, scorer: BatchScorer) -> Log:
    """Find the columns of text files: types are what the files' beginnings say."""
    duck = _duckdb()
    paths = [path for path in (folder / name for name in files) if path.stat().st_size]
    if not paths:
        raise InvalidInputError(f"{_shown(folder / files[0])} holds no row: nothing to score")
    given = {scorer.cosines: "DOUBLE[]"} if kind == "csv" else {}
    with duck.connect(config={"threads": 1}) as connection:
        try:
            source = _source(paths, kind, given, detect=True)
            rows = _columns(connection, source)
            if kind == "csv" and scorer.scores in dict(rows):
                given |= {scorer.scores: "DOUBLE[]"}
                rows = _columns(connection, _source(paths, kind, given, detect=True))
            if kind == "csv":
                _check_headers(connection, paths, scorer)
            for name, found in rows:
                if name in (scorer.cosines, scorer.scores):
                    _check_numbers(connection, paths, name, found)
            if not any(_has_row(connection, path, kind, given) for path in paths):
                raise InvalidInputError(f"{_shown(paths[0])} holds no row: nothing to score")
        except (duck.Error, RuntimeError) as error:
            if kind == "csv" and scorer.cosines in str(error):
                raise _without_cosines(paths[0], scorer) from None
            raise _stopped(paths[0], kind, error) from None
        types = {name: _column_type(name, found, scorer) for name, found in rows}
        nothing = ", ".join(f"NULL::{found} AS {_quoted(name)}" for name, found in types.items())
        schema = connection.sql(f"SELECT {nothing} LIMIT 0").to_arrow_table().schema
    names = tuple(path.relative_to(folder).as_posix() for path in paths)
    return Log(folder, names, kind, schema, tuple(types.items()))


def _check_headers(connection: Any, paths: Sequence[Path], scorer: BatchScorer) -> None:
    """Refuse CSV files of which one has no cosines: DuckDB unites them, and gives it nulls."""
    for path in paths:
        if scorer.cosines.casefold() not in _held(connection, path):
            raise _without_cosines(path, scorer)


def _held(connection: Any, path: Path) -> dict[str, str]:
    """Return the columns of a CSV file, by their names without regard to case as DuckDB's are."""
    columns = _columns(connection, _source([path], "csv", {}))
    return {name.casefold(): name for name, _ in columns}


def _columns(connection: Any, source: str) -> list[tuple[str, str]]:
    """Return the names and SQL types of the columns of a source."""
    rows = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()  # noqa: S608
    return [(name, kind) for name, kind, *_ in rows]


def _has_row(connection: Any, path: Path, kind: Format, types: dict[str, str]) -> bool:
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
        held = f"list_transform({_quoted(name)}, lambda x: json_type(x))"
        query = f"SELECT 1 FROM {source} WHERE list_has_any({held}, ['VARCHAR', 'BOOLEAN']) LIMIT 1"  # noqa: S608
        texts = bool(connection.execute(query).fetchall())
    if texts:
        raise InvalidInputError(
            f"the lists of the column {terminal_text(name)} hold texts or truth values; write "
            "cosines and scores as numbers"
        )


def _column_type(name: str, found: str, scorer: BatchScorer) -> str:
    """Return the SQL type by which a column is read."""
    if name in (scorer.cosines, scorer.scores):
        # A column of nulls only has no type of its own.
        return "DOUBLE[]" if found.endswith("[]") or found == "JSON" else found
    if name == CANDIDATES and found in ("JSON", "VARCHAR"):  # of nulls only, likewise
        return "BIGINT"
    return "DOUBLE" if name == scorer.term_coverage else found


_PATTERN = re.compile(r"([*?\[])")

_NO_FOLDERS = "hive_partitioning=false"
_JSON_LINES = f"format='newline_delimited', {_NO_FOLDERS}"


def _source(
    paths: Sequence[Path], kind: Format, types: dict[str, str], *, detect: bool = False
) -> str:
    """Return the table function of DuckDB that reads these text files, and no others.

    DuckDB takes a path for a pattern, and finds columns in the names of folders.
    """
    files = "[" + ", ".join(_literal(_PATTERN.sub(r"[\1]", str(path))) for path in paths) + "]"
    columns = "{" + ", ".join(f"{_literal(n)}: {_literal(t)}" for n, t in types.items()) + "}"
    if kind == "json":
        if detect:
            return f"read_json({files}, {_JSON_LINES}, union_by_name=true)"
        return f"read_json({files}, {_JSON_LINES}, columns={columns})"
    given = f", types={columns}" if types else ""
    return f"read_csv({files}, header=true, {_NO_FOLDERS}, union_by_name=true{given})"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _without_cosines(path: Path, scorer: BatchScorer) -> InvalidInputError:
    return InvalidInputError(
        f"{_shown(path)} has no column {scorer.cosines}, a list of cosines for each query, such as "
        '"[0.8, 0.3]"; name the right one'
    )


def _stopped(path: Path, kind: Format, error: Exception) -> BaseException:
    """Return what ended a query of DuckDB, which turns Ctrl-C into an error of its own."""
    if "interrupted" in str(error).lower():
        return KeyboardInterrupt()
    return _bad_text(path, kind, error) if isinstance(error, _duckdb().Error) else error


def _bad_text(path: Path, kind: Format, error: Exception) -> InvalidInputError:
    """Return an error that names the place; DuckDB's own message shows what stands there."""
    line = _first_bad_line(path) if kind == "json" else None
    if line is None and (found := re.search(r"[Ll]ine:? (\d+)", str(error))):
        line = int(found[1])
    place = "" if line is None else f" at line {line}"
    return InvalidInputError(
        f"{_shown(path)} cannot be read as {'JSON lines' if kind == 'json' else 'CSV'}{place}: it "
        "is cut there, or a value is of another type than in the lines before; mend or remove it"
    )


def _first_bad_line(path: Path) -> int | None:
    if path.suffix == ".gz":
        return None
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                json.loads(line or b"null") if line.strip() else None
            except (ValueError, RecursionError):
                return number
    return None


def _unreadable(path: Path, error: Exception) -> InvalidInputError:
    return InvalidInputError(
        f"{_shown(path)} cannot be read as Parquet ({type(error).__name__}); a file that was cut "
        "has no end by which to read it: write it again, or leave it out"
    )


def _shown(path: Path) -> str:
    return terminal_text(str(path.name))


def _duckdb() -> ModuleType:
    require_arrow()
    try:
        import duckdb
    except ImportError:
        raise MissingDependencyError("A log of JSON lines or CSV", "logs") from None
    found: ModuleType = duckdb
    return found
