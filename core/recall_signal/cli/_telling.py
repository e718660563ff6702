"""The part of a passage that speaks of a question, for where the whole is too long to be shown."""

from __future__ import annotations

import re

from recall_signal._words import term_coverage

__all__ = ["telling_part"]

_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n+")

MOST_STARTS = 50
"""Sentences that are tried: many more than a passage of 600 characters has."""


def telling_part(text: str, question: str, size: int) -> str:
    """Return the text from the sentence on that shows most of the question's terms.

    It begins with an ellipsis where that is not the first sentence. Where the first holds as many
    as any other, or none holds one, the text is returned as it is.

    Args:
        text: A passage.
        question: The question that found it.
        size: Characters that will be shown.
    """
    starts = [0, *(end.end() for end in _SENTENCE_ENDS.finditer(text))][:MOST_STARTS]
    shown = [(start, text[start : start + size]) for start in starts if text[start:].strip()]
    if len(text) <= size or not shown:
        return text
    best, _ = max(shown, key=lambda part: term_coverage(question, [part[1]]) or 0.0)
    return text if best == 0 else f"… {text[best:]}"
