"""The LangChain examples are short, run offline, and print what they should."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

SAID = {
    "rag_chain.py": [
        "Warm the door with a hair dryer",
        "Not in my sources: they name Slate's database, but not its version.",
        "Not in my sources; no model was asked.\n  [fallback: none]",
    ],
    "langgraph_web_fallback.py": [
        "signal -.-> web_search",
        "high -> answer",
        "From memory: Gaston",
        "none -> rewrite",
        "none -> web_search",
        "From web: a page about notes on best submarine films",
    ],
}


@pytest.mark.parametrize("name", SAID)
def test_an_example_runs(name: str) -> None:
    path = EXAMPLES / name
    run = subprocess.run(
        [sys.executable, "-W", "error", str(path)], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    found = [run.stdout.index(said) for said in SAID[name]]
    assert found == sorted(found)


@pytest.mark.parametrize("name", SAID)
def test_an_example_is_short(name: str) -> None:
    assert len((EXAMPLES / name).read_text("utf-8").splitlines()) < 60
