"""The benchmark of web turns: its table, and what it is there to show."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

PATH = Path(__file__).parents[2] / "benchmarks" / "agents.py"


@pytest.fixture(scope="module")
def agents() -> Iterator[ModuleType]:
    sys.path.insert(0, str(PATH.parent))
    spec = importlib.util.spec_from_file_location("agents_benchmark", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look it up
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(PATH.parent))
    for name in (spec.name, "encoders"):
        del sys.modules[name]


def test_the_signal_takes_fewer_wrong_turns(agents: ModuleType) -> None:
    memory = agents.Memory.load()
    calibrated, bare, cut, lenient, strict, perfect = agents.rows(memory)
    assert calibrated.wrong < bare.wrong < min(cut.wrong, lenient.wrong, strict.wrong)
    assert min(calibrated.web["off_topic"], bare.web["off_topic"]) >= 22
    assert calibrated.calls == bare.calls == 1.0
    assert min(lenient.calls, strict.calls, perfect.calls) > 6.0
    for row in (calibrated, bare, cut, lenient, strict, perfect):
        assert sum(row.memory.values()) + sum(row.web.values()) == 72
    table = agents.table([calibrated], memory.questions)
    assert table.row_count == 1
