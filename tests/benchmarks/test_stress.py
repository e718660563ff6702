"""The stress run, at a tiny scale."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from mmap import mmap
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from recall_signal import SelectionReport
from recall_signal._steps.timeouts import CallLimits

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def stress() -> Any:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import stress
    finally:
        sys.path.remove(str(BENCHMARKS))
    return stress


def test_every_scenario_finds_nothing(stress: Any, caplog: pytest.LogCaptureFixture) -> None:
    """C1, C2, C7: cancellations, hanging neighbours and the bounds on them, tiny."""
    with caplog.at_level("CRITICAL"):
        rows = stress.run(0.003)
    assert len(rows) == len(stress.FULL)
    assert [(row.scenario, +row.faults, row.notes) for row in rows if row.faults.total()] == []
    table = stress.table_of(rows)
    assert table.columns[0].header == "lost"
    Console(file=sys.stderr, width=200).print(table)


def test_a_fault_makes_it_fail(stress: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    row = stress.Row("calls", 3)
    monkeypatch.setattr(stress, "run", lambda scale, only: [row])
    monkeypatch.setattr(sys, "argv", ["stress.py"])
    assert stress.main() == 0
    row.faults["lost"] += 1
    row.note("a page")
    assert stress.main() == 1
    assert "a page (1 times)" in capsys.readouterr().out


class Shorter:
    """A response whose page was lost."""

    documents = nodes = ()

    def __init__(self, response: Any) -> None:
        self.response = response

    def __getattr__(self, name: str) -> Any:
        return getattr(self.response, name)


class Refused(Shorter):
    """A response whose steps were refused, the page kept."""

    def __init__(self, response: Any) -> None:
        super().__init__(response)
        self.documents = getattr(response, "documents", ())
        self.nodes = getattr(response, "nodes", ())
        self.selection = SelectionReport(applied=False, reason="timeout")


Call = Callable[..., Awaitable[Any]]
kept: list[Any] = []


async def swallow(call: Call, *given: Any) -> Any:
    try:
        return await call(*given)
    except asyncio.CancelledError:
        return await call(*given)


async def delay(call: Call, *given: Any) -> Any:
    try:
        return await call(*given)
    except asyncio.CancelledError:
        await asyncio.sleep(0.3)
        raise


async def lose(call: Call, *given: Any) -> Any:
    return Shorter(await call(*given))


async def refuse(call: Call, *given: Any) -> Any:
    return Refused(await call(*given))


async def fail(call: Call, *given: Any) -> Any:
    await call(*given)
    raise RuntimeError


async def keep_objects(call: Call, *given: Any) -> Any:
    kept.append([[n] for n in range(100)])
    return await call(*given)


async def keep_bytes(call: Call, *given: Any) -> Any:
    """Ask the system for it: memory that earlier tests gave back could be used again."""
    room = mmap(-1, 1_000_000)
    room.write(b"x" * 1_000_000)
    kept.append(room)
    return await call(*given)


BROKEN = {
    "a swallowed cancellation": ("cancel", 40, swallow, "swallowed", "a timeout was missed"),
    "a late cancellation": ("cancel", 40, delay, "late cancellations", "a timeout came over"),
    "a page lost in a crowd": ("crowd", 4, lose, "lost", "another page"),
    "a refusal in a crowd": ("crowd", 4, refuse, "refused", "timeout of a healthy step"),
    "an exception in a crowd": ("crowd", 4, fail, "lost", "RuntimeError"),
    "a page lost of a malformed answer": ("malform", 8, lose, "lost", "another page"),
    "more objects": ("remember", 80, keep_objects, "leaked", "more objects"),
    "more memory": ("remember", 80, keep_bytes, "leaked", "MB more memory"),
}


@pytest.mark.parametrize(
    ("scenario", "tries", "broken", "fault", "note"), BROKEN.values(), ids=BROKEN.keys()
)
def test_a_broken_wrapper_is_found(
    stress: Any,
    monkeypatch: pytest.MonkeyPatch,
    scenario: str,
    tries: int,
    broken: Callable[..., Awaitable[Any]],
    fault: str,
    note: str,
) -> None:
    world = sys.modules["stress_worlds"].World
    call = world.arecall
    monkeypatch.setattr(world, "arecall", lambda *given: broken(call, *given))
    monkeypatch.setattr(sys.modules["stress_calls"], "AT_ONCE", 0.1)
    row = asyncio.run(getattr(stress, scenario)(tries))
    kept.clear()
    assert row.faults[fault] > 0
    assert any(note in text for text in row.notes)


@pytest.mark.parametrize("what", ["threads", "abandoned"])
def test_a_bound_that_does_not_hold_is_found(
    stress: Any, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """C7: the stress run notices calls beyond their bound."""
    bounds = {"threads": 64, "abandoned": 16, what: 1_000}
    monkeypatch.setattr(CallLimits.__init__, "__defaults__", tuple(bounds.values()))
    row = asyncio.run(stress.hang(4, 0))
    assert row.faults["leaked"] > 0
    kind = "threads" if what == "threads" else "calls of a model hang"
    assert any(kind in text for text in row.notes)
