"""`AutoCalibrator`: a calibration that looks after itself, shared by the copies of a wrapper."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from time import monotonic
from typing import Any, ClassVar
from weakref import finalize

from recall_signal._auto.attempt import attempt_flow
from recall_signal._auto.pace import Pace, Politeness
from recall_signal._auto.run import start_task, start_thread
from recall_signal._auto.settings import AutoCalibration, CalibrationStatus, is_switched_off
from recall_signal._auto.state import LOOK_AGAIN, Attempt, AutoState, Purpose
from recall_signal._auto.traffic import Observed
from recall_signal.calibration._calibration import Calibration
from recall_signal.calibration._identity import calibration_id
from recall_signal.calibration._port import RetrieverPort

__all__ = ["AutoCalibrator", "Carried"]

log = logging.getLogger(__name__)

LOOPS_TRIED = 2
"""Attempts cut short by the end of their loop, after which a thread makes the next one: a program
that runs each query on a loop of its own would never get to the end of a fit."""


@dataclass(frozen=True, slots=True)
class Carried:
    """The part that a pickled copy brings along of an `AutoCalibrator`."""

    calibration: Calibration | None


class AutoCalibrator:
    """Learns, keeps, follows and checks the calibration of one retriever.

    Copies of a wrapper share it, and so do its threads and event loops. A fork begins with the
    calibration that was there and with nothing that runs; a pickled copy likewise.

    A wrapper calls `begin_query` and `end_query` around every query, and then
    `after_query` or, on an event loop, `after_async_query`. None of them raises,
    waits for a search, or searches.

    Args:
        settings: See `AutoCalibration`.
        port: The bare search. Asked for lazily, since a wrapper makes it from itself.
        politeness: Times and limits of the searches in the background.
        clock: Monotonic seconds.
        calibration: The one that a pickled copy brings along.
        encoder: The name of what embeds the queries; another one's calibration is let go of.
    """

    learns: ClassVar = True

    def __init__(
        self,
        settings: AutoCalibration,
        port: Callable[[], RetrieverPort],
        *,
        calibration: Calibration | None = None,
        encoder: str | None = None,
        politeness: Politeness | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.settings = settings
        self._port = cache(port)
        self._politeness = politeness or Politeness()
        self._clock = clock
        self._tasks: set[asyncio.Task[None]] = set()
        self._states = {os.getpid(): AutoState(settings, calibration, clock)}
        if settings.path is None:  # else others read what its attempt leaves behind
            finalize(self, _stop, self._states)
        self._state.refuse_encoder(encoder)

    def __copy__(self) -> AutoCalibrator:
        return self

    def __deepcopy__(self, memo: object) -> AutoCalibrator:
        return self

    def __reduce__(self) -> tuple[type[Carried], tuple[Calibration | None]]:
        return Carried, (self._state.calibration,)

    @property
    def _state(self) -> AutoState:
        """The state of this process; in a fork, one that begins with the calibration alone."""
        pid = os.getpid()
        state = self._states.get(pid)
        if state is None:
            self._tasks = set()
            inherited = [*self._states.values()][-1]
            state = self._states.setdefault(pid, inherited.successor())
        return state

    # What a wrapper shows.

    @property
    def status(self) -> CalibrationStatus:
        """The state in one word."""
        state = self._state
        if state.calibration is None and not self._may_start():
            return "off"
        return state.status

    @property
    def calibration(self) -> Calibration | None:
        """The calibration that judges the next query, moved by real ones; None at first."""
        return self._state.in_force

    @property
    def judge(self) -> Calibration | None:
        """The same: nothing listens beside it."""
        return self.calibration

    @property
    def notice(self) -> str | None:
        """The reason why levels are uncalibrated, where more is known than the status says."""
        return self._state.notice

    def refuse_encoder(self, encoder: str | None) -> None:
        """Let go of a calibration that was read from a file and belongs to another encoder."""
        self._state.refuse_encoder(encoder)

    def refuse(self, reason: str) -> None:
        """Leave it to the next check, which is due after the first query with a calibration."""

    def entry(self) -> dict[str, str | None] | None:
        """Return the part of a report that names the calibration in use; None where it is off."""
        fitted, status = self._state.calibration, self.status
        if fitted is None:
            return None if status == "off" else {"id": None, "created": None, "status": status}
        return {"id": calibration_id(fitted), "created": fitted.created, "status": status}

    # Queries.

    def begin_query(self) -> None:
        """Note that a query begins; searches in the background pause."""
        self._state.queries.begin()

    def end_query(self) -> None:
        """Note that a query has ended, whatever came of it."""
        self._state.queries.end()

    def after_query(self, observed: Observed | None) -> None:
        """Let a query without filters join the window, and start what it makes due in a thread.

        Args:
            observed: Its top cosine and term coverage, None where it had no cosine.
        """
        with suppress(Exception):
            due = self._observe(observed)
            if due is not None:
                self._start(due)

    def after_async_query(self, observed: Observed | None) -> None:
        """`after_query`, with a task on the running loop."""
        with suppress(Exception):
            due = self._observe(observed)
            if due is not None:
                self._start_on_loop(due)

    def _observe(self, observed: Observed | None) -> Purpose | None:
        state = self._state
        state.observe(observed)
        due = state.due()
        return due if due is not None and self._may_start() else None

    # On request.

    def recalibrate(self) -> None:
        """Start a new fit in a thread; the old calibration judges until it is done.

        Nothing where one is under way, or may not start.
        """
        if self._may_start():
            self._start("fit", anew=True)

    async def arecalibrate(self) -> None:
        """`recalibrate`, with a task on the running loop."""
        if self._may_start():
            self._start_on_loop("fit", anew=True)

    def wait_until_calibrated(self, timeout: float | None = None) -> bool:
        """Wait for the end of an attempt, which is started where none has been.

        Args:
            timeout: Seconds; None waits for as long as it takes.

        Returns:
            True only if levels follow the calibration now.

        Raises:
            ConfigurationError: The event loop that it is called on carries the attempt, which
                would never end.
        """
        state = self._state
        if self.status == "waiting":
            self._start("fit")
        if self.status == "fitting":
            state.wait(timeout)
        return self.status == "ready"

    async def await_until_calibrated(self, timeout: float | None = None) -> bool:
        """`wait_until_calibrated` without blocking the event loop."""
        state = self._state
        if self.status == "waiting":
            self._start_on_loop("fit")
        if self.status == "fitting":
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    while not await _ended_soon(state):
                        pass
        return self.status == "ready"

    # Starting.

    def _may_start(self) -> bool:
        return not is_switched_off() and not self._port().only_on_request

    def _start(self, purpose: Purpose, *, anew: bool = False) -> None:
        port, state = self._port(), self._state
        if port.is_async_only:
            return
        attempt = state.begin(purpose, anew=anew)
        if attempt is not None:
            start_thread(state, attempt, port, self._steps(state, attempt, port))

    def _start_on_loop(self, purpose: Purpose, *, anew: bool = False) -> None:
        port, state = self._port(), self._state
        if state.times_cut_short >= LOOPS_TRIED and not port.is_async_only:
            self._start(purpose, anew=anew)
            return
        attempt = state.begin(purpose, asyncio.get_running_loop(), anew=anew)
        if attempt is not None:
            steps = self._steps(state, attempt, port)
            start_task(state, attempt, port, steps, self._tasks)

    def _steps(self, state: AutoState, attempt: Attempt, port: RetrieverPort) -> Any:
        limit = self.settings.max_searches
        pace = Pace(state.queries, limit, state.answers, self._politeness, self._clock)
        return partial(attempt_flow, state, attempt, port, pace)


def _stop(states: Mapping[int, AutoState]) -> None:
    """Stop what runs in this process for a calibrator that nobody has any more."""
    state = states.get(os.getpid())
    if state is not None:
        state.stop.set()


async def _ended_soon(state: AutoState) -> bool:
    """Return True where no attempt is under way, or one ends while it is waited for."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def listener() -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(ended.set)

    if not state.listen(listener):
        return True
    try:
        await asyncio.wait_for(ended.wait(), LOOK_AGAIN)
    except TimeoutError:  # its own loop may have stopped, which nobody tells
        return False
    finally:
        state.unlisten(listener)
    return True
