"""From a model's answer to positions on the page, strictly: all of it is valid, or none of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recall_signal.reports import SelectionReason
from recall_signal.selection.options import SelectionOptions
from recall_signal.selection.request import SelectionRequest

__all__ = ["Verdict", "apply_answer", "parse_labels"]

_LONGEST_ANSWER = 100_000
"""Characters. Fifty labels are under a thousand; nothing beyond this is an answer."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer means for the page.

    Attributes:
        kept: Positions that stay, in page order; None where the page is left alone.
        reason: Why it is left alone.
    """

    kept: tuple[int, ...] | None
    reason: SelectionReason | None = None


def parse_labels(answer: object) -> list[str] | None:
    """The labels in an answer, or None where it is not ``{"keep": [text, ...]}`` exactly.

    Args:
        answer: A mapping from a structured call, or the text of one JSON object. Text around
            the object, code fences and repeated keys are not accepted.
    """
    if isinstance(answer, bytes | bytearray):
        return None
    if isinstance(answer, str):
        answer = _load(answer)
    if not isinstance(answer, Mapping) or set(answer) != {"keep"}:
        return None
    labels = answer["keep"]
    if not isinstance(labels, list | tuple) or not all(type(label) is str for label in labels):
        return None
    return list(labels)


def apply_answer(request: SelectionRequest, answer: object, options: SelectionOptions) -> Verdict:
    """What is left of the page.

    An unknown or repeated label makes the whole answer ``invalid_output``. Results that were
    not sent stay: nobody judged them.
    """
    labels = parse_labels(answer)
    if labels is None or len(set(labels)) < len(labels) or not set(labels) <= set(request.labels):
        return Verdict(None, "invalid_output")
    judged = len(request.labels)
    if not labels and options.on_empty == "keep":
        return Verdict(None, "selected_none")
    wanted = set(labels)
    kept = [at for at, label in enumerate(request.labels) if label in wanted]
    return Verdict((*kept, *range(judged, request.total)))


def _load(text: str) -> Any:
    """The one JSON value of a text, None where there is none or a key is repeated."""
    if len(text) > _LONGEST_ANSWER:
        return None
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError):
        return None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a key is repeated")
    return values
