"""``recall-signal ask --calibration``: what is shown, and which files are refused."""

import json
import re
from pathlib import Path

import pytest
from cli_fakes import invoke

from recall_signal import Calibration

pytestmark = pytest.mark.usefixtures("embedded")


@pytest.fixture
def calibration(texts: Path, tmp_path: Path) -> Path:
    path = tmp_path / "calibration.json"
    assert invoke("calibrate", "--jsonl", texts, "--out", path).exit_code == 0
    return path


def test_ask_shows_the_probability(docs: Path, calibration: Path) -> None:
    question = "We open at nine and close at six."
    result = invoke("ask", "--docs", docs, "--calibration", calibration, question)
    assert result.exit_code == 0, result.output
    assert "HIGH  " in result.stdout
    assert re.search(r"\nprobability (1\.00|0\.9\d)   top score 1\.000   ", result.stdout)
    notes = " ".join(result.stderr.split())
    created = Calibration.load(calibration).created
    assert f"Levels follow the calibration of {created}; the corpus has 2 documents" in notes
    assert "uncalibrated" not in notes
    given = ("--calibration", calibration, "--json", question)
    answer = json.loads(invoke("ask", "--docs", docs, *given).stdout)
    assert answer["report"]["confidence"]["basis"] == "calibration"
    assert answer["report"]["confidence"]["probability"] > 0.9


def changed(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_a_fresh_calibration_has_no_warning(docs: Path, calibration: Path) -> None:
    changed(calibration, corpus_size=2)
    result = invoke("ask", "--docs", docs, "--calibration", calibration, "kiln")
    assert "calibrate again" not in " ".join(result.stderr.split())


def test_a_calibration_without_a_threshold_says_so(docs: Path, calibration: Path) -> None:
    changed(calibration, status="no_valid_threshold")
    result = invoke("ask", "--docs", docs, "--calibration", calibration, "kiln")
    assert result.exit_code == 0
    assert "probability" not in result.stdout
    assert "Levels are uncalibrated: the calibration found no cut" in " ".join(
        result.stderr.split()
    )


def test_another_encoders_calibration_is_refused(
    docs: Path, calibration: Path, embedded: list[str]
) -> None:
    changed(calibration, encoder="another")
    embedded.clear()
    result = invoke("ask", "--docs", docs, "--calibration", calibration, "kiln")
    assert result.exit_code == 2
    assert "was fitted with the encoder 'another' and cannot be used with 'words'" in result.stderr
    assert embedded == []


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b'{"v": 99}', b"[" * 99_999])
def test_what_is_no_calibration(docs: Path, content: bytes) -> None:
    path = docs / "c.json"
    path.write_bytes(content)
    result = invoke("ask", "--docs", docs, "--calibration", path, "kiln")
    assert result.exit_code == 2
    assert result.stderr == (
        f"Error: --calibration {path} holds no calibration of this release; make one with "
        "recall-signal calibrate\n"
    )


def test_a_calibration_that_is_not_there(docs: Path) -> None:
    result = invoke("ask", "--docs", docs, "--calibration", docs / "none.json", "kiln")
    assert result.exit_code == 2
    assert "none.json cannot be read (No such file or directory)" in result.stderr
