"""From a probability to a level, and what a signal with one says."""

from __future__ import annotations

from bisect import bisect_right

from recall_signal.calibration.labels import Platt, VennAbers
from recall_signal.confidence import Basis, Level, RecallConfidence
from recall_signal.errors import ConfigurationError

__all__ = [
    "DEFAULT_CUTS",
    "NOTES",
    "check_prior",
    "level_of",
    "probability_at",
    "shift_prior",
    "with_probability",
]

DEFAULT_CUTS = (0.2, 0.5, 0.8)
"""Probabilities from which a level is low, moderate and high."""

NOTES: dict[Level, str] = {
    "high": "a strong match of the topic. Read these; the exact fact is not verified.",
    "moderate": "a plausible match of the topic. Read these; the exact fact is not verified.",
    "low": "probably nothing relevant. Consider an external source.",
    "none": "likely nothing relevant. Prefer an external source.",
}


def level_of(probability: float, cuts: tuple[float, float, float]) -> Level:
    """The level of a probability."""
    return _BY_PROBABILITY[bisect_right(cuts, probability)]


_BY_PROBABILITY: tuple[Level, ...] = ("none", "low", "moderate", "high")


def probability_at(
    statistic: float, line: Platt, free_form: VennAbers | None, prior: float
) -> float:
    """P(something relevant) at a statistic: by the free form where there is one."""
    if free_form is None:
        return shift_prior(line.probability(statistic), prior)
    return shift_prior(free_form.probability(statistic), prior, free_form.share)


def shift_prior(probability: float, prior: float, given: float = 0.5) -> float:
    """A probability at the prior ``given``, moved to another one."""
    if prior == given:
        return probability
    favour = probability * prior * (1.0 - given)
    against = (1.0 - probability) * (1.0 - prior) * given
    return favour / (favour + against) if favour else 0.0


def check_prior(prior: float) -> None:
    """Refuse a prior that is not a share strictly between 0 and 1."""
    if not isinstance(prior, float) or not 0.0 < prior < 1.0:
        raise ConfigurationError("prior must be a share between 0 and 1, both excluded")


def with_probability(
    confidence: RecallConfidence,
    probability: float,
    level: Level,
    basis: Basis,
    scale: str,
    note: str | None = None,
) -> RecallConfidence:
    """A signal whose level follows a probability; all other fields stay as they are.

    Args:
        confidence: The uncalibrated signal.
        probability: What the level was taken from.
        level: The level.
        basis: What decided it.
        scale: What the top cosine was held against, for the rationale.
        note: What the level means and what to do; by default what it always means.
    """
    return confidence.model_copy(
        update={
            "level": level,
            "probability": round(probability, 4),
            "basis": basis,
            "rationale": f"Top cosine {confidence.top_score:.2f} against {scale}, "
            f"probability {probability:.2f}: {note or NOTES[level]}",
        }
    )
