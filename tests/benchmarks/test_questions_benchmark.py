"""The shares of the demo's questions are those that the documentation says."""

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "command-line.md"


@pytest.fixture
def questions(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import questions

    yield questions
    for name in [name for name in sys.modules if name.startswith("detection")]:
        del sys.modules[name]
    del sys.modules["questions"]


def test_the_shares_are_those_of_the_page(questions: ModuleType) -> None:
    rows = questions.demo_rows()
    assert rows == [
        ("demo, main", "72", "15", "1 of 24", "12", "0.38 / 0.67 / 0.85"),
        ("demo, hard", "24", "9", "5 of 8", "0", "0.00 / 0.00 / 0.04"),
    ]
    page = PAGE.read_text("utf-8").splitlines()
    assert all(f"| {' | '.join(row)} |" in page for row in rows)


def test_a_set_beside_them(questions: ModuleType, tmp_path: Path, capsys: Any) -> None:
    texts = [{"id": "a", "text": "the kiln at Lindholt"}, {"id": "b", "text": "a glaze"}]
    asked = [
        {"id": "1", "text": "Where is the kiln?", "kind": "present", "relevant": ["a"]},
        {"id": "2", "text": "glaze kiln", "kind": "present", "candidates": ["a", "b"]},
        {"id": "3", "text": "submarine films", "kind": "off_topic"},
    ]
    for part, lines in (("corpus", texts), ("queries", asked)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        path = tmp_path / f"squad2.{part}.jsonl.gz"
        path.write_bytes(gzip.compress(text.encode()))
    assert questions.main([str(tmp_path)]) == 0
    row = ["squad2", "(en)", "2", "-", "-", "50%", "0.62", "/", "0.75", "/", "0.88"]
    assert [line.split() for line in capsys.readouterr().out.splitlines()].count(row) == 1


def test_no_folder(questions: ModuleType, tmp_path: Path) -> None:
    assert questions.main([str(tmp_path / "none")]) == 2
