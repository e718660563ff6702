"""A calibration that looks after itself: learned in a thread, shared, followed, checked."""

from __future__ import annotations

import copy
import gc
import logging
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from threading import enumerate as threads
from typing import Any, Literal

import pytest

from recall_signal import AutoCalibration, Calibration, Pool
from recall_signal._auto.calibrator import AutoCalibrator, _stop
from recall_signal._auto.state import AutoState
from recall_signal._auto.traffic import TrafficWindow
from tests.calibration.auto_toys import EAGER, LONG, Clock, Port, engine, entry_of, query, settle
from tests.calibration.stores import HashEncoder
from tests.calibration.toys import Toy, calibration, timeless


def ready(port: Port | None = None, **settings: Any) -> AutoCalibrator:
    auto = engine(port or Port(), **settings)
    assert auto.wait_until_calibrated(LONG)
    return auto


def test_the_first_query_starts_a_fit_that_ends_in_a_calibration() -> None:
    port = Port()
    auto = engine(port)
    assert (auto.status, auto.calibration, port.asked) == ("waiting", None, [])
    assert auto.entry() == {"id": None, "created": None, "status": "waiting"}
    query(auto)
    assert auto.wait_until_calibrated(LONG)
    assert (auto.status, auto.notice) == ("ready", None)
    fitted = auto.calibration
    assert fitted is not None
    assert fitted.encoder == "toy"
    assert timeless(fitted) == timeless(Calibration.fit(Toy(), encoder="toy"))
    entry = entry_of(auto)
    assert len(entry["id"] or "") == 12
    assert entry == {"id": entry["id"], "created": fitted.created, "status": "ready"}
    assert len(port.asked) <= 186


def test_waiting_starts_it_too_and_is_over_when_time_is_up() -> None:
    held = Event()
    port = Port(held=held)
    auto = engine(port)
    assert not auto.wait_until_calibrated(0.001)
    assert port.began.wait(LONG)
    assert auto.status == "fitting"
    held.set()
    assert auto.wait_until_calibrated(LONG)


