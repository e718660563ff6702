"""`LogWriter`: the log of a retriever, written beside its queries."""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Event, Lock
from time import time_ns
from typing import Any, Protocol, Self, cast
from weakref import finalize
from zlib import crc32

from recall_signal._auto.settings import is_switched_off
from recall_signal._background import start_thread
from recall_signal._given import given_path, kind_of
from recall_signal._steps.driver import drive, drive_async
from recall_signal.calibration._port import RetrieverPort, Searchable, port_of
from recall_signal.calibration._requests import direct, direct_async
from recall_signal.errors import ConfigurationError
from recall_signal.logs._canaries import (
    CanaryRecord,
    CanarySteps,
    append_canaries,
    canary_flow,
    read_canaries,
)
from recall_signal.logs._options import LogOptions
from recall_signal.logs._row import Finished, row_of
from recall_signal.logs._schema import require_arrow
from recall_signal.logs._worker import Worker

__all__ = ["LogWriter", "require_log"]

log = logging.getLogger(__name__)

LOOK = 600.0
"""Seconds between two looks whether today's canaries are due."""


class _Dated(Protocol):
    @property
    def created(self) -> str: ...


class LogWriter:
    """Writes one row of figures for each query into a folder of Parquet files.

    Give it to the `RecallLogHandler` of a framework; any number of handlers, threads, event loops
    and processes may share one log. A query pays a few microseconds: rows are queued and written
    by one daemon thread. Nothing that happens here reaches a query.

    A process that is killed loses what was not flushed yet (`flush_seconds`); the rest is in the
    open part, which the next writer of the log turns into a part. A machine that loses power
    loses what its system had not yet written of the open part. `close` (or the end of a `with`
    block, or of the interpreter) writes everything. After a fork the child has a thread and an
    open part of its own; a child that ends by `os._exit`, as those of `multiprocessing`
    do, should call `close` or `flush` before.

    Args:
        folder: The log; made where it is not there. One folder for each retriever is best.
        **settings: See `LogOptions`.

    Raises:
        ConfigurationError: A setting is wrong, or the folder cannot be made.
        MissingDependencyError: pyarrow is not installed.
    """

    def __init__(self, folder: str | Path, **settings: Any) -> None:
        self.options = LogOptions(**settings)
        require_arrow()
        self.folder = given_path("folder", folder).absolute()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(
                f"the log's folder {self.folder.name} cannot be made ({type(error).__name__}); "
                "give a folder that can be written to"
            ) from None
        self._share = self.options.sample * 2**32
        self._lock, self._pid = Lock(), os.getpid()
        self._daily: list[_Daily] = []
        self._worker = self._begin()

    def _begin(self) -> Worker:
        worker = Worker(self.folder, self.options)
        self._end = finalize(self, worker.close)  # also when the interpreter ends
        return worker

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[partial[LogWriter], tuple[Path]]:
        return partial(LogWriter, **dict(self.options)), (self.folder,)

    def __repr__(self) -> str:
        return f"LogWriter({str(self.folder)!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, outcome: Finished, run_id: bytes) -> None:
        """Queue the row of a query, where it is sampled; handlers call this, and it never raises.

        Args:
            outcome: The end of the query.
            run_id: The 16 bytes of the run's id.
        """
        if crc32(run_id) >= self._share:
            return
        worker, options = self._own_worker(), self.options
        try:
            row = row_of(outcome, run_id, time_ns() // 1000, options.retriever, options.texts)
        except Exception as error:
            log.warning("a query is not in the log: %s", type(error).__name__)
            worker.lose(1)
            return
        worker.put(row)

    def _own_worker(self) -> Worker:
        """Return the worker of this process, which may be a fork of the one that has the last."""
        worker = self._worker
        return worker if worker.pid == os.getpid() else self._after_fork()

    def _after_fork(self) -> Worker:
        """Return a new worker; the one that another thread of the fork has just made, if any."""
        if self._pid != os.getpid():  # a thread that is not here may hold the lock
            self._lock, self._pid = Lock(), os.getpid()
        with self._lock:
            if self._worker.pid != os.getpid():
                self._worker.forget()
                self._end.detach()
                self._daily = []
                self._worker = self._begin()
            return self._worker

    @property
    def written(self) -> int:
        """Rows that this process has written."""
        return self._own_worker().written

    @property
    def dropped(self) -> int:
        """Rows that this process has lost.

        The queue was full, the disk failed, the log is closed, or its open part was removed.
        """
        return self._own_worker().dropped

    def flush(self) -> None:
        """Write what is queued to the open part now; on the caller's time."""
        self._own_worker().flush()

    def rotate(self) -> None:
        """Close the open part now, so that readers see its rows; on the caller's time."""
        self._own_worker().rotate()

    def close(self) -> None:
        """Write everything and end the thread; later rows are dropped. May be called again."""
        worker = self._own_worker()
        for daily in self._daily:
            daily.stop.set()
        worker.close()

    # Canaries.

    def check(self, retriever: Searchable) -> CanaryRecord:
        """Ask the 48 canaries now and append them to the log.

        Args:
            retriever: A `RecallRetriever`, or a function `search(query) -> Pool`.

        Raises:
            ConfigurationError: It is neither.
            OSError: The log cannot be written.
        """
        port = port_of(retriever)
        record = drive(self._flow(retriever, port), direct(port))
        append_canaries(self.folder, record)
        return record

    async def acheck(self, retriever: Searchable) -> CanaryRecord:
        """`check`, asynchronously."""
        port = port_of(retriever)
        record = await drive_async(self._flow(retriever, port), direct_async(port))
        append_canaries(self.folder, record)
        return record

    def _flow(self, retriever: Searchable, port: RetrieverPort) -> CanarySteps:
        used = cast("_Dated | None", getattr(retriever, "current_calibration", None))
        return canary_flow(
            retriever=self.options.retriever,
            encoder=port.encoder_name,
            created=None if used is None else used.created,
        )

    def watch(self, retriever: Searchable) -> None:
        """Ask the canaries once a day from now on, in a daemon thread of its own.

        One process does it where several share the log. `RECALL_SIGNAL_AUTO=off` forbids it.

        Args:
            retriever: As in `check`.

        Raises:
            ConfigurationError: It can only be searched asynchronously (call `acheck` once a day),
                or is known to call a language model, or to change what is stored, in each search.
        """
        port = port_of(retriever)
        if port.is_async_only:
            raise ConfigurationError(
                "watch needs a retriever with a synchronous search; await acheck(retriever) once "
                "a day instead"
            )
        if port.only_on_request:
            raise ConfigurationError(
                "watch would call a language model, or change what is stored, 48 times a day; call "
                "check(retriever) where that is wanted"
            )
        if not is_switched_off():
            self._daily.append(_Daily(self.folder, partial(self.check, retriever)))


def require_log(log: object) -> None:
    """Refuse what a handler cannot write to: LlamaIndex, for one, drops what a handler raises.

    Raises:
        ConfigurationError: It has no method `write`.
    """
    if isinstance(log, type) or not callable(getattr(log, "write", None)):
        raise ConfigurationError(
            f"log must be a LogWriter, got {kind_of(log)}; write "
            "RecallLogHandler(LogWriter(folder))"
        )


class _Daily:
    """Asks once in each UTC day; a failure is logged, and tried again at the next look."""

    def __init__(self, folder: Path, check: partial[CanaryRecord]) -> None:
        self.stop = Event()
        self._folder, self._check = folder, check
        self.thread = start_thread(self._run, "recall-signal-canaries", stop=self.stop.set)

    def _run(self) -> None:
        done = ""
        while not self.stop.is_set():
            today = f"{datetime.now(UTC):%Y-%m-%d}"
            try:
                if done != today and not self._is_done(today):
                    self._check()
                done = today
            except Exception as error:
                log.warning("the log's canaries: %s", type(error).__name__)
            self.stop.wait(LOOK)

    def _is_done(self, day: str) -> bool:
        return any(record.day == day for record in read_canaries(self._folder)[-3:])
