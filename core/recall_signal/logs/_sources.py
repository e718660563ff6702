"""The files of a log, whatever their format: cut into units, each read in small batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import unquote

from recall_signal._safe_text import shown, terminal_text
from recall_signal.errors import InvalidInputError
from recall_signal.logs._logged import CANDIDATES, WORDS_COUNT
from recall_signal.logs._score_batch import OUTDATED, BatchScorer
from recall_signal.logs._spool import OPEN, no_part
from recall_signal.logs._text_files import describe_text, nothing_in, read_text
from recall_signal.logs._text_types import TextFormat

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Format", "Log", "Unit", "find_log", "naming"]

Format: TypeAlias = Literal["parquet"] | TextFormat

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
            raise nothing_in(self.folder / self.files[0])
        return units

    def names_calibration(self) -> bool:
        """Return whether rows name a calibration, as far as `_named` knows."""
        return bool(self._named("calibration"))

    def encoders(self) -> set[str]:
        """Return names of the encoders of the queries, as far as `_named` knows."""
        return self._named("encoder")

    def _named(self, column: str) -> set[str]:
        """Return values of a column of names, from all statistics, or the first rows of texts."""
        if column not in self.schema.names or not _is_text(self.schema.field(column).type):
            return set()
        if self.format == "parquet":
            return set().union(*(_extremes(self.folder / file, column) for file in self.files))
        first = next(self.batches(self.units()[0], [column]), None)
        values = [] if first is None else first.column(0).unique().to_pylist()
        return {str(value) for value in values if value is not None}

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
        names = [name for name in columns if name not in self.partitions]
        if self.format == "parquet":
            found = _read_group(path, unit.group, names)
        else:
            found = read_text(path, self.format, dict(self.types), names, size=BATCH, skip=skip)
        for batch in found:
            yield self._fitted(batch, unit, columns)

    def _fitted(self, batch: pa.RecordBatch, unit: Unit, columns: Sequence[str]) -> pa.RecordBatch:
        """Return a batch with these columns, each of the log's type."""
        import pyarrow as pa

        if batch.schema.equals(pa.schema([self.schema.field(name) for name in columns])):
            return batch
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


def _read_group(path: Path, group: int | None, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Read those of the columns of a row group that the file has."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            held = file.schema_arrow.names
            names = [name for name in columns if name in held]
            yield from file.iter_batches(
                BATCH, row_groups=[group], columns=names, use_threads=False
            )
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from None


def _partitions(file: str) -> dict[str, str | None]:
    """Return what the names of a file's folders say, None for the name that stands for null."""
    pairs = (part.partition("=") for part in PurePosixPath(file).parent.parts)
    read = {unquote(name): unquote(value) for name, sign, value in pairs if sign}
    return {name: None if value == _NULL_FOLDER else value for name, value in read.items()}


_NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"


def _is_text(kind: pa.DataType) -> bool:
    """Return True for texts, and for dictionaries of them."""
    import pyarrow as pa

    held = kind.value_type if pa.types.is_dictionary(kind) else kind
    return held in (pa.string(), pa.large_string(), pa.string_view())


def _extremes(path: Path, name: str) -> set[str]:
    """Return the first and last texts of a column, by the statistics of a Parquet file."""
    import pyarrow.parquet as pq

    found = pq.read_metadata(path)
    groups = map(found.row_group, range(found.num_row_groups))
    columns = (group.column(place) for group in groups for place in range(group.num_columns))
    known = (column.statistics for column in columns if column.path_in_schema == name)
    return {end for stats in known if stats and stats.has_min_max for end in (stats.min, stats.max)}


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
        raise InvalidInputError(f"there is no log {shown(path)}: give a file or a folder")
    if not files and (path / OPEN).is_dir():
        raise no_part(path)
    kinds = {kind for name in files if (kind := _format(name))}
    if len(kinds) != 1:
        raise InvalidInputError(
            f"{shown(path)} holds files of {' and '.join(sorted(kinds)) or 'no known format'}; "
            f"expected one of {', '.join(ENDINGS)}"
        )
    kind = kinds.pop()
    if kind == "parquet":
        return _parquet_log(folder, files, scorer)
    return _text_log(folder, files, kind, scorer)


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Name the file of a log in what refuses its columns or values."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(f"{shown(Path(file))}: {error}") from None


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


def _text_log(folder: Path, files: Sequence[str], kind: TextFormat, scorer: BatchScorer) -> Log:
    """Unite the columns of text files."""
    paths = [path for path in (folder / name for name in files) if path.stat().st_size]
    if not paths:
        raise nothing_in(folder / files[0])
    schema, types = describe_text(paths, kind, scorer)
    scorer.check(schema)
    names = tuple(path.relative_to(folder).as_posix() for path in paths)
    return Log(folder, names, kind, schema, tuple(types.items()))


def _unreadable(path: Path, error: Exception) -> InvalidInputError:
    return InvalidInputError(
        f"{shown(path)} cannot be read as Parquet ({type(error).__name__}); a file that was cut "
        "has no end by which to read it: write it again, or leave it out"
    )
