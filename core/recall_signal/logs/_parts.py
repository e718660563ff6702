"""The result of a scoring in parts: each is whole or not there, and so is the result."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recall_signal._files import (
    SHARED,
    NotRegularError,
    open_regular,
    read_bounded,
    replacing,
    sync_folder,
    write_whole,
)
from recall_signal._safe_text import terminal_text
from recall_signal.errors import ConfigurationError
from recall_signal.logs._score_batch import SCORED

try:
    import fcntl
except ImportError:  # pragma: no cover  (Windows)
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["Result", "is_file", "is_part", "levels_of", "part_last", "write_part"]

SUCCESS = "_SUCCESS"
PLAN = "recall_signal.plan"
LAST = "recall_signal.last"
LEVELS = "recall_signal.levels"
PLAN_BYTES = 1000
"""Most bytes of a plan that are read; it has 32."""
ROW_GROUP = 131_072
"""Rows that are written together, at least; ten megabytes where no texts are kept."""


def is_file(path: Path) -> bool:
    """Return True where a result of this name is a single file."""
    return path.suffix == ".parquet" and not path.is_dir()


@dataclass(frozen=True, slots=True)
class Result:
    """Target of a scoring: a file, or a folder of parts.

    Beside the result and hidden are, until it is whole, the folder of finished parts, the plan
    that they belong to, and a lock.

    Attributes:
        path: The result.
        plan: Names the log, its files and the settings; parts of another plan are thrown away.
    """

    path: Path
    plan: str

    @property
    def is_file(self) -> bool:
        """True where the result is a single file."""
        return is_file(self.path)

    @property
    def parts(self) -> Path:
        """The folder of finished parts."""
        return self._beside("parts")

    def _beside(self, kind: str) -> Path:
        return self.path.with_name(f".{self.path.name}.{kind}")

    @contextmanager
    def opened(self) -> Iterator[bool]:
        """Hold the lock and make the folder of parts; yields True where the result is whole.

        Raises:
            ConfigurationError: Another process writes to it, it is another folder, it has lost a
                part, or something else is in the place of what is kept beside it.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._refuse_what_is_foreign()
        lock = self._beside("lock")
        with _held(lock, self.path):
            done = self._is_whole()
            if not done:
                self._refuse_what_is_there()
                self._prepare()
            yield done
            self._clear()

    def _refuse_what_is_foreign(self) -> None:
        """Refuse links, pipes and devices in the place of what is kept beside the result."""
        files = [self._beside("lock"), self._beside("plan")]
        beside = [*files, self.parts]
        with suppress(FileNotFoundError):  # another run may be giving the parts their name
            beside += self.parts.rglob("*")
        for path in beside:
            with suppress(FileNotFoundError):
                mode = path.lstat().st_mode
                is_right = stat.S_ISREG(mode) if path in files else stat.S_ISDIR(mode)
                if not is_right and (self.parts not in path.parents or not stat.S_ISREG(mode)):
                    raise ConfigurationError(
                        f"{terminal_text(path.name)} beside the result is a link, or of another "
                        "kind than what a scoring keeps there; remove it"
                    )

    def _prepare(self) -> None:
        """Keep the parts of this plan alone."""
        plan = self._beside("plan")
        if not self._is_plan(plan):
            shutil.rmtree(self.parts, ignore_errors=True)
            write_whole(plan, self.plan, SHARED)
        self.parts.mkdir(exist_ok=True)
        for left in self.parts.rglob(".part-*"):
            left.unlink(missing_ok=True)

    def _is_whole(self) -> bool:
        """Return True where the result is there and whole.

        Raises:
            ConfigurationError: It was, and has lost a part since, or got one.
        """
        if self.path.is_dir():
            plan, _, number = self._marker(self.path / SUCCESS).partition(b" ")
            if plan != self.plan.encode():
                return False
            self._check_number(number)
            return True
        return self.is_file and self.path.is_file() and _footer(self.path)[0].get(PLAN) == self.plan

    def _check_number(self, had: bytes) -> None:
        """Compare the number of parts with that of a marker."""
        has = len(_parts_in(self.path))
        if had != b"%d" % has:
            raise ConfigurationError(
                f"{terminal_text(self.path.name)} has lost parts since it was finished, or got "
                f"others ({has} are there); remove it and score again"
            )

    def _is_plan(self, path: Path) -> bool:
        """Return True where this file holds the plan."""
        return self._marker(path) == self.plan.encode()

    @staticmethod
    def _marker(path: Path) -> bytes:
        """Return what a small file holds; nothing where there is none, or something else."""
        with suppress(FileNotFoundError, NotRegularError):
            return read_bounded(path, PLAN_BYTES, follow=False) or b""
        return b""

    def _refuse_what_is_there(self) -> None:
        """Refuse a folder, and a file that no scoring has made; an older result is replaced."""
        if self.path.is_file() and PLAN not in _footer(self.path)[0]:
            raise ConfigurationError(
                f"{terminal_text(self.path.name)} is there already, and no scoring has made it; "
                "remove it, or give another"
            )
        if self.path.is_dir():
            raise ConfigurationError(
                f"{terminal_text(self.path.name)} is a folder already, and not the result of this "
                "log with these settings; remove it, or give another"
            )

    def finish(self) -> None:
        """Give the result its name."""
        if self.is_file:
            parts = _parts_in(self.parts)
            holder = terminal_text(self.parts.name)
            keys = {PLAN: self.plan, LEVELS: json.dumps(_summed(parts, holder))}
            with replacing(self.path, SHARED) as beside:
                _join(parts, beside, keys, holder)
            return
        write_whole(self.parts / SUCCESS, f"{self.plan} {len(_parts_in(self.parts))}", SHARED)
        self.parts.rename(self.path)
        sync_folder(self.path.parent)

    def _clear(self) -> None:
        """Remove what is not needed once the result is whole."""
        shutil.rmtree(self.parts, ignore_errors=True)
        self._beside("plan").unlink(missing_ok=True)


