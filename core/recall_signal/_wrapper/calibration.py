"""Calibrate a wrapper through its own search, whatever its framework."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from recall_signal._auto.settings import CalibrationStatus
from recall_signal._auto.source import Watcher
from recall_signal._numbers import require_number
from recall_signal._steps.driver import drive, drive_async
from recall_signal._wrapper.calibration_file import calibrated_flow
from recall_signal._wrapper.learning import learning
from recall_signal._wrapper.runtime import Runtime
from recall_signal.calibration._calibration import Calibration
from recall_signal.calibration._check import CheckResult
from recall_signal.calibration._fingerprint import FINGERPRINT_TEXTS
from recall_signal.calibration._fit_input import require_fit_names
from recall_signal.calibration._port import RetrieverPort
from recall_signal.errors import ConfigurationError

__all__ = ["CalibrationMixin"]


class _Wrapper(Protocol):
    """The part that a framework's own wrapper has to offer."""

    @property
    def _runtime(self) -> Runtime[Any]: ...

    @property
    def _watcher(self) -> Watcher | None:
        """Watches the calibration, None where there is none."""
        ...

    def _port(self, *, reranked: bool) -> RetrieverPort:
        """Return the bare search, with its reranker only where that is to be learned as well."""
        ...

    def calibrate(self, **given: Any) -> Calibration: ...

    def acalibrate(self, **given: Any) -> Awaitable[Calibration]: ...

    def with_calibration(self, calibration: Calibration | None) -> Self: ...

    def _replace(self, **changed: Any) -> Self:
        """Return this wrapper with other settings."""
        ...


W = TypeVar("W", bound=_Wrapper)


class CalibrationMixin:
    """The calibration methods of every wrapper around a retriever.

    Nothing is abstract here: LlamaIndex writes a span for each call of an abstract method.
    """

    def calibrate(self: _Wrapper, **given: Any) -> Calibration:
        """Learn the scale of this retriever through its own search, in at most 186 searches.

        One more for each past or labelled query. With `use_rerank` each search is reranked too,
        so that the reranker's own scale is learned beside that of the cosines. No callback and no
        trace hears of these searches.

        Args:
            **given: As in `recall_signal.Calibration.fit`, all of it optional: `documents`,
                `past_queries`, `labelled`, `probes`, `encoder`, `seed`, `progress`, `prior`,
                `max_false_none` and `rerank_scale`.

        Raises:
            ConfigurationError: A name is none of these.
            CalibrationError: The store is empty, the retriever gives no cosines, or there are
                too few labels for a bound.
        """
        port = self._port(reranked=True)
        with learning():
            fitted = Calibration.fit(port, **_fit_arguments(self, given))
        fitted = _named(fitted, port, given)
        try:
            return fitted.with_fingerprint(port.embed_texts(FINGERPRINT_TEXTS))
        except Exception:  # an encoder that cannot be reached leaves the canaries
            return fitted

    async def acalibrate(self: _Wrapper, **given: Any) -> Calibration:
        """`calibrate`, asynchronously."""
        port = self._port(reranked=True)
        with learning():
            fitted = await Calibration.afit(port, **_fit_arguments(self, given))
        fitted = _named(fitted, port, given)
        try:
            return fitted.with_fingerprint(await port.aembed_texts(FINGERPRINT_TEXTS))
        except Exception:  # an encoder that cannot be reached leaves the canaries
            return fitted

    def with_calibration(self: W, calibration: Calibration | None) -> W:
        """Return this retriever with that calibration.

        Raises:
            CalibrationError: It was fitted with another encoder.
            ConfigurationError: It is something else, such as the path of a saved one.
        """
        if not isinstance(calibration, Calibration | None):
            raise ConfigurationError(
                f"with_calibration takes a Calibration or None, got {type(calibration).__name__}; "
                "read a saved one with Calibration.load(path)"
            )
        return self._replace(calibration=calibration)

    def calibrated(self: W, path: str | Path | None = None, **fit_arguments: Any) -> W:
        """Return this retriever with a calibration of its own, fitted now or read from a file.

        One that found no threshold changes no level, and a warning in the log says so.

        Args:
            path: A file that keeps the calibration. One that still fits (the encoder's name, a
                check by a dozen searches, and the labelled and past queries, probes and seed that
                are given here) is used, with `prior` and `max_false_none` as they are given here
                or by default; a stale one is replaced. `documents`, `rerank_scale` and
                `progress` are for a fit: they change nothing of a file that is used.
            **fit_arguments: As in `calibrate`.

        Raises:
            CalibrationError: The file holds something else, and is left alone; or the fit failed.
            OSError: The folder of the file does not exist. A file that cannot be written is a
                warning: what was learned stays in use.
        """
        flow = calibrated_flow(path, self._runtime.encoder, fit_arguments)
        performer = _Now(self)
        return self.with_calibration(drive(flow, lambda request: request.by(performer)))

    async def acalibrated(self: W, path: str | Path | None = None, **fit_arguments: Any) -> W:
        """`calibrated`, asynchronously."""
        flow = calibrated_flow(path, self._runtime.encoder, fit_arguments)
        performer = _NowAsync(self)
        return self.with_calibration(await drive_async(flow, lambda request: request.by(performer)))

    @property
    def calibration_port(self: _Wrapper) -> RetrieverPort:
        """The bare search, by which a calibration is learned and checked."""
        return self._port(reranked=False)

    @property
    def calibration_status(self: _Wrapper) -> CalibrationStatus:
        """The state of the calibration: `off` without one, else as in `CalibrationStatus`."""
        self._runtime  # noqa: B018  (a store may have been exchanged)
        return "off" if self._watcher is None else self._watcher.status

    @property
    def current_calibration(self: _Wrapper) -> Calibration | None:
        """The calibration that judges the next query, None where levels are uncalibrated."""
        self._runtime  # noqa: B018
        return None if self._watcher is None else self._watcher.calibration

    def recalibrate(self: _Wrapper) -> None:
        """Start a new fit in the background; the old calibration judges until it is done.

        Raises:
            ConfigurationError: There is no `calibration="auto"` to do it.
        """
        _auto(self).recalibrate()

    async def arecalibrate(self: _Wrapper) -> None:
        """`recalibrate`, with a task on the running loop."""
        await _auto(self).arecalibrate()

    def wait_until_calibrated(self: _Wrapper, timeout: float | None = None) -> bool:
        """Wait for the end of a fit in the background, which is started where none has been.

        Args:
            timeout: Seconds; None waits for any time.

        Returns:
            True only if levels follow a calibration now.

        Raises:
            ConfigurationError: The event loop that it is called on carries the fit, which would
                never end; use `await_until_calibrated`. Or the timeout is no number.
        """
        timeout = _seconds(timeout)
        self._runtime  # noqa: B018
        return self._watcher is not None and self._watcher.wait_until_calibrated(timeout)

    async def await_until_calibrated(self: _Wrapper, timeout: float | None = None) -> bool:
        """`wait_until_calibrated` without blocking the event loop."""
        timeout = _seconds(timeout)
        self._runtime  # noqa: B018
        watcher = self._watcher
        return watcher is not None and await watcher.await_until_calibrated(timeout)


