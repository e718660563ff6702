"""The demo's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from recall_signal._safe_text import terminal_text
from recall_signal.advice import advice
from recall_signal.cli._backends import Hit, SearchResult
from recall_signal.cli._demo._stats import Result, Tally
from recall_signal.cli._terminal import figure, level_text, selection_text, shortened
from recall_signal.confidence import LEVELS, Level

__all__ = ["notes_table", "results_table", "selection_lines", "summary_table"]

OTHER_COLUMNS = 52
"""Width of the table of results without the questions."""


def summary_table(tallies: Sequence[Tally]) -> Table:
    """Return one row for each kind of question: levels, advice, answers on the page."""
    shown = _levels_of(tallies)
    table = _table()
    for name in ("section", "kind"):
        table.add_column(name, no_wrap=True)
    for level in shown:
        table.add_column(level_text(level), no_wrap=True, justify="right")
    for name in ("right", "on page", "read"):
        table.add_column(name, no_wrap=True, justify="right")
    section = None
    for row in tallies:
        table.add_row(
            row.section if row.section != section else "",
            row.kind,
            *(str(row.levels[level]) for level in shown),
            _share(row.right, row.count),
            _share(row.answered, row.count),
            _share(row.answered_read, row.answered),
        )
        section = row.section
    return table


def results_table(results: Sequence[Result], width: int) -> Table:
    """Return one row per question, at most as wide as the terminal."""
    table = _table()
    table.add_column("question", max_width=max(width - OTHER_COLUMNS, 16))
    for name in ("kind", "level"):
        table.add_column(name, no_wrap=True)
    for name in ("top", "prob."):
        table.add_column(name, no_wrap=True, justify="right")
    for name in ("advice", "page"):
        table.add_column(name, no_wrap=True)
    for result in results:
        signal = result.page.confidence
        table.add_row(
            Text(terminal_text(result.question.text)),
            result.question.kind,
            level_text(signal.level),
            figure(signal.top_score),
            "-" if signal.probability is None else f"{signal.probability:.2f}",
            advice(signal),
            "yes" if result.is_answered else "",
        )
    return table


def notes_table(notes: Mapping[str, str]) -> Table:
    """Return words on the left and their meaning on the right."""
    table = Table.grid(padding=(0, 2))
    for word, text in notes.items():
        table.add_row(Text(word, style="bold"), Text(text))
    return table


def selection_lines(
    question: str, result: SearchResult, page: Sequence[Hit], width: int
) -> list[Text]:
    """Return a page before its selection, each result marked, and the report in words.

    Args:
        question: The question.
        result: The page after the selection.
        page: The page before it.
        width: Width of the terminal.
    """
    report, left = result.selection, {hit.id for hit in result.hits}
    lines = [shortened(question, width)]
    for hit in page:
        kept = hit.id in left
        head = f"{figure(hit.cosine)}  {('keep  ' if kept else 'drop  ') if report.applied else ''}"
        line = Text(head).append(shortened(hit.text, width - len(head)))
        lines.append(line if kept else Text(line.plain, style="dim"))
    return [*lines, Text(f"Selection {selection_text(report)}.")]


def _levels_of(tallies: Sequence[Tally]) -> list[Level]:
    """Return all levels, `unknown` only where it occurs."""
    return [
        level for level in LEVELS if level != "unknown" or any(t.levels[level] for t in tallies)
    ]


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))


def _share(part: int | None, whole: int | None) -> str:
    return "-" if part is None or whole is None else f"{part} of {whole}"
