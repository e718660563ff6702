"""The request to the model, and the meaning of its answer.

Labels are drawn at random for each call and documents are only data, so an answer can name nothing
but results of this page. "None of these" has a label as well, so that no text of a document is an
answer that empties a page. An answer is valid as a whole or not at all.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recall_signal._text import unique_keys, visible_line
from recall_signal.reports import SelectionReason
from recall_signal.selection._options import SelectionOptions

__all__ = [
    "ANSWER_SCHEMA",
    "SelectionDecision",
    "SelectionRequest",
    "apply_answer",
    "build_request",
    "parse_labels",
]

ANSWER_SCHEMA: dict[str, Any] = {
    "title": "kept_results",
    "description": "The labels of the search results that help to answer the question.",
    "type": "object",
    "properties": {"keep": {"type": "array", "items": {"type": "string"}}},
    "required": ["keep"],
    "additionalProperties": False,
}
"""JSON schema of an answer. The labels are not in it: providers compile a schema once and keep
it, and every label is checked here in any case."""

_MAX_ANSWER = 100_000
"""Characters. Fifty labels are under a thousand; nothing beyond this is an answer."""

_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_LABEL_LENGTH = 5
"""32 ** 5 = 33 million labels: a document that guesses one is right once in 600,000 pages of 50."""

_FENCE = "====="
_NONE = "none of these"


@dataclass(frozen=True, slots=True)
class SelectionRequest:
    """One request, valid for one call.

    Attributes:
        prompt: The whole text to send.
        labels: The label of each judged result, in page order.
        none_label: The label of "none of these", the last candidate line.
        total: Results on the page; those from `len(labels)` on are not judged.
        question: The question as it stands in the prompt.
        passages: The text of each judged result as it stands in the prompt.
    """

    prompt: str
    labels: tuple[str, ...]
    none_label: str
    total: int
    question: str
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SelectionDecision:
    """The meaning of an answer for the page.

    Attributes:
        kept: Positions that stay, in page order; None where the page is left alone.
        reason: Why it is left alone.
    """

    kept: tuple[int, ...] | None
    reason: SelectionReason | None = None


def build_request(
    question: str,
    texts: Sequence[str],
    options: SelectionOptions,
    draw: Callable[[], str] | None = None,
) -> SelectionRequest:
    """Make the request for one page.

    Args:
        question: The query.
        texts: The page's texts, in page order.
        options: The limits and the prompt.
        draw: Source of labels and of the fence's mark; random by default.
    """
    draw = draw or _random_label
    shown = visible_line(question, options.max_characters)
    passages = _within_limits(texts, options)
    mark, none, *labels = _distinct(draw, len(passages) + 2, "\n".join((shown, *passages)))
    lines = zip((*labels, none), (*passages, _NONE), strict=True)
    results = (f"[{label}] {text}" for label, text in lines)
    fence = f"{_FENCE} {mark} {_FENCE}"
    data = "\n".join((fence, f"Question: {shown}", "Results:", *results, fence))
    return SelectionRequest(
        prompt=options.prompt.replace("{candidates}", data),
        labels=tuple(labels),
        none_label=none,
        total=len(texts),
        question=shown,
        passages=tuple(passages),
    )


def parse_labels(answer: object) -> list[str] | None:
    """Read the labels of an answer, None where it is not `{"keep": [text, ...]}` exactly.

    Args:
        answer: A mapping from a structured call, or the text of one JSON object. Text around
            the object, code fences and repeated keys are not accepted.
    """
    if isinstance(answer, str):
        answer = _load(answer)
    if not isinstance(answer, Mapping) or set(answer) != {"keep"}:
        return None
    labels = answer["keep"]
    if not isinstance(labels, list | tuple) or not all(isinstance(label, str) for label in labels):
        return None
    return [str.__str__(label) for label in labels]  # numpy's texts and members of enums as well


def apply_answer(
    request: SelectionRequest, answer: object, options: SelectionOptions
) -> SelectionDecision:
    """Decide which results an answer keeps.

    The label of "none of these" stands alone. An empty list, an unknown label or a repeated one
    makes the whole answer `invalid_output`. Results that were not sent stay: nobody judged them.
    """
    labels = parse_labels(answer)
    if not labels or len(labels) > len(request.labels) or len(set(labels)) < len(labels):
        return SelectionDecision(None, "invalid_output")
    if labels == [request.none_label]:
        if options.on_empty == "keep":
            return SelectionDecision(None, "selected_none")
        labels = []
    elif not set(labels) <= set(request.labels):
        return SelectionDecision(None, "invalid_output")
    kept = (at for at, label in enumerate(request.labels) if label in set(labels))
    return SelectionDecision((*kept, *range(len(request.labels), request.total)))


def _load(text: str) -> object:
    """Parse the one JSON value of a text, None where there is none or a key is repeated."""
    if len(text) > _MAX_ANSWER:
        return None
    try:
        return json.loads(text, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError):
        return None


def _within_limits(texts: Sequence[str], options: SelectionOptions) -> list[str]:
    """Take the first texts that fit.

    A text that does not fit is left out, not shortened further: a model cannot judge a result by
    its first words. A fake label or fence needs a line break, and hidden orders need invisible
    characters: a passage has neither.
    """
    passages: list[str] = []
    limit, room = min(options.max_characters, options.max_total), options.max_total
    for text in texts[: options.max_candidates]:
        passage = visible_line(text, limit)
        room -= len(passage)
        if room < 0:
            break
        passages.append(passage)
    return passages


def _distinct(draw: Callable[[], str], count: int, taken: str) -> list[str]:
    """Draw labels that differ from each other and occur in no text."""
    labels: dict[str, None] = {}
    while len(labels) < count:
        label = draw()
        if label not in taken:
            labels[label] = None
    return list(labels)


def _random_label() -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(_LABEL_LENGTH))