def write_part(
    path: Path, batches: Iterable[pa.RecordBatch], schema: pa.Schema, keys: Mapping[str, str]
) -> int:
    """Write a part, and return its rows.

    Args:
        path: Its final name.
        batches: Taken one after the other.
        schema: Of each.
        keys: Of its metadata, to which the number of rows of each level is added.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    rows, levels = 0, Counter[str]()
    # What was left of parts is removed when their folder is opened.
    with (
        replacing(path, SHARED, clean=False) as beside,
        _writer(beside, schema, keys) as writer,
    ):
        for group in _groups(batches):
            writer.write_table(group, row_group_size=max(1, group.num_rows))
            rows += group.num_rows
            levels.update(_counted(group["level"]))
        writer.add_key_value_metadata({LEVELS: json.dumps(levels)})
    return rows


def _counted(levels: pa.ChunkedArray) -> dict[str, int]:
    return {entry["values"]: entry["counts"] for entry in levels.value_counts().to_pylist()}


def levels_of(result: Path) -> dict[str, int]:
    """Return how many rows of a whole result have which level, as its parts say.

    Raises:
        ConfigurationError: One of them is damaged, or none of ours.
    """
    paths = [result] if result.is_file() else _parts_in(result)
    return dict(_summed(paths, "the result"))


def _parts_in(folder: Path) -> list[Path]:
    return sorted(folder.rglob("part-*.parquet"))


def is_part(path: Path) -> bool:
    """Return True for a finished part, by what its end says."""
    return _levels(path) is not None


def _summed(parts: Iterable[Path], holder: str) -> Counter[str]:
    levels: Counter[str] = Counter()
    for part in parts:
        said = _levels(part)
        if said is None:
            raise _damaged(part, holder)
        levels.update(said)
    return levels


def _levels(part: Path) -> dict[str, int] | None:
    """Return how many rows of a part have which level; None where it does not say so."""
    keys, rows = _footer(part)
    with suppress(ValueError, TypeError):
        levels = json.loads(keys[LEVELS]) if LEVELS in keys else None
        if type(levels) is dict and sum(levels.values()) == rows:
            return levels
    return None


def _damaged(part: Path, holder: str) -> ConfigurationError:
    return ConfigurationError(
        f"{terminal_text(part.name)} of {holder} is damaged, or was put there by something else; "
        f"remove {holder} and score again"
    )


def _groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Put batches together: each call of a writer begins a row group, with its own dictionaries."""
    import pyarrow as pa

    taken: list[pa.RecordBatch] = []
    room = ROW_GROUP
    for batch in batches:
        taken.append(batch)
        room -= batch.num_rows
        if room <= 0:
            yield pa.Table.from_batches(taken)
            taken, room = [], ROW_GROUP
    if taken:
        yield pa.Table.from_batches(taken)


