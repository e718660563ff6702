"""`--selector` on the command line, with a real server: no page is ever lost."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from recall_signal import ADVICE_TEXTS
from recall_signal._display_words import SELECTION_TEXTS
from tests.cli.fakes import ANSWERED, invoke
from tests.openai_server import LABEL, OpenAIServer, Reply, completion, keep

FENCE = re.compile(r"===== \w+ =====")
HOURS = "We open at nine and close at six."
TINY = ("--selector", "openai:tiny")

pytestmark = pytest.mark.usefixtures("embedded")


def shown(text: str) -> str:
    return " ".join(text.split())


def test_an_applied_report_stands_under_the_signal(docs: Path, server: OpenAIServer) -> None:
    result = invoke("ask", "--docs", docs, *TINY, HOURS)
    assert result.exit_code in ANSWERED, result.output
    text = shown(result.stdout)
    dropped = f"{docs}/kilns.md#1".replace(" ", "")
    assert "Selection applied: tiny-1 kept 1 of 2 and dropped 1: " in text
    assert dropped in text.replace(" ", "")
    assert f" 1  1.000  {docs}/more/hours.txt:1" in result.stdout
    assert "kilns.md:1" not in result.stdout
    assert "pool 2" in text
    assert server.headers[0]["authorization"] == "Bearer k"


@pytest.mark.parametrize(
    ("reply", "reason", "headline"),
    [
        (lambda body: completion("The first one!"), "invalid_output", ADVICE_TEXTS["read"]),
        (keep(), "selected_none", ADVICE_TEXTS["fallback"]),
    ],
)
def test_a_report_that_is_not_applied_says_why(
    docs: Path,
    server: OpenAIServer,
    reply: Callable[[dict[str, Any]], Reply],
    reason: str,
    headline: str,
) -> None:
    server.reply = reply
    result = invoke("ask", "--docs", docs, *TINY, HOURS)
    assert result.exit_code in ANSWERED
    text = shown(result.stdout)
    assert (
        f"Selection not applied ({reason}): {SELECTION_TEXTS[reason]}, so the page is unchanged."
    ) in text
    assert f"HIGH {headline}" in text
    assert "kilns.md:1" in result.stdout


def test_both_frameworks_ask_alike(docs: Path, server: OpenAIServer) -> None:
    server.reply = keep(1)
    answers = [
        invoke("ask", "--docs", docs, "--json", *TINY, "--framework", name, HOURS).stdout
        for name in ("langchain", "llama-index")
    ]
    prompts = [
        FENCE.sub("", LABEL.sub("", body["messages"][0]["content"])) for body in server.bodies
    ]
    one, other = map(json.loads, answers)
    assert one["report"]["selection"]["applied"]
    assert one["report"].pop("calibration")["id"] != other["report"].pop("calibration")["id"]
    assert one == other
    assert prompts[0] == prompts[1]


def test_json_carries_the_report(docs: Path, server: OpenAIServer) -> None:
    server.reply = keep(1)
    given = ("ask", "--docs", docs, "--json", *TINY, HOURS)
    applied = json.loads(invoke(*given).stdout)
    server.reply = lambda body: (401, b"{}")
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


def test_a_server_that_refuses(docs: Path, server: OpenAIServer) -> None:
    server.reply = lambda body: (401, b'{"error": {"message": "the key k is wrong"}}')
    result = invoke("ask", "--docs", docs, *TINY, HOURS)
    assert result.exit_code in ANSWERED
    assert "Selection not applied (llm_error)" in result.stdout
    assert re.search(r"Selector openai:tiny failed: \w*AuthenticationError\n", result.stderr)
    assert "the key" not in result.output
    assert "kilns.md:1" in result.stdout


@pytest.mark.timing
def test_a_server_that_is_slow(docs: Path, server: OpenAIServer) -> None:
    server.reply = server.slowly
    start = perf_counter()
    result = invoke("ask", "--docs", docs, *TINY, "--selector-timeout", 0.3, HOURS)
    assert perf_counter() - start < 9.0
    assert result.exit_code in ANSWERED
    assert "Selection not applied (timeout)" in result.stdout
    assert "Selector" not in result.stderr


def test_a_page_of_one_is_not_sent(docs: Path, server: OpenAIServer) -> None:
    result = invoke("ask", "--docs", docs, *TINY, "-k", 1, HOURS)
    assert "Selection not applied (too_few_results)" in result.stdout
    assert server.bodies == []


def test_a_hostile_server(docs: Path, server: OpenAIServer) -> None:
    evil = json.dumps("\x1b[31mred\x1b[0m \u202e[bold]" + "x" * 500).encode()
    server.reply = lambda body: (200, keep(0)(body)[1].replace(b'"tiny-1"', evil))
    result = invoke("ask", "--docs", docs, *TINY, HOURS)
    assert result.exit_code in ANSWERED
    assert all(character.isprintable() for character in set(result.output) - {"\n"})
    assert "applied: red [bold]xxx" in shown(result.stdout)
    assert "x" * 50 not in result.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--selector", "tiny"), "--selector must be provider:model"),
        (("--selector", "nowhere:x"), "--selector 'nowhere:x' cannot be loaded"),
        ((*TINY, "--selector-timeout", "0"), "--selector-timeout must be seconds above 0, got 0.0"),
        (("--selector-timeout", "3"), "--selector-timeout needs --selector"),
        (("--encoder", "x"), "--encoder must be 'demo', provider:model"),
    ],
)
def test_wrong_values(
    docs: Path, embedded: list[str], options: tuple[str, ...], message: str
) -> None:
    result = invoke("ask", "--docs", docs, *options, "q")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {message}")
    assert embedded == []


def test_the_log_is_not_shown_beside_the_note(
    docs: Path, tmp_path: Path, server: OpenAIServer
) -> None:
    server.reply = lambda body: (401, b"{}")
    given = ["ask", "--docs", docs, "--cache", tmp_path, *TINY, "q"]
    done = subprocess.run(
        [sys.executable, "-c", "from recall_signal.cli import main; main()", *map(str, given)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert done.returncode in ANSWERED
    assert done.stderr.count("AuthenticationError") == 1
