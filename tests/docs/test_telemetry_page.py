"""The tables of the page on traces are those of a run."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "benchmarks" / "telemetry.py"


def test_the_tables_are_what_the_script_prints() -> None:
    pytest.importorskip("opentelemetry.sdk")
    run = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    page = (ROOT / "docs" / "telemetry.md").read_text("utf-8")
    assert run.stdout.strip() in page
