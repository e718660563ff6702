"""`CalibrationWatch`: a calibration that was passed, refused where its encoder has changed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from typing import ClassVar

from recall_signal._auto.run import read_silently
from recall_signal._auto.settings import CalibrationStatus, is_switched_off
from recall_signal._auto.traffic import Observed
from recall_signal._background import start_thread
from recall_signal._steps.driver import drive, drive_async
from recall_signal.assess import Calibrator
from recall_signal.calibration._baseline import Baseline, CalibrationWithBaseline
from recall_signal.calibration._calibration import Calibration
from recall_signal.calibration._check import ask_fingerprint
from recall_signal.calibration._identity import calibration_id
from recall_signal.calibration._port import RetrieverPort
from recall_signal.calibration._requests import direct, direct_async
from recall_signal.errors import ConfigurationError

__all__ = ["CalibrationWatch"]

log = logging.getLogger(__name__)

_CHANGED = "the encoder gives other vectors than at the fit, under the same name: calibrate again"


class CalibrationWatch:
    """Compares the encoder's fingerprint with the fit's, once, after the first query.

    It has the methods of an `AutoCalibrator`, so that a wrapper need not know which it has. The
    calibration itself is frozen.

    Args:
        calibration: The one that was passed.
        port: The retriever, for its encoder.
        baseline: Listens beside it, where there is one.
    """

    learns: ClassVar = False

    def __init__(
        self,
        calibration: Calibration,
        port: Callable[[], RetrieverPort],
        baseline: Baseline | None = None,
    ) -> None:
        self._calibration = calibration
        self._baseline = baseline
        self._port = port
        self._tasks: set[asyncio.Task[None]] = set()
        self._begun = is_switched_off() or not _has_fingerprint(calibration)
        self.notice: str | None = None

    @property
    def status(self) -> CalibrationStatus:
        """`ready` or `no_valid_threshold`; `failed` where the encoder is another one."""
        if self.notice is not None:
            return "failed"
        return "ready" if self._calibration.decides else "no_valid_threshold"

    @property
    def calibration(self) -> Calibration | None:
        """The calibration, None where the encoder is another one."""
        return self._calibration if self.notice is None else None

    @property
    def judge(self) -> Calibrator | None:
        """The calibration, and the baseline that listens beside it."""
        if self.notice is not None:
            return None
        if self._baseline is None:
            return self._calibration
        return CalibrationWithBaseline(self._calibration, self._baseline)

    def watches(self, calibration: Calibration, baseline: Baseline | None) -> bool:
        """Return True where it watches this calibration."""
        return self._calibration is calibration and self._baseline is baseline

    def __copy__(self) -> CalibrationWatch:
        return self

    def __deepcopy__(self, memo: object) -> CalibrationWatch:
        return self

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()

    def entry(self) -> dict[str, str | None]:
        """Return the part of a report that names the calibration in use."""
        used = self._calibration
        return {"id": calibration_id(used), "created": used.created, "status": self.status}

    def refuse(self, reason: str) -> None:
        """Leave levels uncalibrated from now on: the encoder is another one."""
        if self.notice is None:
            log.warning("calibration: %s", reason)
            self.notice = reason

    def begin_query(self) -> None:
        """Note that a query begins."""

    def end_query(self) -> None:
        """Note that a query has ended."""

    def after_query(self, observed: Observed | None) -> None:  # noqa: ARG002
        """Compare the fingerprints in a thread, after the first query."""
        if not self._begun:
            self._begun = True
            with suppress(Exception):
                start_thread(self._compare, "recall-signal-check")

    def after_async_query(self, observed: Observed | None) -> None:  # noqa: ARG002
        """Compare the fingerprints in a task, after the first query."""
        if not self._begun:
            self._begun = True
            with suppress(Exception):
                loop = asyncio.get_running_loop()
                task = loop.create_task(self._acompare(), context=Context())
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
                task.add_done_callback(read_silently)

    def recalibrate(self) -> None:
        """Refuse: a calibration that was passed is frozen.

        Raises:
            ConfigurationError: Always.
        """
        raise ConfigurationError(
            "a calibration that was passed is frozen: use calibrate() and with_calibration(), or "
            'calibration="auto"'
        )

    async def arecalibrate(self) -> None:
        """`recalibrate`, asynchronously."""
        self.recalibrate()

    def wait_until_calibrated(self, timeout: float | None = None) -> bool:  # noqa: ARG002
        """Return True where levels follow the calibration."""
        return self.status == "ready"

    async def await_until_calibrated(self, timeout: float | None = None) -> bool:
        """`wait_until_calibrated`, asynchronously."""
        return self.wait_until_calibrated(timeout)

    def _compare(self) -> None:
        with suppress(BaseException):  # an extra step: there is nobody to tell
            flow = ask_fingerprint(self._calibration.canaries)
            self._conclude(drive(flow, direct(self._port()))[0])

    async def _acompare(self) -> None:
        with suppress(Exception):  # of anything else nobody hears either: see `after_async_query`
            flow = ask_fingerprint(self._calibration.canaries)
            self._conclude((await drive_async(flow, direct_async(self._port())))[0])

    def _conclude(self, is_same: bool | None) -> None:
        if is_same is False:
            self.refuse(_CHANGED)


def _has_fingerprint(calibration: Calibration) -> bool:
    return calibration.canaries is not None and calibration.canaries.fingerprint is not None
