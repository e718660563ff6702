"""`recall-signal explain`, the exit codes of `ask`, and `--json` of the others."""

import json
from pathlib import Path

import pytest

from recall_signal import Calibration
from recall_signal.cli._ask import EXIT_CODES
from tests.cli.fakes import invoke

pytestmark = pytest.mark.usefixtures("embedded")

OPEN = "We open at nine and close at six."


@pytest.fixture
def calibration(texts: Path, tmp_path: Path) -> Path:
    path = tmp_path / "calibration.json"
    assert invoke("calibrate", "--jsonl", texts, "--out", path).exit_code == 0
    return path


def test_a_calibration(calibration: Path, tmp_path: Path) -> None:
    assert "Calibration (null): ok" in invoke("explain", calibration).stdout
    picture = tmp_path / "picture.png"
    result = invoke("explain", calibration, "--figure", picture)
    assert result.exit_code == 0, result.output
    assert "Calibration (null): ok" in result.stdout
    assert "In short: use it" in result.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_answers_of_ask(docs: Path, tmp_path: Path) -> None:
    saved = tmp_path / "answers.jsonl"
    saved.write_text(invoke("ask", "--docs", docs, "--json", OPEN, "zebras abroad").stdout)
    result = invoke("explain", saved)
    assert result.exit_code == 0, result.output
    assert OPEN in result.stdout
    assert "zebras abroad" in result.stdout
    assert "top score" in result.stdout
    assert "never that the exact fact is stored" in " ".join(result.stdout.split())
    assert "2 candidates were looked at." in result.stdout


def test_an_entry_and_a_list_of_them(tmp_path: Path) -> None:
    entry = {
        "v": 1,
        "confidence": {"level": "low", "top_score": 0.31, "rationale": "Top \x1b[31m0.31."},
        "selection": {"applied": False, "reason": "not_configured"},
        "advice": "fallback",
    }
    for value in (entry, [entry]):
        path = tmp_path / "entry.json"
        path.write_text(json.dumps(value))
        result = invoke("explain", path)
        assert result.exit_code == 0, result.output
        assert result.stdout.strip().startswith("LOW  ")
        assert "\x1b" not in result.stdout
        assert "term coverage" not in result.stdout


NEITHER = {
    "empty": "",
    "text": "no JSON",
    "list": "[]",
    "object": "{}",
    "deep": "[" * 200_000,
    "lines": '{"a": 1}\n{"b": 2}',
    "number": "3",
}


@pytest.mark.parametrize("text", NEITHER.values(), ids=NEITHER)
def test_files_that_hold_neither(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(text)
    result = invoke("explain", path)
    assert result.exit_code == 2
    assert "holds neither a calibration nor reports" in result.stderr


def test_a_report_has_no_picture(docs: Path, tmp_path: Path) -> None:
    saved = tmp_path / "answer.json"
    saved.write_text(invoke("ask", "--docs", docs, "--json", OPEN).stdout)
    result = invoke("explain", saved, "--figure", tmp_path / "picture.png")
    assert result.exit_code == 2
    assert "--figure draws a calibration" in result.stderr


def test_a_damaged_calibration(calibration: Path) -> None:
    calibration.write_text(calibration.read_text().replace('"v": 2', '"v": 1'))
    assert invoke("explain", calibration).exit_code == 2


def test_exit_codes(docs: Path) -> None:
    assert EXIT_CODES == {"read": 0, "fallback": 3, "undecided": 4}
    assert invoke("ask", "--docs", docs, "--no-calibration", OPEN).exit_code == 0
    away = ("--no-calibration", "zebras giraffes elephants abroad")
    code = invoke("ask", "--docs", docs, *away).exit_code
    assert code in (0, 3)
    assert invoke("ask", "--docs", docs, *away, OPEN).exit_code == code


def test_calibrate_prints_json(texts: Path, tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    result = invoke("calibrate", "--jsonl", texts, "--out", path, "--json")
    values = json.loads(result.stdout)
    assert values["file"] == str(path)
    assert values["cut"] == pytest.approx(Calibration.load(path).cut_at())
    assert values["verdict"].startswith("use it")


def test_demo_prints_json() -> None:
    result = invoke("demo", "--json", "--framework", "langchain")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(rows) == 96
    assert {row["kind"] for row in rows} == {"stored", "near_miss", "off_topic"}
    assert all(row["confidence"]["level"] for row in rows)


def test_a_line_of_progress_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    from recall_signal.cli._terminal import ProgressBar
    from tests.cli.fakes import printed, recording_terminal

    monkeypatch.setattr("recall_signal.cli._terminal.LINE_SECONDS", 0.0)
    console = recording_terminal().err
    with ProgressBar(console, "Embedding") as bar:
        bar(0, 3)
        bar(2, 3)
    assert "Embedding: 2 of 3 in 0 s" in printed(console)
