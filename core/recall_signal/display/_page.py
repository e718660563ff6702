"""The parts of a response that a view shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Protocol

from recall_signal._cards import Mark
from recall_signal._display_words import SELECTION_TEXTS, Advice
from recall_signal.confidence import RecallConfidence
from recall_signal.pool import Pool
from recall_signal.reports import RerankReport, SelectionReport

__all__ = ["ROWS_SHOWN", "PageRow", "Shown", "marks_of", "rerank_words", "selection_words"]

ROWS_SHOWN = 20
"""Results that a view shows; it counts the others."""


@dataclass(frozen=True, slots=True)
class PageRow:
    """One result of the page, as the selector saw it.

    Attributes:
        rank: Its place on the page, from 0; None where the selector left it out.
        id: Its id, None where it has none.
        text: Its content.
        cosine: Its cosine with the query, None where it has none.
        rerank_score: The reranker's score, None without one.
    """

    rank: int | None
    id: str | None
    text: str
    cosine: float | None = None
    rerank_score: float | None = None


class Shown(Protocol):
    """The part of a `RecallResponse` that the views show."""

    @property
    def confidence(self) -> RecallConfidence: ...
    @property
    def selection(self) -> SelectionReport: ...
    @property
    def rerank(self) -> RerankReport | None: ...
    @property
    def pool(self) -> Pool: ...
    @property
    def rows(self) -> Sequence[PageRow]: ...
    @property
    def cut(self) -> float | None: ...
    @property
    def shown(self) -> int: ...
    @property
    def advice(self) -> Advice: ...
    @property
    def advice_text(self) -> str: ...


def marks_of(response: Shown) -> list[Mark]:
    """Return every candidate with a cosine: those of the page, and the others of the pool.

    Where the signal rests on none of them, none is shown.
    """
    if response.confidence.top_score is None:
        return []
    kept, left_out = _cosines(response.rows)
    others = [one for one in response.pool.cosines if one is not None and isfinite(one)]
    for cosine in (*kept, *left_out):
        if cosine in others:
            others.remove(cosine)
    return [
        *(Mark(cosine, "page") for cosine in kept),
        *(Mark(cosine, "left_out") for cosine in left_out),
        *(Mark(cosine) for cosine in others),
    ]


def _cosines(rows: Sequence[PageRow]) -> tuple[list[float], list[float]]:
    known = [
        (row.rank is None, row.cosine)
        for row in rows
        if row.cosine is not None and isfinite(row.cosine)
    ]
    return [one for out, one in known if not out], [one for out, one in known if out]


def selection_words(selection: SelectionReport, names: Sequence[str]) -> str:
    """Return what the selector did as one sentence; empty where there is none.

    Args:
        selection: Its report.
        names: Of the results that it left out, ready to be shown.
    """
    if not selection.applied:
        reason = str(selection.reason)
        if reason == "not_configured":
            return ""
        if reason not in SELECTION_TEXTS:  # of a later release
            return f"Selection: not applied ({reason})."
        return f"Selection: {SELECTION_TEXTS[reason]}, so the page is unchanged."
    kept, dropped = selection.kept or 0, selection.dropped or 0
    rest = dropped - len(names)
    more = f" and {rest} more" if rest > 0 and names else ""
    out = f", leaving out {', '.join(names)}{more}" if names else ""
    return f"Selection: {selection.model} kept {kept} of {kept + dropped}{out}."


def rerank_words(rerank: RerankReport | None) -> str:
    """Return what the reranker did as one sentence; empty where there is none."""
    if rerank is None:
        return ""
    if not rerank.applied:
        return f"Reranking: not applied ({rerank.reason})."
    order = "the page is in its order" if rerank.reordered else "the page keeps its order"
    return f"Reranking: {rerank.scored} results scored, {order}."
