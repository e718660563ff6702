"""Advice to a reader or an agent: from the level alone, or from the level and the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from recall_signal._display_words import LEVEL_ADVICE, Advice
from recall_signal.confidence import Level, RecallConfidence
from recall_signal.errors import InvalidInputError

__all__ = ["ADVICE_TEXTS", "Advice", "PageAdvice", "advice", "advice_on_page", "advise"]

ADVICE_TEXTS: dict[Advice, str] = {
    "read": "Read these: something on this topic was found. Whether it holds the exact fact "
    "is not verified.",
    "fallback": "Likely nothing relevant was found: prefer an external source.",
    "undecided": "Match strength was not measured: judge the results by reading them.",
}
"""Each advice as a sentence for a person or a model, where no page is at hand."""

_ELSEWHERE = "Prefer an external source."
_ASK = "Ask again, in words."

_ON_PAGE: dict[Level, str] = {
    "high": "on this topic: read. Whether they hold the exact fact is not verified.",
    "moderate": "on this topic: read. Whether they hold the exact fact is not verified.",
    "low": "came back, with a weak match only: likely not what was asked for. Prefer an external "
    "source, or read them with doubt.",
    "none": f"came back, but likely nothing relevant. {_ELSEWHERE}",
    "unknown": "came back, match strength not measured: judge by reading.",
}
_NEAR_MISS = "on this topic, likely without the asked fact: read, and check elsewhere."


class Selection(Protocol):
    """The part of a `SelectionReport` that advice depends on."""

    @property
    def applied(self) -> bool: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def dropped(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class PageAdvice:
    """Advice on one page.

    Attributes:
        advice: One of three words, for a program.
        text: One or two sentences for a person or a model, without query or document text.
    """

    advice: Advice
    text: str


def advice(confidence: RecallConfidence) -> Advice:
    """Return the advice of the level alone, as one of three words.

    `read` for high and moderate, `fallback` (prefer an external source) for low and none,
    `undecided` where nothing was measured. A hint about topical match strength, never a
    verdict that the exact fact is stored. It does not know the page: where there is a response,
    use `response.advice`.

    Raises:
        InvalidInputError: `confidence` is not a signal; a response has one under `confidence`.
    """
    if not isinstance(confidence, RecallConfidence):
        raise InvalidInputError(
            f"advice takes a RecallConfidence, such as response.confidence, "
            f"got {type(confidence).__name__}"
        )
    return LEVEL_ADVICE[confidence.level]


def advise(confidence: RecallConfidence, selection: Selection, shown: int) -> PageAdvice:
    """Return the advice on a page: from its level, and from what is left to read.

    An empty page, or one of which a selector said "none of these", is `fallback` whatever the
    pool looked like. Every channel of both frameworks takes its advice from here.

    Args:
        confidence: The signal of the whole pool.
        selection: The outcome of the selector.
        shown: Results on the page, 0 or more.
    """
    todo = advice_on_page(confidence, selection, shown)
    if not shown:
        return PageAdvice(todo, _on_empty_page(confidence, selection))
    if selection.reason == "selected_none":
        what = f"came back, and a selector found that likely none helps. {_ELSEWHERE}"
    elif confidence.reason == "empty_query":
        what = f"came back for an empty question: none of them can match it. {_ASK}"
    elif todo == "read" and confidence.match == "near_miss":
        what = _NEAR_MISS
    else:
        what = _ON_PAGE[confidence.level]
    return PageAdvice(todo, f"{_count(shown, 'result')} {what}")


def advice_on_page(confidence: RecallConfidence, selection: Selection, shown: int) -> Advice:
    """Return the word of `advise` without its sentences, which most queries never show."""
    if not shown or selection.reason == "selected_none":
        return "fallback"
    return "undecided" if confidence.reason == "empty_query" else LEVEL_ADVICE[confidence.level]


def _on_empty_page(confidence: RecallConfidence, selection: Selection) -> str:
    if confidence.reason == "retrieval_failed":
        return (
            "Retrieval failed: nothing was searched, and this says nothing about what is stored. "
            "Use another source."
        )
    if confidence.reason == "empty_query":
        return f"The question is empty, and this says nothing about what is stored. {_ASK}"
    if selection.applied:
        removed = _count(selection.dropped or 0, "result")
        return f"{removed} came back, and a selector removed all of them. {_ELSEWHERE}"
    if confidence.result_count:
        looked_at = _count(confidence.result_count, "candidate")
        return f"{looked_at} looked at, none passed the retriever's own limits. {_ELSEWHERE}"
    return f"Nothing came back: the search found nothing, or left nothing of it. {_ELSEWHERE}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
