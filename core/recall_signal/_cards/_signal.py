"""A signal as a card: level and advice, both witnesses, the pool, the sentence, the figures."""

from __future__ import annotations

from collections.abc import Mapping

from recall_signal._cards._parts import QUIET, WORD_LIMIT, card, cell, code, figure, head, table
from recall_signal._display_words import LEVEL_ADVICE, LEVEL_COLOURS, Advice
from recall_signal._safe_text import html_text

__all__ = ["signal_card", "standing"]

SENTENCE_LIMIT = 600

_WORD = (
    "display:inline-block;background:{colour};color:#fff;border-radius:4px;padding:1px 9px;"
    "font-weight:600"
)

_WHOLE = ";white-space:nowrap"

_FIGURES = (
    ("prominence", "prominence"),
    ("relative margin", "relative_margin"),
    ("rerank score", "rerank_score"),
    ("match (a hint)", "match"),
    ("candidates", "result_count"),
    ("decided by", "basis"),
)
"""Below the witnesses, each where it is set."""

BAR = 10
"""Blocks of a full term coverage."""


def signal_card(
    fields: Mapping[str, object],
    advice: Advice | None = None,
    *,
    advice_text: str = "",
    cut: float | None = None,
    strip: str = "",
    more: str = "",
) -> str:
    """Return level, advice, witnesses, figures and rationale as one `<div>`, every text escaped.

    Args:
        fields: The fields of a `recall_signal.RecallConfidence` by name.
        advice: What to do with the page; the level's own advice by default.
        advice_text: The advice as a sentence.
        cut: The top cosine with probability 0.5 for this query, where it is known.
        strip: Markup of the pool, to put below the witnesses.
        more: Markup to put at the end of the card.
    """
    level = str(fields["level"])
    colour = LEVEL_COLOURS[level]
    reason = ""
    if fields["reason"] is not None:
        reason = f'<div style="{QUIET}">reason: {code(fields["reason"])}</div>'
    sentence = f"<div>{html_text(advice_text, SENTENCE_LIMIT)}</div>" if advice_text else ""
    return card(
        colour,
        f'<div><strong style="{_WORD.format(colour=colour)}">{html_text(level, WORD_LIMIT)}'
        '</strong> <span style="margin-left:8px">advice: '
        f"<strong>{advice or LEVEL_ADVICE[level]}</strong></span></div>",
        sentence,
        _witnesses(fields, cut),
        strip,
        f'<div style="margin-top:6px">{html_text(fields["rationale"], SENTENCE_LIMIT)}</div>',
        _figures(fields),
        reason,
        more,
    )


def standing(top: float, cut: float) -> str:
    """Return where a top cosine stands, in words."""
    side = "at or above" if top >= cut else "below"
    return f"{side} the cut of {cut:.3f}"


def _witnesses(fields: Mapping[str, object], cut: float | None) -> str:
    keyword = fields["basis"] == "separation"
    top, coverage = fields["top_score"], fields.get("term_coverage")
    note = ""
    if isinstance(top, float) and cut is not None:
        note = f"{'&#9650;' if top >= cut else '&#9660;'} {standing(top, cut)}"
    rows = [("top score" if keyword else "top cosine", figure(top), note)]
    if isinstance(coverage, float):
        rows.append(("term coverage", figure(coverage), _bar(coverage)))
    if fields["probability"] is not None:
        rows.append(("probability", figure(fields["probability"]), ""))
    heads = [head("witness", "left"), head("value", "right"), head("compared", "left")]
    return table(
        heads,
        [
            [cell(name, f"left{_WHOLE}"), cell(value, f"right{_WHOLE}"), cell(note, "left")]
            for name, value, note in rows
        ],
    )


def _bar(share: float) -> str:
    """Return a share as a bar of blocks, for eyes only: the figure stands beside it."""
    full = round(BAR * share)
    return f'<span aria-hidden="true">{"&#9608;" * full}{"&#9617;" * (BAR - full)}</span>'


def _figures(fields: Mapping[str, object]) -> str:
    shown = [
        f"{name} {figure(fields[field])}"
        for name, field in _FIGURES
        if fields.get(field) is not None
    ]
    return f'<div style="{QUIET}">{", ".join(shown)}</div>'
