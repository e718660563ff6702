"""Tables for the terminal and for the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

__all__ = ["Table", "print_tables", "to_markdown"]


@dataclass(frozen=True)
class Table:
    """One table: a title, column heads, rows of text, and what to know when reading it."""

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""


def print_tables(tables: Iterable[Table], console: Console) -> None:
    """All tables, as wide as they need."""
    for table in tables:
        rich = RichTable(title=table.title, title_justify="left", box=box.SIMPLE_HEAD, padding=0)
        for at, name in enumerate(table.head):
            rich.add_column(name, no_wrap=True, justify="left" if at == 0 else "right")
        for row in table.rows:
            rich.add_row(*(Text(cell) for cell in row))
        console.print(rich)
        if table.note:
            console.print(Text(table.note, style="dim"))
        console.print()


def to_markdown(tables: Iterable[Table]) -> str:
    """All tables in Markdown, under headings of the third level."""
    parts = []
    for table in tables:
        lines = [f"### {table.title}", ""]
        lines += [table.note, ""] if table.note else []
        lines.append("| " + " | ".join(table.head) + " |")
        lines.append("|---|" + "--:|" * (len(table.head) - 1))
        lines += ["| " + " | ".join(row) + " |" for row in table.rows]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"
