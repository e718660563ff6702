"""A response as plain text for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, takewhile
from textwrap import wrap
from unicodedata import combining, east_asian_width

from recall_signal._cards import Mark, short_id, standing
from recall_signal._safe_text import plain_text, terminal_text
from recall_signal.confidence import RecallConfidence
from recall_signal.display._page import (
    ROWS_SHOWN,
    PageRow,
    Shown,
    marks_of,
    rerank_words,
    selection_words,
)

__all__ = ["response_text"]

WIDTH = 80
NARROWEST = 40
LONGEST = 2000
"""Characters of a sentence that are looked at."""


def response_text(response: Shown, *, width: int = WIDTH) -> str:
    """Return level, advice, figures and page as lines of at most so many columns.

    Args:
        response: A `RecallResponse`.
        width: Columns, at least 40. Wide characters count as two.
    """
    width = max(width, NARROWEST)
    found = response.confidence
    rows = response.rows
    steps = (rerank_words(response.rerank), selection_words(response.selection, ()))
    sentences = [found.rationale, *(step for step in steps if step)]
    lines = [
        f"{found.level}, advice: {response.advice}",
        *_wrapped(response.advice_text, width),
        "",
        *_witnesses(found, response.cut),
        *_strip(marks_of(response), response.cut, width),
        "",
        *(line for text in sentences for line in _wrapped(text, width)),
        "",
        *_page(rows, response.shown, width),
    ]
    return "\n".join(lines)


def _wrapped(text: str, width: int) -> list[str]:
    """Break a sentence of our own, which may hold a foreign name."""
    shown = plain_text(terminal_text(text), LONGEST)
    wide = _columns(shown) > len(shown)
    return wrap(shown, width // 2 if wide else width, break_on_hyphens=False)


def _witnesses(found: RecallConfidence, cut: float | None) -> Iterator[str]:
    top = found.top_score
    if top is not None:
        against = "" if cut is None else f"  {standing(top, cut)}"
        name = "top score" if found.basis == "separation" else "top cosine"
        yield f"  {name:<14} {_figure(top)}{against}"
    rest = (("term coverage", found.term_coverage), ("probability", found.probability))
    for name, value in rest:
        if value is not None:
            yield f"  {name:<14} {_figure(value)}"
    if found.reason is not None:
        yield f"  reason         {plain_text(terminal_text(found.reason), 48)}"


def _strip(marks: Sequence[Mark], cut: float | None, width: int) -> list[str]:
    """Return the pool on one line: `.` a candidate, `o` on the page, `*` the top, `|` the cut."""
    if not marks:
        return []
    values = [mark.cosine for mark in marks]
    whole = [*values, *([] if cut is None else [cut])]
    low, high = min(whole), max(whole)
    front, back = f"  pool of {len(values):<6} {low:.2f} ", f" {high:.2f}"
    places = width - len(front) - len(back)
    line = ["-"] * places

    def at(value: float) -> int:
        return round((places - 1) * (value - low) / (high - low)) if high > low else 0

    signs = {"other": ".", "left_out": "x", "page": "o"}
    for place, sign in signs.items():
        for mark in marks:
            if mark.place == place:
                line[at(mark.cosine)] = sign
    line[at(max(values))] = "*"
    key = ". pool, o page, * top"
    if any(mark.place == "left_out" for mark in marks):
        key += ", x left out"
    if cut is not None:
        line[at(cut)] = "|"
        key += ", | cut"
    return [f"{front}{''.join(line)}{back}", f"  {key}"]


def _page(rows: Sequence[PageRow], shown: int, width: int) -> list[str]:
    if not rows:
        return [f"results on the page: {shown}" if shown else "The page is empty."]
    shorts = ["-" if row.id is None else _cut(short_id(row.id), 11) for row in rows[:ROWS_SHOWN]]
    ids = max(2, *map(_columns, shorts))
    lines = [f"rank  cosine  {_padded('id', ids)}  text"]
    for row, name in zip(rows, shorts, strict=False):
        rank = "out" if row.rank is None else str(row.rank)
        cosine = "-" if row.cosine is None else f"{row.cosine:.3f}"
        front = f"{rank:>4}  {cosine:>6}  {_padded(name, ids)}  "
        lines.append(front + _cut(row.text, width - _columns(front)))
    hidden = len(rows) - len(shorts)
    return [*lines, *([f"and {hidden} more"] if hidden > 0 else [])]


def _figure(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1e6 else f"{value:.3g}"


def _cut(text: str, columns: int) -> str:
    """Return the beginning of a foreign text on one line, in so many columns."""
    line = plain_text(terminal_text(text[: 4 * columns]), 2 * columns)
    if _columns(line) <= columns and len(text) <= 4 * columns:
        return line
    ends = accumulate(map(_columns, line))
    fitting = sum(1 for _ in takewhile(lambda end: end < columns, ends))
    return line[:fitting].rstrip(" …") + "…"


def _padded(text: str, columns: int) -> str:
    return text + " " * (columns - _columns(text))


def _columns(text: str) -> int:
    """Return how many columns a terminal takes for a text."""
    return sum(
        0 if combining(one) else 2 if east_asian_width(one) in ("W", "F") else 1 for one in text
    )
