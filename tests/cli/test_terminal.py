"""Texts made safe to show, and the progress bar."""

import os
import sys
from io import StringIO
from pathlib import Path
from typing import TextIO

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from recall_signal import SelectionReport
from recall_signal._display_words import SELECTION_TEXTS
from recall_signal._safe_text import terminal_text
from recall_signal.cli._telling import telling_part
from recall_signal.cli._terminal import (
    ProgressBar,
    Terminal,
    command,
    open_terminal,
    selection_text,
    shortened,
    snippet,
)
from recall_signal.reports import SELECTION_REASONS

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=[]))


@given(ANY_TEXT)
def test_plain_leaves_nothing_to_obey(text: str) -> None:
    safe = terminal_text(text)
    safe.encode()
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u202e\u2066\u2028" for c in safe)
    assert terminal_text(safe) == safe


def test_plain_keeps_what_is_text() -> None:
    assert terminal_text("Grüße, 窯 [b]bold[/b] 👩‍🚀") == "Grüße, 窯 [b]bold[/b] 👩‍🚀"
    assert terminal_text("\x1b[1;31mred\x1b[0m\tx") == "red x"


@given(ANY_TEXT, st.integers(1, 40))
def test_shortened_fits(text: str, cells: int) -> None:
    assert cell_len(shortened(text, cells).plain) <= cells


@given(ANY_TEXT, st.integers(2, 40), st.integers(1, 3))
def test_snippet_fits(text: str, width: int, lines: int) -> None:
    shown = snippet(text, Console(file=StringIO(), width=80), width, lines)
    assert len(shown) <= lines
    assert all(cell_len(line) <= width for line in shown)


def test_snippet_marks_what_it_leaves_out() -> None:
    console = Console(file=StringIO(), width=80)
    assert snippet("one two three four five six", console, 9, 2) == ["one two", "three fo…"]
    assert snippet("one two\nthree", console, 9, 2) == ["one two", "three"]
    assert snippet("one", console, 9, 2) == ["one"]


NOTE = (
    "Mites are counted in August. A strip of oxalic acid stays for six weeks.\n"
    "The honey is extracted in July, before the strips go in! Wasps come later."
)


@pytest.mark.parametrize(
    ("question", "beginning"),
    [
        ("When is the honey extracted?", "… The honey is extracted"),
        ("how many mites", "Mites are counted"),
        ("¿Cuándo se cosecha?", "Mites are counted"),
        ("?", "Mites are counted"),
    ],
)
def test_the_part_that_speaks_of_the_question_is_shown(question: str, beginning: str) -> None:
    assert telling_part(NOTE, question, 60).startswith(beginning)
    assert telling_part(NOTE, question, 200) == NOTE


@given(ANY_TEXT, ANY_TEXT, st.integers(1, 40))
def test_the_part_is_an_end_of_the_text(text: str, question: str, size: int) -> None:
    assert text.endswith(telling_part(text, question, size).removeprefix("… "))


def drawn(*, terminal: bool, delay: float) -> str:
    console = Console(
        file=StringIO(), force_terminal=terminal, force_interactive=terminal, width=80
    )
    with ProgressBar(console, "Counting", delay) as bar:
        for done in (0, 3, 7):
            bar(done, 7)
        assert bar.done == 7
        assert bar.seconds >= 0
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("terminal", "delay", "shown"), [(True, 0.0, True), (True, 60.0, False), (False, 0.0, False)]
)
def test_the_bar_is_for_terminals_and_for_long_work(
    terminal: bool, delay: float, shown: bool
) -> None:
    output = drawn(terminal=terminal, delay=delay)
    assert ("Counting" in output and "7/7" in output) == shown
    assert bool(output.strip()) == shown


@pytest.mark.parametrize(
    ("started", "on_path", "shown"),
    [
        (".venv/bin/recall-signal", False, ".venv/bin/recall-signal"),
        ("/a b/recall-signal", False, "'/a b/recall-signal'"),
        ("/usr/bin/recall-signal", True, "recall-signal"),
        ("-c", False, "recall-signal"),
    ],
)
def test_what_to_type_next(
    started: str,
    on_path: bool,
    shown: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if on_path:
        (tmp_path / "recall-signal").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [started])
    assert command() == shown


def test_every_reason_has_its_text() -> None:
    for reason in SELECTION_REASONS:
        text = selection_text(SelectionReport(applied=False, reason=reason))
        assert (
            text == f"not applied ({reason}): {SELECTION_TEXTS[reason]}, so the page is unchanged"
        )


def test_applied_text() -> None:
    ids = [f"m{n}" for n in range(20)]
    report = SelectionReport(applied=True, model="m", kept=5, dropped=25, dropped_memory_ids=ids)
    text = selection_text(report)
    assert text.startswith("applied: m kept 5 of 30 and dropped 25: m0, m1, ")
    assert text.endswith("m19, ...")
    nothing = SelectionReport(applied=True, model="m", kept=3, dropped=0, dropped_memory_ids=[])
    assert selection_text(nothing) == "applied: m kept 3 of 3 and dropped 0"


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (BrokenPipeError(), 141, ""),
        (OSError(28, "No space left on device"), 2, "stopped by OSError"),
    ],
)
def test_an_output_that_ends(
    error: OSError, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as end, open_terminal():
        raise error
    assert end.value.exit_code == code
    assert said in capsys.readouterr().err


def test_an_output_that_refuses_is_not_somebody_elses_failure(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """As a full disk does; here what it writes to can only be read."""

    def write_to(output: TextIO) -> None:
        with open_terminal() as terminal:
            terminal.out.file = output
            terminal.out.print("something")

    (tmp_path / "read").touch()
    with (
        pytest.raises(OSError, match="Bad file"),
        os.fdopen(os.open(tmp_path / "read", os.O_RDONLY), "w") as output,
        pytest.raises(typer.Exit) as end,
    ):
        write_to(output)
    assert end.value.exit_code == 2
    assert "the output cannot be written: Bad file descriptor" in capsys.readouterr().err


def test_a_console_whose_reader_leaves_ends_as_by_the_system() -> None:
    with pytest.raises(SystemExit) as end:
        Terminal.open().out.on_broken_pipe()
    assert end.value.code == 141
