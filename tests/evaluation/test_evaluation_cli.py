"""``recall-signal evaluate``: files in, a table out, reports written, errors in one line."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
import typer
from evaluation_fakes import NamedEncoder, World
from typer.testing import CliRunner, Result

from recall_signal.cli.evaluate import evaluate_command, load_encoder
from recall_signal.encoders import DemoEncoder

WORLD = World()


class Fake(NamedEncoder):
    """Made without arguments, as the command makes it."""

    def __init__(self) -> None:
        super().__init__(WORLD.encoder.vectors, dimension=32)


class Unnamed:
    """An encoder without a name, for many queries at once."""

    def __init__(self) -> None:
        fake = Fake()
        self.embed_query = fake.embed_query
        self.embed_documents = fake.embed_documents
        self.embed_queries = lambda texts: [fake.embed_query(text) for text in texts]


class NoEncoder:
    """Cannot embed."""


def fails() -> None:
    raise ValueError


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


def invoke(*arguments: str) -> Result:
    app = typer.Typer()
    app.command("evaluate")(evaluate_command)
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "80"})


@pytest.mark.parametrize("name", ["Fake", "Unnamed"])
def test_reports(files: list[str], tmp_path: Path, name: str) -> None:
    html, as_json = tmp_path / "r.html", tmp_path / "r.json"
    options = ["--encoder", f"{__name__}:{name}", "--pool", "20"]
    result = invoke(*files, *options, "--html", str(html), "--json", str(as_json))
    assert result.exit_code == 0, result.output
    assert "present against off topic" in result.output
    assert html.read_text("utf-8").startswith("<!doctype html>")
    values = json.loads(as_json.read_text("utf-8"))
    assert values["pool_size"] == 20
    assert values["encoder"] == (NamedEncoder.name if name == "Fake" else f"{__name__}:{name}")


def test_judgements(files: list[str], tmp_path: Path) -> None:
    queries = tmp_path / "bare.jsonl"
    rows = [{"_id": q.id, "text": q.text} for q in WORLD.queries]
    queries.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    lines = [f"{q.id}\td0\t1\n" for q in WORLD.queries if q.present]
    (tmp_path / "test.tsv").write_text("head\n" + "".join(lines), "utf-8")
    given = [*files[:2], "--queries", str(queries), "--qrels", str(tmp_path / "test.tsv")]
    result = invoke(*given, "--encoder", f"{__name__}:Fake")
    assert result.exit_code == 0, result.output
    assert "present against absent" in result.output


def test_errors_are_one_line(files: list[str], tmp_path: Path) -> None:
    absent = str(tmp_path / "absent.jsonl")
    result = invoke("--corpus", absent, *files[2:])
    assert result.exit_code == 2
    assert result.output.startswith("Error: ")
    assert "absent.jsonl cannot be read" in result.output


@pytest.mark.parametrize("option", ["--html", "--json"])
def test_reports_that_cannot_be_written_cost_no_work(
    files: list[str], tmp_path: Path, option: str
) -> None:
    for path in (tmp_path, tmp_path / "absent" / "r"):
        result = invoke(*files, "--encoder", "nowhere:Class", option, str(path))
        assert result.exit_code == 2
        assert f"Error: {option} {path}" in result.output.replace("\n", "")


def test_figures_need_their_extra_at_once(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recall_signal.cli.evaluate.find_spec", lambda name: None)
    result = invoke(*files, "--encoder", "nowhere:Class", "--html", str(tmp_path / "r.html"))
    assert result.exit_code == 2
    assert "recall-signal[eval]" in result.output


def test_demo_encoder() -> None:
    assert isinstance(load_encoder("demo"), DemoEncoder)


@pytest.mark.parametrize(
    "name", ["nowhere:Class", "json:Nothing", "nocolon", ":x", f"{__name__}:fails"]
)
def test_no_such_encoder(files: list[str], name: str) -> None:
    result = invoke(*files, "--encoder", name)
    assert result.exit_code == 2
    assert f"Error: --encoder {name!r} cannot be made" in result.output


def test_no_encoder(files: list[str]) -> None:
    result = invoke(*files, "--encoder", f"{__name__}:NoEncoder")
    assert result.exit_code == 2
    assert "has no embed_query and no embed_documents" in result.output


def test_an_encoder_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "class Own:\n name = 'own'\n embed_query = embed_documents = None\n"
    (tmp_path / "own_encoder_here.py").write_text(lines)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert load_encoder("own_encoder_here:Own").name == "own"
    assert load_encoder("own_encoder_here:Own").name == "own"
    del sys.modules["own_encoder_here"]
