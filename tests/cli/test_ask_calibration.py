"""`recall-signal ask`: the calibration of a folder's own texts, and `--calibration`."""

import json
import re
from pathlib import Path

import pytest

from recall_signal import ADVICE_TEXTS, Calibration, CalibrationError, RecallConfidence
from recall_signal.cli._ask import WEAK, _headline
from recall_signal.cli._backends import Hit, SearchResult
from recall_signal.reports import NOT_CONFIGURED, SelectionReport
from tests.cli.fakes import invoke

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
    assert re.search(r"\nprobability (1\.00|0\.9\d)   top cosine 1\.000   ", result.stdout)
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
    assert "Levels are uncalibrated: the calibration found no threshold" in " ".join(
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


def kept(cache: Path) -> list[Path]:
    return sorted((cache / "calibrations").iterdir())


def test_a_folder_is_calibrated_once(docs: Path, tmp_path: Path) -> None:
    given = ("ask", "--docs", docs, "--cache", tmp_path / "c", "kiln")
    first, second = invoke(*given), invoke(*given)
    assert re.search(
        r"Levels follow the calibration of these texts \(learned in \d\.\d s, without labels;",
        first.stderr,
    )
    assert "(kept with the vectors, without labels; --no-calibration" in " ".join(
        second.stderr.split()
    )
    assert first.stdout == second.stdout
    (path,) = kept(tmp_path / "c")
    assert Calibration.load(path).corpus_size == 2
    (docs / "new.txt").write_text("A third text about boats.")
    assert "(learned in" in invoke(*given).stderr
    assert len(kept(tmp_path / "c")) == 2
    assert "(learned in" in invoke(*given, "--framework", "llama-index").stderr


def test_a_damaged_one_is_replaced(docs: Path, tmp_path: Path) -> None:
    given = ("ask", "--docs", docs, "--cache", tmp_path / "c", "kiln")
    invoke(*given)
    (path,) = kept(tmp_path / "c")
    path.write_text("{")
    assert "(learned in" in invoke(*given).stderr
    assert Calibration.load(path).encoder == "words"


def test_a_calibration_that_cannot_be_kept_is_used(docs: Path, tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "calibrations").write_text("a file")
    result = invoke("ask", "--docs", docs, "--cache", tmp_path / "c", "kiln")
    assert result.exit_code == 0
    assert "and not kept:" in " ".join(result.stderr.split())
    assert "probability" in result.stdout


def test_it_can_be_switched_off(docs: Path, tmp_path: Path) -> None:
    result = invoke("ask", "--docs", docs, "--cache", tmp_path / "c", "--no-calibration", "kiln")
    assert "Levels are uncalibrated: default thresholds" in " ".join(result.stderr.split())
    assert "probability" not in result.stdout
    assert not (tmp_path / "c" / "calibrations").exists()


def test_a_failed_fit_loses_nothing(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fit(*_: object, **__: object) -> None:
        raise CalibrationError("the store is empty")

    monkeypatch.setattr(Calibration, "fit", fit)
    result = invoke("ask", "--docs", docs, "kiln")
    assert result.exit_code == 0
    assert f"{docs}/kilns.md:1" in result.stdout
    assert "nor to the texts. Calibrating failed: the store is empty" in " ".join(
        result.stderr.split()
    )


@pytest.mark.parametrize(
    ("level", "selection", "hits", "headline"),
    [
        ("high", NOT_CONFIGURED, 1, ADVICE_TEXTS["read"]),
        ("moderate", NOT_CONFIGURED, 1, ADVICE_TEXTS["read"]),
        ("low", NOT_CONFIGURED, 1, WEAK),
        ("none", NOT_CONFIGURED, 1, ADVICE_TEXTS["fallback"]),
        ("unknown", NOT_CONFIGURED, 1, ADVICE_TEXTS["undecided"]),
        ("low", NOT_CONFIGURED, 0, ADVICE_TEXTS["fallback"]),
        ("high", NOT_CONFIGURED, 0, ADVICE_TEXTS["fallback"]),
        ("high", SelectionReport(applied=False, reason="selected_none"), 1, None),
        ("low", SelectionReport(applied=False, reason="selected_none"), 1, None),
        ("low", SelectionReport(applied=False, reason="timeout"), 1, WEAK),
    ],
)
def test_headlines(level: str, selection: SelectionReport, hits: int, headline: str | None) -> None:
    confidence = RecallConfidence(level=level, result_count=1, rationale="")
    result = SearchResult(confidence, [Hit("a", "", "", None)] * hits, selection)
    assert _headline(result) == (headline or ADVICE_TEXTS["fallback"])
    assert ADVICE_TEXTS[result.advice] == headline or level == "low" or headline is None
