"""The benchmark of growth from end to end, on a small world, and what its corpora are made of."""

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.benchmarks.encoders import use_encoder
from tests.evaluation.fakes import BatchEncoder, World

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
WORLD = World(queries=240)


@pytest.fixture
def growth(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The benchmark, with one draw and one encoder."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import detection_units
    import growth

    use_encoder(monkeypatch, WORLD.encoder.embed_query)
    monkeypatch.setattr(detection_units, "REPEATS", 1)
    yield growth
    for name in [name for name in sys.modules if name.startswith(("detection", "encoders"))]:
        del sys.modules[name]
    del sys.modules["growth"], sys.modules["growth_sets"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A set, one that may be added to it, one in another language, and one that answers it."""
    folder = tmp_path / "data"
    folder.mkdir()
    rows = [
        {
            "id": query.id,
            "text": query.text,
            "label": "present" if query.present else "absent",
            "kind": query.kind,
            "split": query.split,
        }
        for query in WORLD.queries
    ]
    texts = {
        "clinc150": [document.text for document in WORLD.corpus],
        "rgb_en": [
            f"A long first sentence, number {n}. Another, also of some length, {n}. End."
            for n in range(90)
        ],
        "nomiracl_fr": [f"Un texte au sujet de la page {number}." for number in range(60)],
        "squad2": [f"An answer to an absent question, {number}." for number in range(60)],
    }
    for name, corpus in texts.items():
        documents = [{"id": str(at), "text": text} for at, text in enumerate(corpus)]
        for part, lines in (("corpus", documents), ("queries", rows)):
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (folder / f"{name}.{part}.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    return folder


def test_runs(growth: ModuleType, data: Path, tmp_path: Path, capsys: Any) -> None:
    options = [str(data), "--encoders", "fake", "--cache", str(tmp_path / "cache"), "--units"]
    chosen = ["--sets", "clinc150", "--sizes", "160,80,1000"]
    written = ["--json", str(tmp_path / "r.json"), "--markdown", str(tmp_path / "r.md")]
    assert growth.main([*options, *chosen, *written]) == 0
    printed = capsys.readouterr()
    assert "fake far 160" in printed.out
    assert "fake clinc150 near_miss 80" in printed.out
    assert "too few texts for 1000: clinc150" in printed.err
    assert "| fake near 80 | 1 | 80 |" in (tmp_path / "r.md").read_text("utf-8")
    rows = json.loads((tmp_path / "r.json").read_text("utf-8"))
    sizes = sorted((row["figures"]["texts"], row["family"]) for row in rows)
    assert sizes == [(80, "far"), (80, "near"), (160, "far"), (160, "near")]
    for figures in (row["figures"] for row in rows):
        assert figures["stale"] == (figures["texts"] == 160)
        assert figures["checked"] <= figures["stale"]
        assert figures["top"] > 0.6
        assert abs(figures["null_gap"]) <= 1.0


def test_small_corpora_that_grow(
    growth: ModuleType, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    import growth_check

    monkeypatch.setattr(growth_check, "DemoEncoder", BatchEncoder)
    assert growth_check.main([str(data), "--sizes", "12,200"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    # Twelve texts of each of three sets, grown by the texts of both others.
    assert ["10", "12", "3", "of", "3"] in [line[:5] for line in lines]
    assert ["50", "200", "0", "of", "0"] in [line[:5] for line in lines]
    assert growth_check.main([str(data / "nowhere")]) == 2
    del sys.modules["growth_check"]


def test_what_a_corpus_grows_by(
    growth: ModuleType, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import growth_sets

    union = growth_sets.Union(data)
    assert union.names == ["clinc150", "rgb_en", "squad2"]
    small = [document.text for document in union.grown("clinc150", 100).corpus]
    large = union.grown("clinc150", 170)
    assert [document.text for document in large.corpus][:100] == small
    assert {query.split for query in large.queries} == {"dev"}
    assert union.grown("clinc150", 200) is None  # neither squad2's nor French ones
    monkeypatch.setattr(growth_sets, "TEXTS_ALONE", 170)
    pieces = [document.text for document in union.grown("clinc150", 440).corpus[170:]]
    assert len(pieces) == 270
    assert all(piece.count(".") == 1 for piece in pieces[:180])
    assert all(piece.startswith("Another") and piece.endswith("End.") for piece in pieces[180:])


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--sets", "elsewhere"], "no set elsewhere in English; there are clinc150"),
        (["--encoders", "none"], "no encoder none; there are use"),
        (["--sizes", "ten"], "--sizes takes whole numbers"),
    ],
)
def test_refuses(
    growth: ModuleType, data: Path, option: list[str], message: str, capsys: Any
) -> None:
    try:
        code = growth.main([str(data), *option])
    except SystemExit as left:
        code = left.code
    assert code == 2
    assert message in " ".join(capsys.readouterr().err.split())
