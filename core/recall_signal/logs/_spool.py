"""The open part of a log: an Arrow stream that survives its writer, and becomes a Parquet part.

A part is written from its stream in one way, whoever does it: the writer at its turn, or another
process that finds the stream of one that was killed. Its name comes from the stream's, so that
doing it twice makes one part::

    LOG/_open/2026-03-04.101500-1f0c9a2b.arrows         the open part
    LOG/day=2026-03-04/part-101500-1f0c9a2b.parquet     the part
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from time import time
from typing import TYPE_CHECKING
from uuid import uuid4
from weakref import WeakSet

from recall_signal._files import (
    SHARED,
    NotRegularError,
    make_real_folder,
    open_regular,
    sync_folder,
)
from recall_signal._given import given_path
from recall_signal._safe_text import shown
from recall_signal.errors import InvalidInputError
from recall_signal.logs._schema import parquet_options

try:
    import fcntl
except ImportError:  # pragma: no cover  (Windows)
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["OPEN", "Spool", "close_part", "no_part", "recover"]

log = logging.getLogger(__name__)

OPEN = "_open"
"""Folder of the open parts; readers of partitioned folders pass over names that begin so."""

ABANDONED = 86_400.0
"""Seconds without a change after which a stream counts as abandoned where files have no locks."""

MARK = b"\xff" * 4
"""Begins a message of a stream; the length of what describes it follows, in four bytes."""

MOST_DESCRIBED = 65_536
"""Most bytes of that length; those of a log have 1,300, and its schema 3,000."""


def no_part(folder: Path) -> InvalidInputError:
    """Return the error for a log whose rows are all in its open part, or are still to come."""
    return InvalidInputError(
        f"{shown(folder)} holds no part of a log yet; a part is closed after an hour, or by "
        "LogWriter.rotate() or close()"
    )


class Spool:
    """The stream of the rows since the last part; locked for as long as it is open.

    Every batch is one write to the operating system: a process that is killed leaves all batches
    but perhaps the last one whole.

    Args:
        folder: The log.
        schema: Of the rows.
        day: UTC day of the rows, as in `2026-03-04`.
    """

    def __init__(self, folder: Path, schema: pa.Schema, day: str) -> None:
        import pyarrow as pa

        self.day = day
        self.rows = self.bytes = 0
        self.path, self._file = _open_locked(folder / OPEN, day)
        self._buffer = BytesIO()
        self._stream = pa.ipc.new_stream(self._buffer, schema)
        _open.add(self)

    def append(self, batch: pa.RecordBatch) -> None:
        """Append rows.

        Raises:
            OSError: They could not be written whole; the stream must not be appended to again.
        """
        self._stream.write_batch(batch)
        data = memoryview(self._buffer.getvalue())
        self._buffer.seek(0)
        self._buffer.truncate()
        self.rows, self.bytes = self.rows + batch.num_rows, self.bytes + len(data)
        while data:
            data = data[os.write(self._file, data) :]

    def is_gone(self) -> bool:
        """Return True where the file was removed, or has been moved from its place."""
        try:
            return not os.path.samestat(os.fstat(self._file), self.path.lstat())
        except OSError as error:
            return isinstance(error, FileNotFoundError | NotADirectoryError)

    def close(self, metadata: dict[str, str] | None = None) -> Path | None:
        """Turn the stream into a part, and return it; None where there was nothing in it."""
        try:
            return close_part(self.path, metadata)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let go of the stream without a part; whoever recovers the log makes it."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)


_open: WeakSet[Spool] = WeakSet()
"""The streams of this process."""


def _let_go_in_fork() -> None:
    """Close what a fork has inherited: a lock lasts as long as any descriptor of its file.

    The lock is not taken back, which would end the parent's.
    """
    for spool in list(_open):
        spool.abandon()
    _open.clear()


if hasattr(os, "register_at_fork"):  # pragma: no branch  (Windows)
    os.register_at_fork(after_in_child=_let_go_in_fork)


def close_part(stream: Path, metadata: dict[str, str] | None = None) -> Path | None:
    """Write the part of a stream and remove the stream.

    The part has its name only when it is whole and on the disk. Of a stream that ends in the
    middle of a batch, the batches before it are kept. One that is damaged before its end stays,
    under another name; one that cannot be read stays as it is.

    Args:
        stream: A file in the folder of open parts.
        metadata: Further keys of the part's metadata.

    Returns:
        The part; None where the stream had no row.

    Raises:
        OSError: The stream cannot be read, or the part not be written.
    """
    batches, is_whole = _read(stream)
    part = _write_part(stream, batches, metadata or {}) if batches else None
    if is_whole:
        stream.unlink(missing_ok=True)
    else:
        _set_aside(stream, sum(batch.num_rows for batch in batches))
    return part


def _write_part(stream: Path, batches: list[pa.RecordBatch], metadata: dict[str, str]) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_batches(batches)
    day, _, rest = stream.stem.partition(".")
    target = stream.parents[1] / f"day={day}" / f"part-{rest}.parquet"
    beside = stream.with_suffix(f".{uuid4().hex[:8]}.tmp")
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **metadata})
    try:
        with beside.open("xb") as file:
            with pq.ParquetWriter(file, table.schema, **parquet_options(table.schema)) as writer:
                writer.write_table(table)
            file.flush()
            os.fsync(file.fileno())
        make_real_folder(target.parent)
        beside.replace(target)
    except (OSError, pa.ArrowException):
        beside.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)
    return target


def _set_aside(stream: Path, rows: int) -> None:
    """Keep a damaged stream under a name that is not tried again."""
    kept = stream.with_suffix(".damaged")
    stream.replace(kept)
    log.warning(
        "the log: an open part is damaged; its first %d rows are in the log, and the file is kept "
        "as %s/%s",
        rows,
        OPEN,
        kept.name,
    )


def recover(folder: str | Path) -> int:
    """Make the parts of streams whose writers are no more; return how many rows they held.

    Args:
        folder: The folder of the log.

    Raises:
        ConfigurationError: It is no path.
        OSError: A stream cannot be read, or a part not be written; it holds up no other.
    """
    folder, found = given_path("folder", folder), 0
    if (folder / OPEN).is_symlink():  # what is in there is somebody else's
        return 0
    failed: OSError | None = None
    for stream in sorted((folder / OPEN).glob("*.arrows")):
        try:
            found += _recover_one(stream)
        except (FileNotFoundError, NotRegularError):
            pass
        except OSError as error:
            failed = error
    for beside in (folder / OPEN).glob("*.tmp"):
        with suppress(OSError):
            if time() - beside.stat().st_mtime > ABANDONED:  # nobody writes a part for a day
                beside.unlink()
    if failed is not None:
        raise failed
    return found


def _recover_one(stream: Path) -> int:
    file = open_regular(stream, os.O_RDWR)
    try:
        if not _lock(file, stream) or not stream.exists():
            return 0
        part = close_part(stream)
        if part is None:
            return 0
        import pyarrow.parquet as pq

        rows: int = pq.read_metadata(part).num_rows
        log.info("the log: %d rows of a writer that is no more are in %s", rows, part.name)
        return rows
    finally:
        os.close(file)


def _read(stream: Path) -> tuple[list[pa.RecordBatch], bool]:
    """Return the batches of a stream, and whether nothing is lost with it but a cut end.

    Raises:
        OSError: It cannot be read. Arrow raises that too, of bytes that are none of its own, so
            the file is read without it.
    """
    import pyarrow as pa

    data = stream.read_bytes()
    batches: list[pa.RecordBatch] = []
    source, end = pa.BufferReader(data), 0
    with suppress(pa.ArrowException, OSError):
        reader = pa.ipc.open_stream(source)
        end = source.tell()
        with suppress(StopIteration):
            while True:
                batch = reader.read_next_batch()
                batch.validate(full=True)
                batches.append(batch)
                end = source.tell()
    return batches, _is_cut(data[end:])


def _is_cut(rest: bytes) -> bool:
    """Return True where the rest of a stream is the beginning of one message, or nothing.

    A system that lost power may have left zeros of what it had not written.
    """
    import pyarrow as pa

    if not rest.strip(b"\0"):
        return True
    if not MARK.startswith(rest[:4]) or int.from_bytes(rest[4:8], "little") > MOST_DESCRIBED:
        return False
    source = pa.BufferReader(rest)
    with suppress(pa.ArrowException, OSError):
        pa.ipc.read_message(source)
        return False
    return bool(source.tell() == len(rest))


def _open_locked(folder: Path, day: str) -> tuple[Path, int]:
    """Open a new stream, locked before anybody could take it for one that was left."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    make_real_folder(folder)
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    while True:
        name = f"{day}.{datetime.now(UTC):%H%M%S}-{uuid4().hex[:8]}.arrows"
        path = folder / name
        file = os.open(path, flags, SHARED)
        if _lock(file, path) and path.exists():
            return path, file
        os.close(file)


def _lock(file: int, path: Path) -> bool:
    """Lock an open stream; False where its writer is alive."""
    if fcntl is None:  # pragma: no cover  (Windows)
        new = not path.stat().st_size
        return new or time() - path.stat().st_mtime > ABANDONED
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
