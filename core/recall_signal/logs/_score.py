"""Score a log of any size: in parts, so that a killed run goes on where it was."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from hashlib import blake2b
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, TypeAlias

from recall_signal._given import given_path
from recall_signal._names import without_secrets
from recall_signal._safe_text import terminal_text
from recall_signal.calibration import Calibration
from recall_signal.calibration._identity import calibration_id
from recall_signal.errors import ConfigurationError
from recall_signal.logs._parts import (
    LAST,
    Result,
    is_file,
    is_part,
    levels_of,
    part_last,
    write_part,
)
from recall_signal.logs._schema import require_arrow
from recall_signal.logs._score_batch import BatchScorer
from recall_signal.logs._sources import Log, Unit, find_log, naming
from recall_signal.thresholds import Thresholds, thresholds_in_force

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Scored", "score"]

VERSION = 6
"""Of the result; parts of another one are made anew."""

TEXT_ROWS = 262_144
"""Rows of a part of a text file."""

SAMPLE = 1 << 20
"""Bytes at the beginning of a text file from which the length of its lines is estimated."""

Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Scored:
    """The outcome of a scoring.

    Attributes:
        path: The result.
        rows: Rows in it.
        levels: Number of rows of each level.
        names_calibration: True where the log says that a calibration decided its old levels; of a
            text file, where its first rows say so.
        other_encoders: Names in the log of encoders that the calibration is not of, likewise.
    """

    path: Path
    rows: int
    levels: dict[str, int]
    names_calibration: bool = False
    other_encoders: tuple[str, ...] = ()


def score(
    log: str | Path,
    out: str | Path,
    *,
    calibration: Calibration | str | Path | None = None,
    thresholds: Thresholds | None = None,
    cosines: str = "cosines",
    scores: str | None = "scores",
    term_coverage: str | None = "term_coverage",
    keep: Sequence[str] | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Scored:
    """Judge every query of a log anew, row for row as `assess` does.

    The log is a Parquet, JSON lines or CSV file, or a folder of such files, partitioned or not.
    Memory does not grow with it. The work is done in parts, one for each row group of a Parquet
    file: called again after it was interrupted, with the same arguments, it goes on with the part
    at which it was, and the result is the same, byte for byte. It gets its name when it is whole.

    Args:
        log: The file or folder; a column holds a list of cosines for each query.
        out: A file whose name ends in `.parquet`, in which the partitions of a log are columns
            of texts; or a folder of parts with the partitions of the log, which must not be
            there yet.
        calibration: Decides the level; or the file of one.
        thresholds: Other cuts than the default ones.
        cosines: Name of the column of cosines.
        scores: Name of the column of keyword scores; used where the log has it.
        term_coverage: Name of the column of term coverages; used where the log has it.
        keep: Columns of the log that the result keeps; None for all but lists and structures,
            and those that belong to the old level.
        jobs: Processes; each takes a row group, or a text file, at a time. They are started anew,
            so a program that asks for more than one has to be guarded by
            `if __name__ == "__main__"`.
        progress: Called with (done, in all): rows of Parquet, about the bytes of a text file.

    Returns:
        The path, and how many rows have which level.

    Raises:
        InvalidInputError: The log cannot be read, has no such column, or no row.
        ConfigurationError: A setting is wrong, or another process writes the same result.
        CalibrationError: The file is no calibration.
        OSError: The calibration's file cannot be read; FileNotFoundError where there is none.
        MissingDependencyError: The extra `logs` is not installed.
    """
    require_arrow()
    if type(jobs) is not int or jobs < 1:
        raise ConfigurationError(f"jobs must be a whole number of at least 1, got {jobs!r:.40}")
    log, out = given_path("log", log), given_path("out", out)
    if isinstance(calibration, str | Path):
        calibration = Calibration.load(calibration)
    scorer = BatchScorer(calibration, thresholds, cosines, scores, term_coverage, keep)
    found = find_log(log, scorer)
    _check_kind(out)
    target = out.resolve()
    _check_target(log.resolve(), target)
    if is_file(target):  # a folder of parts has the partitions in its names
        found = found.with_partitions(scorer)
    units = found.units()
    result = Result(target, _plan(found, scorer))
    with result.opened() as whole:
        if not whole:
            job = Job(found, scorer, result.parts)
            _run(job, units, jobs, progress or _ignore)
            result.finish()
    levels = levels_of(target)
    rows, others = sum(levels.values()), _other_encoders(found, calibration)
    return Scored(target, rows, levels, found.names_calibration(), others)


def _other_encoders(log: Log, calibration: Calibration | None) -> tuple[str, ...]:
    """Return the encoders that the log names and that a calibration was not fitted with."""
    if calibration is None or calibration.encoder is None:
        return ()
    named = sorted(log.encoders())
    return tuple(name for name in named if not calibration.fits_encoder(without_secrets(name)))


@dataclass(frozen=True, slots=True)
class Job:
    """All that a process has to know.

    Attributes:
        log: The log.
        scorer: The settings.
        parts: Where finished parts are.
    """

    log: Log
    scorer: BatchScorer
    parts: Path

    def run(self, unit: Unit) -> int:
        """Make the parts of a unit that are not there, and return its size."""
        for done in self.steps(unit):
            del done
        return unit.size

    def steps(self, unit: Unit) -> Iterator[int]:
        """Make the parts of a unit one by one; yields about how much of it is done."""
        if unit.group is not None:
            path = self._part(unit, unit.group)
            if not is_part(path):
                write_part(path, self._scored(unit), self._schema(), {})
        else:
            yield from self._text_steps(unit)
        yield unit.size

    def _text_steps(self, unit: Unit) -> Iterator[int]:
        """Make the parts of a text file; where a part ends is known by its rows alone."""
        place = 0
        while is_part(path := self._part(unit, place)):
            if part_last(path):
                return
            place += 1
        line = _line_length(self.log.folder / unit.file)
        batches = self._scored(unit, skip=place * TEXT_ROWS)
        following = next(batches, None)
        while following is not None or place == 0:
            taken: list[pa.RecordBatch] = []
            room = TEXT_ROWS
            while following is not None and room:
                taken.append(following.slice(0, room))
                rest, room = following.slice(room), room - taken[-1].num_rows
                following = rest if rest.num_rows else next(batches, None)
            keys = {LAST: "1"} if following is None else {}
            write_part(self._part(unit, place), taken, self._schema(), keys)
            place += 1
            yield min(unit.size, int(place * TEXT_ROWS * line))

    def _scored(self, unit: Unit, skip: int = 0) -> Iterator[pa.RecordBatch]:
        columns = self.scorer.read(self.log.schema)
        for batch in self.log.batches(unit, columns, skip):
            with naming(unit.file):
                scored = self.scorer(batch)
            yield scored

    def _schema(self) -> pa.Schema:
        columns = self.scorer.read(self.log.schema)
        fields = [self.log.schema.field(name) for name in columns]
        return self.scorer.schema(require_arrow().schema(fields))

    def _part(self, unit: Unit, place: int) -> Path:
        file = self.log.files.index(unit.file)
        return self.parts / Path(unit.file).parent / f"part-{file:06}-{place:06}.parquet"


def _run(job: Job, units: Sequence[Unit], jobs: int, progress: Progress) -> None:
    total, done = sum(unit.size for unit in units), 0
    progress(0, total)
    if jobs == 1 or len(units) == 1:
        for unit in units:
            for step in job.steps(unit):
                progress(done + step, total)
            done += unit.size
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), _start, (job,)) as pool:
        waiting = [pool.submit(_work, unit) for unit in units]
        try:
            for finished in as_completed(waiting):
                done += finished.result()
                progress(done, total)
        except BrokenProcessPool:
            raise ConfigurationError(
                "a process that scores ended before its work was done: it was killed, or the "
                'program that asks for more than one is not guarded by if __name__ == "__main__"; '
                "what is finished is kept for the next run"
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


_started: list[Job] = []
"""The job of a process that was started for it."""


def _start(job: Job) -> None:
    _started[:] = [job]
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process with the one that started it: a next run may have other settings."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(unit: Unit) -> int:
    (job,) = _started
    return job.run(unit)


def _ignore(_done: int, _total: int) -> None:
    pass


def _check_kind(out: Path) -> None:
    """Refuse a link, which is not followed, and what cannot be replaced."""
    if out.is_symlink() or (out.exists() and not out.is_file() and not out.is_dir()):
        raise ConfigurationError(
            f"the result {terminal_text(out.name)} is a link, a pipe or a device; give the path of "
            "the file or folder itself"
        )


def _check_target(log: Path, target: Path) -> None:
    """Refuse a result that would destroy the log, or be read as a part of it."""
    if target == log or log in target.parents or target in log.parents:
        raise ConfigurationError(
            f"the result {terminal_text(target.name)} lies in the log or holds it; give a place "
            "beside it"
        )
    if re.fullmatch(r"\.[^\W\d]\w*", target.suffix) and target.suffix != ".parquet":
        raise ConfigurationError(
            f"the result {terminal_text(target.name)} ends in {terminal_text(target.suffix)}; a "
            "file is written as Parquet and ends in .parquet, a folder of parts has no ending"
        )


def _plan(log: Log, scorer: BatchScorer) -> str:
    """Return a name for this log with these settings, another one where any of it changes."""
    calibration = scorer.calibration
    if calibration is not None and not isinstance(calibration, Calibration):
        raise ConfigurationError(
            f"calibration must be a Calibration, got {type(calibration).__name__}: a stream "
            "cannot be followed in parts"
        )
    found = [(log.folder / name).stat() for name in log.files]
    values = {
        "v": VERSION,
        "files": [
            (name, stat.st_size, stat.st_mtime_ns)
            for name, stat in zip(log.files, found, strict=True)
        ],
        "types": log.types,
        "columns": [scorer.cosines, scorer.scores, scorer.term_coverage],
        "kept": scorer.kept(log.schema),
        "thresholds": asdict(thresholds_in_force(scorer.thresholds)),
        "calibration": None if calibration is None else calibration_id(calibration),
    }
    return blake2b(json.dumps(values, sort_keys=True).encode(), digest_size=16).hexdigest()


def _line_length(path: Path) -> float:
    """Return about how long a line of a text file is, in bytes."""
    with path.open("rb") as file:
        sample = file.read(SAMPLE)
    return len(sample) / max(1, sample.count(b"\n"))
