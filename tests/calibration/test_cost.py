"""The cost of a calibration, per query and per fit."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=Path(__file__).parents[2],
    )
    assert done.stderr == ""
    return done.stdout


@pytest.fixture(scope="module")
def measured() -> dict[str, Any]:
    figures: dict[str, Any] = json.loads(run("-m", "tests.calibration.measure"))
    return figures


@pytest.mark.timing
def test_applying_costs_at_most_four_times_the_uncalibrated_signal(
    measured: dict[str, Any],
) -> None:
    """Three is promised; a busy machine may measure more."""
    assert len(measured["ratios"]) == 12
    assert max(measured["ratios"].values()) < 4.0


@pytest.mark.timing
def test_a_fit_costs_under_a_second_beside_its_searches(measured: dict[str, Any]) -> None:
    assert measured["fit"] < 1.0