def test_many_threads_and_copies_fit_once() -> None:
    held = Event()
    port = Port(held=held)
    auto = engine(port)
    copies = [copy.copy(auto), copy.deepcopy(auto), auto]
    assert all(same is auto for same in copies)

    def work() -> None:
        for n in range(20):
            query(copies[n % 3])

    threads = [Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    held.set()
    for thread in threads:
        thread.join()
    assert auto.wait_until_calibrated(LONG)
    assert len(port.asked) <= 186


def test_wrappers_do_not_know_of_each_other() -> None:
    held = Event()
    hanging, sound = Port(held=held), Port()
    first, second = engine(hanging), engine(sound)
    query(first)
    assert hanging.began.wait(LONG)
    assert second.wait_until_calibrated(LONG)
    assert first.status == "fitting"
    held.set()
    assert first.wait_until_calibrated(LONG)


@pytest.mark.parametrize("reason", ["model", "environment"])
def test_it_is_off_where_it_may_not_start(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    port = Port(only_on_request=reason == "model")
    if reason == "environment":
        monkeypatch.setenv("RECALL_SIGNAL_AUTO", "off")
    auto = engine(port)
    query(auto)
    auto.recalibrate()
    assert not auto.wait_until_calibrated(LONG)
    assert (auto.status, auto.entry(), port.asked) == ("off", None, [])


def test_a_store_that_is_only_asynchronous_is_left_alone_by_threads() -> None:
    auto = engine(Port(is_async_only=True))
    query(auto)
    assert not auto.wait_until_calibrated(0.01)
    assert auto.status == "waiting"


def test_nothing_that_fails_reaches_a_query(monkeypatch: pytest.MonkeyPatch) -> None:
    auto = engine(Port())
    monkeypatch.setattr(auto, "_port", lambda: 1 / 0)
    query(auto)


def test_a_few_failures_are_skipped() -> None:
    port = Port(failing=fails_at(range(0, 120, 10), times=9))
    auto = ready(port)
    assert auto.status == "ready"


def fails_at(numbers: Any, times: int, error: type[BaseException] = ConnectionError) -> Any:
    """Raises for those distinct queries, by their order of appearance, so many times each."""
    order: dict[str, int] = {}
    raised: dict[str, int] = {}

    def failing(query: str) -> None:
        number = order.setdefault(query, len(order))
        if number in numbers and raised.get(query, 0) < times:
            raised[query] = raised.get(query, 0) + 1
            raise error

    return failing


class RateLimited(Exception):
    """An encoder that answers 429."""


def test_an_encoder_that_answers_429_is_asked_less_and_then_later() -> None:
    clock = Clock()
    port = Port(failing=fails_at(range(1000), times=99, error=RateLimited))
    auto = engine(port, clock=clock)
    assert not auto.wait_until_calibrated(LONG)
    assert (auto.status, len(port.asked)) == ("failed", 9)
    assert "RateLimited" in (auto.notice or "")
    query(auto)
    assert (auto.status, len(port.asked)) == ("failed", 9)
    clock.now += 60.0
    query(auto)
    assert not auto.wait_until_calibrated(LONG)
    assert len(port.asked) == 18
    clock.now += 60.0
    query(auto)
    assert len(port.asked) == 18
    port.failing = lambda _: None
    clock.now += 60.0
    query(auto)
    assert auto.wait_until_calibrated(LONG)


@pytest.mark.parametrize("error", [GeneratorExit, SystemExit, KeyboardInterrupt])
def test_a_panic_of_a_search_is_a_failure(error: type[BaseException]) -> None:
    auto = engine(Port(failing=fails_at(range(1000), times=99, error=error)))
    assert not auto.wait_until_calibrated(LONG)
    assert auto.status == "failed"


def test_a_search_that_returns_nonsense_fails() -> None:
    auto = engine(Port(toy=lambda _: Pool(["text"])))  # type: ignore[list-item]
    assert not auto.wait_until_calibrated(LONG)
    assert auto.status == "failed"


@pytest.mark.parametrize("pool", [Pool([]), Pool([None], scores=[1.0])])
def test_a_retriever_without_cosines_is_not_measurable_and_tried_again(pool: Pool) -> None:
    port = Port(toy=lambda _: pool)
    auto = engine(port, check_every=10)
    assert not auto.wait_until_calibrated(LONG)
    assert (auto.status, len(port.asked)) == ("not_measurable", 30)
    for _ in range(9):
        query(auto, None)
    assert auto.status == "not_measurable"
    port.toy = Toy()
    query(auto)
    assert auto.wait_until_calibrated(LONG)


def test_an_empty_store_is_looked_at_again_soon_and_then_less_often() -> None:
    port = Port(toy=lambda _: Pool([]))
    auto = engine(port, check_every=200)
    asked, attempts = 0, []
    for number in range(500):
        query(auto, None)
        auto.wait_until_calibrated(LONG) if auto.status == "fitting" else None
        if len(port.asked) > asked:
            attempts.append(number)
            asked = len(port.asked)
    assert attempts == [0, 30, 120, 320]


def test_an_outage_and_an_empty_store_are_counted_apart() -> None:
    state = AutoState(AutoCalibration())
    statuses: list[Literal["failed", "not_measurable"]]
    statuses = ["failed", "failed", "failed", "failed", "not_measurable"]
    for number, status in enumerate(statuses):
        attempt = state.begin("fit")
        assert attempt is not None, number
        state.finish(attempt, status=status)
    for _ in range(29):
        state.observe(None)
    assert state.due() is None
    state.observe(None)
    assert state.due() == "fit"


def test_nothing_that_separates_is_a_result() -> None:
    auto = engine(Port(toy=lambda _: Pool([0.5, 0.4])))
    assert not auto.wait_until_calibrated(LONG)
    assert auto.status == "no_valid_threshold"
    assert auto.calibration is not None
    assert not auto.calibration.decides


def test_recalibrate_keeps_the_old_one_until_the_new_one_is_there() -> None:
    port = Port()
    auto = ready(port)
    old = entry_of(auto)["id"]
    port.held, port.began = Event(), Event()
    port.toy = Toy(offset=0.1, factor=0.8)
    auto.recalibrate()
    auto.recalibrate()
    assert port.began.wait(LONG)
    assert (auto.status, entry_of(auto)["id"]) == ("fitting", old)
    port.held.set()
    assert auto.wait_until_calibrated(LONG)
    assert entry_of(auto)["id"] != old


def test_a_new_fit_that_fails_loses_nothing() -> None:
    port = Port()
    auto = ready(port)
    before = auto.entry()
    port.failing = fails_at(range(1000), times=99)
    auto.recalibrate()
    assert auto.wait_until_calibrated(LONG)
    assert auto.entry() == before


# Checks.


def checked(auto: AutoCalibrator, port: Port) -> int:
    """Searches of the check that the next query makes due."""
    before = len(port.asked)
    query(auto)
    settle(auto)
    return len(port.asked) - before


def test_it_checks_every_so_many_queries() -> None:
    port = Port(encoder=HashEncoder())
    auto = ready(port, check_every=5)
    for _ in range(4):
        assert checked(auto, port) == 0
    assert checked(auto, port) == 12
    assert auto.status == "ready"
    for _ in range(4):
        assert checked(auto, port) == 0
    assert checked(auto, port) == 12


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (lambda port: setattr(port, "toy", Toy(offset=0.1, factor=0.8)), "stored texts"),
        (lambda port: setattr(port, "encoder", HashEncoder(added=0.5)), "the encoder has"),
    ],
)
def test_a_finding_leaves_levels_uncalibrated_until_the_next_fit(
    change: Callable[[Port], None], finding: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    port = Port(encoder=HashEncoder())
    auto = ready(port, check_every=1)
    old = entry_of(auto)["id"]
    change(port)
    asked: list[tuple[Any, ...]] = []

    def watch(_: str) -> None:
        asked.append((auto.status, auto.calibration, auto.notice))

    port.failing = watch
    query(auto)
    settle(auto)
    status, during, notice = asked[-1]
    assert (status, during) == ("fitting", None)
    assert finding in notice
    assert auto.wait_until_calibrated(LONG)
    assert entry_of(auto)["id"] != old
    said = " ".join(record.getMessage() for record in caplog.records)
    assert "ready after" in said
    assert not any(text in said for text in port.asked)


def test_a_store_that_is_away_during_a_check_changes_nothing() -> None:
    port = Port()
    auto = ready(port, check_every=1)
    before = auto.entry()
    port.failing = fails_at(range(1000), times=99)
    assert checked(auto, port) == 12  # four searches, two more tries each
    assert auto.entry() == before


def test_an_encoder_that_fails_leaves_the_canaries() -> None:
    port = Port()

    class Away(HashEncoder):
        def __call__(self, _: Any) -> Any:
            raise ConnectionError

    port.encoder = Away()
    auto = ready(port)
    assert auto.calibration is not None
    assert auto.calibration.canaries is not None
    assert auto.calibration.canaries.fingerprint is None


def test_a_check_whose_calibration_is_gone_is_a_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    port = Port(encoder_name="another")
    auto = ready(Port())
    auto.refuse_encoder("another")
    assert auto.status == "waiting"
    monkeypatch.setattr(auto, "_port", lambda: port)
    auto._start("check")
    settle(auto)
    assert entry_of(auto)["status"] == "ready"


def test_an_attempt_that_was_replaced_changes_nothing() -> None:
    state = engine(Port())._state
    first = state.begin("fit")
    assert first is not None
    state.cut_short(first)
    second = state.begin("fit")
    assert second is not None
    state.cut_short(first)
    state.finish(first, status="failed")
    state.turn_into_fit(first, "nothing")
    assert (state.status, state.notice) == ("fitting", None)
    assert state.due() is None
    assert state.begin("check") is None


def test_a_fit_on_request_takes_the_place_of_a_check() -> None:
    port = Port()
    auto = ready(port, check_every=1)
    old = entry_of(auto)["id"]
    port.held, port.began = Event(), Event()
    query(auto)
    assert port.began.wait(LONG)
    port.toy = Toy(spread=0.06)
    auto.recalibrate()
    assert auto.status == "fitting"
    port.held.set()
    assert auto.wait_until_calibrated(LONG)
    assert entry_of(auto)["id"] != old


def test_a_file_of_somebody_else_begins_nothing_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text("a note of mine")
    state = engine(Port(), path=path)._state
    assert state.begin("fit") is None
    assert state.begin("fit", anew=True) is not None


def test_a_pickled_engine_is_its_calibration_alone() -> None:
    auto = ready()
    carried = pickle.loads(pickle.dumps(auto))
    assert carried.calibration == auto.calibration
    again = AutoCalibrator(auto.settings, Port, calibration=carried.calibration, encoder="toy")
    assert again.status == "ready"


def test_a_change_without_a_calibration_is_none() -> None:
    state = engine(Port())._state
    attempt = state.begin("check")
    assert attempt is not None
    state.turn_into_fit(attempt, "it has gone meanwhile")
    assert (state.status, state.rejected) == ("fitting", None)


def join() -> None:
    for thread in threads():
        if thread.name == "recall-signal-calibration":
            thread.join(LONG)


def test_an_attempt_that_was_replaced_fails_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    def toy(_: str) -> Pool:
        attempt = auto._state._attempt
        assert attempt is not None
        auto._state.cut_short(attempt)
        return Pool(["text"])  # type: ignore[list-item]

    auto = engine(Port(toy=toy))
    query(auto)
    join()
    assert auto.status == "waiting"
    assert not caplog.records


def test_a_thread_stops_when_the_process_ends() -> None:
    port = Port(failing=lambda _: auto._state.stop.set())
    auto = engine(port)
    query(auto)
    join()
    assert len(port.asked) == 1


def test_only_a_fit_is_waited_for() -> None:
    auto = ready()
    attempt = auto._state.begin("check")
    assert attempt is not None
    assert not auto._state.listen(lambda: None)
    assert auto._state.wait(0)
    assert auto.wait_until_calibrated(0)


# Traffic.


def test_the_level_follows_real_queries_from_thirty_on() -> None:
    auto = ready()
    fitted = auto.calibration
    assert fitted is not None
    for n in range(29):
        query(auto, fitted.scale.cut - 0.01 * (n % 3))
    assert auto.calibration is fitted
    query(auto, None)
    assert auto.calibration is fitted
    query(auto, fitted.scale.cut)
    moved = auto.calibration
    assert moved is not None
    assert moved.scale != fitted.scale
    assert entry_of(auto)["created"] == fitted.created


@pytest.mark.parametrize("top", [-1.0, 0.0, 0.2, 0.99, 1.0])
def test_no_stream_of_chosen_queries_moves_the_cut_beyond_its_bounds(top: float) -> None:
    fitted = Calibration.fit(Toy())
    assert fitted.bounds is not None
    moved = fitted.with_traffic([(top + 0.001 * (n % 3), None) for n in range(500)])
    low, high = fitted.bounds
    assert min(low, fitted.scale.cut) <= moved.scale.cut <= max(high, fitted.scale.cut)
    assert moved.scale.usable


def test_a_window_keeps_the_last_queries_and_looks_at_them_now_and_then() -> None:
    seen: list[int] = []

    def follow(fitted: Calibration, pairs: Any) -> Calibration:
        seen.append(len(pairs))
        return replace(fitted, prior=0.5 + len(pairs) / 1000)

    window, fitted = TrafficWindow(40, follow), calibration()
    for n in range(60):
        window.add((n / 60, None))
        window.moved(fitted)
    assert seen == [30, 40, 40, 40]
    assert window.moved(None) is None
    other = calibration(prior=0.6)
    assert window.moved(other) is not fitted
    window.clear()
    assert (len(window), window.moved(fitted)) == (0, fitted)


def test_a_window_is_forgotten_with_its_calibration() -> None:
    port = Port()
    auto = ready(port, check_every=1000)
    for n in range(40):
        query(auto, 0.5 + n / 1000)
    port.toy = Toy(offset=0.1, factor=0.8)
    auto.recalibrate()
    assert auto.wait_until_calibrated(LONG)
    assert auto.calibration is auto._state.calibration


def test_politeness_of_the_tests_never_waits() -> None:
    assert (EAGER.shortest, EAGER.longest, EAGER.first_delay) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "in a file"])
def test_a_fit_stops_when_nobody_can_use_it_any_more(kept: bool, tmp_path: Path) -> None:
    """A wrapper made for each request leaves no fit behind; one in a file serves the next."""
    path = tmp_path / "state.json" if kept else None
    held = Event()
    port = Port(held=held)
    auto = engine(port, path=path)
    query(auto)
    assert port.began.wait(LONG)
    state = auto._state
    del auto
    gc.collect()
    assert state.stop.is_set() is not kept
    held.set()
    with state._ended:
        assert state._ended.wait_for(lambda: state._attempt is None, LONG)
    assert (len(port.asked) == 1) is not kept


def test_a_fork_stops_nothing_of_its_parent() -> None:
    parents = engine(Port())
    _stop({0: parents._state})
    assert not parents._state.stop.is_set()
