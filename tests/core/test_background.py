"""Daemon threads at the end of a process: none aborts it, and none is waited for long."""

import os
import subprocess
import sys
from threading import Event, Thread

import pytest

from recall_signal import _background as module
from recall_signal._background import come_to_rest, start_thread

BUSY = """
from threading import Event
from pydantic import BaseModel
from recall_signal._background import start_thread

class Called(BaseModel):
    number: int

    def model_post_init(self, _):
        for _ in range(200):
            pass

stop, began = Event(), Event()

def run():
    while not stop.is_set():
        Called(number=1)
        began.set()

start_thread(run, "busy", stop=stop.set)
began.wait()
"""

HANGING = """
from time import sleep
from recall_signal._background import start_thread
start_thread(lambda: sleep(60), "hanging")
"""


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads of other tests are not looked at."""
    monkeypatch.setattr(module, "_running", set())


@pytest.mark.parametrize("end", ["", "raise ValueError", "raise SystemExit(3)"])
def test_a_thread_in_native_code_does_not_abort_the_exit(end: str) -> None:
    right = {"": 0, "raise ValueError": 1, "raise SystemExit(3)": 3}[end]
    for _ in range(2):
        ended = subprocess.run([sys.executable, "-c", BUSY + end], capture_output=True)
        assert ended.returncode == right, ended.stderr.decode()


def test_a_thread_that_hangs_is_waited_for_a_moment() -> None:
    assert subprocess.run([sys.executable, "-c", HANGING], timeout=30).returncode == 0


def test_threads_are_stopped_and_waited_for() -> None:
    stop, other = Event(), Event()
    stoppable = start_thread(stop.wait, "stoppable", stop=stop.set)
    deaf = start_thread(other.wait, "deaf")
    assert not come_to_rest(grace=0.05)
    assert not stoppable.is_alive()
    other.set()
    assert come_to_rest(grace=10.0)
    assert not deaf.is_alive()
    assert not module._running


def test_a_fork_leaves_the_threads_of_its_parent_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = Event()
    thread = start_thread(stop.wait, "of the parent", stop=stop.set)
    with monkeypatch.context() as forked:
        forked.setattr(os, "getpid", lambda: -1)
        assert come_to_rest(grace=0.0)
    assert thread.is_alive()
    assert come_to_rest(grace=10.0)


def test_a_thread_that_cannot_be_started_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(self: Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Thread, "start", no_room)
    with pytest.raises(RuntimeError):
        start_thread(print, "never")
    assert not module._running
