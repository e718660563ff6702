"""The demo's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from recall_signal.advice import advice
from recall_signal.cli.tally import Result, Tally
from recall_signal.cli.terminal import figure, level_text, shortened
from recall_signal.confidence import LEVELS, Level

__all__ = ["levels_table", "notes_table", "results_table", "summary_table"]

OTHER_COLUMNS = 51
"""Width of the table of results without the questions."""


def results_table(results: Sequence[Result], width: int) -> Table:
    """One row a question, as wide as the terminal at most."""
    table = _table()
    for name in ("question", "kind", "level"):
        table.add_column(name, no_wrap=True)
    for name in ("top", "prominence"):
        table.add_column(name, no_wrap=True, justify="right")
    table.add_column("advice", no_wrap=True)
    for result in results:
        signal = result.answer.confidence
        table.add_row(
            shortened(result.question.text, max(width - OTHER_COLUMNS, 16)),
            result.question.kind,
            level_text(signal.level),
            figure(signal.top_score),
            figure(signal.prominence),
            advice(signal),
        )
    return table


def summary_table(tallies: Sequence[Tally], k: int) -> Table:
    """One row for each kind of question, over pages of ``k`` results."""
    shown = _levels_of(tallies)
    table = _table()
    table.add_column("kind", no_wrap=True)
    for level in shown:
        table.add_column(level_text(level), no_wrap=True, justify="right")
    for name in ("median top", "right", f"hit@{k}"):
        table.add_column(name, no_wrap=True, justify="right")
    for row in tallies:
        table.add_row(
            row.kind,
            *(str(row.levels[level]) for level in shown),
            figure(row.median_top),
            _share(row.right, row.count),
            _share(row.hits, row.count),
        )
    return table


def levels_table(before: Sequence[Tally], after: Sequence[Tally]) -> Table:
    """Two rows for each kind of question: its levels without and with a calibration."""
    shown = _levels_of([*before, *after])
    table = _table()
    for name in ("kind", "levels"):
        table.add_column(name, no_wrap=True)
    for level in shown:
        table.add_column(level_text(level), no_wrap=True, justify="right")
    table.add_column("right", no_wrap=True, justify="right")
    for pair in zip(before, after, strict=True):
        for row, name in zip(pair, ("uncalibrated", "calibrated"), strict=True):
            table.add_row(
                row.kind if row is pair[0] else "",
                name,
                *(str(row.levels[level]) for level in shown),
                _share(row.right, row.count),
            )
    return table


def notes_table(notes: Mapping[str, str]) -> Table:
    """Words on the left, what they mean on the right."""
    table = Table.grid(padding=(0, 2))
    for word, text in notes.items():
        table.add_row(Text(word, style="bold"), Text(text))
    return table


def _levels_of(tallies: Sequence[Tally]) -> list[Level]:
    """All levels; ``unknown`` only where it occurs."""
    return [
        level for level in LEVELS if level != "unknown" or any(t.levels[level] for t in tallies)
    ]


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))


def _share(part: int | None, whole: int) -> str:
    return "-" if part is None else f"{part} of {whole}"
