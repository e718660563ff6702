"""The reranking benchmark from end to end, on a small set and with models of a few lines."""

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from tests.benchmarks.encoders import use_encoder

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
DOCUMENTS = [" ".join(Random(n).choices("abcdefghijklmnopqrst", k=12)) for n in range(40)]


def letters(text: str) -> list[float]:
    """How often each letter is in a text, plus a little that makes texts differ."""
    counts = [text.count(letter) for letter in "abcdefghijklmnopqrst"]
    return (np.array(counts) + 0.01 + crc32(text.encode()) % 97 / 1e4).tolist()


class Overlap:
    """Scores by the longest piece of the question that is in the text."""

    name = "overlap"

    def __init__(self, cache: Path) -> None:
        self.prepared: list[str] = []

    def prepare(self, texts: list[str]) -> None:
        self.prepared += texts

    def __call__(self, query: str, texts: list[str]) -> list[float]:
        assert set(texts) <= set(self.prepared)
        return [float(max(n for n in range(10) if query[:n] in text)) for text in texts]


@pytest.fixture
def reranking(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import reranking
    from rerankers import RERANKERS

    use_encoder(monkeypatch, letters)
    monkeypatch.setattr(reranking, "DRAWS", 20)
    monkeypatch.setattr(reranking, "SMALLEST", 5)
    for name in list(RERANKERS):
        monkeypatch.delitem(RERANKERS, name)
    monkeypatch.setitem(RERANKERS, "overlap", Overlap)
    yield reranking
    for name in ("reranking", "rerankers", "detection_sets", "encoders"):
        del sys.modules[name]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Present queries are pieces of documents; near-misses have their letters in another order."""
    queries = []
    for n, text in enumerate(DOCUMENTS):
        for label, asked in (("present", text[4:16]), ("absent", text[4:16][::-1])):
            kind = "present" if label == "present" else "near_miss"
            row = {"id": f"{label}{n}", "text": asked, "label": label, "kind": kind}
            queries += [{**row, "id": f"{row['id']}{s}", "split": s} for s in ("dev", "test")]
    documents = [{"id": f"d{n}", "text": text} for n, text in enumerate(DOCUMENTS)]
    for part, rows in (("corpus", documents), ("queries", queries)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"xquad_en.{part}.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path


@pytest.mark.parametrize("split", ["test", "dev"])
def test_it_runs(reranking: ModuleType, data: Path, split: str, capsys: Any) -> None:
    options = [str(data), "--encoders", "fake", "--sets", "xquad_en", "--split", split]
    written = ["--cache", str(data / "cache"), "--json", str(data / "rows.json")]
    assert reranking.main([*options, *written]) == 0
    (row,) = json.loads((data / "rows.json").read_text("utf-8"))
    assert (row["kind"], row["model"], row["encoder"]) == ("near-miss", "overlap", "fake")
    assert row["both"] > row["cosine"]
    assert row["labelled"]["exact"][1] <= row["labelled"]["found"][1]
    assert "near-miss" in capsys.readouterr().out
    assert DOCUMENTS[0] not in (data / "rows.json").read_text("utf-8")


def test_what_is_missing_is_said(reranking: ModuleType, tmp_path: Path, capsys: Any) -> None:
    assert reranking.main([str(tmp_path), "--encoders", "fake", "--sets", "none"]) == 2
    assert "Error" in capsys.readouterr().err
