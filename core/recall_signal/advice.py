"""What a reader or an agent should do with a level."""

from __future__ import annotations

from typing import Literal

from recall_signal.confidence import Level, RecallConfidence
from recall_signal.errors import InvalidInputError

__all__ = ["ADVICE_TEXTS", "Advice", "advice"]

Advice = Literal["read", "fallback", "undecided"]

_ADVICE: dict[Level, Advice] = {
    "high": "read",
    "moderate": "read",
    "low": "fallback",
    "none": "fallback",
    "unknown": "undecided",
}

ADVICE_TEXTS: dict[Advice, str] = {
    "read": "Read these: something on this topic was found. Whether it holds the exact fact "
    "is not verified.",
    "fallback": "Likely nothing relevant was found: prefer an external source.",
    "undecided": "Match strength was not measured: judge the results by reading them.",
}
"""Each advice as a sentence for a person or a model."""


def advice(confidence: RecallConfidence) -> Advice:
    """What to do next, as one of three words.

    ``read`` for high and moderate, ``fallback`` (prefer an external source) for low and none,
    ``undecided`` where nothing was measured. A hint about topical match strength, never a
    verdict that the exact fact is stored.

    Raises:
        InvalidInputError: It is not a signal; a response has one under ``confidence``.
    """
    if not isinstance(confidence, RecallConfidence):
        raise InvalidInputError(
            f"advice takes a RecallConfidence, such as response.confidence, "
            f"got {type(confidence).__name__}"
        )
    return _ADVICE[confidence.level]
