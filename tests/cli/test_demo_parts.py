"""The demo's counts, tables, sentences and scripted selector."""

import re
from collections import Counter

import pytest
from rich.cells import cell_len
from rich.console import RenderableType

from recall_signal import RecallConfidence, SelectionReport
from recall_signal.cli._backends import Hit, SearchResult
from recall_signal.cli._demo._run import SMALL_TALK, ScriptedSelector
from recall_signal.cli._demo._sentences import same_levels, summary, uncalibrated
from recall_signal.cli._demo._stats import (
    QUESTION_KINDS,
    Question,
    QuestionKind,
    Result,
    Section,
    Tally,
    tally,
)
from recall_signal.cli._demo._tables import results_table, selection_lines, summary_table
from recall_signal.cli._terminal import selection_text
from recall_signal.confidence import Level, unknown
from recall_signal.selection import SelectionOptions, apply_answer, build_request
from tests.cli.fakes import printed, recording_terminal


def asked(
    kind: QuestionKind,
    confidence: RecallConfidence,
    *ids: str,
    text: str = "q",
    section: Section = "main",
) -> Result:
    answers = frozenset({"m1"}) if kind == "stored" else frozenset()
    question = Question(text, kind, section, answers)
    page = SearchResult(confidence, [Hit(i, "", "", None) for i in ids])
    return Result(question, page, 0.002, 0.001)


def signal(level: str) -> RecallConfidence:
    return RecallConfidence(level=level, top_score=0.9, result_count=2, rationale="")


HIGH, LOW, NONE = signal("high"), signal("low"), signal("none")
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
        asked("off_topic", HIGH, section="hard"),
    ]
    stored, near_miss, off_topic = (tally(results, "main", kind) for kind in QUESTION_KINDS)
    levels: Counter[Level] = Counter({"high": 1, "low": 1, "unknown": 1})
    assert stored == Tally("main", "stored", 3, levels, 1, 1, 2, 1)
    assert (near_miss.read, near_miss.right, near_miss.answered) == (1, None, None)
    assert (off_topic.count, off_topic.right, off_topic.answered_read) == (1, 1, None)
    assert tally(results, "hard", "off_topic").right == 0


def test_an_unknown_level_gets_its_column() -> None:
    known = summary_table([tally([asked("stored", HIGH, "m1")], "main", "stored")])
    assert "unknown" not in render(known, 80)
    unmeasured = summary_table([tally([asked("stored", UNKNOWN)], "main", "stored")])
    text = render(unmeasured, 80)
    assert "unknown" in text
    assert re.search(r"main +stored +0 +0 +0 +0 +1 +0 of 1 +0 of 1 +0 of 0", text)


@pytest.mark.parametrize("width", [20, 50, 80, 140])
def test_questions_fit_the_width(width: int) -> None:
    text = "[bold]窯箱[/bold] \x1b[31m" + "long question " * 30
    output = render(results_table([asked("stored", UNKNOWN, text=text)], width), width)
    assert all(cell_len(line) <= width for line in output.splitlines())
    assert "\x1b" not in output
    if width >= 80:
        assert output.count("question") == 31
        assert "…" not in output
        row = output.splitlines()[2]
        assert row.startswith("[bold]窯箱[/bold] ")
        assert row.split()[-4:] == ["unknown", "-", "-", "undecided"]


def test_sentences() -> None:
    before = [
        asked("stored", LOW, "m1"),
        asked("stored", LOW, "m2"),
        asked("near_miss", LOW),
        asked("off_topic", NONE),
        asked("off_topic", NONE, section="hard"),
    ]
    after = [
        asked("stored", NONE, "m1"),
        asked("stored", HIGH, "m2"),
        asked("near_miss", HIGH),
        asked("off_topic", LOW),
        asked("off_topic", HIGH, section="hard"),
    ]
    assert summary(after, "main").startswith(
        "the advice is 'read' for 1 of 2 stored questions. The answer was on the page of 1; 0 of "
        "these are read and 1 sent away. 1 of 1 off-topic questions are sent away, and 0 of 1 "
        "near-misses."
    )
    assert uncalibrated(before, after) == (
        "0 of all 2 stored questions read (calibrated: 1), 2 of 2 off-topic ones sent away "
        "(calibrated: 1)."
    )


def test_same_levels() -> None:
    here = [asked("stored", HIGH, text="long " * 20), asked("stored", LOW, text="b")]
    assert same_levels("X", here, here) == "X: the same level for 2 of 2 questions."
    there = [asked("stored", NONE, text="long " * 20), asked("stored", LOW, text="b")]
    assert same_levels("X", here, there) == (
        f"X: the same level for 1 of 2 questions; not for {'long ' * 8!r} (high, there none)."
    )


REQUEST = build_request("q?", ["one\ntext", "two"], SelectionOptions())


def test_the_script_is_followed() -> None:
    scripted = ScriptedSelector({"q?": ["two"]})
    answer = scripted.select(REQUEST)
    assert answer.model == "scripted model"
    assert apply_answer(REQUEST, answer.content, SelectionOptions()).kept == (1,)


async def test_a_question_without_a_script_gets_small_talk() -> None:
    answer = await ScriptedSelector({}).aselect(REQUEST)
    assert answer.content == SMALL_TALK
    assert apply_answer(REQUEST, answer.content, SelectionOptions()).reason == "invalid_output"


@pytest.mark.parametrize("width", [20, 60, 80, 120])
def test_a_selection_fits_the_width(width: int) -> None:
    page = [Hit("a", "窯 \x1b[31m" * 90, "", 0.5), Hit("b", "[bold]text[/]", "", None)]
    applied = SelectionReport(applied=True, model="m", kept=1, dropped=1, dropped_memory_ids=["a"])
    failed = SelectionReport(applied=False, reason="timeout")
    for report, hits in ((applied, page[1:]), (failed, page)):
        lines = selection_lines("q? " * 90, SearchResult(HIGH, hits, report), page, width)
        question, first, second, last = lines
        assert all(cell_len(line.plain) <= width for line in lines[:3])
        assert "\x1b" not in "".join(line.plain for line in lines)
        assert question.plain.startswith("q? q? ")
        assert first.plain.startswith("0.500  drop  窯" if report.applied else "0.500  窯")
        assert second.plain.startswith("-  keep  [b" if report.applied else "-  [bold]text")
        assert last.plain == f"Selection {selection_text(report)}."
