"""The rules that turn a pool's cosines or scores into a recall signal.

Plain Python: for pools of up to a few hundred this is several times faster than numpy. For
many queries at once see :func:`recall_signal.assess_many`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import dist, isfinite, sqrt
from typing import Any, Protocol

from recall_signal.confidence import Level, RecallConfidence, unknown
from recall_signal.errors import InvalidInputError
from recall_signal.models import made_of
from recall_signal.pool import Pool
from recall_signal.thresholds import (
    DEFAULT_THRESHOLDS,
    FLAT_STD,
    MIN_BACKGROUND,
    RANGE_TOLERANCE,
    Thresholds,
)

__all__ = ["Calibrator", "assess"]

Values = Sequence[float | None]


class Calibrator(Protocol):
    """Whatever can turn an uncalibrated signal into one with a probability.

    Where it also has ``for_pool(pool)``, that is asked first what judges a :class:`Pool`.
    """

    def apply(self, confidence: RecallConfidence, cosines: Sequence[float]) -> RecallConfidence:
        """The signal with the calibrated level; ``cosines`` are finite and sorted downwards."""


def assess(
    cosines: Values | Pool | Any,
    *,
    scores: Values | Any | None = None,
    thresholds: Thresholds | None = None,
    calibration: Calibrator | None = None,
) -> RecallConfidence:
    """How strongly the best of these candidates matches the query.

    Args:
        cosines: One raw cosine or None per candidate, in any order; a one-dimensional numpy
            array; or a :class:`Pool`, whose scores are then used too. None, NaN and inf count
            as unscored.
        scores: Keyword or hybrid scores of the same candidates, higher is better. They decide
            only where no cosine is usable.
        thresholds: Other cuts than the default ones.
        calibration: Replaces the uncalibrated level where cosines are usable.

    Returns:
        The signal. Its level is ``unknown`` with a reason where nothing can be measured:
        ``no_scores``, or ``score_out_of_range`` where any cosine lies outside [-1.001, 1.001].

    Raises:
        InvalidInputError: A value is not a number, or the input is not one-dimensional.
    """
    pool = cosines
    if isinstance(pool, Pool):
        scores = pool.scores if scores is None else scores
        cosines = pool.cosines
    ranked, count = _ranked(cosines)
    if ranked:
        if scores is not None:
            count = len(_as_list(scores)) or count
        top = ranked[0]
        if top > RANGE_TOLERANCE or ranked[-1] < -RANGE_TOLERANCE:
            return unknown("score_out_of_range", count)
        judge = _by_background if len(ranked) > 1 else _alone
        confidence = judge(ranked, count, thresholds or DEFAULT_THRESHOLDS)
        if calibration is None:
            return confidence
        if isinstance(pool, Pool) and hasattr(calibration, "for_pool"):
            calibration = calibration.for_pool(pool)
        return calibration.apply(confidence, ranked)
    ranked_scores, score_count = _ranked(scores)
    if ranked_scores:
        return _by_separation(ranked_scores, score_count, thresholds or DEFAULT_THRESHOLDS)
    count = max(count, score_count)
    return unknown("no_scores", count) if count else _EMPTY


def _ranked(values: Values | Any | None) -> tuple[list[float], int]:
    """The finite values from high to low, and how many values were given at all."""
    if values is None:
        return [], 0
    if type(values) is not list:
        values = _as_list(values)
    try:
        ranked = sorted(values, reverse=True)
        total = sum(ranked)
        if type(total) is float and isfinite(total):  # numpy scalars would make it another type
            return ranked, len(values)
    except (TypeError, ArithmeticError):  # a Decimal beside NaN raises the latter
        pass
    return sorted(filter(isfinite, map(_as_float, values)), reverse=True), len(values)


def _as_list(values: Any) -> list[Any]:
    if isinstance(values, list):
        return values
    if isinstance(values, str | bytes | dict | set | frozenset) or not hasattr(values, "__iter__"):
        raise InvalidInputError(
            f"expected a sequence with one number or None per candidate, "
            f"got {type(values).__name__}"
        )
    if getattr(values, "ndim", 1) != 1:
        raise InvalidInputError(
            f"expected one query's values, an array of one dimension, got {values.ndim}; "
            "for an array [queries, candidates] use assess_many"
        )
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _as_float(value: Any) -> float:
    """A built-in float; NaN stands for None and for what no float can hold."""
    if value is None:
        return float("nan")
    if isinstance(value, str | bytes):  # float("0.9") would accept them
        raise InvalidInputError(_not_a_number(value))
    try:
        return float(value)
    except OverflowError:
        return float("nan")
    except (TypeError, ValueError):
        raise InvalidInputError(_not_a_number(value)) from None


def _not_a_number(value: Any) -> str:
    return f"expected a number or None per candidate, got {type(value).__name__}"


def _by_background(ranked: list[float], count: int, cuts: Thresholds) -> RecallConfidence:
    """Two or more cosines: how far the best one stands out from all the others."""
    rest = ranked[1:]
    top, background = float(ranked[0]), float(sum(rest) / len(rest))
    lead = top - background
    std = dist(rest, (background,) * len(rest)) / sqrt(len(rest))
    level: Level
    if background > MIN_BACKGROUND:
        prominence = lead / background
        if prominence >= cuts.prominence_high and top >= cuts.cosine_moderate:
            level = "high"
        elif prominence >= cuts.prominence_moderate and top >= cuts.cosine_low:
            level = "moderate"
        else:
            level = "low" if prominence >= cuts.prominence_low else "none"
        figures = f"prominence {prominence:.2f} over a mean background of {background:z.2f}"
        rounded, basis = round(prominence, 3), "prominence"
    else:
        level = _band(top, cuts.cosine_high, cuts.cosine_moderate, cuts.cosine_low)
        figures = f"no usable background (mean {background:z.2f})"
        rounded, basis = None, "absolute"
    if top >= cuts.cosine_high and (level == "low" or level == "none"):
        level, note = "moderate", _NEAR_DUPLICATE
    else:
        note = _NOTES[level]
    return made_of(
        RecallConfidence,
        {
            "level": level,
            "top_score": round(top, 3) + 0.0,
            "prominence": rounded,
            "relative_margin": round(lead / std, 3) if std > FLAT_STD else None,
            "result_count": count,
            "rationale": f"Top cosine {top:z.2f}, {figures}: {note}",
            "basis": basis,
            **_UNSET,
        },
        _MEASURED.copy(),
    )


def _alone(ranked: list[float], count: int, cuts: Thresholds) -> RecallConfidence:
    """One cosine: nothing to separate it from, so its absolute strength decides."""
    top = float(ranked[0])
    strong = top >= cuts.cosine_high
    note = (
        "a strong match, with no background to back it up. Read it, with care."
        if strong
        else "a weak match, with no background to compare it with. Consider an external source."
    )
    return RecallConfidence(
        level="moderate" if strong else "low",
        top_score=round(top, 3) + 0.0,
        result_count=count,
        rationale=f"Only one cosine, {top:z.2f}: {note}",
        basis="absolute",
    )


def _by_separation(ranked: list[float], count: int, cuts: Thresholds) -> RecallConfidence:
    """No cosine at all: how far the best keyword score stands out, as a z-score."""
    top, rest = ranked[0], ranked[1:]
    if not rest:
        return RecallConfidence(
            level="moderate",
            top_score=round(top, 3),
            result_count=count,
            rationale="Keyword scores only, and one candidate: there is no distribution to "
            "compare it with. Read it, with care.",
            basis="separation",
        )
    if max(top, -ranked[-1]) > _OVERFLOWS:  # a z-score has no unit, so a smaller one serves
        scaled = _by_separation([score / _OVERFLOWS for score in ranked], count, cuts)
        return scaled.model_copy(update={"top_score": round(top, 3)})
    background = sum(rest) / len(rest)
    std = dist(rest, [background] * len(rest)) / sqrt(len(rest))
    if std > FLAT_STD:
        scale, unit = std, "standard deviations"
    else:
        scale, unit = abs(background), "times the flat background"
        if scale <= FLAT_STD:
            scale = 1.0
    separation = (top - background) / scale
    level = _band(separation, cuts.separation_high, cuts.separation_moderate, cuts.separation_low)
    return RecallConfidence(
        level=level,
        top_score=round(top, 3),
        result_count=count,
        rationale=f"Keyword scores only: the best stands {separation:.2f} {unit} above the "
        f"others: {_NOTES[level]}",
        basis="separation",
    )


def _band(value: float, high: float, moderate: float, low: float) -> Level:
    if value >= high:
        return "high"
    if value >= moderate:
        return "moderate"
    return "low" if value >= low else "none"


_UNSET = dict.fromkeys(("probability", "reason", "rerank_score", "match"))
_MEASURED = set(RecallConfidence.model_fields) - set(_UNSET)
"""The fields that two or more cosines leave alone, and those that they decide."""

_NOTES: dict[Level, str] = {
    "high": "a strong match, clearly separated. Read these; the exact fact is not verified.",
    "moderate": "a plausible match. Read these; the exact fact is not verified.",
    "low": "a weak match, relevance uncertain. Consider an external source.",
    "none": "hardly distinguishable, likely nothing relevant. Prefer an external source.",
}

_OVERFLOWS = 1e150
"""Scores beyond this could leave the range of a float when they are summed or squared."""

_NEAR_DUPLICATE = (
    "strong enough to be a near-duplicate, though the others are close. Read these; the exact "
    "fact is not verified."
)

_EMPTY = RecallConfidence(
    level="none",
    result_count=0,
    rationale="Nothing was retrieved, so likely nothing relevant is stored. "
    "Prefer an external source.",
)
