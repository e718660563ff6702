"""`Calibration.judge` for many queries at once, as columns; equal to it row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from recall_signal._many.columns import ABSENT, BASES
from recall_signal._many.rounding import NEAR, near_ties, units
from recall_signal.calibration._lines import Lines
from recall_signal.calibration._probability import VennAbers, shift_prior
from recall_signal.calibration._word_scale import WordLine
from recall_signal.confidence import LEVELS, Basis

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes: TypeAlias = NDArray[np.int8]
    Floats: TypeAlias = NDArray[np.float64]

Coverage: TypeAlias = "Floats | None"

__all__ = ["Coverage", "Judgements", "level_column", "lift_column", "probability_column"]

MODERATE, LOW, NONE = map(LEVELS.index, ("moderate", "low", "none"))


class Judgements(NamedTuple):
    """The calibrated levels of many queries.

    Attributes:
        level: Places in `LEVELS`.
        basis: Places in the bases; -1 where the uncalibrated one stays.
        probability: In ten-thousandths, rounded; -1 where there is none.
    """

    level: Codes
    basis: Codes
    probability: NDArray[np.int16]


def lift_column(uncalibrated: Codes, allowed: NDArray[np.bool_] | None) -> Judgements:
    """Return the levels of a calibration that does not decide: a bound may lift `none`.

    Args:
        uncalibrated: Places in `LEVELS`.
        allowed: True where the bound allows `none`; None without a bound.
    """
    import numpy as np

    lifted = np.zeros(len(uncalibrated), dtype=bool)
    if allowed is not None:
        lifted = (uncalibrated == NONE) & ~allowed
    return Judgements(
        np.where(lifted, np.int8(LOW), uncalibrated),
        np.where(lifted, np.int8(BASES.index("labels")), np.int8(ABSENT)),
        np.full(len(uncalibrated), ABSENT, dtype=np.int16),
    )


def level_column(
    probability: Floats,
    cuts: Sequence[float],
    *,
    basis: Basis,
    allowed: NDArray[np.bool_] | None,
    floored: NDArray[np.bool_] | None,
) -> Judgements:
    """Return the levels of a calibration that decides.

    Args:
        probability: Exact where its last bits decide.
        cuts: Probabilities from which a level is low, moderate and high.
        basis: What decided.
        allowed: True where the bound allows `none`; None without a bound.
        floored: True where a level is at least moderate; None without a floor.
    """
    import numpy as np

    level = (NONE - np.searchsorted(cuts, probability, side="right")).astype(np.int8)
    if allowed is not None:
        low, none = level == LOW, level == NONE
        level[none & ~allowed] = LOW
        level[low & allowed] = NONE
    if floored is not None:
        level[floored] = np.minimum(level[floored], MODERATE)
    return Judgements(
        level,
        np.full(len(level), BASES.index(basis), dtype=np.int8),
        units(probability, 4).astype(np.int16),
    )


def probability_column(
    lines: Lines, top: Floats, coverage: Coverage, cuts: Sequence[float]
) -> Floats:
    """Return P(something relevant was retrieved) of many queries.

    numpy's exponential may differ from Python's in the last bit: where that could decide, the
    number is computed again as it is for a single query.

    Args:
        lines: The lines.
        top: The top cosines.
        coverage: The term coverages, NaN where there is none; None where no query has one.
        cuts: Probabilities at which a last bit decides.
    """
    import numpy as np

    if coverage is None or lines.words is None:
        coverage = np.full(len(top), np.nan)
        made = _alone(lines, top)
    else:
        made = _both(lines.words.line, lines.prior, top, coverage)
        unknown = np.flatnonzero(np.isnan(coverage))
        if unknown.size:
            made[unknown] = _alone(lines, top[unknown])
    scaled = made * 1e4
    near = near_ties(scaled, np.rint(scaled))
    for cut in cuts:
        near |= np.abs(made - cut) <= NEAR
    if lines.venn_abers is not None:
        near &= ~np.isnan(coverage)  # its steps are exact already
    for at in np.flatnonzero(near).tolist():
        share = None if np.isnan(coverage[at]) else float(coverage[at])
        made[at], _ = lines.probability(float(top[at]), share)
    return made


def _both(line: WordLine, prior: float, top: Floats, coverage: Floats) -> Floats:
    logit = line.intercept + line.per_cosine * top + line.per_coverage * coverage
    return _shifted(_sigmoid(logit), prior)


def _alone(lines: Lines, top: Floats) -> Floats:
    import numpy as np

    statistic = (top - lines.scale.cut) / lines.scale.unit
    steps = lines.venn_abers
    if steps is None:
        line = lines.platt
        return _shifted(_sigmoid(line.intercept + line.slope * statistic), lines.prior)
    at = np.searchsorted(steps.edges, statistic)
    inside = at < len(steps.edges)
    on_edge = np.zeros(len(at), dtype=bool)
    on_edge[inside] = np.take(steps.edges, at[inside]) == statistic[inside]
    made: Floats = np.take(_places(steps, lines.prior), 2 * at + on_edge)
    return made


def _places(steps: VennAbers, prior: float) -> Sequence[float]:
    """Return the probability in each place of the steps."""
    pairs = zip(steps.lower, steps.upper, strict=True)
    return [
        shift_prior(upper / (1.0 - lower + upper), prior, steps.share) for lower, upper in pairs
    ]


def _sigmoid(logit: Floats) -> Floats:
    import numpy as np

    odds = np.exp(-np.abs(logit))
    made: Floats = np.where(logit >= 0.0, 1.0, odds) / (1.0 + odds)
    return made


def _shifted(probability: Floats, prior: float) -> Floats:
    import numpy as np

    if prior == 0.5:
        return probability
    favour, against = probability * prior * 0.5, (1.0 - probability) * (1.0 - prior) * 0.5
    made: Floats = np.where(favour > 0.0, favour / (favour + against), 0.0)
    return made
