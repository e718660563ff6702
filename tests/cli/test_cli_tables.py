"""The demo's counts, tables and comparisons."""

import re

import pytest
from cli_fakes import printed, recording_terminal
from rich.cells import cell_len
from rich.console import RenderableType

from recall_signal import RecallConfidence
from recall_signal.cli.compared import same_levels, what_changed
from recall_signal.cli.frameworks import Answer, Hit
from recall_signal.cli.tables import levels_table, results_table, summary_table
from recall_signal.cli.tally import KINDS, Question, Tally, tally
from recall_signal.cli.tally import Result as Asked
from recall_signal.confidence import unknown


def asked(kind: str, confidence: RecallConfidence, *ids: str, text: str = "q") -> Asked:
    question = Question(text, kind, frozenset({"m1"}) if kind == "stored" else frozenset())  # type: ignore[arg-type]
    return Asked(question, Answer(confidence, [Hit(i, "", "", None) for i in ids]), 0.002, 0.001)


HIGH = RecallConfidence(level="high", top_score=0.9, prominence=0.5, result_count=2, rationale="")
LOW = RecallConfidence(level="low", top_score=0.5, prominence=0.2, result_count=2, rationale="")
UNKNOWN = unknown("no_scores", 3)


def render(table: RenderableType, width: int) -> str:
    terminal = recording_terminal(width)
    terminal.out.print(table)
    return printed(terminal.out)


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
    known = summary_table([tally([asked("stored", HIGH, "m1")], "stored")], 5)
    assert "unknown" not in render(known, 80)
    unmeasured = render(summary_table([tally([asked("stored", UNKNOWN)], "stored")], 5), 80)
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


def test_levels_with_and_without_a_calibration() -> None:
    before = [tally([asked("stored", HIGH), asked("stored", LOW)], "stored")]
    after = [tally([asked("stored", HIGH), asked("stored", UNKNOWN)], "stored")]
    rows = render(levels_table(before, after), 80).splitlines()
    assert "unknown" in rows[0]
    assert rows[2].split() == ["stored", "uncalibrated", "1", "0", "1", "0", "0", "1", "of", "2"]
    assert rows[3].split() == ["calibrated", "1", "0", "0", "0", "1", "1", "of", "2"]
    assert "unknown" not in render(levels_table(before, before), 80)


NONE = LOW.model_copy(update={"level": "none"})


def test_what_changed_is_told_both_ways() -> None:
    before = [
        asked("stored", LOW, "m1"),
        asked("stored", LOW, "m2"),
        asked("near_miss", LOW),
        asked("off_topic", NONE),
    ]
    after = [
        asked("stored", NONE, "m1"),
        asked("stored", HIGH, "m2"),
        asked("near_miss", HIGH),
        asked("off_topic", LOW),
    ]
    assert what_changed(before, after) == (
        "Now 0 of 1 off_topic questions (before: 1) read none, and so do 1 of 2 stored questions "
        "(before: 0), 1 of them with an answering memory on the page; 'read' is the advice for "
        "1 of 2 stored questions (before: 0) and 1 of 1 near_miss questions (before: 0)."
    )


def test_same_levels() -> None:
    here = [asked("stored", HIGH, text="long " * 20), asked("stored", LOW, text="b")]
    assert same_levels("X", here, here) == "X: the same level for 2 of 2 questions."
    there = [asked("stored", NONE, text="long " * 20), asked("stored", LOW, text="b")]
    assert same_levels("X", here, there) == (
        f"X: the same level for 1 of 2 questions; not for {'long ' * 8!r} (high, there none)."
    )
