"""Checks of a calibration that a file holds, beyond its types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol, Self

from recall_signal._names import MAX_NAME, is_plain
from recall_signal.calibration._canaries import Canaries
from recall_signal.calibration._estimate import Mode
from recall_signal.calibration._rule import Judgement
from recall_signal.calibration._scale import Scale
from recall_signal.calibration._words_estimate import Words
from recall_signal.confidence import Level
from recall_signal.errors import CalibrationError, ConfigurationError
from recall_signal.thresholds import RANGE_TOLERANCE

__all__ = [
    "Levels",
    "RangedFigures",
    "Texts",
    "constant_level",
    "require_levels",
    "require_plain_texts",
    "require_possible",
]

_TIME = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)?)?", re.ASCII)
_EVIDENCE = re.compile("[0-9a-f]{16}")
_LONGEST_KIND, _LONGEST_WARNING, _MOST_TEXTS = 40, 500, 40


LARGEST_COSINE = 1.0 + 1e-6
"""With the rounding of single precision."""

LEAST_RISE = 0.05
"""Least change of the probability between the lowest cosine and the highest; a fit has nearly 1."""

MOST_DIMENSIONS = 10**6
"""Numbers in a vector, far more than any encoder gives."""

_STREAMS = [
    [(low + at * (high - low) / 39, at / 39) for at in range(40)]
    for low, high in ((-1.0, 0.0), (-1.0, 1.0), (0.0, 1.0))
]
"""Windows of top cosine and term coverage that move every cut as far as traffic can."""


class Levels(Protocol):
    """A calibration, as far as it gives levels."""

    @property
    def scale(self) -> Scale: ...
    def judge(self, uncalibrated: Level, top: float, coverage: float | None, /) -> Judgement: ...
    def with_traffic(self, window: Sequence[tuple[float, float | None]], /) -> Self: ...


class Texts(Protocol):
    """The texts of a calibration, which reach logs, reports and prints."""

    @property
    def created(self) -> str: ...
    @property
    def encoder(self) -> str | None: ...
    @property
    def evidence(self) -> str | None: ...
    @property
    def counts(self) -> tuple[tuple[str, int], ...]: ...
    @property
    def quartiles(self) -> tuple[tuple[str, tuple[float, float, float]], ...]: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...


class RangedFigures(Protocol):
    """The figures of a calibration that could be anything, and be kept."""

    @property
    def mode(self) -> Mode: ...
    @property
    def words(self) -> Words | None: ...
    @property
    def overlap(self) -> float: ...
    @property
    def floor(self) -> float | None: ...
    @property
    def canaries(self) -> Canaries | None: ...
    @property
    def corpus_size(self) -> int | None: ...
    @property
    def estimated_size(self) -> int | None: ...
    @property
    def counts(self) -> tuple[tuple[str, int], ...]: ...


def require_possible(loaded: RangedFigures, file: str) -> None:
    """Refuse figures that no fit can come to.

    Raises:
        CalibrationError: A share is none, a count or a size is negative, a cosine out of range, or
            words count more than any fit lets them.
    """
    impossible = _impossible_figure(loaded)
    if impossible is not None:
        raise CalibrationError(
            f"{file} is not a saved calibration: its {impossible}; fit a new one"
        )


def _impossible_figure(loaded: RangedFigures) -> str | None:
    if not 0.0 <= loaded.overlap <= 1.0:
        return f"overlap is no share between 0 and 1 ({loaded.overlap:g})"
    if loaded.floor is not None and abs(loaded.floor) > RANGE_TOLERANCE:
        return f"floor is no cosine ({loaded.floor:g})"
    if loaded.words is not None:
        given = loaded.words.line.per_coverage
        most = loaded.words.scale.most_per_coverage(labelled=loaded.mode == "labelled")
        if given > most:
            return f"words would hide the cosine (per_coverage {given:g}, at most {most:g})"
    fingerprint = None if loaded.canaries is None else loaded.canaries.fingerprint
    if fingerprint is not None and not 0 < fingerprint.dimensions <= MOST_DIMENSIONS:
        return f"fingerprint is of vectors of {fingerprint.dimensions} numbers"
    sizes = (loaded.corpus_size or 0, loaded.estimated_size or 0)
    if min(*sizes, *(count for _, count in loaded.counts)) < 0:
        return "counts or sizes are negative"
    return None


def require_plain_texts(loaded: Texts, file: str) -> None:
    """Refuse texts that a fit does not write.

    Raises:
        CalibrationError: One is no time, no name, or too long.
    """
    strange = _strange_text(loaded)
    if strange is not None:
        raise CalibrationError(f"{file} is not a saved calibration: its {strange}; fit a new one")


def _strange_text(loaded: Texts) -> str | None:
    if not _TIME.fullmatch(loaded.created):
        return "time (created) is not in ISO 8601"
    if loaded.encoder is not None and not is_plain(loaded.encoder):
        return f"encoder is not a printable name of at most {MAX_NAME} characters"
    if loaded.evidence is not None and not _EVIDENCE.fullmatch(loaded.evidence):
        return "evidence is not 16 hex digits"
    kinds = [kind for kind, _ in (*loaded.counts, *loaded.quartiles)]
    if len(kinds) > _MOST_TEXTS or not all(is_plain(kind, _LONGEST_KIND) for kind in kinds):
        return f"kinds of scores are not printable names of at most {_LONGEST_KIND} characters"
    if len(loaded.warnings) > _MOST_TEXTS or not all(
        is_plain(warning, _LONGEST_WARNING) for warning in loaded.warnings
    ):
        return f"warnings are not printable texts of at most {_LONGEST_WARNING} characters"
    return None


def constant_level(calibration: Levels) -> Level | None:
    """Return the level that every query would have; None where they differ."""
    seen = {
        calibration.judge("none", top, coverage).level
        for top in (-1.0, 1.0)
        for coverage in (None, 0.0, 1.0)
    }
    return seen.pop() if len(seen) == 1 else None


def require_levels(loaded: Levels, even: Levels, line: Levels, file: str) -> None:
    """Refuse a calibration whose levels would be constant, now or after any traffic.

    A fit puts the cut, and the ordinary general question one unit below it, where it saw cosines.

    Args:
        loaded: The calibration as it stands.
        even: The same at an even prior and the default cuts, without a bound.
        line: Its line alone, without steps and floor, which would hide one that decides nothing.
        file: Its name, for the message.

    Raises:
        CalibrationError: The worst and the best that can be found read alike, or traffic would
            move the cuts to where they decide nothing.
    """
    cut, unit = even.scale.cut, even.scale.unit
    if cut - unit < -LARGEST_COSINE or cut > LARGEST_COSINE:
        raise CalibrationError(
            f"{file} holds a calibration that gives no query a level: its cut {cut:g} "
            f"or the unit {unit:g} below is out of [-1, 1]; fit a new one"
        )
    try:
        moved = [even.with_traffic(stream) for stream in _STREAMS]
    except ConfigurationError:
        raise CalibrationError(
            f"{file} holds a calibration that gives no query a level once queries move its cuts: "
            "fit a new one"
        ) from None
    for one in (even, line, *moved):
        _require_levels(one, file)
    if not _rises(line, (None,)) or not _rises(line, (0.0, 0.5, 1.0)):
        raise CalibrationError(
            f"{file} holds a calibration whose levels do not follow the cosine: fit a new one"
        )
    level = constant_level(loaded)
    if level is not None:
        raise CalibrationError(
            f"{file} holds a calibration that gives no query another level than {level}, by its "
            "prior or its cuts: fit a new one"
        )


def _rises(line: Levels, coverages: Sequence[float | None]) -> bool:
    """Return whether the probability follows the cosine at one of these coverages."""
    for coverage in coverages:
        low, high = (line.judge("none", top, coverage).probability or 0.0 for top in (-1.0, 1.0))
        if high - low >= LEAST_RISE:
            return True
    return False


def _require_levels(even: Levels, file: str) -> None:
    for words in (False, True):
        lowest, highest = (
            even.judge("none", top, held if words else None).level
            for top, held in ((-1.0, 0.0), (1.0, 1.0))
        )
        if lowest == highest or lowest == "moderate":
            raise CalibrationError(
                f"{file} holds a calibration that gives no query a level below {lowest} or above "
                f"{highest}: fit a new one"
            )
