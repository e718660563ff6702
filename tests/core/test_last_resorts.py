"""What the wrapper falls back to where one of its own parts is broken, or of an unexpected kind."""

from types import SimpleNamespace
from typing import Any

import pytest

from recall_signal import Baseline, InvalidInputError, Pool
from recall_signal._auto.source import WatchedCalibration
from recall_signal._steps.timeouts import CallLimits
from tests.calibration.toys import calibration


class Broken:
    def entry(self) -> Any:
        raise RuntimeError("a question")


def test_a_calibration_that_cannot_be_named_is_not_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    watcher: Any = Broken()
    assert WatchedCalibration(watcher).entry() is None
    assert "RuntimeError" in caplog.text
    assert "a question" not in caplog.text


def test_a_call_that_ended_in_time_is_not_abandoned() -> None:
    limits = CallLimits()
    call: Any = SimpleNamespace(ended=True)
    limits._leave(call)
    assert not limits._abandoned


def test_a_baseline_sorts_again_what_a_fork_left_half_done() -> None:
    baseline = Baseline([0.3, 0.1, 0.2])
    baseline._ranked = []
    baseline.observe(0.4)
    assert baseline._ranked == [0.1, 0.2, 0.3, 0.4]


def test_a_calibration_without_canaries_takes_no_fingerprint() -> None:
    fitted = calibration()
    assert fitted.canaries is None
    assert fitted.with_fingerprint([[1.0, 0.0]]) is fitted


def test_a_query_of_a_pool_is_text() -> None:
    with pytest.raises(InvalidInputError, match=r"Pool\.query must be a text, got int"):
        Pool([0.5], query=5)  # type: ignore[arg-type]
