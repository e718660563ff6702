"""The rules that turn a pool's cosines or scores into a recall signal.

Plain Python: for pools of up to a few hundred this is several times faster than numpy. For
many queries at once see `recall_signal.assess_many`. Sums are exact before they are rounded
(`math.fsum`), so that a figure on a cut is the same in every order and on every Python: the
built-in `sum` of floats changed in 3.12.
"""

from __future__ import annotations

from math import dist, fsum, sqrt
from typing import Any, Protocol

from recall_signal._given import kind_of
from recall_signal._numbers import Numbers, finite_or_none, finite_values
from recall_signal._pydantic import construct_trusted, copy_with
from recall_signal._words import term_coverage as measure_coverage
from recall_signal.confidence import Level, RecallConfidence, unknown
from recall_signal.errors import ConfigurationError, InvalidInputError
from recall_signal.pool import Pool
from recall_signal.thresholds import (
    DEFAULT_THRESHOLDS,
    FLAT_STD,
    MIN_BACKGROUND,
    RANGE_TOLERANCE,
    Thresholds,
    thresholds_in_force,
)

__all__ = ["Calibrator", "assess", "require_calibrator"]


class Calibrator(Protocol):
    """An object that turns an uncalibrated signal into one with a probability."""

    def apply(self, confidence: RecallConfidence, pool: Pool) -> RecallConfidence:
        """Return the signal with the calibrated level.

        Args:
            confidence: The uncalibrated signal, with a `term_coverage` where one was given.
            pool: The candidates; at least one has a cosine, and none is out of range.
        """


def assess(
    cosines: Numbers | Pool,
    *,
    scores: Numbers | None = None,
    thresholds: Thresholds | None = None,
    calibration: Calibrator | None = None,
    term_coverage: float | None = None,
) -> RecallConfidence:
    """Assess how strongly the best of these candidates matches the query.

    Args:
        cosines: One raw cosine or None per candidate, in any order; a one-dimensional numpy
            array; or a `Pool`, whose scores, query and texts are then used too. None, NaN
            and inf count as unscored.
        scores: Keyword or hybrid scores of the same candidates, higher is better. They decide
            only where no cosine is usable.
        thresholds: Other cuts than the default ones.
        calibration: Replaces the uncalibrated level where cosines are usable.
        term_coverage: Share of the query's informative terms that the candidates hold, 0 to 1,
            where it is known already; measured on a pool with `query` and `texts` otherwise.
            Without candidates there is none.

    Returns:
        The signal. Its level is `unknown` with a reason where nothing can be measured:
        `no_scores`, or `score_out_of_range` where any cosine lies outside [-1.001, 1.001].

    Raises:
        ConfigurationError: The calibration or the thresholds are something else.
        InvalidInputError: A value is not a number, or the input is not one-dimensional.
    """
    if calibration is not None:
        require_calibrator(calibration)
    pool = cosines if isinstance(cosines, Pool) else None
    values = cosines.cosines if isinstance(cosines, Pool) else cosines
    if scores is None and pool is not None:
        scores = pool.scores
    cuts = DEFAULT_THRESHOLDS if thresholds is None else thresholds_in_force(thresholds)
    confidence, ranked = _uncalibrated(values, scores, cuts)
    coverage = None if term_coverage is None else _share(term_coverage)
    if calibration is not None and ranked:
        if coverage is not None:
            confidence = copy_with(confidence, {"term_coverage": coverage})
        confidence = calibration.apply(confidence, pool or Pool(ranked))
        coverage = confidence.term_coverage
    if coverage is None and pool is not None:
        coverage = _coverage_of(pool)
    if coverage is None or not confidence.result_count:  # an empty pool has no figures
        return confidence
    return copy_with(confidence, {"term_coverage": round(coverage, 3)})


def require_calibrator(calibration: object) -> None:
    """Refuse what cannot judge a pool.

    Raises:
        ConfigurationError: It is a class, or has no method `apply`.
    """
    if isinstance(calibration, type) or not callable(getattr(calibration, "apply", None)):
        raise ConfigurationError(
            "calibration must be a Calibration or a Baseline (an object with apply), got "
            f'{kind_of(calibration)}; of a file pass Calibration.load(path); "auto" is for '
            "retrievers, which can search"
        )


