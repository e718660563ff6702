"""The LlamaIndex example is short, runs offline, and prints what it should."""

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "llama_index_agent.py"

SAID = [
    "Gaston won't shut properly",
    "  offered: notes\n  offered: notes\n  > Gaston",
    "best submarine films",
    "  offered: notes\n  offered: notes web\n  offered: notes web\n  a page about best submarine",
]


def test_the_example_runs() -> None:
    run = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    found = [run.stdout.index(said) for said in SAID]
    assert found == sorted(found)


def test_the_example_is_short() -> None:
    assert len(EXAMPLE.read_text("utf-8").splitlines()) < 60
