"""The file that processes share is whole or absent, and nobody else's file is touched."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import enumerate as threads
from typing import Any

import pytest

from recall_signal import Calibration, CalibrationError, ConfigurationError
from recall_signal._auto.state_file import FileLock, load, save
from recall_signal._steps.driver import drive
from recall_signal._wrapper.calibration_file import calibrated_flow
from recall_signal.calibration._check import CheckResult
from recall_signal.calibration._fit_input import fit_input
from tests.calibration.auto_toys import LONG, Clock, Port, engine, entry_of, query, settle
from tests.calibration.stores import HashEncoder
from tests.calibration.toys import Toy, calibration, fit

DEAD = 2**22 + 1
"""More than any process id of Linux."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.json"


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.parent.iterdir())


def test_a_file_is_private_and_holds_figures_only(path: Path) -> None:
    auto = engine(Port(encoder=HashEncoder()), path=path)
    assert auto.wait_until_calibrated(LONG)
    assert path.stat().st_mode & 0o777 == 0o600
    text = path.read_text()
    assert json.loads(text)["v"] == 2
    toy = Toy()
    assert not any(word in text for _, document in toy.documents for word in document.split())
    assert names(path) == [".state.json.lock", "state.json"]
    assert Calibration.load(path) == auto.calibration


def test_a_restart_is_ready_at_once_and_checks_after_its_first_query(path: Path) -> None:
    first = Port(encoder=HashEncoder())
    assert engine(first, path=path).wait_until_calibrated(LONG)
    port = Port(encoder=HashEncoder())
    auto = engine(port, path=path)
    assert (auto.status, port.asked) == ("ready", [])
    query(auto)
    settle(auto)
    assert (auto.status, len(port.asked)) == ("ready", 12)


def test_a_restart_on_another_corpus_fits_anew_and_replaces_the_file(path: Path) -> None:
    assert engine(Port(), path=path).wait_until_calibrated(LONG)
    before = path.read_bytes()
    auto = engine(Port(toy=Toy(offset=0.1, factor=0.8)), path=path)
    query(auto)
    settle(auto)
    assert auto.status == "ready"
    assert path.read_bytes() != before


def test_a_file_of_another_encoder_is_not_used(path: Path) -> None:
    assert engine(Port(), path=path).wait_until_calibrated(LONG)
    port = Port(encoder_name="another")
    auto = engine(port, path=path)
    auto.refuse_encoder("another")
    assert (auto.status, auto.calibration) == ("waiting", None)
    assert "another" in (auto.notice or "")
    assert auto.wait_until_calibrated(LONG)
    found = load(path)
    assert found is not None
    assert found.encoder == "another"
    auto.refuse_encoder("another")
    assert auto.status == "ready"


def test_another_encoders_file_is_replaced_also_where_it_comes_later(path: Path) -> None:
    port = Port(encoder_name="another")
    auto = engine(port, path=path)
    auto.refuse_encoder("another")
    fit(Toy(), encoder="toy").save(path)
    assert auto.wait_until_calibrated(LONG)
    found = load(path)
    assert found is not None
    assert found.encoder == "another"


FOREIGN = ["", "{}", "[1, 2]", '{"v": 1}', '{"v": 3, "mode": "null"}', "a note of mine\n"]


