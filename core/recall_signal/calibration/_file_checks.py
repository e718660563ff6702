"""What is refused of a calibration that a file holds, beyond its types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol, Self

from recall_signal._names import MAX_NAME, is_plain
from recall_signal.calibration._rule import Judgement
from recall_signal.calibration._scale import Scale
from recall_signal.confidence import Level
from recall_signal.errors import CalibrationError, ConfigurationError

__all__ = ["Levels", "Texts", "require_levels", "require_plain_texts"]

_TIME = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)?)?", re.ASCII)
_LONGEST_KIND, _LONGEST_WARNING, _MOST_TEXTS = 40, 500, 40


LARGEST_COSINE = 1.0 + 1e-6
"""With the rounding of single precision."""

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
    def counts(self) -> tuple[tuple[str, int], ...]: ...
    @property
    def quartiles(self) -> tuple[tuple[str, tuple[float, float, float]], ...]: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...


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
    kinds = [kind for kind, _ in (*loaded.counts, *loaded.quartiles)]
    if len(kinds) > _MOST_TEXTS or not all(is_plain(kind, _LONGEST_KIND) for kind in kinds):
        return f"kinds of scores are not printable names of at most {_LONGEST_KIND} characters"
    if len(loaded.warnings) > _MOST_TEXTS or not all(
        is_plain(warning, _LONGEST_WARNING) for warning in loaded.warnings
    ):
        return f"warnings are not printable texts of at most {_LONGEST_WARNING} characters"
    return None


def require_levels(even: Levels, file: str) -> None:
    """Refuse a calibration whose levels would be constant, now or after any traffic.

    A fit puts the cut, and the ordinary general question one unit below it, where it saw cosines.

    Args:
        even: The calibration at an even prior and the default cuts, without a bound.
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
    for one in (even, *moved):
        _require_levels(one, file)


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
