"""The detection benchmark from end to end, on two small sets and an encoder that needs no model."""

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.benchmarks.encoders import use_encoder
from tests.evaluation.fakes import World

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
WORLD = World(queries=240)


@pytest.fixture
def detection(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The benchmark, with few draws and one encoder."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import detection
    import detection_checks
    import detection_units

    use_encoder(monkeypatch, WORLD.encoder.embed_query)
    monkeypatch.setattr(detection_units, "REPEATS", 2)
    monkeypatch.setattr(detection_checks, "COVERAGE_DRAWS", 5)
    yield detection
    for name in [name for name in sys.modules if name.startswith(("detection", "encoders"))]:
        del sys.modules[name]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A far and near set, and a hard one in another language."""
    folder = tmp_path / "data"
    folder.mkdir()
    documents = [{"id": d.id, "text": d.text, "group": "ignored"} for d in WORLD.corpus]
    queries = [
        {
            "id": q.id,
            "text": q.text,
            "label": "present" if q.present else "absent",
            "kind": q.kind,
            "split": q.split,
        }
        for q in WORLD.queries
    ]
    for name in ("clinc150", "squad_de"):
        for part, rows in (("corpus", documents), ("queries", queries)):
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / f"{name}.{part}.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    return folder


def test_runs(detection: ModuleType, data: Path, tmp_path: Path, capsys: Any) -> None:
    options = [str(data), "--encoders", "fake", "--cache", str(tmp_path / "cache")]
    written = ["--json", str(tmp_path / "r.json"), "--markdown", str(tmp_path / "r.md")]
    assert detection.main([*options, *written]) == 0
    out = capsys.readouterr().out
    results = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert results["split"] == "test"
    units = {(unit["set"], unit["kind"]): unit for unit in results["units"]}
    assert {key: unit["family"] for key, unit in units.items()} == {
        ("clinc150", "off_topic"): "far",
        ("clinc150", "near_miss"): "near",
        ("squad_de", "off_topic"): "far",
        ("squad_de", "near_miss"): "hard",
    }
    assert [unit["knows"] for unit in units.values()] == [True, True, False, False]
    assert units["clinc150", "off_topic"]["modes"]["null"]["balanced_accuracy"] > 0.9
    passed = {check["what"]: check["passed"] for check in results["checks"]}
    assert sum(what.startswith("levels that move") for what in passed) == 3
    assert all(passed[what] for what in passed if what.startswith("levels that move"))
    assert "Bars, all units" in out
    assert "### Every unit" in (tmp_path / "r.md").read_text("utf-8")
    assert WORLD.queries[0].text not in (tmp_path / "r.json").read_text("utf-8")
    _dev_leaves_new_sets_out(detection, data, [*options, *written])


def _dev_leaves_new_sets_out(detection: ModuleType, data: Path, options: list[str]) -> None:
    (data / "other.corpus.jsonl.gz").write_bytes(gzip.compress(b'{"id": "a", "text": "new"}\n'))
    query = b'{"id": "q", "text": "new?", "label": "present", "split": "dev"}\n'
    (data / "other.queries.jsonl.gz").write_bytes(gzip.compress(query))
    sets = ["--sets", "clinc150,other", "--split", "dev", "--embedded"]
    assert detection.main([*options, *sets]) == 0
    results = json.loads(Path(options[options.index("--json") + 1]).read_text("utf-8"))
    assert results["split"] == "dev"
    assert {unit["set"] for unit in results["units"]} == {"clinc150"}


def test_wrong_folder(detection: ModuleType, tmp_path: Path, capsys: Any) -> None:
    assert detection.main([str(tmp_path), "--encoders", "fake"]) == 2
    assert "holds no NAME.queries.jsonl.gz" in " ".join(capsys.readouterr().err.split())


def test_missing_model_names_the_pip_line(detection: ModuleType) -> None:
    from encoders import ModelEncoder

    from recall_signal import ConfigurationError

    class Absent(ModelEncoder):
        name = "absent"
        pip = "pip install --no-deps absent==1.0"
        modules = ("absent_package",)

    with pytest.raises(ConfigurationError, match=r"pip install --no-deps absent==1\.0"):
        Absent().embed_query("x")


def test_sets_are_cut_the_same_way_everywhere(detection: ModuleType, tmp_path: Path) -> None:
    import detection_sets

    documents = [{"id": f"d{n}", "text": f"t{n}"} for n in range(3000)]
    queries = [
        {
            "id": f"q{n}",
            "text": f"x{n}",
            "label": "present",
            "split": "dev",
            "relevant": [f"d{3 * n + k}" for k in range(12)],
        }
        for n in range(600)
    ]
    for part, rows in (("corpus", documents), ("queries", queries)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"a.{part}.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    found = detection_sets.load_set(tmp_path, "a")
    stored = {document.id for document in found.corpus}
    assert len(found.corpus) == 1500
    assert len(found.queries) == 400
    assert all(len(stored & set(query.relevant)) >= 10 for query in found.queries)
    assert (found.queries[0].id, found.corpus[-1].id) == ("q265", "d1808")
