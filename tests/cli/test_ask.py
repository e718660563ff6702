"""`recall-signal ask`: what it prints, what it keeps, and what it says when it cannot."""

import json
import sqlite3
import sys
from pathlib import Path

import platformdirs
import pytest
from jsonschema import Draft202012Validator

from recall_signal import ADVICE_TEXTS
from tests.cli.fakes import ANSWERED, invoke
from tests.schemas import published

pytestmark = pytest.mark.usefixtures("embedded")


def vectors_in(cache: Path) -> int:
    store = sqlite3.connect(cache / "vectors.sqlite")
    (count,) = store.execute("SELECT count(*) FROM vectors").fetchone()
    store.close()
    return int(count)


def test_shows_the_signal_and_the_page(docs: Path) -> None:
    result = invoke("ask", "--docs", docs, "We open at nine and close at six.")
    assert result.exit_code in ANSWERED, result.output
    assert "We open at nine and close at six.\nHIGH  " in result.stdout
    text = " ".join(result.stdout.split())
    assert ADVICE_TEXTS["read"] in text
    assert "top cosine 1.000" in text
    for figure in ("probability", "term coverage 1.000", "pool 2", "Top cosine 1.00"):
        assert figure in text
    assert "prominence" not in text
    assert f" 1  1.000  {docs}/more/hours.txt:1\n    We open at nine" in result.stdout
    assert f"{docs}/kilns.md:1" in result.stdout
    notes = " ".join(result.stderr.split())
    assert "Term coverage: how much of the question's informative terms" in notes
    assert "Prominence" not in notes
    assert "Levels follow the calibration of these texts (learned in 0." in notes
    assert "\x1b" not in result.output


def test_without_a_calibration_the_figures_are_those_of_the_pool(docs: Path) -> None:
    result = invoke("ask", "--docs", docs, "--no-calibration", "When do you open?")
    for figure in ("top cosine", "prominence", "margin", "pool 2"):
        assert figure in result.stdout
    assert "term coverage" not in result.stdout
    notes = " ".join(result.stderr.split())
    assert "Prominence: how far it stands above the mean of the other candidates" in notes
    assert "Margin: the same in their standard deviations." in notes


def test_the_second_run_embeds_nothing(docs: Path, embedded: list[str], tmp_path: Path) -> None:
    cache = tmp_path / "vectors"
    first = invoke("ask", "--docs", docs, "--cache", cache, "When does the kiln fire?")
    assert len(embedded) == 2
    assert "2 files, 2 passages; 2 of them new" in first.stderr
    assert vectors_in(cache) == 2
    second = invoke("ask", "--docs", docs, "--cache", cache, "When do you open?")
    assert second.exit_code in ANSWERED
    assert len(embedded) == 2
    assert "all vectors from the cache" in second.stderr
    assert vectors_in(cache) == 2


def test_only_what_changed_is_embedded(docs: Path, embedded: list[str]) -> None:
    invoke("ask", "--docs", docs, "hours")
    (docs / "new.rst").write_text("A third text.")
    result = invoke("ask", "--docs", docs, "hours")
    assert embedded[2:] == ["A third text."]
    assert "3 files, 3 passages; 1 of them new" in result.stderr