def part_last(path: Path) -> bool:
    """Return True for the last part of a text file."""
    return LAST in _footer(path)[0]


def _footer(path: Path) -> tuple[dict[str, str], int]:
    """Return the keys and the rows of a Parquet file; none where it cannot be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with suppress(pa.ArrowException, OSError):
        found = pq.read_metadata(path)
        keys = {
            key.decode("utf-8", "replace"): value.decode("utf-8", "replace")
            for key, value in (found.metadata or {}).items()
        }
        return keys, found.num_rows
    return {}, 0


def _join(parts: list[Path], target: Path, keys: Mapping[str, str], holder: str) -> None:
    """Write the parts one after the other into one file."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(parts[0]) as file:
        schema = file.schema_arrow
    with _writer(target, schema, keys) as writer:
        for part in parts:
            for batch in _read(part, holder):
                writer.write_batch(batch, row_group_size=ROW_GROUP)


def _read(part: Path, holder: str) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(part) as file:
            yield from file.iter_batches(ROW_GROUP, use_threads=False)
    except (pa.ArrowException, OSError):
        raise _damaged(part, holder) from None


def _writer(path: Path, schema: pa.Schema, keys: Mapping[str, str]) -> pq.ParquetWriter:
    """Return the writer of a file."""
    import pyarrow.parquet as pq

    marked = schema.with_metadata(dict(keys))
    # Rounded figures and names repeat, in no order: a compression of the codes of a dictionary
    # saves a byte a row, and statistics find nothing. A kept column may hold anything, and its
    # statistics may find the rows of a day.
    scored = [name for name in schema.names if name in SCORED]
    kept = [name for name in _leaves(schema) if name not in SCORED]
    return pq.ParquetWriter(
        path,
        marked,
        compression=dict.fromkeys(scored, "none") | dict.fromkeys(kept, "zstd"),
        use_dictionary=scored,
        write_statistics=kept,
    )


def _leaves(schema: pa.Schema) -> list[str]:
    """Return the names that the values of columns have in Parquet; those of lists are longer."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    empty = pa.BufferOutputStream()
    pq.ParquetWriter(empty, schema).close()
    with pq.ParquetFile(empty.getvalue()) as file:
        columns = map(file.schema.column, range(len(file.schema)))
        return [column.path for column in columns]


@contextmanager
def _held(lock: Path, path: Path) -> Iterator[None]:
    """Hold the lock of a result, and remove it at the end.

    It is removed while it is held. Who opened it before, and gets it after, finds that it is no
    longer the file of that name.

    Raises:
        ConfigurationError: Another process holds it, or has just held it.
    """
    file = open_regular(lock, os.O_RDWR | os.O_CREAT)
    try:
        _lock(file, lock, path)
        try:
            yield
        finally:
            with suppress(PermissionError):  # Windows removes no file that is open
                lock.unlink(missing_ok=True)
    finally:
        os.close(file)


def _lock(file: int, lock: Path, path: Path) -> None:
    if fcntl is None:  # pragma: no cover  (Windows)
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(file), lock.stat()):
            return
    except OSError:
        pass
    raise ConfigurationError(
        f"another process is writing {terminal_text(path.name)}: wait for it, or give another"
    )
