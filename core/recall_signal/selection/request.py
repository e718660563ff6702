"""The request to the model: labels that mean nothing, and documents that are only data."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from recall_signal.selection.options import SelectionOptions

__all__ = ["ANSWER_SCHEMA", "SelectionRequest", "build_request"]

ANSWER_SCHEMA: dict[str, Any] = {
    "title": "kept_results",
    "description": "The labels of the search results that help to answer the question.",
    "type": "object",
    "properties": {"keep": {"type": "array", "items": {"type": "string"}}},
    "required": ["keep"],
    "additionalProperties": False,
}
"""JSON schema of an answer. The labels are not in it: providers compile a schema once and keep
it, and what a label may be is checked here in any case."""

_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_LABEL_LENGTH = 5
"""32 ** 5 = 33 million labels: a document that guesses one is right once in 600,000 pages of 50."""

_FENCE = "====="

_SILENT = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""What Unicode calls letters, marks or symbols and nobody can see: fillers, an empty cell, and
variation selectors, 256 of which can spell any bytes behind one letter."""


@dataclass(frozen=True, slots=True)
class SelectionRequest:
    """One request, valid for one call.

    Attributes:
        prompt: The whole text to send.
        labels: The label of each judged result, in page order.
        total: Results on the page; those from ``len(labels)`` on are not judged.
        question: The question as it stands in the prompt.
        passages: The text of each judged result as it stands in the prompt.
    """

    prompt: str
    labels: tuple[str, ...]
    total: int
    question: str
    passages: tuple[str, ...]


def build_request(
    question: str,
    texts: Sequence[str],
    options: SelectionOptions,
    draw: Callable[[], str] | None = None,
) -> SelectionRequest:
    """The request for one page.

    Args:
        question: The query.
        texts: The page's texts, in page order.
        options: The limits and the prompt.
        draw: Gives a new label or fence mark at each call; random by default.
    """
    draw = draw or _draw
    asked = _one_line(question, options.max_characters)
    passages = _within_limits(texts, options)
    taken = "\n".join((asked, *passages))
    mark, *labels = _distinct(draw, len(passages) + 1, taken)
    results = (f"[{label}] {text}" for label, text in zip(labels, passages, strict=True))
    fence = f"{_FENCE} {mark} {_FENCE}"
    data = "\n".join((fence, f"Question: {asked}", "Results:", *results, fence))
    return SelectionRequest(
        prompt=options.prompt.replace("{candidates}", data),
        labels=tuple(labels),
        total=len(texts),
        question=asked,
        passages=tuple(passages),
    )


def _within_limits(texts: Sequence[str], options: SelectionOptions) -> list[str]:
    """What is sent of each result, up to the first that does not fit any more.

    A result is never cut further to make it fit: a model cannot judge the first words of one.
    """
    passages: list[str] = []
    limit, room = min(options.max_characters, options.max_total), options.max_total
    for text in texts[: options.max_candidates]:
        passage = _one_line(text, limit)
        room -= len(passage)
        if room < 0:
            break
        passages.append(passage)
    return passages


def _one_line(text: str, limit: int) -> str:
    """The text on one line, without characters that cannot be seen.

    A line break is what a fake label or a fake fence needs, and an invisible character is how
    one hides. Twice the limit is looked at, so that a huge text costs no more than a long one.
    """
    words = (_SILENT.sub("", word) for word in text.lstrip()[: 2 * limit].split())
    visible = ("".join(filter(str.isprintable, word)) for word in words)
    return " ".join(filter(None, visible))[:limit]


def _distinct(draw: Callable[[], str], count: int, taken: str) -> list[str]:
    """Labels that differ from each other and stand in no text."""
    found: dict[str, None] = {}
    while len(found) < count:
        label = draw()
        if label not in taken:
            found[label] = None
    return list(found)


def _draw() -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(_LABEL_LENGTH))
