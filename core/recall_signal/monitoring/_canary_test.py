"""Did the encoder or the stored texts change: the canaries of each day against the calibration.

A new text can only raise the top cosine of a question, and a corpus that grew by the factor g
raises `1 - 1/g` of them. Another encoder moves nearly all, some of them down. A corpus that was
replaced moves many, about half of them down. A fingerprint tells encoder from corpus at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from recall_signal.calibration._calibration import Calibration
from recall_signal.calibration._fingerprint import DISTANCE, Fingerprint
from recall_signal.logs import CanaryRecord

__all__ = ["CanaryChange", "CanaryVerdict", "Reference", "compare_canaries", "judge_canaries"]

STEP = 0.005
"""A difference of top cosines from which a canary has moved."""

FEWEST, ENOUGH, SLACK = 10, 24, 0.25
"""Canaries from which anything is said of the texts; from which the shares below hold; and what is
added to them for fewer. Without it a dozen raised 1.7 alarms in 20 quiet months; 24 raise .01."""

MOVED, MOST, FELL = 5 / 6, 0.95, 0.25
"""Shares that speak of another encoder or other texts: moved with one down; moved; fell."""

ROSE, MAY_FALL = 0.4, 1 / 12
"""Shares that speak of a corpus that grew: from 1.9 times on it is found as often as not, three
times in 99 of 100."""

CanaryChange = Literal["encoder", "corpus_grown", "corpus_replaced", "encoder_or_corpus"]


@dataclass(frozen=True, slots=True)
class Reference:
    """The canaries that others are compared with.

    Attributes:
        day: ISO date.
        tops: Top cosine by canary.
        fingerprint: Of the encoder, where it is known.
        is_calibration: True for those that a calibration remembers.
    """

    day: str
    tops: Mapping[str, float]
    fingerprint: Fingerprint | None
    is_calibration: bool = False

    @classmethod
    def of_record(cls, record: CanaryRecord) -> Reference:
        """Take a day's record."""
        return cls(record.day, record.tops, record.fingerprint)

    @classmethod
    def of_calibration(cls, calibration: Calibration) -> Reference | None:
        """Take the dozen that a calibration remembers, None where it remembers none."""
        seen = calibration.canaries
        if seen is None:
            return None
        tops = {f"{sight.query:08x}": sight.top for sight in seen.seen}
        return cls(calibration.created[:10], tops, seen.fingerprint, True)


@dataclass(frozen=True, slots=True)
class CanaryVerdict:
    """One day's canaries beside the reference.

    Attributes:
        day: ISO date.
        change: None where nothing is found.
        compared: Canaries that are in both.
        rose: Share of them that rose.
        fell: Share of them that fell.
        encoder_distance: Mean squared distance of unit vectors, None where it is not known.
    """

    day: str
    change: CanaryChange | None
    compared: int
    rose: float
    fell: float
    encoder_distance: float | None

    @property
    def growth(self) -> float | None:
        """The factor by which the corpus grew, estimated from the canaries that rose."""
        return 1.0 / (1.0 - self.rose) if self.rose < 1.0 else None


def compare_canaries(reference: Reference, record: CanaryRecord) -> CanaryVerdict:
    """Compare one day's canaries with the reference."""
    same, distance = _encoders(reference.fingerprint, record.fingerprint)
    both = reference.tops.keys() & record.tops.keys()
    steps = [record.tops[name] - reference.tops[name] for name in both]
    compared = len(steps)
    rose = sum(step > STEP for step in steps) / max(1, compared)
    fell = sum(step < -STEP for step in steps) / max(1, compared)
    change: CanaryChange | None = "encoder" if same is False else None
    if change is None and compared >= FEWEST:
        change = _texts(rose, fell, same, 0.0 if compared >= ENOUGH else SLACK)
    return CanaryVerdict(record.day, change, compared, rose, fell, distance)


def _texts(rose: float, fell: float, same: bool | None, slack: float) -> CanaryChange | None:
    moved = rose + fell
    if fell >= FELL + slack or moved >= MOST or (moved >= MOVED and fell > 0.0):
        return _either(fell, same)
    return "corpus_grown" if rose >= ROSE + slack and fell <= MAY_FALL else None


def _either(fell: float, same: bool | None) -> CanaryChange:
    """Nearly all rose, or all moved: with the same encoder, many more texts."""
    if same:
        return "corpus_grown" if fell <= MAY_FALL else "corpus_replaced"
    return "encoder_or_corpus"


def _encoders(
    then: Fingerprint | None, now: Fingerprint | None
) -> tuple[bool | None, float | None]:
    """Return whether both are of one encoder, and their distance; None where it is not known."""
    if then is None or now is None:
        return None, None
    distance = then.distance(now)
    return distance is not None and distance <= DISTANCE, distance


def judge_canaries(
    records: Sequence[CanaryRecord], calibration: Calibration | None = None
) -> list[CanaryVerdict]:
    """Compare each day's canaries with those of the calibration in use then.

    The calibration's own dozen where a calibration is given and the fingerprint or the dozen says
    something; the first record with the same calibration otherwise, which has all 48. Records that
    name no calibration are under the given one from when it was created on.

    Args:
        records: In order of time, of one retriever.
        calibration: The one whose levels are in use; None takes the log alone.
    """
    verdicts: list[CanaryVerdict] = []
    fitted = None if calibration is None else Reference.of_calibration(calibration)
    first: dict[str | None, Reference] = {}
    created = None if calibration is None else calibration.created
    for record in records:
        used = record.under(created)
        reference = first.setdefault(used, Reference.of_record(record))
        verdict = compare_canaries(reference, record)
        if fitted is not None and used == created and verdict.change is None:
            verdict = _with_fit(verdict, compare_canaries(fitted, record))
        verdicts.append(verdict)
    return verdicts


def _with_fit(verdict: CanaryVerdict, against_fit: CanaryVerdict) -> CanaryVerdict:
    """Return the verdict against the calibration's dozen where that one finds something."""
    return verdict if against_fit.change is None else against_fit