def _auto(wrapper: _Wrapper) -> Watcher:
    wrapper._runtime  # noqa: B018
    if wrapper._watcher is None:
        raise ConfigurationError(
            'recalibrate needs calibration="auto"; use calibrate() and with_calibration()'
        )
    return wrapper._watcher


def _seconds(timeout: object) -> float | None:
    """Return a timeout, None where it waits for any time."""
    is_endless = timeout is None or (isinstance(timeout, float) and timeout == inf)
    return None if is_endless else require_number("timeout", timeout)


def _fit_arguments(wrapper: _Wrapper, given: dict[str, Any]) -> dict[str, Any]:
    require_fit_names(given)
    reranking = wrapper._runtime.flow.reranking
    scale = {} if reranking is None else {"rerank_scale": reranking.options.scale}
    return {"encoder": wrapper._runtime.encoder, **scale, **given}


def _named(fitted: Calibration, port: RetrieverPort, given: dict[str, Any]) -> Calibration:
    """Return a calibration under the name of the encoder whose cosines it has learned."""
    return fitted if "encoder" in given else replace(fitted, encoder=port.encoder_name)


@dataclass(frozen=True, slots=True)
class _Now:
    """Carries out what `calibrated` requests."""

    wrapper: _Wrapper

    def check(self, calibration: Calibration) -> CheckResult:
        return calibration.check(self.wrapper._port(reranked=False))

    def calibrate(self, **given: Any) -> Calibration:
        return self.wrapper.calibrate(**given)


@dataclass(frozen=True, slots=True)
class _NowAsync:
    """The same, awaited."""

    wrapper: _Wrapper

    async def check(self, calibration: Calibration) -> CheckResult:
        return await calibration.acheck(self.wrapper._port(reranked=False))

    async def calibrate(self, **given: Any) -> Calibration:
        return await self.wrapper.acalibrate(**given)
