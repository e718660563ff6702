"""`recall-signal evaluate`: files in, a table out, reports written, errors in one line."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.cli.fakes import invoke
from tests.evaluation.fakes import NamedEncoder, World

WORLD = World()


class Fake(NamedEncoder):
    """Made without arguments, as the command makes it."""

    def __init__(self) -> None:
        super().__init__(WORLD.encoder.vectors, dimension=32)


ENCODER = ("--encoder", f"{__name__}:Fake")


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    corpus, queries = tmp_path / "corpus.jsonl", tmp_path / "queries.jsonl"
    corpus.write_text("".join(json.dumps(asdict(d)) + "\n" for d in WORLD.corpus), "utf-8")
    rows = [
        {**asdict(q), "label": "present" if q.present else "absent", "relevant": list(q.relevant)}
        for q in WORLD.queries
    ]
    queries.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return ["--corpus", str(corpus), "--queries", str(queries)]


def test_reports(files: list[str], tmp_path: Path) -> None:
    html = tmp_path / "r.html"
    options = [*ENCODER, "--pool", "20"]
    result = invoke("evaluate", *files, *options, "--html", str(html))
    assert result.exit_code == 0, result.output
    assert "present against off topic" in result.output
    assert html.read_text("utf-8").startswith("<!doctype html>")
    values = json.loads(invoke("evaluate", *files, *options, "--json").stdout)
    assert values["pool_size"] == 20
    assert values["encoder"] == NamedEncoder.name


def test_judgements(files: list[str], tmp_path: Path) -> None:
    queries = tmp_path / "bare.jsonl"
    rows = [{"_id": q.id, "text": q.text} for q in WORLD.queries]
    queries.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    lines = [f"{q.id}\td0\t1\n" for q in WORLD.queries if q.present]
    (tmp_path / "test.tsv").write_text("head\n" + "".join(lines), "utf-8")
    given = [*files[:2], "--queries", str(queries), "--qrels", str(tmp_path / "test.tsv")]
    result = invoke("evaluate", *given, *ENCODER)
    assert result.exit_code == 0, result.output
    assert "present against absent" in result.output


def test_errors_are_one_line(files: list[str], tmp_path: Path) -> None:
    absent = str(tmp_path / "absent.jsonl")
    result = invoke("evaluate", "--corpus", absent, *files[2:])
    assert result.exit_code == 2
    assert result.output.startswith("Error: ")
    assert "absent.jsonl cannot be read" in result.output


def test_reports_that_cannot_be_written_cost_no_work(files: list[str], tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent" / "r"):
        result = invoke("evaluate", *files, "--encoder", "nowhere:Class", "--html", str(path))
        assert result.exit_code == 2
        assert f"Error: --html {path}" in result.output.replace("\n", "")


def test_figures_need_their_extra_at_once(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recall_signal.cli._evaluate.find_spec", lambda name: None)
    result = invoke(
        "evaluate", *files, "--encoder", "nowhere:Class", "--html", str(tmp_path / "r.html")
    )
    assert result.exit_code == 2
    assert "recall-signal[eval]" in result.output
