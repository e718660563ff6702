"""`make bench-speed` runs and prints every row; its figures are looked at elsewhere."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "speed.py"


def retriever_rows(store: str) -> list[str]:
    return [
        f"{store} {method}, {row}"
        for method in ("invoke", "ainvoke")
        for row in ("idle wrapper", *["RecallRetriever"] * 3)
    ]


ROWS = [
    *(f"assess, {n} cosines, {order}" for n in (10, 50, 200) for order in ("sorted", "shuffled")),
    "assess_many, no value missing",
    "assess_many, 1 in 10 missing",
    *retriever_rows("InMemory"),
    *retriever_rows("FAISS"),
    *["FAISS invoke, calibrated with words"] * 2,
    *retriever_rows(f"FAISS, {os.cpu_count()} threads:"),
    "FAISS, memory of a call, peak",
    "FAISS, memory of a call, held",
    *(f"{name}, 4 ainvoke at once{what}" for name in ("FAISS", "Demo") for what in (", idle", "")),
    *["LlamaIndex, FAISS retrieve, RecallRetriever"] * 2,
    "LlamaIndex, FAISS, memory of a call, peak",
    "LlamaIndex, FAISS, memory of a call, held",
    "batch(4), FAISS",
    "batch(4), FAISS, wall",
    "batch(4), FAISS",
    "import recall_signal, best of 1",
    "import recall_signal loads",
]


@pytest.fixture(scope="module")
def printed() -> list[str]:
    command = [sys.executable, str(SCRIPT), "--quick"]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    return [line.strip() for line in done.stdout.splitlines()]


def test_every_row_is_printed(printed: list[str]) -> None:
    assert [row for line in printed for row in set(ROWS) if line.startswith(row + "  ")] == ROWS


def test_every_bar_has_its_verdict(printed: list[str]) -> None:
    verdicts = [line.split()[-1] for line in printed if "<=" in line or "neither  " in line]
    assert len(verdicts) == 16
    assert set(verdicts) <= {"pass", "miss"}


def test_the_import_brings_neither_framework(printed: list[str]) -> None:
    assert next(line for line in printed if "signal loads" in line).split()[-2:] == [
        "neither",
        "pass",
    ]
