"""What a calibration costs: per query, per fit, and in imports."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from calibration_toys import MANY_LABELLED, Toy, fit

PROGRAM = """
import sys
from recall_signal import Baseline, Calibration, assess
calibration = Calibration.load(sys.argv[1])
assert assess([0.6, 0.5, 0.4], calibration=calibration).probability is not None
assert assess([0.6, 0.5, 0.4], calibration=Baseline([n / 40 for n in range(40)])).probability
assert "numpy" not in sys.modules
labelled = [("a" * n, n > 30) for n in range(120)]
Calibration.fit(lambda query: [len(query) % 50 / 50, 0.0], labelled=labelled)
assert not {"numpy", "langchain_core", "llama_index"} & set(sys.modules)
"""


def run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=Path(__file__).parent,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.fixture(scope="module")
def measured() -> dict[str, Any]:
    figures: dict[str, Any] = json.loads(run("measure.py"))
    return figures


def test_applying_costs_at_most_four_times_the_uncalibrated_signal(
    measured: dict[str, Any],
) -> None:
    """Three is promised; a busy machine may measure more."""
    assert len(measured["ratios"]) == 12
    assert max(measured["ratios"].values()) < 4.0


def test_a_hub_correction_costs_little(measured: dict[str, Any]) -> None:
    """Forty microseconds are promised; a busy machine may measure more."""
    assert 0 < measured["hub"] < 80


def test_a_fit_costs_under_a_second_beside_its_searches(measured: dict[str, Any]) -> None:
    assert measured["fit"] < 1.0


def test_neither_applying_nor_fitting_loads_numpy(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    fit(Toy(), labelled=MANY_LABELLED).save(path)
    run("-c", PROGRAM, str(path))
