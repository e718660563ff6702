"""State that copies of a wrapper share within one process: status, calibration, window, counts."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from threading import Condition, Event, Lock
from time import monotonic
from typing import Literal
from weakref import finalize

from recall_signal._auto.query_counter import QueryCounter
from recall_signal._auto.settings import AutoCalibration, CalibrationStatus
from recall_signal._auto.state_file import FileLock, load
from recall_signal._auto.traffic import Observed, TrafficWindow
from recall_signal.calibration._calibration import Calibration
from recall_signal.calibration._identity import calibration_id
from recall_signal.errors import CalibrationError, ConfigurationError
from recall_signal.pool import Pool

__all__ = ["LOOK_AGAIN", "Attempt", "AutoState", "Purpose"]

log = logging.getLogger(__name__)

Purpose = Literal["fit", "check"]

FIRST_RETRY, LONGEST_RETRY = 60.0, 3600.0
"""Seconds from a failed attempt to the next one, doubled by each further failure."""

EMPTY_RETRY = 30
"""Queries after which an empty store is looked at again, tripled each time."""

LOOK_AGAIN = 0.25
"""Seconds after which who waits looks again: nobody tells when a loop stops under its attempt."""


class Attempt:
    """One run in the background, and what carries it.

    Attributes:
        purpose: A fit, or a check that may end in one.
        loop: Of the task that carries it, None for a thread.
        file_lock: Held while it fits, where processes share a file.
    """

    def __init__(self, purpose: Purpose, loop: asyncio.AbstractEventLoop | None) -> None:
        self.purpose = purpose
        self.loop = loop
        self.file_lock: FileLock | None = None

    def release(self) -> None:
        """Give the file's lock back, where it holds it."""
        if self.file_lock is not None:
            self.file_lock.release()

    @property
    def is_stranded(self) -> bool:
        """Return True where its loop has stopped under it."""
        return self.loop is not None and (self.loop.is_closed() or not self.loop.is_running())

    @property
    def is_on_this_loop(self) -> bool:
        """Return True where the loop that runs in this thread carries it."""
        try:
            return self.loop is asyncio.get_running_loop()
        except RuntimeError:
            return False


