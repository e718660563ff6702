"""``--selector`` on the command line: what is shown, what JSON carries; no page is ever lost."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from time import perf_counter

import pytest
from chat_server import LABEL, closed_port, completion, keep, serving
from cli_fakes import invoke, printed, recording_terminal

from recall_signal import RecallConfidence, SelectionReport
from recall_signal.cli.frameworks import Answer, Hit
from recall_signal.cli.scripted import SMALL_TALK, ScriptedSelector
from recall_signal.cli.selected import WHY, selection_words, side_by_side
from recall_signal.confidence import Basis
from recall_signal.reports import SELECTION_REASONS
from recall_signal.selection import SelectionOptions, apply_answer, build_request

FENCE = re.compile(r"===== \w+ =====")
HOURS = "We open at nine and close at six."


def shown(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.usefixtures("embedded")
class TestAsk:
    def test_an_applied_report_stands_under_the_signal(self, docs: Path) -> None:
        with serving(keep(0)) as server:
            result = invoke("ask", "--docs", docs, "--selector", server.url, "tiny", HOURS)
        assert result.exit_code == 0, result.output
        text = shown(result.stdout)
        dropped = f"{docs}/kilns.md#1".replace(" ", "")
        assert "Selection applied: tiny-1 kept 1 of 2 and dropped 1: " in text
        assert dropped in text.replace(" ", "")
        assert f" 1  1.000  {docs}/more/hours.txt:1" in result.stdout
        assert "kilns.md:1" not in result.stdout
        assert "pool 2" in text

    @pytest.mark.parametrize(
        ("answer", "reason"),
        [("The first one!", "invalid_output"), ('{"keep": []}', "selected_none")],
    )
    def test_a_report_that_is_not_applied_says_why(
        self, docs: Path, answer: str, reason: str
    ) -> None:
        with serving(lambda body: completion(answer)) as server:
            result = invoke("ask", "--docs", docs, "--selector", server.url, "tiny", HOURS)
        assert result.exit_code == 0
        why = WHY[reason]  # type: ignore[index]
        assert f"Selection not applied ({reason}): {why}, so the page stays as it is." in shown(
            result.stdout
        )
        assert "kilns.md:1" in result.stdout

    def test_both_frameworks_ask_alike(self, docs: Path) -> None:
        answers, prompts = [], []
        for name in ("langchain", "llama-index"):
            with serving(keep(1)) as server:
                given = ("--json", "--selector", server.url, "tiny", "--framework", name)
                answers.append(invoke("ask", "--docs", docs, *given, HOURS).stdout)
            prompts.append(LABEL.sub("", server.bodies[0]["messages"][0]["content"]))
        assert json.loads(answers[0])["report"]["selection"]["applied"]
        assert answers[0] == answers[1]
        assert FENCE.sub("", prompts[0]) == FENCE.sub("", prompts[1])

    def test_json_carries_the_report(self, docs: Path) -> None:
        with serving(keep(1)) as server:
            given = ("ask", "--docs", docs, "--json", "--selector", server.url, "tiny", HOURS)
            applied = json.loads(invoke(*given).stdout)
            server.reply = lambda body: (500, b"")
            failed = json.loads(invoke(*given).stdout)
        assert applied["report"]["selection"] == {
            "applied": True,
            "model": "tiny-1",
            "kept": 1,
            "dropped": 1,
            "dropped_memory_ids": [f"{docs}/more/hours.txt#1"],
        }
        assert [hit["source"] for hit in applied["hits"]] == [f"{docs}/kilns.md:1"]
        assert failed["report"]["selection"] == {"applied": False, "reason": "llm_error"}
        assert failed["report"]["confidence"] == applied["report"]["confidence"]
        assert len(failed["hits"]) == 2

    def test_a_server_that_is_down(self, docs: Path) -> None:
        result = invoke("ask", "--docs", docs, "--selector", closed_port(), "tiny", HOURS)
        assert result.exit_code == 0
        assert "Selection not applied (llm_error)" in result.stdout
        assert "Selector: 127.0.0.1:" in result.stderr
        assert "cannot be reached (ConnectError)" in shown(result.stderr)
        assert "kilns.md:1" in result.stdout

    def test_a_server_that_is_slow(self, docs: Path) -> None:
        with serving() as server:
            server.reply = server.slowly
            given = ("--selector", server.url, "tiny", "--selector-timeout", 0.3)
            start = perf_counter()
            result = invoke("ask", "--docs", docs, *given, HOURS)
            assert perf_counter() - start < 5.0
        assert result.exit_code == 0
        assert "Selection not applied (timeout)" in result.stdout
        assert "Selector:" not in result.stderr

    def test_a_page_of_one_is_not_sent(self, docs: Path) -> None:
        with serving() as server:
            given = ("--selector", server.url, "tiny", "-k", 1)
            result = invoke("ask", "--docs", docs, *given, HOURS)
        assert "Selection not applied (too_few_results)" in result.stdout
        assert server.bodies == []

    def test_a_hostile_server(self, docs: Path) -> None:
        evil = "\x1b[31mred\x1b[0m \u202e[bold]" + "x" * 500
        with serving() as server:
            server.reply = lambda body: (200, keep(0)(body)[1].replace(b'"tiny-1"', name))
            name = json.dumps(evil).encode()
            result = invoke("ask", "--docs", docs, "--selector", server.url, "tiny", HOURS)
        assert result.exit_code == 0
        assert all(character.isprintable() for character in set(result.output) - {"\n"})
        assert "applied: red [bold]xxx" in shown(result.stdout)
        assert "x" * 50 not in result.stdout

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--selector", "localhost/v1", "m"), "--selector URL must be an address"),
            (("--selector", "", "m"), "--selector URL must be an address"),
            (("--selector", "http://h/v1", ""), "--selector URL MODEL needs the name of a model"),
            (
                ("--selector", "http://h/v1", "m", "--selector-timeout", "0"),
                "--selector-timeout must be seconds above 0, got 0.0",
            ),
            (("--selector-timeout", "3"), "--selector-timeout needs --selector URL MODEL"),
        ],
    )
    def test_wrong_values(
        self, docs: Path, embedded: list[str], options: tuple[str, ...], message: str
    ) -> None:
        result = invoke("ask", "--docs", docs, *options, "q")
        assert result.exit_code == 2
        assert result.stderr.startswith(f"Error: {message}")
        assert embedded == []

    def test_an_address_without_a_model(self, docs: Path) -> None:
        result = invoke("ask", "--docs", docs, "q", "--selector", "http://h/v1")
        assert result.exit_code == 2
        assert "requires 2 arguments" in result.stderr


def test_the_log_is_not_shown_beside_the_note(docs: Path, tmp_path: Path) -> None:
    given = ["ask", "--docs", docs, "--cache", tmp_path, "--selector", closed_port(), "tiny", "q"]
    done = subprocess.run(
        [sys.executable, "-c", "from recall_signal.cli import main; main()", *map(str, given)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert done.returncode == 0
    assert "cannot be reached (ConnectError)" in done.stderr
    assert "SelectorError" not in done.stderr


REQUEST = build_request("q?", ["one\ntext", "two"], SelectionOptions())


def test_the_script_is_followed() -> None:
    scripted = ScriptedSelector({"q?": ["two"]})
    answer = scripted.select(REQUEST)
    assert answer.model == "scripted model"
    assert apply_answer(REQUEST, answer.content, SelectionOptions()).kept == (1,)


async def test_what_is_not_in_the_script_is_small_talk() -> None:
    answer = await ScriptedSelector({}).aselect(REQUEST)
    assert answer.content == SMALL_TALK
    assert apply_answer(REQUEST, answer.content, SelectionOptions()).reason == "invalid_output"


@pytest.mark.parametrize(
    ("basis", "shown_level"), [("calibration", "level high (calibrated)"), (None, "level high")]
)
def test_a_calibrated_level_is_called_so(basis: Basis | None, shown_level: str) -> None:
    signal = RecallConfidence(level="high", basis=basis, result_count=1, rationale="")
    answer = Answer(signal, [], SelectionReport(applied=False, reason="timeout"))
    terminal = recording_terminal()
    terminal.out.print(side_by_side([("q", answer, [])], 80))
    assert shown_level in [line.rstrip() for line in printed(terminal.out).splitlines()]


def test_every_reason_has_its_words() -> None:
    assert set(WHY) == set(SELECTION_REASONS)
    for reason in SELECTION_REASONS:
        assert WHY[reason] in selection_words(SelectionReport(applied=False, reason=reason))


def test_applied_words() -> None:
    report = SelectionReport(applied=True, kept=0, dropped=0)
    assert selection_words(report) == "applied: the model kept 0 of 0 and dropped 0"
    ids = [f"m{n}" for n in range(20)]
    report = SelectionReport(applied=True, model="m", kept=5, dropped=25, dropped_memory_ids=ids)
    words = selection_words(report)
    assert words.startswith("applied: m kept 5 of 30 and dropped 25: m0, m1, ")
    assert words.endswith("m19, ...")
    nothing = SelectionReport(applied=True, model="m", kept=3, dropped=0, dropped_memory_ids=[])
    assert selection_words(nothing) == "applied: m kept 3 of 3 and dropped 0"


@pytest.mark.parametrize("width", [20, 60, 80, 120])
def test_side_by_side_fits(width: int) -> None:
    signal = RecallConfidence(level="high", result_count=2, rationale="")
    page = [Hit("a", "窯 \x1b[31m" * 90, "", 0.5), Hit("b", "[bold]text[/]", "", None)]
    applied = SelectionReport(applied=True, model="m", kept=1, dropped=1, dropped_memory_ids=["a"])
    failed = SelectionReport(applied=False, reason="timeout")
    terminal = recording_terminal(width)
    columns = [
        ("left? " * 20, Answer(signal, page[1:], applied), page),
        ("right?", Answer(signal, page, failed), page),
    ]
    terminal.out.print(side_by_side(columns, width))
    text = printed(terminal.out)
    assert "\x1b" not in text
    if width >= 60:
        first, *_ = text.splitlines()
        assert first.split() == ["Applied", "Not", "applied"]
        assert "drop  窯" in text
        assert "keep  [bold]text[/]" in text
        assert '{"applied": false' in text
    if width >= 80:
        assert "Why: the model took too long." in text
