"""Tables, names and figures of a card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from recall_signal._safe_text import html_text

__all__ = [
    "DASH",
    "QUIET",
    "WORD_LIMIT",
    "Printer",
    "card",
    "cell",
    "code",
    "figure",
    "head",
    "short_id",
    "table",
]

WORD_LIMIT = 48

DASH = "&ndash;"

QUIET = "opacity:.8;font-size:92%"
_LINE = "1px solid rgba(128,128,128,.35)"
_CARD = (
    f"border:{_LINE};border-left:5px solid {{colour}};border-radius:6px;"
    "padding:10px 14px;margin:6px 0;max-width:46em;line-height:1.45;overflow-wrap:anywhere"
)
_TABLE = (
    "border-collapse:collapse;border:none;margin:8px 0;table-layout:auto;color:inherit;"
    "font-size:inherit"
)
_ROW = "background:transparent;border:none"
_HEAD = (
    f"{QUIET};font-weight:normal;background:transparent;border:none;padding:1px 12px 1px 0;"
    "white-space:nowrap;vertical-align:top;text-align:"
)
_CELL = (
    "border:none;padding:1px 12px 3px 0;line-height:1.4;font-variant-numeric:tabular-nums;"
    "vertical-align:top;text-align:"
)

LONGEST_ID, ID_HEAD, ID_TAIL = 12, 6, 4
"""A longer id is shown by its beginning and its end, which tell UUIDs as well as numbered names
apart."""


class Printer(Protocol):
    """The part of IPython's pretty printer that is used."""

    def text(self, text: str, /) -> object:
        """Write a text."""


def card(colour: str, *parts: str) -> str:
    """Return markup in a frame with a stripe of this colour."""
    return f'<div style="{_CARD.format(colour=colour)}">{"".join(parts)}</div>'


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a `<table>` of cells made by `head` and `cell`."""
    body = "".join(f'<tr style="{_ROW}">{"".join(row)}</tr>' for row in rows)
    return (
        f'<table style="{_TABLE}"><thead style="border:none"><tr style="{_ROW}">'
        f"{''.join(heads)}</tr></thead><tbody>{body}</tbody></table>"
    )


def head(name: str, align: str) -> str:
    """Return the head of a column."""
    return f'<th scope="col" style="{_HEAD}{align}">{name}</th>'


def cell(markup: str, align: str, attributes: str = "") -> str:
    """Return one cell; `markup` must be escaped already."""
    return f'<td style="{_CELL}{align}"{attributes}>{markup}</td>'


def code(name: object) -> str:
    """Return a name in a fixed-width font, escaped."""
    return f"<code>{html_text(name, WORD_LIMIT)}</code>"


def short_id(name: str) -> str:
    """Return the id; of one of more than 12 characters the last part of a path, or both ends."""
    if len(name) <= LONGEST_ID:
        return name
    folder, _, last = name.rpartition("/")
    if folder and 0 < len(last) <= 2 * LONGEST_ID:
        return f"…/{last}"
    return f"{name[:ID_HEAD]}…{name[-ID_TAIL:]}"


def figure(value: object) -> str:
    """Return a figure with at most 3 decimals; a dash where there is none."""
    if value is None:
        return DASH
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) < 1e6 else f"{value:.3g}"
    return html_text(value, WORD_LIMIT)
