"""The lines of a calibration: from top cosine and term coverage to a probability, and back."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, ulp
from typing import NamedTuple

from recall_signal.calibration._probability import (
    Platt,
    VennAbers,
    log_odds,
    shift_prior,
    sigmoid,
)
from recall_signal.calibration._scale import PAST_SLOPE, Scale
from recall_signal.calibration._word_scale import WordScale, traffic_cut
from recall_signal.calibration._words_estimate import Words
from recall_signal.errors import InvalidInputError

__all__ = ["MIN_TRAFFIC", "Lines"]

MIN_TRAFFIC = 30
"""Real queries from which traffic moves a cut."""


class Lines(NamedTuple):
    """The line on the top cosine, the one on both witnesses, and the prior they are read under.

    Attributes:
        scale: Of the top cosine.
        platt: The line on that scale.
        venn_abers: Step functions instead of it.
        words: The second witness, where there is one.
        prior: Expected share of answerable queries.
    """

    scale: Scale
    platt: Platt
    venn_abers: VennAbers | None
    words: Words | None
    prior: float

    def probability(
        self, top: float, coverage: float | None, witness: bool = True
    ) -> tuple[float, bool]:
        """Return P(something relevant was retrieved), and True where the words counted.

        Args:
            top: The top cosine.
            coverage: The term coverage; None leaves the cosine alone to decide.
            witness: False where missing words say nothing: then words can only help.
        """
        alone = self.alone(self.scale.standardize(top))
        if self.words is None or coverage is None:
            return alone, False
        both = shift_prior(sigmoid(self.words.line.logit(top, coverage)), self.prior)
        return (both, True) if witness or both >= alone else (alone, False)

    def alone(self, statistic: float) -> float:
        """Return P(something relevant was retrieved) by the cosine alone."""
        if self.venn_abers is None:
            return shift_prior(self.platt.probability(statistic), self.prior)
        given = self.venn_abers.share
        return shift_prior(self.venn_abers.probability(statistic), self.prior, given)

    def cut_at(self, coverage: float | None, probability: float = 0.5) -> float | None:
        """Return the top cosine from which a probability is reached; None where there is none.

        Steps reach it with a jump, lines exactly but for rounding, which never makes it less.
        """
        cut = self._cut_near(coverage, probability)
        if cut is None:
            return None
        step = ulp(cut)
        while self.probability(cut, coverage)[0] < probability:
            cut, step = cut + step, 2.0 * step
        return cut if isfinite(cut) else None

    def _cut_near(self, coverage: float | None, probability: float) -> float | None:
        if self.words is not None and coverage is not None:
            shift = log_odds(self.prior) - log_odds(probability)
            return self.words.line.cut_at(coverage, shift)
        line = self.platt if self.venn_abers is None else self.venn_abers
        statistic = line.statistic_at(probability, self.prior)
        return None if statistic is None else self.scale.cut + self.scale.unit * statistic

    def comparison(self, coverage: float | None, *, left_out: bool = False) -> str:
        """Return the comparison of a query with its cut, for a rationale.

        Args:
            coverage: The term coverage, None where the cosine alone decided.
            left_out: Whether there was one, which did not count.
        """
        cut = self.cut_at(coverage)
        against = "on a scale" if cut is None else f"against a cut of {cut:.2f}"
        if self.words is None:
            return against
        if coverage is None:
            return f"alone, without the words, {against}" if left_out else f"alone {against}"
        return f"and term coverage {coverage:.2f} {against} at that coverage"

    def following(
        self,
        window: Sequence[tuple[float, float | None]],
        bounds: tuple[float, float] | None,
    ) -> Lines:
        """Return these lines with their cuts moved by a window of (top cosine, coverage).

        Args:
            window: Real queries; coverage is None where the cosine alone decided.
            bounds: Lowest and highest cut of the cosine line; None leaves that line.

        Raises:
            InvalidInputError: The window holds something else.
        """
        try:
            window = [
                (float(top), known if known is None else float(known)) for top, known in window
            ]
        except (TypeError, ValueError):
            raise InvalidInputError(
                "window must be a list of pairs (top cosine, term coverage or None), got "
                f"other values in a {type(window).__name__}"
            ) from None
        moved, words = self, self.words
        pairs = [(top, coverage) for top, coverage in window if coverage is not None]
        if words is not None and len(pairs) >= MIN_TRAFFIC:
            moved = moved._replace(words=words.following(pairs))
        if bounds is not None and len(window) >= MIN_TRAFFIC:
            cut, unit = self.scale.cut, self.scale.unit
            null = WordScale(1.0, 0.0, cut, unit, min(bounds[0], cut), max(bounds[1], cut))
            new = traffic_cut(null, [top for top, _ in window])
            scale = Scale(new, unit + new - cut)  # at least three quarters of the unit remain
            moved = moved._replace(scale=scale, platt=Platt(0.0, PAST_SLOPE))
        return moved
