"""A calibration that was passed is refused where its encoder gives other vectors."""

from __future__ import annotations

import asyncio
import copy
import gc
import logging
import pickle
from dataclasses import replace
from threading import enumerate as threads
from types import SimpleNamespace
from typing import Any

import pytest

from recall_signal import Baseline, ConfigurationError, assess
from recall_signal._auto.run import start_task
from recall_signal._auto.state import Attempt
from recall_signal._auto.watch import CalibrationWatch
from recall_signal.calibration._canaries import Canaries
from recall_signal.calibration._fingerprint import FINGERPRINT_TEXTS, fingerprint_of
from tests.calibration.auto_toys import LONG, Port
from tests.calibration.stores import HashEncoder
from tests.calibration.toys import calibration

KNOWN = calibration(
    canaries=Canaries((), fingerprint=fingerprint_of(HashEncoder()(FINGERPRINT_TEXTS)))
)


def query(watch: CalibrationWatch) -> None:
    watch.begin_query()
    watch.end_query()
    watch.after_query(None)
    for thread in threads():
        if thread.name == "recall-signal-check":
            thread.join(LONG)


async def aquery(watch: CalibrationWatch) -> None:
    watch.after_async_query(None)
    await asyncio.gather(*watch._tasks)


def test_the_same_encoder_is_fine() -> None:
    port = Port(encoder=HashEncoder(noise=1e-3))
    watch = CalibrationWatch(KNOWN, lambda: port)
    query(watch)
    assert (watch.calibration, watch.status, watch.notice) == (KNOWN, "ready", None)
    assert port.asked == []
    assert len(watch.entry()["id"] or "") == 12


@pytest.mark.parametrize("encoder", [HashEncoder(added=0.5), HashEncoder(dimensions=8)])
@pytest.mark.parametrize("is_async", [False, True])
async def test_another_one_under_the_same_name_is_noticed(
    encoder: HashEncoder, is_async: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    watch = CalibrationWatch(KNOWN, lambda: Port(encoder=encoder))
    for _ in range(2):
        if is_async:
            await aquery(watch)
        else:
            query(watch)
    assert (watch.calibration, watch.status) == (None, "failed")
    assert "calibrate again" in (watch.notice or "")
    assert len(caplog.records) == 1
    assert not watch.wait_until_calibrated()


def test_what_a_query_has_shown_holds_from_then_on(caplog: pytest.LogCaptureFixture) -> None:
    watch = CalibrationWatch(KNOWN, lambda: Port(encoder=HashEncoder()))
    for reason in ("the first reason", "another reason"):
        watch.refuse(reason)
    assert (watch.calibration, watch.judge, watch.notice) == (None, None, "the first reason")
    assert watch.status == watch.entry()["status"] == "failed"
    assert not watch.wait_until_calibrated()
    assert len(caplog.records) == 1


@pytest.mark.parametrize("known", [calibration(), replace(KNOWN, canaries=Canaries(()))])
async def test_without_a_fingerprint_nothing_is_compared(known: Any) -> None:
    def port() -> Any:
        return 1 / 0

    watch = CalibrationWatch(known, port)
    query(watch)
    await aquery(watch)
    assert watch.calibration is known
    assert await watch.await_until_calibrated(LONG)


async def test_an_encoder_that_fails_changes_nothing() -> None:
    class Panic(BaseException):
        pass

    class Away(HashEncoder):
        def __call__(self, _: Any) -> Any:
            raise Panic

    watch = CalibrationWatch(KNOWN, lambda: Port(encoder=Away()))
    query(watch)
    assert watch.status == "ready"


async def test_nothing_is_said_of_what_it_raises() -> None:
    """asyncio logs what nobody reads, with the texts that it quotes."""

    class Panic(BaseException):
        pass

    class Away(HashEncoder):
        def __call__(self, _: Any) -> Any:
            raise Panic("a secret")

    def steps() -> Any:
        yield from ()
        raise Panic("a secret")

    heard: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: heard.append(context))
    watch = CalibrationWatch(KNOWN, lambda: Port(encoder=Away()))
    watch.after_async_query(None)
    tasks = set[asyncio.Task[None]]()
    state: Any = SimpleNamespace(cut_short=lambda _: None)
    start_task(state, Attempt("fit", None), Port(), steps, tasks)
    await asyncio.wait({*tasks, *watch._tasks})
    gc.collect()
    await asyncio.sleep(0)
    assert heard == []
    assert watch.status == "ready"


def test_the_environment_switches_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECALL_SIGNAL_AUTO", "off")
    watch = CalibrationWatch(KNOWN, lambda: Port(encoder=HashEncoder(added=0.5)))
    query(watch)
    assert watch.status == "ready"


def test_copies_share_it_and_pickles_do_not() -> None:
    watch = CalibrationWatch(KNOWN, Port)
    assert copy.copy(watch) is watch
    assert copy.deepcopy(watch) is watch
    assert pickle.loads(pickle.dumps(watch)) is None
    assert watch.watches(KNOWN, None)
    assert not watch.watches(replace(KNOWN), None)


def test_a_baseline_listens_beside_it() -> None:
    baseline = Baseline()
    watch = CalibrationWatch(KNOWN, Port, baseline)
    assess([0.5, 0.4], calibration=watch.judge)
    assert len(baseline) == 1
    watch.notice = "the encoder has changed"
    assert watch.judge is None
    assert CalibrationWatch(KNOWN, Port).judge is KNOWN


async def test_it_is_frozen() -> None:
    watch = CalibrationWatch(calibration(status="no_valid_threshold"), Port)
    assert (watch.status, watch.wait_until_calibrated(LONG)) == ("no_valid_threshold", False)
    with pytest.raises(ConfigurationError, match="frozen"):
        watch.recalibrate()
    with pytest.raises(ConfigurationError, match="frozen"):
        await watch.arecalibrate()