class AutoState:
    """The state of one process. Every method takes the lock for a moment and calls nobody.

    Attributes:
        queries: Counts of the queries that are running.
        stop: Set when the process ends, or nobody has the state any more.
        answers: Pools of an attempt that was cut short.
        times_cut_short: Attempts on an event loop that ended before they were done.
    """

    def __init__(
        self,
        settings: AutoCalibration,
        calibration: Calibration | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.settings = settings
        self.queries = QueryCounter()
        self.stop = Event()
        finalize(self, _stop, os.getpid(), self.stop)  # also when the interpreter ends
        self.answers: dict[str, Pool] = {}
        self.times_cut_short = 0
        self._clock = clock
        self._lock = Lock()
        self._ended = Condition(self._lock)
        self._listeners: list[Callable[[], None]] = []
        self._window = TrafficWindow(settings.window)
        self._attempt: Attempt | None = None
        self._status: CalibrationStatus = "waiting"
        self._calibration: Calibration | None = None
        self._rejected: str | None = None
        self._notice: str | None = None
        self._blocked = False
        self._failures = 0
        self._failed_as: CalibrationStatus | None = None
        self._retry_at = 0.0
        self._since_check = 0
        self._checked = False
        if calibration is not None:
            self._take(calibration)
        else:
            self._load()

    def _load(self) -> None:
        """Take the calibration from the file, if one is there."""
        if self.settings.path is None:
            return
        try:
            found = load(self.settings.path)
        except CalibrationError as error:
            self._status, self._blocked, self._notice = "failed", True, str(error)
            log.warning("calibration: %s; the file is left alone", error)
            return
        if found is not None:
            log.info("calibration: read from its file, made %s", found.created)
            self._take(found)

    def _take(self, calibration: Calibration) -> None:
        self._calibration = calibration
        self._status = "ready" if calibration.decides else "no_valid_threshold"
        self._notice = None

    def successor(self) -> AutoState:
        """Return a state for a fork of this process: with the calibration, and nothing that runs.

        Takes no lock, since a thread that is not there may hold it.
        """
        if self._attempt is not None:
            self._attempt.release()
        return AutoState(self.settings, self._calibration, self._clock)

    # Read by anybody.

    @property
    def status(self) -> CalibrationStatus:
        """The state in one word; `ready` and others stay so while a check runs."""
        with self._lock:
            attempt = self._attempt
            if attempt is not None and attempt.purpose == "fit" and not attempt.is_stranded:
                return "fitting"
            return self._status

    @property
    def notice(self) -> str | None:
        """The reason why levels are uncalibrated, where more is known than the status says."""
        with self._lock:
            return self._notice

    @property
    def calibration(self) -> Calibration | None:
        """The fitted calibration."""
        with self._lock:
            return self._calibration

    @property
    def in_force(self) -> Calibration | None:
        """The calibration that judges the next query: the fitted one, moved by real queries."""
        with self._lock:
            return self._window.moved(self._calibration)

    @property
    def rejected(self) -> str | None:
        """The id of the calibration that is not to be read from the file again."""
        with self._lock:
            return self._rejected

    # Queries.

    def observe(self, pair: Observed | None) -> None:
        """Let the figures of a query without filters join the window, if it has any."""
        with self._lock:
            self._since_check += 1
            if pair is not None:
                self._window.add(pair)

    def refuse_encoder(self, encoder: str | None) -> None:
        """Let go of a calibration that was read from a file and belongs to another encoder."""
        with self._lock:
            if self._calibration is None:
                return
            try:
                self._calibration.require_encoder(encoder)
            except CalibrationError as error:
                log.info("calibration: fitted anew, since its file has another encoder's")
                self._drop(str(error))

    def _drop(self, notice: str) -> None:
        self._reject()
        self._calibration, self._status, self._notice = None, "waiting", notice
        self._window.clear()

    # Attempts.

    def due(self) -> Purpose | None:
        """Return the attempt that the last query has made due."""
        with self._lock:
            if self._blocked or self._is_busy():
                return None
            every = self.settings.check_every
            if self._calibration is not None:
                first = not self._checked
                return "check" if first or self._since_check >= every else None
            if self._status == "waiting":
                return "fit"
            if self._status == "not_measurable":  # an empty store, which may soon hold something
                patience = min(every, EMPTY_RETRY * 3 ** min(self._failures - 1, 30))
                return "fit" if self._since_check >= patience else None
            return "fit" if self._clock() >= self._retry_at else None

    def begin(
        self,
        purpose: Purpose,
        loop: asyncio.AbstractEventLoop | None = None,
        *,
        anew: bool = False,
    ) -> Attempt | None:
        """Begin an attempt; None where one is under way, or the file is somebody else's.

        Args:
            purpose: A fit or a check.
            loop: Of the task that will carry it.
            anew: What the file holds now does not count.
        """
        with self._lock:
            busy = self._is_busy()
            checking = self._attempt is not None and self._attempt.purpose == "check"
            if busy and not (anew and checking):  # a fit on request takes the place of a check
                return None
            if self._blocked and not anew:
                return None
            self._attempt = Attempt(purpose, loop)
            self._since_check = 0
            if anew:
                self._reject()
            return self._attempt

    def _reject(self) -> None:
        """Do not read this calibration from the file again."""
        if self._calibration is not None:
            self._rejected = calibration_id(self._calibration)

    def _is_busy(self) -> bool:
        attempt = self._attempt
        if attempt is not None and attempt.is_stranded:
            self._attempt, self.times_cut_short = None, self.times_cut_short + 1
        return self._attempt is not None

    def is_current(self, attempt: Attempt) -> bool:
        """Return True where this attempt has not been replaced by another one."""
        with self._lock:
            return self._attempt is attempt and not self.stop.is_set()

    def turn_into_fit(self, attempt: Attempt, finding: str) -> None:
        """Turn a check into a fit: levels are uncalibrated until it is done."""
        with self._lock:
            if self._attempt is attempt:
                attempt.purpose = "fit"
                self._drop(finding)

    def finish(
        self,
        attempt: Attempt,
        *,
        calibration: Calibration | None = None,
        status: Literal["not_measurable", "failed"] | None = None,
        notice: str | None = None,
        block: bool = False,
    ) -> None:
        """End an attempt with its calibration, with a status, or (a check) with neither."""
        with self._lock:
            if self._attempt is not attempt:
                return
            self._attempt, self.times_cut_short = None, 0
            self.answers.clear()
            self._blocked = block
            self._checked = True
            if calibration is not None:
                if self._calibration is not None:
                    self._window.clear()  # what it holds was seen before a new fit
                self._take(calibration)
                self._failures = 0
            elif status is not None:
                self._fail(status, notice)
            self._tell()

    def _fail(self, status: Literal["not_measurable", "failed"], notice: str | None) -> None:
        if status != self._failed_as:  # an outage says nothing of an empty store, nor that of this
            self._failures, self._failed_as = 0, status
        delay = min(FIRST_RETRY * 2.0 ** min(self._failures, 30), LONGEST_RETRY)
        self._failures += 1
        self._retry_at = self._clock() + delay
        if self._calibration is None:  # else a fit that was asked for has failed: nothing is lost
            self._status, self._notice = status, notice

    def cut_short(self, attempt: Attempt) -> None:
        """End an attempt whose loop was cancelled, or whose thread has to stop."""
        with self._lock:
            if self._attempt is attempt:
                self._attempt, self.times_cut_short = None, self.times_cut_short + 1
                self._tell()

    # Waiting for the end of an attempt.

    def wait(self, timeout: float | None) -> bool:
        """Wait until no attempt is under way; False where time is up before.

        Raises:
            ConfigurationError: The running event loop carries the attempt.
        """
        end = None if timeout is None else monotonic() + timeout
        with self._lock:
            while (attempt := self._fitting) is not None:
                if attempt.is_on_this_loop:
                    raise ConfigurationError(
                        "wait_until_calibrated() would wait for ever: this event loop carries the "
                        "fit; use await retriever.await_until_calibrated()"
                    )
                left = LOOK_AGAIN if end is None else min(LOOK_AGAIN, end - monotonic())
                if left <= 0.0:
                    return False
                self._ended.wait(left)
            return True

    def listen(self, listener: Callable[[], None]) -> bool:
        """Call this once when an attempt ends; False (and no call) where none is under way."""
        with self._lock:
            if self._fitting is None:
                return False
            self._listeners.append(listener)
            return True

    def unlisten(self, listener: Callable[[], None]) -> None:
        """Forget a listener that waits no more."""
        with self._lock, suppress(ValueError):
            self._listeners.remove(listener)

    @property
    def _fitting(self) -> Attempt | None:
        """The attempt that is worth waiting for, if there is one."""
        attempt = self._attempt
        if attempt is None or attempt.is_stranded:
            return None
        return None if attempt.purpose == "check" and self._status == "ready" else attempt

    def _tell(self) -> None:
        self._ended.notify_all()
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()


def _stop(pid: int, stop: Event) -> None:
    """In the process that made it; a fork may have inherited the event with its lock taken."""
    if os.getpid() == pid:
        stop.set()
