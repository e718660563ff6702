"""One attempt in the background, as steps without any I/O of its own but the state file."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeAlias, TypeVar

from recall_signal._auto.pace import Abandoned, Pace, PacedPerformer, Wait
from recall_signal._auto.state import Attempt, AutoState
from recall_signal._auto.state_file import FileLock, load, save
from recall_signal._files import NotRegularError
from recall_signal._steps.driver import Steps
from recall_signal.calibration._calibration import Calibration
from recall_signal.calibration._check import CheckResult, check_flow
from recall_signal.calibration._fingerprint import FINGERPRINT_TEXTS
from recall_signal.calibration._identity import calibration_id
from recall_signal.calibration._port import RetrieverPort
from recall_signal.calibration._requests import EmbedTexts, Search
from recall_signal.errors import CalibrationError
from recall_signal.pool import Pool

__all__ = ["AttemptSteps", "Fit", "PacedSearch", "Request", "attempt_flow"]

log = logging.getLogger(__name__)

LOCK_POLL = 0.25
"""Seconds between two looks whether another process has finished its fit."""

Request: TypeAlias = Search | EmbedTexts | Wait
PacedSearch: TypeAlias = Callable[[str], Steps[Request, Pool]]
"""Makes the steps of one search."""

Done = TypeVar("Done")
Done_co = TypeVar("Done_co", covariant=True)


class AttemptPerformer(PacedPerformer[Done_co], Protocol[Done_co]):
    """Carries out whatever an attempt consists of."""

    def fit(self, search: PacedSearch, encoder: str | None) -> Done_co:
        """Fit a calibration."""
        ...


@dataclass(frozen=True, slots=True)
class Fit:
    """Fit a calibration, each search of it by these steps.

    Attributes:
        search: Makes the steps of one search.
        encoder: The name of what embeds the queries.
    """

    search: PacedSearch
    encoder: str | None

    def by(self, performer: AttemptPerformer[Done]) -> Done:
        """Have it carried out."""
        return performer.fit(self.search, self.encoder)


AttemptSteps: TypeAlias = Steps[Request | Fit, None]


def attempt_flow(
    state: AutoState, attempt: Attempt, port: RetrieverPort, pace: Pace
) -> AttemptSteps:
    """Fit, or check and fit where that calls for it; end the attempt whatever happens.

    No error leaves this flow but an exit of the interpreter or a cancellation.
    """
    try:
        if attempt.purpose == "check" and (yield from _still_fits(state, attempt, pace)):
            state.finish(attempt)
            return
        yield from _fit(state, attempt, port, pace)
    except Abandoned as error:
        log.info("calibration: given up for now: %s", error)
        state.finish(attempt, status="failed", notice=str(error))
    except CalibrationError as error:
        log.info("calibration: not measurable: %s", error)
        state.finish(attempt, status="not_measurable", notice=str(error))
    except Exception as error:  # nothing that happens here may reach a query
        name = type(error).__name__
        if state.is_current(attempt):
            log.warning("calibration: the fit failed with %s", name)
        state.finish(attempt, status="failed", notice=f"the fit failed with {name}")
    finally:
        attempt.release()


def _still_fits(state: AutoState, attempt: Attempt, pace: Pace) -> Steps[Request, bool]:
    """Return True where a check finds the calibration in order; else levels are uncalibrated."""
    calibration = state.calibration
    if calibration is None:
        return False
    result = yield from _check(calibration, pace)
    log.info("calibration: checked after queries, %s", result.status)
    if result.finding is not None:
        state.turn_into_fit(attempt, result.finding)
    return result.fits


def _check(calibration: Calibration, pace: Pace) -> Steps[Request, CheckResult]:
    """Check at this pace."""
    flow = check_flow(calibration.canaries)
    try:
        request = next(flow)
        while True:
            try:
                if isinstance(request, Search):
                    answer = yield from pace.search(request.query)
                else:
                    answer = yield from pace.embed(request.texts)
            except Abandoned:
                raise
            except Exception as error:
                request = flow.throw(error)
            else:
                request = flow.send(answer)
    except StopIteration as stop:
        result: CheckResult = stop.value
        return result


def _fit(state: AutoState, attempt: Attempt, port: RetrieverPort, pace: Pace) -> AttemptSteps:
    """Return the calibration from the file where another process has made it, else from a fit."""
    path = state.settings.path
    if path is not None:
        lock = FileLock(path)
        while not _acquired(lock):
            yield Wait(LOCK_POLL)
            if not state.is_current(attempt):
                return
        attempt.file_lock = lock
        if (yield from _taken_from_file(path, state, attempt, port, pace)):
            return
    log.info("calibration: fitting in the background, at most %d searches", pace.budget)
    calibration: Calibration = yield Fit(pace.ask, port.encoder_name)
    calibration = replace(calibration, encoder=port.encoder_name)  # of what was seen meanwhile
    calibration = yield from _with_fingerprint(calibration, pace)
    log.info(
        "calibration: %s after %d searches (mode %s)",
        "ready" if calibration.decides else "no valid threshold",
        pace.searches,
        calibration.mode,
    )
    if path is not None:
        try:
            save(calibration, path)
        except CalibrationError as error:
            log.warning("calibration: %s; the file is left alone", error)
            state.finish(attempt, status="failed", notice=str(error), block=True)
            return
        except OSError as error:
            log.warning("calibration: its file cannot be written (%s)", type(error).__name__)
    state.finish(attempt, calibration=calibration)


def _acquired(lock: FileLock) -> bool:
    """Take the lock of the file; where none can be made, this process fits for itself."""
    try:
        return lock.acquire()
    except NotRegularError:  # a link in its place is somebody's trap
        raise
    except OSError as error:
        log.warning("calibration: its file cannot be locked (%s)", type(error).__name__)
        return True


def _taken_from_file(
    path: str | Path, state: AutoState, attempt: Attempt, port: RetrieverPort, pace: Pace
) -> Steps[Request, bool]:
    """Return True where the attempt has ended with what the file holds."""
    try:
        found = load(path)
    except CalibrationError as error:
        log.warning("calibration: %s; the file is left alone", error)
        state.finish(attempt, status="failed", notice=str(error), block=True)
        return True
    if found is None or calibration_id(found) == state.rejected:
        return False
    try:
        found.require_encoder(port.encoder_name)
    except CalibrationError:
        return False
    if not (yield from _check(found, pace)).fits:
        return False
    log.info("calibration: read from its file, made %s", found.created)
    state.finish(attempt, calibration=found)
    return True


def _with_fingerprint(calibration: Calibration, pace: Pace) -> Steps[Request, Calibration]:
    try:
        return calibration.with_fingerprint((yield from pace.embed(FINGERPRINT_TEXTS)))
    except Exception:  # an encoder that cannot be reached leaves the canaries
        return calibration
