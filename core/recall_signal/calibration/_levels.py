"""From a probability to a level, and the sentence that a signal with one carries."""

from __future__ import annotations

from bisect import bisect_right

from recall_signal._pydantic import copy_with
from recall_signal.confidence import Basis, Level, RecallConfidence

__all__ = ["DEFAULT_CUTS", "LEVEL_NOTES", "level_of", "with_probability"]

DEFAULT_CUTS = (0.2, 0.5, 0.8)
"""Probabilities from which a level is low, moderate and high."""

LEVEL_NOTES: dict[Level, str] = {
    "high": "a strong match of the topic; the exact fact is not verified.",
    "moderate": "a plausible match of the topic; the exact fact is not verified.",
    "low": "probably nothing relevant.",
    "none": "likely nothing relevant.",
}

_BY_PROBABILITY: tuple[Level, ...] = ("none", "low", "moderate", "high")


def level_of(probability: float, cuts: tuple[float, float, float]) -> Level:
    """Return the level of a probability."""
    return _BY_PROBABILITY[bisect_right(cuts, probability)]


def with_probability(
    confidence: RecallConfidence,
    probability: float,
    level: Level,
    basis: Basis,
    evidence: str,
    *,
    note: str | None = None,
    term_coverage: float | None = None,
) -> RecallConfidence:
    """Return a signal whose level follows a probability; all other fields stay as they are.

    Args:
        confidence: The uncalibrated signal.
        probability: P(something relevant was retrieved).
        level: The level.
        basis: What decided it.
        evidence: What the top cosine was compared with, for the rationale.
        note: What the level means; by default the level's own sentence.
        term_coverage: Of the query, not rounded.
    """
    return copy_with(
        confidence,
        {
            "level": level,
            "probability": round(probability, 4),
            "term_coverage": term_coverage,
            "basis": basis,
            "rationale": f"Top cosine {confidence.top_score:.2f} {evidence}, "
            f"probability {probability:.2f}: {note or LEVEL_NOTES[level]}",
        },
    )