def _uncalibrated(
    cosines: Numbers, scores: Numbers | None, cuts: Thresholds
) -> tuple[RecallConfidence, list[float]]:
    """Return the signal, and the cosines that it rests on from high to low."""
    ranked, count = _ranked(cosines)
    if ranked:
        if scores is not None:
            count = len(_as_list(scores)) or count
        if ranked[0] > RANGE_TOLERANCE or ranked[-1] < -RANGE_TOLERANCE:
            return unknown("score_out_of_range", count), []
        judge = _by_background if len(ranked) > 1 else _alone
        return judge(ranked, count, cuts), ranked
    ranked_scores, score_count = _ranked(scores)
    if ranked_scores:
        return _by_separation(ranked_scores, score_count, cuts), []
    count = max(count, score_count)
    return (unknown("no_scores", count) if count else _EMPTY), []


def _coverage_of(pool: Pool) -> float | None:
    """Return the term coverage of a pool without a calibration."""
    if pool.query is None or pool.texts is None or not len(pool):
        return None
    return measure_coverage(pool.query, pool.texts)


def _share(value: float) -> float | None:
    share = finite_or_none(value, "term_coverage must be a number or None")
    if share is None or 0.0 <= share <= 1.0:
        return share
    raise InvalidInputError(f"term_coverage must lie between 0 and 1, got {share}")


def _ranked(values: Numbers | None) -> tuple[list[float], int]:
    """Return the finite values from high to low, and the number of all values."""
    if values is None:
        return [], 0
    if type(values) is not list:
        values = _as_list(values)
    return sorted(finite_values(values, _EXPECTED), reverse=True), len(values)


_EXPECTED = "expected a number or None per candidate"


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


def _by_background(ranked: list[float], count: int, cuts: Thresholds) -> RecallConfidence:
    """Judge two or more cosines: the distance of the best one from the mean of the others."""
    rest = ranked[1:]
    top, background = float(ranked[0]), float(fsum(rest) / len(rest))
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
    return construct_trusted(
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
    """Judge one cosine by its absolute strength, since there is nothing to compare it with."""
    top = float(ranked[0])
    strong = top >= cuts.cosine_high
    note = (
        "a strong match, with no background to back it up."
        if strong
        else "a weak match, with no background to compare it with."
    )
    return RecallConfidence(
        level="moderate" if strong else "low",
        top_score=round(top, 3) + 0.0,
        result_count=count,
        rationale=f"Only one cosine, {top:z.2f}: {note}",
        basis="absolute",
    )


def _by_separation(ranked: list[float], count: int, cuts: Thresholds) -> RecallConfidence:
    """Judge keyword scores by the z-score of the best one."""
    top, rest = ranked[0], ranked[1:]
    if not rest:
        return RecallConfidence(
            level="moderate",
            top_score=round(top, 3),
            result_count=count,
            rationale="Keyword scores only, and one candidate: there is no distribution to "
            "compare it with.",
            basis="separation",
        )
    if max(top, -ranked[-1]) > _OVERFLOWS:  # a z-score has no unit, so a smaller one serves
        scaled = _by_separation([score / _OVERFLOWS for score in ranked], count, cuts)
        return scaled.model_copy(update={"top_score": round(top, 3)})
    background = fsum(rest) / len(rest)
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


_UNSET = dict.fromkeys(("probability", "term_coverage", "reason", "rerank_score", "match"))
_MEASURED = set(RecallConfidence.model_fields) - set(_UNSET)
"""The fields that two or more cosines leave alone, and those that they decide."""

_NOTES: dict[Level, str] = {
    "high": "a strong match, clearly separated; the exact fact is not verified.",
    "moderate": "a plausible match; the exact fact is not verified.",
    "low": "a weak match, relevance uncertain.",
    "none": "hardly distinguishable, likely nothing relevant.",
}

_OVERFLOWS = 1e150
"""Scores beyond this could leave the range of a float when they are summed or squared."""

_NEAR_DUPLICATE = (
    "strong enough to be a near-duplicate, though the others are close; the exact fact "
    "is not verified."
)

_EMPTY = RecallConfidence(
    level="none",
    result_count=0,
    rationale="Nothing came back, so likely nothing relevant is stored.",
)