@pytest.mark.parametrize("content", FOREIGN)
def test_a_file_that_is_none_of_ours_is_left_alone(
    content: str, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    path.write_text(content)
    port = Port()
    auto = engine(port, path=path)
    for _ in range(3):
        query(auto)
    assert not auto.wait_until_calibrated(LONG)
    assert (auto.status, path.read_text(), port.asked) == ("failed", content, [])
    assert len(caplog.records) == 1
    assert "left alone" in caplog.text
    with pytest.raises(CalibrationError):
        save(calibration(), path)
    assert path.read_text() == content


def test_a_file_that_becomes_somebody_elses_is_left_alone(path: Path) -> None:
    auto = engine(Port(), path=path)
    path.write_text("a note of mine\n")
    assert not auto.wait_until_calibrated(LONG)
    assert (auto.status, path.read_text()) == ("failed", "a note of mine\n")
    path.unlink()
    assert not auto.wait_until_calibrated(LONG)
    auto.recalibrate()
    assert auto.wait_until_calibrated(LONG)


def test_a_file_that_becomes_somebody_elses_during_the_fit_is_left_alone(path: Path) -> None:
    port = Port(failing=lambda _: None if path.exists() else path.write_text("mine"))
    auto = engine(port, path=path)
    assert not auto.wait_until_calibrated(LONG)
    assert (auto.status, path.read_text()) == ("failed", "mine")


def test_a_file_that_cannot_be_read_is_no_file_of_ours(path: Path) -> None:
    path.mkdir()
    with pytest.raises(ConfigurationError, match="is a folder"):
        engine(Port(), path=path)
    with pytest.raises(CalibrationError, match="no regular file"):
        load(path)


def test_a_pipe_is_no_file_of_ours_and_is_not_waited_for(path: Path) -> None:
    os.mkfifo(path)
    assert engine(Port(), path=path).status == "failed"
    with pytest.raises(CalibrationError, match="no regular file"):
        Calibration.load(path)


def test_a_file_that_the_system_does_not_give_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> int:
        raise PermissionError

    path.write_text("{}")
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(CalibrationError, match="cannot be read"):
        load(path)


def test_a_link_in_the_place_of_the_lock_is_not_followed(path: Path) -> None:
    precious = path.with_name("precious")
    precious.write_text("mine")
    FileLock(path).path.symlink_to(precious)
    auto = engine(Port(), path=path)
    auto.wait_until_calibrated(LONG)
    assert (precious.read_text(), auto.status) == ("mine", "failed")


def test_a_folder_that_does_not_exist_is_made(tmp_path: Path) -> None:
    auto = engine(Port(), path=tmp_path / "no" / "state.json")
    assert auto.wait_until_calibrated(LONG)
    assert load(tmp_path / "no" / "state.json") is not None


def test_a_file_that_cannot_be_written_costs_the_file_only(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("recall_signal._auto.attempt.save", full)
    auto = engine(Port(), path=path)
    assert auto.wait_until_calibrated(LONG)
    assert "cannot be written (OSError)" in caplog.text


def test_engines_with_one_path_fit_once(path: Path) -> None:
    ports = [Port() for _ in range(4)]
    engines = [engine(port, path=path) for port in ports]
    for auto in engines:
        query(auto)
    assert all(auto.wait_until_calibrated(LONG) for auto in engines)
    asked = sorted(len(port.asked) for port in ports)
    assert asked[:3] == [12, 12, 12]  # a check of what another one has made
    assert len({entry_of(auto)["id"] for auto in engines}) == 1


def test_a_file_that_came_meanwhile_and_does_not_fit_is_replaced(path: Path) -> None:
    auto = engine(Port(toy=Toy(offset=0.1, factor=0.8)), path=path)
    assert engine(Port(), path=path).wait_until_calibrated(LONG)
    before = path.read_bytes()
    assert auto.wait_until_calibrated(LONG)
    assert path.read_bytes() != before


def test_whoever_waits_for_the_lock_stops_when_it_has_been_replaced(path: Path) -> None:
    other = FileLock(path)
    assert other.acquire()
    port = Port()
    auto = engine(port, path=path)
    query(auto)
    state = auto._state
    attempt = state._attempt
    assert attempt is not None
    state.cut_short(attempt)
    for thread in threads():
        if thread.name == "recall-signal-calibration":
            thread.join(LONG)
    other.release()
    assert (auto.status, port.asked) == ("waiting", [])


def test_a_new_fit_replaces_the_file(path: Path) -> None:
    port = Port()
    auto = engine(port, path=path)
    assert auto.wait_until_calibrated(LONG)
    port.toy = Toy(spread=0.06)
    before = path.read_bytes()
    auto.recalibrate()
    assert auto.wait_until_calibrated(LONG)
    assert path.read_bytes() != before


def test_a_lock_is_held_by_one(path: Path) -> None:
    first, second = FileLock(path), FileLock(path)
    assert first.acquire()
    assert not second.acquire()
    first.release()
    first.release()
    assert second.acquire()
    second.release()


def test_a_lock_that_a_dead_process_left_to_a_fork_is_taken_over(path: Path) -> None:
    first, second, third = FileLock(path), FileLock(path), FileLock(path)
    assert first.acquire()
    first.path.write_text(f"{DEAD} 1000\n")
    assert second.acquire()
    assert not third.acquire()
    second.release()
    first.release()


@pytest.mark.parametrize(("late", "taken"), [(3599.0, False), (3601.0, True)])
def test_a_lock_is_taken_over_after_an_hour(late: float, taken: bool, path: Path) -> None:
    clock = Clock()
    first, second = FileLock(path, clock), FileLock(path, clock)
    assert first.acquire()
    clock.now += late
    assert second.acquire() is taken
    second.release()
    first.release()


@pytest.mark.parametrize("pid", [1, 10**30])  # no process id: nothing is known of it
def test_a_lock_of_a_process_that_may_live_is_held(pid: int, path: Path) -> None:
    clock = Clock()
    first = FileLock(path, clock)
    assert first.acquire()
    first.path.write_text(f"{pid} {clock.now:.0f}\n")
    assert not FileLock(path, clock).acquire()
    first.release()


def test_a_lock_that_says_nothing_is_held(path: Path) -> None:
    first = FileLock(path)
    assert first.acquire()
    first.path.write_text("")
    assert not FileLock(path).acquire()
    first.release()


def test_a_lock_file_that_was_replaced_in_between_is_tried_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = FileLock(path)
    stat = Path.stat

    def gone(self: Path, **given: Any) -> Any:
        if self == lock.path:
            self.unlink()
        return stat(self, **given)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "stat", gone)
        assert not lock.acquire()
    assert lock.acquire()
    lock.release()


def test_a_lock_that_cannot_be_written_is_given_back(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = FileLock(path)

    def full(*_: Any) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match="no space"):
            lock.acquire()
    assert FileLock(path).acquire()


def test_a_save_that_fails_leaves_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(calibration(), path)
    before = path.read_bytes()

    def fails(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(KeyboardInterrupt):
        save(calibration(prior=0.4), path)
    assert (path.read_bytes(), names(path)) == (before, ["state.json"])


KILLED = """
import os, signal, sys
from recall_signal._auto.state_file import load, save
from tests.calibration.toys import calibration
path = sys.argv[1]
values = [calibration(prior=n / 100, warnings=("w" * 500,) * 40) for n in range(1, 100)]
for n in range(30):
    heard, said = os.pipe()
    child = os.fork()
    if not child:
        for value in values * 1000:
            save(value, path)
            os.write(said, b".")
    os.read(heard, 1 + n % 3)
    for _ in range(200 * n):  # a moment that differs from time to time
        pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert load(path).decides
"""


def test_killed_in_the_middle_it_leaves_a_good_file(path: Path) -> None:
    """F3: thirty times; what is left over is removed by the next save."""
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=True, timeout=60)
    save(calibration(), path)
    assert names(path) == ["state.json"]


# calibrated(path, **fit_arguments)


class Doer:
    """Carries out what `calibrated` asks for."""

    def __init__(self, status: str = "ok") -> None:
        self.status: Any = status
        self.calls: list[Any] = []

    def check(self, _: Calibration) -> CheckResult:
        self.calls.append("check")
        return CheckResult(self.status, {})

    def calibrate(self, **given: Any) -> Calibration:
        self.calls.append(given)
        return calibration(encoder="toy", prior=0.7)


def calibrated(path: Path | None, doer: Doer, **given: Any) -> Calibration:
    return drive(calibrated_flow(path, "toy", given), lambda request: request.by(doer))


def test_without_a_path_it_is_a_fit() -> None:
    doer = Doer()
    assert calibrated(None, doer, seed=3).prior == 0.7
    assert doer.calls == [{"seed": 3}]


def test_a_fit_is_kept_in_the_file_and_read_from_it(path: Path) -> None:
    doer = Doer()
    fitted = calibrated(path, doer)
    assert calibrated(path, doer, prior=fitted.prior) == load(path) == fitted
    assert doer.calls == [{}, "check"]


def test_a_bound_that_is_given_now_holds_for_the_file_too(path: Path) -> None:
    save(calibration(encoder="toy", answerable=tuple(n / 100 for n in range(100))), path)
    assert calibrated(path, Doer(), max_false_none=0.05).max_false_none == 0.05
    with pytest.raises(CalibrationError, match="answerable"):
        calibrated(path, Doer(), max_false_none=0.001)


def test_settings_that_are_given_no_more_do_not_hold_for_the_file_either(path: Path) -> None:
    tops = tuple(n / 100 for n in range(100))
    kept = calibration(encoder="toy", answerable=tops, prior=0.8, max_false_none=0.1)
    save(kept, path)
    for given in ({}, {"max_false_none": None}):
        assert calibrated(path, Doer(), **given) == replace(kept, prior=0.5, max_false_none=None)
    found = calibrated(path, Doer(), prior=0.3, max_false_none=0.2)
    assert found == replace(kept, prior=0.3, max_false_none=0.2)
    assert load(path) == kept


@pytest.mark.parametrize("wrong", [{"prior": 1.5}, {"encoder": 3}])
def test_wrong_settings_are_refused_for_a_file_too(wrong: dict[str, Any], path: Path) -> None:
    save(calibration(encoder="toy"), path)
    with pytest.raises(ConfigurationError):
        calibrated(path, Doer(), **wrong)


@pytest.mark.parametrize("status", ["encoder_changed", "corpus_changed", "changed"])
def test_a_stale_file_is_replaced(status: str, path: Path) -> None:
    save(calibration(encoder="toy"), path)
    doer = Doer(status)
    assert calibrated(path, doer).prior == 0.7
    assert doer.calls == ["check", {}]
    assert load(path) == calibration(encoder="toy", prior=0.7)


LABELS, PAST = [("q", True), ("r", False)], ["q", "r"]


def evidence(**given: Any) -> dict[str, Any]:
    return {"evidence": fit_input(**given).evidence}


SUITS: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
    ({"encoder": "another"}, {}, False),
    ({"encoder": "another"}, {"encoder": "toy"}, False),
    ({"encoder": "toy"}, {"encoder": "toy"}, True),
    ({}, {"labelled": LABELS}, False),
    (evidence(labelled=LABELS), {"labelled": LABELS}, True),
    (evidence(labelled=LABELS), {"labelled": LABELS[:1]}, False),
    (evidence(labelled=LABELS), {"labelled": [("q", True), ("r", True)]}, False),
    (evidence(labelled=LABELS), {}, True),
    ({}, {"past_queries": PAST}, False),
    (evidence(past_queries=PAST), {"past_queries": PAST}, True),
    (evidence(past_queries=PAST), {"past_queries": PAST, "seed": 1}, False),
    (evidence(past_queries=PAST), {"labelled": LABELS, "past_queries": PAST}, False),
    ({}, {"seed": 0}, True),
]


