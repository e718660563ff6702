"""Importing the core is cheap: it loads no framework and not even numpy."""

import json
import subprocess
import sys

import recall_signal

HEAVY = ("langchain", "llama_index", "numpy", "pyarrow", "matplotlib", "rich", "typer")
PROGRAM = "import json, sys, recall_signal; print(json.dumps(sorted(sys.modules)))"


def test_importing_the_core_loads_no_framework_and_no_numpy() -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = json.loads(run.stdout)
    assert "recall_signal.assess" in loaded
    assert [name for name in loaded if name.startswith(HEAVY)] == []


def test_every_exported_name_exists_once() -> None:
    assert len(set(recall_signal.__all__)) == len(recall_signal.__all__)
    assert all(hasattr(recall_signal, name) for name in recall_signal.__all__)
