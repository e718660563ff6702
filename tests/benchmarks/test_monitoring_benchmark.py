"""The benchmark of the monitor runs, and its bars are bars."""

import importlib.util
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "benchmarks" / "monitoring.py"


def test_a_short_run(capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("monitoring_benchmark", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look it up
    try:
        spec.loader.exec_module(module)
        short = ["--cases", "2", "--months", "1", "--seeds", "11", "--rows", "20"]
        assert module.main([*short, "--days", "1", "--tenants", "10"]) == 0
        printed = capsys.readouterr().out
        assert "encoder exchanged                           2   canaries" in printed
        assert "1 of 1 tripled corpora found" in printed
    finally:
        del sys.modules[spec.name]
