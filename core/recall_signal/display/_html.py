"""A signal, and a whole response, as HTML for a notebook."""

from __future__ import annotations

from collections.abc import Sequence

from recall_signal._cards import (
    DASH,
    QUIET,
    WORD_LIMIT,
    cell,
    figure,
    head,
    short_id,
    signal_card,
    strip,
    table,
)
from recall_signal._safe_text import html_text
from recall_signal.confidence import RecallConfidence
from recall_signal.display._page import (
    ROWS_SHOWN,
    PageRow,
    Shown,
    marks_of,
    rerank_words,
    selection_words,
)

__all__ = ["confidence_html", "response_html"]

TEXT_LIMIT = 160
SENTENCE_LIMIT = 300


def confidence_html(confidence: RecallConfidence) -> str:
    """Return a signal as a small card: level, advice, witnesses, figures, rationale.

    Args:
        confidence: The signal.

    Returns:
        One `<div>`, every text escaped.
    """
    return signal_card(vars(confidence))


def response_html(response: Shown) -> str:
    """Return the card with the pool's cosines and the cut in force, and the page as a table.

    The advice is the page's: nothing to read is `fallback`, whatever the pool looked like. What
    the selector left out is struck through. The first 20 results are shown, each with the
    beginning of its text.

    Args:
        response: A `RecallResponse`.

    Returns:
        One `<div>`, every text escaped.
    """
    rows = response.rows
    steps = (rerank_words(response.rerank), selection_words(response.selection, _names(response)))
    words = "".join(
        f'<div style="margin-top:6px;{QUIET}">{html_text(text, SENTENCE_LIMIT)}</div>'
        for text in steps
        if text
    )
    page = _page(rows) if rows or not response.shown else _counted(response.shown)
    return signal_card(
        vars(response.confidence),
        response.advice,
        advice_text=response.advice_text,
        cut=response.cut,
        strip=strip(marks_of(response), response.cut),
        more=words + page,
    )


def _names(response: Shown) -> list[str]:
    """Return the ids of what was left out, where the page does not show it struck through."""
    if any(row.rank is None for row in response.rows):
        return []
    return [short_id(name) for name in response.selection.dropped_memory_ids or ()]


def _counted(number: int) -> str:
    return f'<div style="{QUIET}">Results on the page: {number}.</div>'


def _page(rows: Sequence[PageRow]) -> str:
    if not rows:
        return f'<div style="{QUIET}">The page is empty.</div>'
    reranked = any(row.rerank_score is not None for row in rows)
    heads = [head("rank", "left"), head("cosine", "right")]
    heads += [head("rerank", "right")] if reranked else []
    heads.append(head("id and text", "left"))
    body = [_row(row, reranked) for row in rows[:ROWS_SHOWN]]
    hidden = len(rows) - ROWS_SHOWN
    note = f'<div style="{QUIET}">and {hidden} more</div>' if hidden > 0 else ""
    return table(heads, body) + note


def _row(row: PageRow, reranked: bool) -> list[str]:
    text = html_text(row.text, TEXT_LIMIT)
    text = f'<span dir="auto">{text if row.rank is not None else f"<del>{text}</del>"}</span>'
    scores = [row.cosine, row.rerank_score] if reranked else [row.cosine]
    return [
        cell("left out" if row.rank is None else str(row.rank), "left"),
        *(cell(figure(score), "right;white-space:nowrap") for score in scores),
        cell(f"{_id(row.id)} {text}", "start;overflow-wrap:anywhere"),
    ]


def _id(name: str | None) -> str:
    """Return a short id whose whole is shown under the pointer."""
    if name is None:
        return DASH
    short = short_id(name)
    whole = "" if short == name else f' title="{html_text(name, 2 * WORD_LIMIT)}"'
    return f"<code{whole}>{html_text(short, WORD_LIMIT)}</code>"
