"""Forks begin with the calibration and nothing that runs; an exit waits for nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from threading import Event
from time import monotonic

import pytest

from recall_signal._auto.state import _stop
from recall_signal._auto.state_file import FileLock
from tests.calibration.auto_toys import LONG, Port, engine, query


def run(script: str, *given: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script, *given],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


FORK = """
import os, sys, threading
from tests.calibration.auto_toys import LONG, Port, engine, query

ready, hanging = engine(Port()), engine(Port(held=threading.Event()))
ready_too = engine(Port(), path=sys.argv[1])
assert ready.wait_until_calibrated(LONG)
id_ = ready.entry()["id"]
query(hanging)
assert hanging._port().began.wait(LONG)

# A thread holds every lock of the engines at the moment of the fork.
locks = [auto._state._lock for auto in (ready, hanging)]
locks += [auto._state.queries._lock for auto in (ready, hanging)]
locks += [auto._state.stop._cond for auto in (ready, hanging)]
held, done = threading.Event(), threading.Event()

def hold():
    for lock in locks:
        lock.acquire()
    held.set()
    done.wait(LONG)
    for lock in locks:
        lock.release()

threading.Thread(target=hold, daemon=True).start()
held.wait(LONG)
child = os.fork()
if not child:
    assert (ready.status, ready.entry()["id"]) == ("ready", id_)
    query(ready)
    assert hanging.status == "waiting"
    hanging._port().held.set()
    assert hanging.wait_until_calibrated(LONG)
    assert ready_too.wait_until_calibrated(LONG)
    sys.exit(7)  # by way of everything that runs at exit
done.set()
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert hanging.status == "fitting"
hanging._port().held.set()
assert hanging.wait_until_calibrated(LONG)
"""


def test_a_fork_begins_with_the_calibration_and_nothing_that_runs(tmp_path: Path) -> None:
    ended = run(FORK, str(tmp_path / "state.json"))
    assert (ended.returncode, ended.stderr) == (0, "")


EXIT = """
import os, sys, threading
from tests.calibration.auto_toys import LONG, Port, Politeness, engine, query

slow = Politeness(shortest=60, longest=60, first_delay=60, longest_delay=60)

def failing(_):
    raise ConnectionError

PORTS = {
    "hanging": lambda: Port(held=threading.Event()),
    "between two searches": Port,
    "backing off": lambda: Port(failing=failing),
}
for name, make in PORTS.items():
    child = os.fork()
    if not child:
        port = make()
        auto = engine(port, politeness=slow)
        query(auto)
        assert port.began.wait(LONG)
        sys.exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7, name
"""


@pytest.mark.timing
def test_an_exit_does_not_wait_for_a_fit() -> None:
    started = monotonic()
    ended = run(EXIT)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert monotonic() - started < LONG


SHARED = """
import os, sys
from tests.calibration.auto_toys import LONG, Port, engine, query

children = []
for _ in range(3):
    child = os.fork()
    if not child:
        port = Port()
        auto = engine(port, path=sys.argv[1])
        query(auto)
        assert auto.wait_until_calibrated(LONG)
        os.write(1, f"{len(port.asked)} {auto.entry()['id']}\\n".encode())
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
"""


def test_processes_with_one_path_fit_once(tmp_path: Path) -> None:
    ended = run(SHARED, str(tmp_path / "state.json"))
    assert ended.stderr == ""
    answers = [line.split() for line in ended.stdout.splitlines()]
    assert [int(asked) > 100 for asked, _ in answers].count(True) == 1
    assert [int(asked) for asked, _ in answers].count(12) == 2
    assert len({id_ for _, id_ in answers}) == 1


BASELINE = """
import os, sys, threading
from recall_signal import Baseline
from recall_signal._flow.embedding import EmbeddingCache
from recall_signal._steps.timeouts import CallLimits

baseline, cache, limits = Baseline([0.5] * 40), EmbeddingCache(), CallLimits()
locks = [baseline._lock, cache._lock, limits._lock]
held, done = threading.Event(), threading.Event()

def hold():
    for lock in locks:
        lock.__enter__()
    baseline._tops.append(0.6)  # half of what it does under its lock
    held.set()
    done.wait(30)
    for lock in locks:
        lock.__exit__()

threading.Thread(target=hold, daemon=True).start()
held.wait(30)
child = os.fork()
if not child:
    for lock in locks:
        with lock:
            pass
    baseline.observe(0.7)
    assert baseline._ranked == sorted(baseline._tops)
    sys.exit(7)
done.set()
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""


def test_no_lock_hangs_a_fork() -> None:
    """C11: a lock that is held at a fork is free in the child."""
    ended = run(BASELINE)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_process_that_takes_over_lets_go_of_its_parents_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the child the inherited file is closed, and the parent keeps its lock."""
    port = Port()
    auto = engine(port, path=tmp_path / "state.json")
    state = auto._state
    attempt = state.begin("fit")
    assert attempt is not None
    attempt.file_lock = lock = FileLock(tmp_path / "state.json")
    assert lock.acquire()
    inherited = os.dup(lock._file or 0)  # the parent's
    monkeypatch.setattr(os, "getpid", lambda: 1)
    assert auto.status == "waiting"
    monkeypatch.undo()
    assert not FileLock(tmp_path / "state.json").acquire()
    os.close(inherited)
    assert FileLock(tmp_path / "state.json").acquire()


def test_a_fork_of_an_engine_that_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    auto = engine(Port())
    assert auto.wait_until_calibrated(LONG)
    fitted = auto.calibration
    monkeypatch.setattr(os, "getpid", lambda: 1)
    assert auto.calibration is fitted


def test_only_the_process_that_made_it_stops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = Event()
    _stop(os.getpid() + 1, stop)
    assert not stop.is_set()
    _stop(os.getpid(), stop)
    assert stop.is_set()


def test_a_thread_that_cannot_be_started_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: object) -> None:
        raise RuntimeError("can't start new thread")

    auto = engine(Port())
    with monkeypatch.context() as patched:
        patched.setattr("threading.Thread.start", full)
        query(auto)
        assert auto.status == "waiting"
    query(auto)
    assert auto.wait_until_calibrated(LONG)
