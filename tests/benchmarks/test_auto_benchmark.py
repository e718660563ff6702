"""The benchmark of what a calibration does by itself runs, and says what it missed."""

import gzip
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def auto(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import auto

    yield auto
    for name in [name for name in sys.modules if name.startswith("detection")]:
        del sys.modules[name]
    del sys.modules["auto"]


def test_a_short_run(auto: ModuleType, tmp_path: Path, capsys: Any) -> None:
    rows = [{"id": f"{n}", "text": f"Room {n} is let on day {n * 7 % 30}."} for n in range(560)]
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    (tmp_path / "squad2.corpus.jsonl.gz").write_bytes(gzip.compress(text))
    (tmp_path / "squad2.queries.jsonl.gz").write_bytes(gzip.compress(b""))
    assert auto.main(["--quick", str(tmp_path)]) == 0
    printed = re.sub(r" +", " ", capsys.readouterr().out)
    for line in (
        "50 copied texts: stored questions lost, most 0 <= 2 pass",
        "50 nonsense questions: off-topic ones read more, most 0 <= 2 pass",
        "false alarms of 4 0 <= 0 pass",
        "encoder: another model, same name and dimensions: found 2 of 2 2 pass",
        "corpus: replaced: found 2 of 2 2 pass",
        "corpus: grown tenfold: found 2 of 2 2 pass",
        "false alarms of 2, 560 passages 0 <= 0 pass",
    ):
        assert line in printed
    assert re.search(r"mean of all pairs \d\.\d <= 2", printed)
    assert len(re.findall(r"p95 .+ ms / .+ ms = .+ <= 1.20", printed)) == 5
    assert re.search(r"small corpora grown tenfold: found [01] of 1 1 (pass|MISS)", printed)


def test_no_folder(auto: ModuleType, tmp_path: Path) -> None:
    assert auto.main([str(tmp_path / "none")]) == 2
