"""The calibration of a wrapper that watches it: what judges a query, and what learns from it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar, Protocol

from recall_signal._auto.calibrator import AutoCalibrator, Carried
from recall_signal._auto.settings import AutoCalibration, CalibrationStatus, as_auto
from recall_signal._auto.traffic import Observed
from recall_signal._auto.watch import CalibrationWatch
from recall_signal._steps.failures import contained, original
from recall_signal.assess import Calibrator
from recall_signal.calibration._baseline import Baseline
from recall_signal.calibration._calibration import Calibration
from recall_signal.calibration._port import RetrieverPort
from recall_signal.confidence import RecallConfidence
from recall_signal.pool import Pool

__all__ = ["Uncalibrated", "WatchedCalibration", "Watcher", "watcher_of"]

log = logging.getLogger(__name__)


class Watcher(Protocol):
    """An `AutoCalibrator`, or a `CalibrationWatch`.

    Attributes:
        learns: Whether it learns from queries, so that those of one tenant are not for it.
    """

    learns: ClassVar[bool]

    @property
    def status(self) -> CalibrationStatus:
        """The state in one word."""

    @property
    def calibration(self) -> Calibration | None:
        """The calibration that judges the next query."""

    @property
    def judge(self) -> Calibrator | None:
        """Judges the next query: the calibration, and whatever listens beside it."""

    @property
    def notice(self) -> str | None:
        """The reason why levels are uncalibrated, where more is known than the status says."""

    def entry(self) -> dict[str, str | None] | None:
        """Return the part of a report that names the calibration in use, None without."""

    def refuse(self, reason: str) -> None:
        """Let go of a calibration that a query has shown to be of another encoder."""

    def begin_query(self) -> None:
        """Note that a query begins."""

    def end_query(self) -> None:
        """Note that a query has ended."""

    def after_query(self, observed: Observed | None) -> None:
        """Learn from a query."""

    def after_async_query(self, observed: Observed | None) -> None:
        """Learn from a query on the running loop."""

    def recalibrate(self) -> None:
        """Start a new fit."""

    async def arecalibrate(self) -> None:
        """Start a new fit on the running loop."""

    def wait_until_calibrated(self, timeout: float | None = None) -> bool:
        """Wait for the end of a fit."""

    async def await_until_calibrated(self, timeout: float | None = None) -> bool:
        """Wait for the end of a fit without blocking the event loop."""


class _Outcome(Protocol):
    """The end of a query, as far as it matters here."""

    @property
    def cosines(self) -> Sequence[float | None]: ...

    @property
    def confidence(self) -> RecallConfidence: ...

    @property
    def encoder(self) -> str | None: ...

    @property
    def dimension(self) -> int | None: ...


_OTHERS = "these cosines are of another encoder than the one that the calibration is of"

_REASONS: dict[CalibrationStatus, str] = {
    "off": (
        "the background calibration is switched off, or would call a language model or change "
        "what is stored"
    ),
    "waiting": "the calibration starts after the first query without a filter or a tenant",
    "fitting": "the calibration is being learned",
    "not_measurable": "this retriever gave no cosines to calibrate with",
    "failed": "the calibration failed and is tried again later",
}


@dataclass(frozen=True, slots=True)
class Uncalibrated:
    """Leaves the level and adds the reason to the rationale.

    Attributes:
        reason: Why there is no calibration.
        applies_to_scores: Keyword scores have an uncalibrated level as well.
    """

    reason: str
    applies_to_scores: ClassVar[bool] = True

    def apply(
        self,
        confidence: RecallConfidence,
        pool: Pool,  # noqa: ARG002
    ) -> RecallConfidence:
        """Return the uncalibrated signal with the reason."""
        rationale = f"{confidence.rationale} Uncalibrated: {self.reason}."
        return confidence.model_copy(update={"rationale": rationale})


@dataclass(frozen=True, slots=True, eq=False)
class WatchedCalibration:
    """The calibration source of a wrapper with a watcher.

    Attributes:
        watcher: Learns, or checks, in the background.
    """

    watcher: Watcher

    def current(self, encoder: str | None = None, dimension: int | None = None) -> Calibrator:
        """Return the calibration in force, or what says why there is none."""
        judge = self.watcher.judge
        if judge is not None and self._is_of(encoder, dimension):
            return judge
        if judge is not None:
            if self._is_of(encoder):  # by its name, yet its vectors are of another length
                self.watcher.refuse(_OTHERS)
            return Uncalibrated(_OTHERS)
        return Uncalibrated(self.watcher.notice or _REASONS.get(self.watcher.status, "it changes"))

    @property
    def reads_words(self) -> bool:
        """True where texts are read, or a new calibration that reads them may come meanwhile."""
        judge = self.watcher.judge
        return judge is None or self.watcher.learns or bool(getattr(judge, "reads_words", False))

    def entry(self) -> dict[str, str | None] | None:
        """Return the part of a report that names the calibration; None where it is off, or fails.

        A calibration of a user's own class may raise anything.
        """
        try:
            return contained(self.watcher.entry)
        except Exception as error:
            log.warning("naming the calibration failed: %s", type(original(error)).__name__)
            return None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Hold while a query runs; searches in the background pause."""
        self.watcher.begin_query()
        try:
            yield
        finally:
            self.watcher.end_query()

    def observe(self, outcome: _Outcome, *, is_plain: bool, is_async: bool) -> None:
        """Let a finished query join the window, and start what it makes due.

        Args:
            outcome: What the query came to.
            is_plain: False for a call with a filter or a configuration of its own, from which
                nothing is learned.
            is_async: Whether the query ran on the running event loop.
        """
        with suppress(Exception):  # the page is done: nothing of this may lose it
            is_own = self._is_of(outcome.encoder, outcome.dimension)
            if self.watcher.learns and not is_plain:
                return
            observed = _figures(outcome) if is_own else None
            if is_async:
                self.watcher.after_async_query(observed)
            else:
                self.watcher.after_query(observed)

    def _is_of(self, encoder: str | None, dimension: int | None = None) -> bool:
        """Return False where the calibration is known to be of another encoder."""
        calibration = self.watcher.calibration
        return calibration is None or calibration.fits_encoder(encoder, dimension)


def watcher_of(
    calibration: Calibration | AutoCalibration | None,
    baseline: Baseline | None,
    previous: object,
    port: Callable[[], RetrieverPort],
    encoder: str | None,
) -> Watcher | None:
    """Return the watcher of a wrapper's calibration, None where it has none.

    Args:
        calibration: The wrapper's.
        baseline: The wrapper's.
        previous: The watcher of the wrapper that this one is a copy of; shared where it serves.
        port: Makes the bare search.
        encoder: The name of what embeds the queries.
    """
    if isinstance(calibration, Calibration):
        if isinstance(previous, CalibrationWatch) and previous.watches(calibration, baseline):
            return previous
        return CalibrationWatch(calibration, port, baseline)
    auto = as_auto(calibration)
    if auto is None:
        return None
    if isinstance(previous, AutoCalibrator) and previous.settings == auto:
        return previous
    carried = previous.calibration if isinstance(previous, Carried) else None
    return AutoCalibrator(auto, port, calibration=carried, encoder=encoder)


def _figures(outcome: _Outcome) -> Observed | None:
    """Return the top cosine and the term coverage, None where nothing was measured."""
    if outcome.confidence.level == "unknown":
        return None
    known: list[float] = [c for c in outcome.cosines if c is not None and isfinite(c)]
    if not known:
        return None
    return max(known), outcome.confidence.term_coverage
