"""The thread that writes a log: one for each writer and process, fed by a queue without locks."""

from __future__ import annotations

import logging
import os
from collections import defaultdict, deque
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Event, Lock, Thread, current_thread
from time import monotonic

from recall_signal.logs._options import LogOptions
from recall_signal.logs._row import Row, batch_of
from recall_signal.logs._schema import log_schema
from recall_signal.logs._spool import Spool, recover

__all__ = ["Worker"]

log = logging.getLogger(__name__)

DAY = 86_400_000_000
"""Microseconds of a day."""

CHUNK = 1000
"""Rows that are turned into Arrow at a time: a millisecond and a half in which a query may wait."""

EVERY = 60.0
"""Seconds between two warnings that rows were lost."""


class Worker:
    """Writes what is put into its queue; every failure of it is logged, and none is raised.

    Args:
        folder: The log.
        options: See `LogOptions`.
    """

    def __init__(self, folder: Path, options: LogOptions) -> None:
        self.folder, self.options, self.pid = folder, options, os.getpid()
        self.written = self.dropped = 0
        self._limit, self._half = options.queue_rows, max(1, options.queue_rows // 2)
        self._schema = log_schema(texts=options.texts)
        self._rows: deque[Row] = deque()
        self._lock = Lock()  # of what is counted, and of the thread's start; never held for long
        self._turn = Lock()  # of the files
        self._wake = Event()
        self._closed = self._has_refused = False
        self._thread: Thread | None = None
        self._spool: Spool | None = None
        self._spool_since = 0.0
        self._said, self._said_at = 0, -EVERY

    def put(self, row: Row) -> None:
        """Queue a row, in about a microsecond, whatever the disk does."""
        waiting = len(self._rows)
        if self._closed:
            self._refuse()
            return
        if waiting >= self._limit:
            self.lose(1)
            return
        self._rows.append(row)
        if waiting == self._half:
            self._wake.set()
        if self._thread is None:
            self._start()

    def lose(self, rows: int) -> None:
        """Count rows that will not be in the log."""
        if rows:
            with self._lock:
                self.dropped += rows

    def _refuse(self) -> None:
        """Count a row that comes after the end, and say so once."""
        self.lose(1)
        if not self._has_refused:
            self._has_refused = True
            log.warning(
                "the log in %s is closed, and queries that come now are not in it: close it when "
                "the service ends",
                self.folder.name,
            )

    def _start(self) -> None:
        with self._lock:
            if self._thread is None and not self._closed:
                thread = Thread(target=self._run, name="recall-signal-log", daemon=True)
                with suppress(RuntimeError):  # the interpreter ends: `close` writes what is there
                    thread.start()
                    self._thread = thread

    def flush(self) -> None:
        """Write what waits to the open part, on the caller's time."""
        with self._turn:
            self._write()

    def rotate(self) -> None:
        """Close the open part, on the caller's time."""
        with self._turn:
            self._write()
            self._close_part()

    def close(self) -> None:
        """Write what waits and close the part; rows that come later are dropped. Idempotent.

        Nothing happens in a fork of the process whose worker this is.
        """
        if self.pid != os.getpid():
            return
        with self._lock:
            self._closed, thread = True, self._thread
        self._wake.set()
        if thread is None:
            self._finish()
        elif thread is not current_thread():  # a collector of garbage may run in any thread
            thread.join()

    def _finish(self) -> None:
        self.rotate()
        self._say()

    def forget(self) -> None:
        """Let go of the files that a fork has inherited; they are its parent's."""
        self._let_go()

    def _run(self) -> None:
        with self._turn:
            self._guarded(partial(recover, self.folder))
        while not self._closed:
            self._wake.wait(self.options.flush_seconds)
            self._wake.clear()
            self.flush()
            self._say()
        self._finish()

    def _write(self) -> None:
        self._look()
        rows = [self._rows.popleft() for _ in range(len(self._rows))]
        by_day: dict[int, list[Row]] = defaultdict(list)
        for row in rows:
            by_day[row[0] // DAY].append(row)
        for number in sorted(by_day):
            given = by_day[number]
            if not self._guarded(partial(self._append, given)):
                self.lose(len(given))
                self._let_go()
        spool, options = self._spool, self.options
        if spool is not None and (
            spool.rows >= options.max_rows
            or spool.bytes >= options.max_bytes
            or monotonic() - self._spool_since >= options.max_age
        ):
            self._close_part()

    def _append(self, rows: list[Row]) -> None:
        """Write rows; those that are done with are taken from the list."""
        day = _date(rows[0][0])
        if self._spool is not None and self._spool.day != day:
            self._close_part()
        while rows:
            if self._spool is None:
                self._spool, self._spool_since = Spool(self.folder, self._schema, day), monotonic()
            room = min(CHUNK, self.options.max_rows - self._spool.rows)
            batch, unfit = batch_of(rows[:room], self._schema)
            if batch is not None:
                self._spool.append(batch)
                self.written += batch.num_rows
            self.lose(unfit)
            del rows[:room]
            if self._spool.rows >= self.options.max_rows:
                self._close_part()

    def _look(self) -> None:
        """Give up a stream that somebody has removed; its rows are lost, not written."""
        spool = self._spool
        if spool is not None and spool.is_gone():
            self.written -= spool.rows
            self.lose(spool.rows)
            self._let_go()
            log.warning(
                "the log in %s: its open part was removed, and %d rows with it",
                self.folder.name,
                spool.rows,
            )

    def _close_part(self) -> None:
        self._look()
        spool = self._spool
        if spool is not None:
            keys = {
                "recall_signal.sample": repr(self.options.sample),
                "recall_signal.dropped": str(self.dropped),
            }
            if not self._guarded(partial(spool.close, keys)):
                log.warning("the log: %s is kept until it can be closed", spool.path.name)
            self._spool = None

    def _let_go(self) -> None:
        """Leave the stream as it is: whoever recovers the log keeps its whole batches."""
        if self._spool is not None:
            self._spool.abandon()
            self._spool = None

    def _guarded(self, work: Callable[[], object]) -> bool:
        """Do it; False where it failed, which is logged by the error's class."""
        try:
            work()
        except Exception as error:
            log.warning("the log in %s: %s", self.folder.name, type(error).__name__)
            return False
        return True

    def _say(self) -> None:
        """Say how many rows were lost, at most once a minute."""
        lost = self.dropped - self._said
        if lost and (self._closed or monotonic() - self._said_at >= EVERY):
            self._said, self._said_at = self.dropped, monotonic()
            log.warning("the log in %s: %d rows were dropped", self.folder.name, lost)


def _date(microseconds: int) -> str:
    return f"{datetime.fromtimestamp(microseconds // 1_000_000, UTC):%Y-%m-%d}"
