"""Two consoles, level colours, a progress bar, and texts made safe to show."""

from __future__ import annotations

import os
import shlex
import sys
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from shutil import which
from time import perf_counter
from typing import Self

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from recall_signal._display_words import LEVEL_STYLES, SELECTION_TEXTS
from recall_signal._safe_text import terminal_text
from recall_signal.errors import RecallSignalError
from recall_signal.reports import SelectionReport

__all__ = [
    "ProgressBar",
    "Terminal",
    "command",
    "figure",
    "level_text",
    "open_terminal",
    "selection_text",
    "shortened",
    "snippet",
]

COMMAND = "recall-signal"

TRACEBACK = "RECALL_SIGNAL_TRACEBACK"
"""Environment variable; 1 shows the traceback of what a command did not foresee."""

FAILED = 2
"""Exit code of an error, foreseen or not: 1 is an answer of `monitor`."""

BROKEN_PIPE = 141
"""Exit code of a program whose output nobody reads any more: 128 and the number of SIGPIPE."""

LINE_SECONDS = 5.0
"""Time between two lines of progress in a log."""

NAME_CELLS = 40
"""Width of a model's name in a sentence."""


class _Console(Console):
    """A console whose reader may leave, as `head` does."""

    def on_broken_pipe(self) -> None:
        """End as a program that the system ends for it: 1 is an answer of `monitor`."""
        raise SystemExit(BROKEN_PIPE)


@dataclass(frozen=True, slots=True)
class Terminal:
    """Results go to `out`; notes, progress and errors to `err`."""

    out: Console
    err: Console

    @classmethod
    def open(cls) -> Self:
        """Return consoles on standard output and standard error."""
        return cls(_Console(highlight=False), _Console(stderr=True, highlight=False))

    def note(self, text: str, *, whole: bool = False) -> None:
        """Print a remark; a `whole` one is not wrapped, so that it can be copied."""
        self.err.print(Text(terminal_text(text), style="dim"), soft_wrap=whole)

    def error(self, text: str) -> None:
        """Print an error on one line."""
        self.err.print(Text(f"Error: {terminal_text(text)}", style="red"), soft_wrap=True)


@contextmanager
def open_terminal() -> Iterator[Terminal]:
    """Yield the consoles; an error ends the command with one line and code 2.

    Of a RecallSignalError that is its message. What an encoder, a model or a store raises may
    quote texts and keys, so its class and place are said, and no more without being asked to.
    """
    terminal = Terminal.open()
    try:
        yield terminal
    except RecallSignalError as error:
        terminal.error(str(error))
        raise typer.Exit(FAILED) from None
    except (KeyboardInterrupt, SystemExit, typer.Exit, typer.Abort):
        raise
    except BrokenPipeError:
        raise typer.Exit(BROKEN_PIPE) from None
    except BaseException as error:  # an extension's panic is no Exception
        if isinstance(error, OSError) and _module(error).startswith("rich."):
            terminal.error(f"the output cannot be written: {error.strerror}")
            raise typer.Exit(FAILED) from None
        if os.environ.get(TRACEBACK) == "1":
            for line in traceback.format_exc().splitlines():
                terminal.note(line, whole=True)
        terminal.error(
            f"stopped by {type(error).__name__} at {_place(error)}: an encoder, a model or a store "
            f"that the command calls has failed; mend it, or set {TRACEBACK}=1 to see the "
            "traceback, which may quote texts and keys"
        )
        raise typer.Exit(FAILED) from None


def _module(error: BaseException) -> str:
    """Return the module that raised."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return str(frame.f_globals.get("__name__"))


def _place(error: BaseException) -> str:
    """Return file and line of what was raised."""
    *_, (frame, line) = traceback.walk_tb(error.__traceback__)
    return f"{Path(frame.f_code.co_filename).name}:{line}"


class ProgressBar:
    """A progress bar: a context manager and a `(done, total)` callback.

    Args:
        console: Where to draw; where that is no interactive terminal, a line is written
            every few seconds instead.
        label: Name of the work.
        delay: Seconds of work before the bar appears, so that it does not flash.
    """

    def __init__(self, console: Console, label: str = "Embedding", delay: float = 0.0) -> None:
        self.done = 0
        self._delay = delay
        self._start = perf_counter()
        self._stack = ExitStack()
        self._console, self._label = console, label
        self._due = console.is_interactive
        self._next_line = inf if console.is_interactive else LINE_SECONDS
        self._bar = Progress(
            TextColumn(label),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task("", total=None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def __call__(self, done: int, total: int) -> None:
        """Report progress."""
        if done == 0:
            self._start = perf_counter()
        self.done = done
        self._bar.update(self._task, completed=done, total=total)
        if self._due and self.seconds >= self._delay:
            self._due = False
            self._stack.enter_context(self._bar)
        if self.seconds >= self._next_line:
            self._next_line = self.seconds + LINE_SECONDS
            self._console.print(f"{self._label}: {done} of {total} in {self.seconds:.0f} s")

    @property
    def seconds(self) -> float:
        """Return the seconds since the work began."""
        return perf_counter() - self._start


def command() -> str:
    """Return the way to start this command: its name, or its path where the name is not found."""
    started = sys.argv[0]
    if Path(started).name != COMMAND or which(COMMAND):
        return COMMAND
    return shlex.quote(started)


def shortened(text: str, cells: int) -> Text:
    """Return the text on one line of at most `cells` columns, wide characters counted as two."""
    line = _one_line(text, cells)
    line.truncate(cells, overflow="ellipsis")
    return line


def snippet(text: str, console: Console, width: int, lines: int) -> list[str]:
    """Return the beginning of a text, wrapped into at most `lines` lines."""
    wrapped = [line.plain.strip() for line in _one_line(text, width * lines).wrap(console, width)]
    if len(wrapped) <= lines:
        return wrapped
    last = Text(" ".join(wrapped[lines - 1 :]))
    last.truncate(width, overflow="ellipsis")
    return [*wrapped[: lines - 1], last.plain]


def _one_line(text: str, cells: int) -> Text:
    """Return one line of the text, read only as far as it can be shown in `cells` columns."""
    return Text(" ".join(terminal_text(text[: cells * 8]).split()))


def level_text(level: str) -> Text:
    """Return a level in its colour."""
    return Text(level, style=LEVEL_STYLES[level])


def figure(value: float | None) -> str:
    """Format a figure of the signal; a dash stands for None."""
    return "-" if value is None else f"{value:.3f}"


def selection_text(report: SelectionReport) -> str:
    """Return the report of a selection as one sentence."""
    if not report.applied:
        reason = str(report.reason)
        return f"not applied ({reason}): {SELECTION_TEXTS[reason]}, so the page is unchanged"
    model = shortened(report.model or "the model", NAME_CELLS).plain
    kept, dropped = report.kept or 0, report.dropped or 0
    ids = report.dropped_memory_ids or []
    more = ", ..." if dropped > len(ids) else ""
    named = f": {', '.join(map(terminal_text, ids))}{more}" if ids else ""
    return f"applied: {model} kept {kept} of {kept + dropped} and dropped {dropped}{named}"