def test_vectors_go_to_the_users_cache(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def user_cache_path(name: str, appauthor: object = None) -> Path:
        asked.append(name)
        return tmp_path / "platform" / name

    monkeypatch.setattr(platformdirs, "user_cache_path", user_cache_path)
    assert invoke("ask", "--docs", docs, "hours").exit_code in ANSWERED
    assert set(asked) == {"recall-signal"}
    assert vectors_in(tmp_path / "platform" / "recall-signal") == 2


def test_several_questions_are_answered_in_order(docs: Path) -> None:
    result = invoke("ask", "--docs", docs, "big kiln", "open at nine")
    assert result.exit_code in ANSWERED
    assert 0 < result.stdout.index("big kiln") < result.stdout.index("open at nine\n")
    assert result.stderr.count("Levels follow") == 1


def test_json_is_one_object_a_question(docs: Path) -> None:
    result = invoke("ask", "--docs", docs, "--json", "-k", 1, "nine", "¿kiln? \udce9")
    assert result.exit_code in ANSWERED
    first, second = map(json.loads, result.stdout.splitlines())
    assert first["question"] == "nine"
    assert second["question"] == "¿kiln? \udce9"
    assert first["advice"] in ADVICE_TEXTS
    assert first["report"]["confidence"]["result_count"] == 2
    (hit,) = first["hits"]
    entry = {**first["report"], "rank": hit["rank"], "cosine": hit["cosine"]}
    Draft202012Validator(published("entry.v1.json")).validate(entry)
    assert entry["advice"] == first["advice"]
    assert entry["calibration"]["status"] in ("ready", "no_valid_threshold")
    assert hit == {
        "rank": 0,
        "id": f"{docs}/more/hours.txt#1",
        "source": f"{docs}/more/hours.txt:1",
        "cosine": pytest.approx(first["report"]["confidence"]["top_score"], abs=1e-3),
        "text": "We open at nine and close at six.",
    }
    assert "Levels follow" not in result.output


def test_both_frameworks_answer_alike(docs: Path) -> None:
    answers = [
        invoke("ask", "--docs", docs, "--json", "--framework", name, "open at nine").stdout
        for name in ("langchain", "llama-index")
    ]
    one, other = map(json.loads, answers)
    assert one["hits"]
    assert one["report"].pop("calibration")["id"] != other["report"].pop("calibration")["id"]
    assert one == other


@pytest.mark.parametrize(
    ("options", "pool"), [((), 50), (("-k", 60), 60), (("--pool-size", 7), 7), (("-k", 55), 55)]
)
def test_pool_size(tmp_path: Path, options: tuple[object, ...], pool: int) -> None:
    docs = tmp_path / "many"
    docs.mkdir()
    for number in range(61):
        (docs / f"{number}.txt").write_text(f"text number {number}")
    result = invoke("ask", "--docs", docs, "--json", *options, "number 7")
    answer = json.loads(result.stdout)
    assert answer["report"]["confidence"]["result_count"] == pool
    assert len(answer["hits"]) == (options[1] if "-k" in options else 5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((" ",), "a question must hold some text"),
        (("good", ""), "a question must hold some text"),
        (("-k", 0, "q"), "-k must be at least 1, got 0"),
        (("--pool-size", 3, "q"), "--pool-size must be at least -k (5), got 3"),
        (("--framework", "other", "q"), "--framework must be one of langchain"),
        (("--no-calibration", "--calibration", "c", "q"), "give either --calibration FILE or"),
    ],
)
def test_wrong_options(docs: Path, options: tuple[object, ...], message: str) -> None:
    result = invoke("ask", "--docs", docs, *options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"Error: {message}")
    assert result.stderr.count("\n") == 1


def test_an_error_is_one_red_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    missing = tmp_path / "a\x1b[2Jb\n" / ("long" * 40)
    result = invoke("ask", "--docs", missing, "q")
    assert result.exit_code == 2
    assert result.stderr.startswith("\x1b[31mError: --docs ")
    assert result.stderr.count("\n") == 1
    assert "[2J" not in result.stderr
    assert "ab /longlong" in result.stderr


@pytest.mark.parametrize("arguments", [("ask", "q"), ("ask", "--docs", "."), ("other",)])
def test_an_incomplete_command_line(arguments: tuple[str, ...]) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert "Usage:" in result.stderr


