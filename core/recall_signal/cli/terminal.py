"""What a person sees: two consoles, colours, a progress bar, and texts made safe to show."""

from __future__ import annotations

import re
import shlex
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from time import perf_counter
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from recall_signal.confidence import Level

__all__ = [
    "LEVEL_STYLES",
    "EmbeddingBar",
    "ProgressBar",
    "Terminal",
    "command",
    "figure",
    "level_text",
    "plain",
    "shortened",
    "snippet",
]

LEVEL_STYLES: dict[Level, str] = {
    "high": "bold green",
    "moderate": "green",
    "low": "yellow",
    "none": "red",
    "unknown": "magenta",
}

COMMAND = "recall-signal"

_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)
_DIRECTIONS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SAFE = {**dict.fromkeys(_CONTROLS, " "), **dict.fromkeys(_DIRECTIONS, "")}


@dataclass(frozen=True, slots=True)
class Terminal:
    """Results go to ``out``; notes, progress and errors to ``err``."""

    out: Console
    err: Console

    @classmethod
    def open(cls) -> Self:
        """On this process's standard output and standard error."""
        return cls(Console(highlight=False), Console(stderr=True, highlight=False))

    def note(self, text: str, *, whole: bool = False) -> None:
        """A remark beside the results; a ``whole`` one is not wrapped, so that it can be copied."""
        self.err.print(Text(plain(text), style="dim"), soft_wrap=whole)

    def error(self, text: str) -> None:
        """An error, always on one line."""
        self.err.print(Text(f"Error: {plain(text)}", style="red"), soft_wrap=True)


class ProgressBar:
    """Progress on a terminal; a context manager and a ``(done, total)`` callback.

    Args:
        console: Where to draw; nothing is drawn where that is no interactive terminal.
        label: What is being done.
        delay: Seconds of work before the bar appears: one that flashes up only disturbs.
    """

    def __init__(self, console: Console, label: str, delay: float = 0.0) -> None:
        self.done = 0
        self._delay = delay
        self._start = perf_counter()
        self._stack = ExitStack()
        self._due = console.is_interactive
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
        """So much of it is done."""
        if done == 0:
            self._start = perf_counter()
        self.done = done
        self._bar.update(self._task, completed=done, total=total)
        if self._due and self.seconds >= self._delay:
            self._due = False
            self._stack.enter_context(self._bar)

    @property
    def seconds(self) -> float:
        """Since the work began."""
        return perf_counter() - self._start


class EmbeddingBar(ProgressBar):
    """Progress of embedding."""

    def __init__(self, console: Console, delay: float = 0.0) -> None:
        super().__init__(console, "Embedding", delay)


def command() -> str:
    """What to type to start this command: its name, or its path where the name is not found."""
    started = sys.argv[0]
    if Path(started).name != COMMAND or which(COMMAND):
        return COMMAND
    return shlex.quote(started)


def plain(text: str) -> str:
    """The text without anything that a terminal would obey rather than show.

    Colour sequences go, other control characters become spaces, marks that turn the direction
    of writing go, and halves of surrogate pairs become question marks. Rich's own markup is
    harmless as long as texts are printed as :class:`rich.text.Text`.
    """
    return _ANSI.sub("", text).translate(_SAFE).encode("utf-8", "replace").decode()


def shortened(text: str, cells: int) -> Text:
    """The text on one line of at most so many columns, wide characters counted as two."""
    line = _one_line(text, cells)
    line.truncate(cells, overflow="ellipsis")
    return line


def snippet(text: str, console: Console, width: int, lines: int) -> list[str]:
    """The beginning of a text, wrapped into at most so many lines."""
    wrapped = [line.plain.strip() for line in _one_line(text, width * lines).wrap(console, width)]
    if len(wrapped) <= lines:
        return wrapped
    last = Text(" ".join(wrapped[lines - 1 :]))
    last.truncate(width, overflow="ellipsis")
    return [*wrapped[: lines - 1], last.plain]


def _one_line(text: str, cells: int) -> Text:
    """All that can matter for so many columns: a huge line is not worth going through."""
    return Text(" ".join(plain(text[: cells * 8]).split()))


def level_text(level: Level) -> Text:
    """A level in its colour."""
    return Text(level, style=LEVEL_STYLES[level])


def figure(value: float | None) -> str:
    """A figure of the signal, a dash where there is none."""
    return "-" if value is None else f"{value:.3f}"
