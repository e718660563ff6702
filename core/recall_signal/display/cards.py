"""A signal, and a whole response, as HTML for a notebook.

Inline styles only, no script, no class, no id: a view cannot touch the page around it. Colours
of text are inherited, so that light and dark notebooks both stay readable, and the markup reads
well where styles are stripped (as GitHub does).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recall_signal.display.escaping import html_text

__all__ = ["LEVEL_COLOURS", "confidence_html", "response_html"]

LEVEL_COLOURS: dict[str, str] = {
    "high": "#08519c",
    "moderate": "#2f72b0",
    "low": "#a8540a",
    "none": "#7f3b08",
    "unknown": "#636363",
}
"""From blue to orange, which all common kinds of colour blindness tell apart. Each one carries
white text at a contrast of at least 4.5 (WCAG 2.1, AA)."""

ROWS_SHOWN = 20
TEXT_LIMIT = 160
WORD_LIMIT = 48
SENTENCE_LIMIT = 600

_DASH = "&ndash;"

_LINE = "1px solid rgba(128,128,128,.35)"
_CARD = (
    f"border:{_LINE};border-left:5px solid {{colour}};border-radius:6px;"
    "padding:10px 14px;margin:6px 0;max-width:46em;line-height:1.45;overflow-x:auto"
)
_WORD = (
    "display:inline-block;background:{colour};color:#fff;border-radius:4px;padding:1px 9px;"
    "font-weight:600"
)
_QUIET = "opacity:.75;font-size:92%"
_TABLE = (
    "border-collapse:collapse;border:none;margin:8px 0;table-layout:auto;color:inherit;"
    "font-size:inherit"
)
_ROW = "background:transparent;border:none"
_HEAD = (
    f"{_QUIET};font-weight:normal;background:transparent;border:none;padding:1px 22px 1px 0;"
    "white-space:nowrap;vertical-align:top;text-align:"
)
_CELL = (
    "border:none;padding:1px 22px 3px 0;line-height:1.4;font-variant-numeric:tabular-nums;"
    "vertical-align:top;text-align:"
)

_FIGURES = (
    ("top score", "top_score", "right"),
    ("prominence", "prominence", "right"),
    ("relative margin", "relative_margin", "right"),
    ("probability", "probability", "right"),
    ("candidates", "result_count", "right"),
    ("decided by", "basis", "left"),
)

_RERANKED = (
    ("rerank score", "rerank_score", "right"),
    ("match (a hint)", "match", "left"),
)
"""Shown only where they are set: most signals are made without a reranker."""

_NOT_SELECTED: dict[str, str] = {
    "not_configured": "no selector is configured, so the page is the retriever's own",
    "no_results": "there was nothing to select from",
    "too_few_results": "too few results to be worth asking",
    "skipped_by_level": "not asked at this level, so the page is the retriever's own",
    "timeout": "the selector took too long, so the page is the retriever's own",
    "llm_error": "the selector failed, so the page is the retriever's own",
    "invalid_output": "the selector's answer was not valid, so the page is the retriever's own",
    "selected_none": "the selector kept nothing, so the page was left as it is",
}


def confidence_html(confidence: Any) -> str:
    """A signal as a small card: level, advice, figures, rationale.

    Args:
        confidence: Anything with the fields of :class:`recall_signal.RecallConfidence`.

    Returns:
        One ``<div>``, every text escaped.
    """
    return _card(confidence, "")


def response_html(confidence: Any, selection: Any, rows: Sequence[tuple[Any, Any]]) -> str:
    """The card, and under it what the selector did and the page as a table.

    Args:
        confidence: As in :func:`confidence_html`.
        selection: Anything with the fields of :class:`recall_signal.SelectionReport`.
        rows: Id (or None) and text of every result, in page order. The first 20 are shown,
            each with the beginning of its text.

    Returns:
        One ``<div>``, every text escaped.
    """
    words = f'<div style="margin-top:8px;{_QUIET}">Selection: {_selection_words(selection)}.</div>'
    return _card(confidence, words + _page(rows))


def _card(confidence: Any, more: str) -> str:
    # Here, because these modules import this one for their own views.
    from recall_signal.advice import advice

    colour = LEVEL_COLOURS[confidence.level]
    level = html_text(confidence.level, WORD_LIMIT)
    reason = ""
    if confidence.reason is not None:
        reason = f'<div style="{_QUIET}">reason: {_code(confidence.reason)}</div>'
    return (
        f'<div style="{_CARD.format(colour=colour)}">'
        f'<div><strong style="{_WORD.format(colour=colour)}">{level}</strong>'
        f' <span style="margin-left:8px">advice: <strong>{advice(confidence)}</strong></span></div>'
        f"{_figures(confidence)}"
        f"<div>{html_text(confidence.rationale, SENTENCE_LIMIT)}</div>"
        f"{reason}{more}</div>"
    )


def _figures(confidence: Any) -> str:
    reranked = [one for one in _RERANKED if getattr(confidence, one[1]) is not None]
    shown = [*_FIGURES, *reranked]
    heads = [_head(name, align) for name, _, align in shown]
    cells = [_cell(_figure(getattr(confidence, field)), align) for _, field, align in shown]
    return _table(heads, [cells])


def _figure(value: Any) -> str:
    """A figure as text: at most 3 decimals, a dash where there is none."""
    if value is None:
        return _DASH
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) < 1e6 else f"{value:.3g}"
    return html_text(value, WORD_LIMIT)


def _selection_words(selection: Any) -> str:
    if not selection.applied:
        words = _NOT_SELECTED.get(selection.reason)
        return words or f"not applied ({html_text(selection.reason, WORD_LIMIT)})"
    model = html_text(selection.model or "the selector", WORD_LIMIT)
    kept, dropped = selection.kept or 0, selection.dropped or 0
    words = f"{model} kept {kept} of {kept + dropped}"
    ids = list(selection.dropped_memory_ids or ())
    if not ids:
        return words
    names = ", ".join(map(_code, ids))
    rest = f" and {dropped - len(ids)} more" if dropped > len(ids) else ""
    return f"{words}, leaving out {names}{rest}"


def _page(rows: Sequence[tuple[Any, Any]]) -> str:
    if not rows:
        return f'<div style="{_QUIET}">The page is empty.</div>'
    heads = [_head("rank", "right"), _head("id", "left"), _head("text", "left")]
    body = [
        [
            _cell(str(rank), "right"),
            _cell(_DASH if name is None else _code(name), "left;white-space:nowrap"),
            _cell(html_text(text, TEXT_LIMIT), "start;overflow-wrap:anywhere", ' dir="auto"'),
        ]
        for rank, (name, text) in enumerate(rows[:ROWS_SHOWN])
    ]
    hidden = len(rows) - ROWS_SHOWN
    note = f'<div style="{_QUIET}">and {hidden} more</div>' if hidden > 0 else ""
    return _table(heads, body) + note


def _code(name: Any) -> str:
    return f"<code>{html_text(name, WORD_LIMIT)}</code>"


def _table(heads: list[str], rows: list[list[str]]) -> str:
    body = "".join(f'<tr style="{_ROW}">{"".join(row)}</tr>' for row in rows)
    return (
        f'<table style="{_TABLE}"><thead style="border:none"><tr style="{_ROW}">'
        f"{''.join(heads)}</tr></thead><tbody>{body}</tbody></table>"
    )


def _head(name: str, align: str) -> str:
    return f'<th scope="col" style="{_HEAD}{align}">{name}</th>'


def _cell(markup: str, align: str, attributes: str = "") -> str:
    return f'<td style="{_CELL}{align}"{attributes}>{markup}</td>'