def test_a_damaged_cache_names_the_file(docs: Path, tmp_path: Path) -> None:
    (tmp_path / "vectors.sqlite").write_text("no database, but long enough to be looked at " * 50)
    result = invoke("ask", "--docs", docs, "--cache", tmp_path, "q")
    assert result.exit_code == 2
    assert f"{tmp_path}/vectors.sqlite is damaged" in result.stderr
    assert "delete it" in result.stderr


def test_the_cache_is_a_file(docs: Path) -> None:
    result = invoke("ask", "--docs", docs, "--cache", docs / "kilns.md", "q")
    assert result.exit_code == 2
    assert result.stderr == f"Error: --cache {docs}/kilns.md is a file; give a folder\n"


@pytest.mark.parametrize("command", [("ask", "q"), ("calibrate", "--out", "c.json")])
@pytest.mark.parametrize("option", ["--docs", "--cache"])
def test_an_empty_text_is_not_the_current_folder(
    docs: Path,
    monkeypatch: pytest.MonkeyPatch,
    embedded: list[str],
    command: tuple[str, ...],
    option: str,
) -> None:
    monkeypatch.chdir(docs)
    result = invoke(*command, "--docs", docs, option, "")
    assert result.exit_code == 2
    assert f"'{option}': got an empty text, expected a folder" in result.stderr
    assert embedded == []


@pytest.mark.parametrize(
    ("module", "options", "message"),
    [
        ("platformdirs", (), "recall-signal without --cache needs packages"),
        ("langchain_text_splitters", (), "recall-signal ask needs packages"),
        ("langchain_recall_signal._workbench", (), "--framework langchain needs packages"),
    ],
)
def test_missing_packages(
    docs: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    options: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    result = invoke("ask", "--docs", docs, "q")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {message}")
    extra = "langchain" if "workbench" in module else "demo"
    assert f"pip install 'recall-signal[{extra}]'" in result.stderr


def test_hostile_documents(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    escapes = "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J bell\x07 \u202eback"
    (docs / "escapes.txt").write_bytes(escapes.encode())
    (docs / "markup.md").write_text("[bold]not bold[/] [/wrong] [link=file:///x]here[/link] :boom:")
    (docs / "line.txt").write_text("x" * 300_000)
    (docs / "bom.txt").write_bytes(b"\xef\xbb\xbfwith a mark")
    (docs / "wide.txt").write_text("窯" * 2000)
    (docs / "latin.txt").write_bytes(b"caf\0\xe9")
    (docs / "empty.txt").touch()
    (docs / "loop.txt").symlink_to("loop.txt")
    (docs / "round").symlink_to(docs)
    (docs / "[red]name[bold].txt").write_text("in brackets")
    result = invoke("ask", "--docs", docs, "-k", 1000, "back red")
    assert result.exit_code in ANSWERED, result.output
    shown = set(result.output) - {"\n"}
    assert all(character.isprintable() for character in shown)
    assert "red ]0;title 2J bell back" in result.stdout
    assert "[bold]not bold[/] [/wrong] [link=file:///x]here[/link] :boom:" in result.stdout
    assert "[red]name[bold].txt:1" in result.stdout
    assert "\n    with a mark\n" in result.stdout
    notes = " ".join(result.stderr.split()).replace(" ", "")
    for name in ("latin.txt", "empty.txt", "loop.txt", "round"):
        assert f"{docs}/{name})" in notes.replace("\n", "")


def test_notes_name_what_was_skipped(docs: Path) -> None:
    (docs / ".git").mkdir()
    (docs / "photo.jpg").touch()
    result = invoke("ask", "--docs", docs, "q")
    assert "Skipped: 1 hidden; 1 of another kind\n" in result.stderr


def test_colours_on_a_terminal(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    result = invoke("ask", "--docs", docs, "We open at nine and close at six.")
    assert "\x1b[1;32mHIGH" in result.stdout
    monkeypatch.setenv("NO_COLOR", "1")
    result = invoke("ask", "--docs", docs, "We open at nine and close at six.")
    assert "\x1b[1;32m" not in result.stdout
