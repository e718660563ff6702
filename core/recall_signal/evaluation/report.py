"""An evaluation for the terminal, as JSON, and as one HTML file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from recall_signal.confidence import LEVELS
from recall_signal.errors import ConfigurationError, MissingDependencyError
from recall_signal.evaluation.html import html_report
from recall_signal.evaluation.modes import MODES
from recall_signal.evaluation.result import Evaluation
from recall_signal.evaluation.wording import (
    COLUMNS,
    LEGEND,
    MODES_LEGEND,
    cost,
    figure_cells,
    notes,
    summary,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["print_report", "write_html", "write_json"]

_LIMIT = 60


def print_report(evaluation: Evaluation, console: Console | None = None) -> None:
    """The tables: figures for each kind of absent queries, then levels, notes and latency.

    Args:
        evaluation: What to show.
        console: Where; standard output by default.

    Raises:
        MissingDependencyError: rich is not installed.
    """
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        raise MissingDependencyError("The table of an evaluation", "eval") from None
    console = console or Console(highlight=False)
    console.print(Text(summary(evaluation)))
    for kind in evaluation.absent_kinds:
        console.print()
        console.print(_figure_table(kind, evaluation.of_kind(kind)))
    console.print()
    console.print(_level_table(evaluation))
    console.print()
    for line in (LEGEND, MODES_LEGEND, *notes(evaluation), *cost(evaluation)):
        console.print(Text(line, style="dim"))


def write_json(evaluation: Evaluation, path: str | Path) -> None:
    """Everything as JSON: figures, and scores and levels of every query by its id; no texts.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    _write(path, json.dumps(evaluation.to_dict(), allow_nan=False, indent=1) + "\n")


def write_html(evaluation: Evaluation, path: str | Path) -> None:
    """The report as one HTML file that needs no other; no texts of queries or documents.

    Raises:
        ConfigurationError: The file cannot be written.
        MissingDependencyError: matplotlib is not installed.
    """
    _write(path, html_report(evaluation))


def _figure_table(kind: str, evaluation: Evaluation) -> Table:
    from rich.text import Text

    table = _table(f"present against {kind.replace('_', ' ')}")
    for number, column in enumerate(COLUMNS):
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    for row in evaluation.figures():
        style = "bold" if row.method in MODES else ""
        table.add_row(*(Text(cell[:_LIMIT], style=style) for cell in figure_cells(row)))
    return table


def _level_table(evaluation: Evaluation) -> Table:
    from rich.text import Text

    table = _table("levels, share of queries")
    table.add_column("", no_wrap=True)
    table.add_column("kind", no_wrap=True)
    for level in LEVELS[:4]:
        table.add_column(level, justify="right", no_wrap=True)
    for mode in MODES:
        for kind, row in evaluation.level_table(mode).items():
            shares = [f"{row.get(level, 0.0):.0%}" for level in LEVELS[:4]]
            table.add_row(Text(mode), Text(kind[:_LIMIT]), *shares)
        table.add_section()
    return table


def _table(title: str) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    return Table(
        title=Text(title[:_LIMIT]),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=0,
    )


def _write(path: str | Path, text: str) -> None:
    try:
        Path(path).write_text(text, "utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written ({error.strerror}); choose another file"
        ) from None
