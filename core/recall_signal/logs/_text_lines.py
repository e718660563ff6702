"""Where in a text file of a log something is wrong; looked for once reading has failed."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import suppress
from io import TextIOWrapper
from itertools import chain, dropwhile, islice
from pathlib import Path
from typing import BinaryIO, TypeAlias, cast

__all__ = ["damaged_json_line", "json_line", "odd_csv_line", "record_line", "row_line"]

DELIMITERS = ",;\t|"

_UNREADABLE = (OSError, EOFError, zlib.error)
"""What a damaged or vanished file raises."""

_Record: TypeAlias = tuple[int, list[str] | None]
"""The line at which a record of a CSV file begins, and its values; None where it has none."""


def damaged_json_line(path: Path) -> int | None:
    """Return the first line that is no JSON, or holds half of a character; None without one."""
    with suppress(*_UNREADABLE), _opened(path) as file:
        for number, line in enumerate(file, 1):
            try:
                if line.strip():
                    json.dumps(json.loads(line), ensure_ascii=False).encode()
            except (ValueError, RecursionError):
                return number
    return None


def json_line(path: Path, row: int) -> int | None:
    """Return the line of a row, counted from 0; an empty line is no row."""
    with suppress(*_UNREADABLE), _opened(path) as file:
        lines = (number for number, line in enumerate(file, 1) if line.strip())
        return next(islice(lines, row, None), None)
    return None


def record_line(path: Path, record: int) -> int | None:
    """Return the line at which a record of a CSV file begins, counted from 1, empty ones too."""
    line, _ = next(islice(_records(path), record - 1, None), (None, None))
    return line


def row_line(path: Path, column: str, row: int) -> int | None:
    """Return the line at which a row of a CSV file with a column begins, counted from 0."""
    line, _ = next(islice(_rows(path, column), row + 1, None), (None, None))
    return line


def odd_csv_line(path: Path, column: str) -> int | None:
    """Return the line of the first row that has more or fewer values than a header with a column.

    None where there is no such row, or no such header.
    """
    rows = _rows(path, column)
    _, header = next(rows, (0, None))
    return next((line for line, row in rows if not row or len(row) != len(header or [])), None)


def _rows(path: Path, column: str) -> Iterator[_Record]:
    """Yield the header that has a column, if there is one, and the records behind it."""

    def is_before(record: _Record) -> bool:
        return column.casefold() not in map(str.casefold, record[1] or [])

    return (record for record in dropwhile(is_before, _records(path)) if record[1] != [])


def _records(path: Path) -> Iterator[_Record]:
    line = 1
    with suppress(*_UNREADABLE), _opened(path) as binary:
        file = TextIOWrapper(binary, encoding="utf-8-sig", errors="replace", newline="")
        first = file.readline()
        delimiter = max(DELIMITERS, key=first.count)
        records = csv.reader(chain([first], file), delimiter=delimiter, strict=True)
        try:
            for record in records:
                yield line, record
                line = records.line_num + 1
        except csv.Error as error:
            if "field limit" not in str(error):  # but a quote that is open, or in a wrong place
                yield line, None


def _opened(path: Path) -> BinaryIO:
    kind = gzip.open if path.suffix.lower() == ".gz" else open
    return cast("BinaryIO", kind(path, "rb"))