@pytest.mark.parametrize(("saved", "given", "used"), SUITS)
def test_a_file_of_something_else_than_what_is_given_is_replaced(
    saved: dict[str, Any], given: dict[str, Any], used: bool, path: Path
) -> None:
    save(calibration(**saved), path)
    doer = Doer()
    calibrated(path, doer, **given)
    assert doer.calls == (["check"] if used else [given])


def test_evidence_is_read_once(path: Path) -> None:
    doer = Doer()
    calibrated(path, doer, labelled=iter(LABELS), past_queries=iter(PAST))
    assert doer.calls == [{"labelled": LABELS, "past_queries": PAST}]


@pytest.mark.parametrize("wrong", ["0" * 15, "0" * 17, "G" * 16, "", "0" * 15 + "\n"])
def test_evidence_is_checked_in_a_file(wrong: str, path: Path) -> None:
    save(calibration(), path)
    path.write_text(
        path.read_text().replace('"evidence": null', f'"evidence": {json.dumps(wrong)}')
    )
    with pytest.raises(CalibrationError, match="16 hex digits"):
        Calibration.load(path)


@pytest.mark.parametrize("content", FOREIGN)
def test_somebody_elses_file_is_refused_before_a_search_is_made(content: str, path: Path) -> None:
    path.write_text(content)
    doer = Doer()
    with pytest.raises(CalibrationError):
        calibrated(path, doer)
    assert (path.read_text(), doer.calls) == (content, [])


def test_a_folder_that_does_not_exist_is_said_before_a_search_is_made(tmp_path: Path) -> None:
    doer = Doer()
    with pytest.raises(FileNotFoundError, match="folder"):
        calibrated(tmp_path / "no" / "c.json", doer)
    assert doer.calls == []


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    """Whatever others may read elsewhere."""
    before = os.umask(0)
    yield
    os.umask(before)
