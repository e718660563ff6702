"""Importing the core is cheap: beside numpy and pydantic it loads nothing large."""

import json
import subprocess
import sys

HEAVY = ("langchain", "langgraph", "llama_index", "matplotlib", "pyarrow", "rich", "typer")
PROGRAM = "import json, sys, recall_signal; print(json.dumps(sorted(sys.modules)))"


def test_importing_the_core_loads_neither_a_framework_nor_an_extra() -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = json.loads(run.stdout)
    assert "recall_signal.assess" in loaded
    assert [name for name in loaded if name.startswith(HEAVY)] == []
