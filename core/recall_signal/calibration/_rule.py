"""From both witnesses to a level: what of a calibration judges a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from recall_signal._fork_safe import cached_value
from recall_signal._pydantic import copy_with
from recall_signal.calibration._estimate import Mode, Status
from recall_signal.calibration._judge_many import (
    Coverage,
    Judgements,
    level_column,
    lift_column,
    probability_column,
)
from recall_signal.calibration._levels import LEVEL_NOTES, level_of, with_probability
from recall_signal.calibration._lines import Lines
from recall_signal.calibration._observation import top_of
from recall_signal.calibration._risk import p_value, p_values
from recall_signal.confidence import Basis, Level, RecallConfidence
from recall_signal.pool import Pool

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Judgement", "Rule"]

_UNUSUAL = "rarely as low for an answerable query."
_NEAR_STORED = "as close as stored texts are to pieces of themselves."
_NO_THRESHOLD = "Uncalibrated: the calibration found no threshold for this retriever."


class Judgement(NamedTuple):
    """The calibrated level of a query.

    Attributes:
        level: The level.
        probability: P(something relevant); None where the uncalibrated basis stays.
        basis: What decided.
        note: What the level means, where that is not its usual sentence.
        by_words: True where the words counted.
    """

    level: Level
    probability: float | None
    basis: Basis
    note: str | None
    by_words: bool


@dataclass(frozen=True)
class Rule:
    """The part of a calibration that gives a level; each value is the calibration's own.

    Attributes:
        lines: From top cosine and term coverage to a probability.
        cuts: Probabilities from which a level is low, moderate and high.
        mode: The evidence.
        status: With `no_valid_threshold` the uncalibrated level stays.
        floor: Top cosine from which a level is at least moderate.
        answerable: Ascending top cosines of labelled answerable queries.
        max_false_none: Bound on the share of them that read `none`.
    """

    lines: Lines
    cuts: tuple[float, float, float]
    mode: Mode
    status: Status
    floor: float | None
    answerable: tuple[float, ...]
    max_false_none: float | None

    @property
    def decides(self) -> bool:
        """True where levels follow the calibration."""
        return self.status != "no_valid_threshold"

    def judge(
        self, uncalibrated: Level, top: float, coverage: float | None, witness: bool = True
    ) -> Judgement:
        """Return the calibrated level of a query (see `Calibration.judge`)."""
        if not self.decides:
            lifted = uncalibrated == "none" and not self._none_allowed(top)
            return Judgement("low" if lifted else uncalibrated, None, "labels", None, False)
        probability, by_words = self.lines.probability(top, coverage, witness)
        level, note = level_of(probability, self.cuts), None
        basis: Basis = "labels" if self.mode == "labelled" else "calibration"
        if self.max_false_none is not None:  # a bound moves low and none alone
            basis = "labels"
            if not self._none_allowed(top):
                level = "low" if level == "none" else level
            elif level == "low":
                level, note = "none", _UNUSUAL
        if self.floor is not None and top >= self.floor and level in ("low", "none"):
            level, note = "moderate", _NEAR_STORED
        return Judgement(level, probability, basis, note, by_words)

    def cut_for(self, pool: Pool) -> float | None:
        """Return the cut in force for a pool (see `Calibration.cut_for`)."""
        top, words = top_of(pool.cosines), self.lines.words
        if top is None or not self.decides:
            return None
        coverage, witness = (words and words.measure(pool)) or (None, True)
        by_words = self.lines.probability(top, coverage, witness)[1]
        return self.lines.cut_at(coverage if by_words else None)

    def judge_many(
        self, uncalibrated: NDArray[np.int8], top: NDArray[np.float64], coverage: Coverage
    ) -> Judgements:
        """Return the calibrated levels of many queries (see `Calibration.judge_many`)."""
        allowed = None
        if self.max_false_none is not None:
            allowed = p_values(top, self.answerable) <= self.max_false_none
        if not self.decides:
            return lift_column(uncalibrated, allowed)
        return level_column(
            probability_column(self.lines, top, coverage, self.cuts),
            self.cuts,
            basis="labels" if self.mode == "labelled" or allowed is not None else "calibration",
            allowed=allowed,
            floored=None if self.floor is None else top >= self.floor,
        )

    def apply(self, confidence: RecallConfidence, pool: Pool) -> RecallConfidence:
        """Return the signal with its calibrated level (see `Calibration.apply`)."""
        top = top_of(pool.cosines)
        if top is None:
            return confidence
        coverage, witness, words = confidence.term_coverage, True, self.lines.words
        if coverage is None and words is not None:
            coverage, witness = words.measure(pool) or (None, True)
        judged = self.judge(confidence.level, top, coverage, witness)
        if judged.probability is None:  # the uncalibrated basis stays
            rationale = f"{confidence.rationale} {_NO_THRESHOLD}"
            update: dict[str, object] = {"term_coverage": coverage, "rationale": rationale}
            if judged.level != confidence.level:
                figure = f"Top cosine {confidence.top_score:.2f}"
                text = f"{figure}, not unusual for answerable queries: {LEVEL_NOTES['low']}"
                update.update(level=judged.level, basis="labels", rationale=text)
            return copy_with(confidence, update)
        if judged.by_words:
            evidence = self._evidence(coverage)
        else:
            evidence = self._cosine_evidence[coverage is not None]
        return with_probability(
            confidence,
            judged.probability,
            judged.level,
            judged.basis,
            evidence,
            note=judged.note,
            term_coverage=coverage,
        )

    @cached_value
    def _cosine_evidence(self) -> tuple[str, str]:
        """The comparison where the cosine alone decides: without words, or with some left out."""
        return self._evidence(None), self._evidence(None, left_out=True)

    def _evidence(self, coverage: float | None, *, left_out: bool = False) -> str:
        """Return the comparison that decided, for a rationale."""
        weak = ", few documents" if self.status == "few_documents" else ""
        against = self.lines.comparison(coverage, left_out=left_out)
        text = f"{against} learned by calibration (mode {self.mode}{weak})"
        if self.max_false_none is not None:
            text += f", none for at most {100 * self.max_false_none:.3g}% of answerable queries"
        return text

    def _none_allowed(self, top: float) -> bool:
        bound = self.max_false_none
        return bound is None or p_value(top, self.answerable) <= bound
