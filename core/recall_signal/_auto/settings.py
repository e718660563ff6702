"""`AutoCalibration`: the settings of a calibration that looks after itself."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from recall_signal.calibration._baseline import MIN_QUERIES, WINDOW
from recall_signal.errors import ConfigurationError

__all__ = ["AutoCalibration", "CalibrationStatus", "as_auto", "is_switched_off"]

CalibrationStatus = Literal[
    "off", "waiting", "fitting", "ready", "no_valid_threshold", "not_measurable", "failed"
]
"""State of a wrapper's calibration.

`off`: there is none, or it may not start. `waiting`: the first query starts it. `fitting`: it
is being learned. `ready`: levels follow it. `no_valid_threshold`: it was learned, and nothing
separates. `not_measurable`: the retriever gives no cosines, or the store is empty; tried again.
`failed`: searches failed, or the file holds something else.
"""

CHECK_EVERY = 1000
"""Queries between two checks: 12 searches, which are 1.2 % more."""

MAX_SEARCHES, FEWEST_SEARCHES = 200, 20
"""A fit takes 186: 120 probes, 60 pieces of stored texts, 6 to repeat canaries. With 20 it
still has the ten probes without which nothing is learned."""

MOST = 10**9
"""Queries or searches: more than any wrapper sees."""

SWITCH = "RECALL_SIGNAL_AUTO"


@dataclass(frozen=True, slots=True)
class AutoCalibration:
    """Learn the calibration in the background, from the first query on; `calibration="auto"`.

    Attributes:
        path: A file that keeps the calibration, shared by processes: they fit once, and a restart
            is ready at once. It holds figures only. Folders that are missing are made, for the
            user alone.
        window: Real queries that the level follows, at least 30.
        check_every: Queries between two checks whether encoder and corpus are still the same.
        max_searches: Searches of one fit at most, at least 20. Below 186 the fit takes fewer
            probes and pieces.

    Raises:
        ConfigurationError: A setting is out of its range.
    """

    path: str | Path | None = None
    window: int = WINDOW
    check_every: int = CHECK_EVERY
    max_searches: int = MAX_SEARCHES

    def __post_init__(self) -> None:
        if self.path is not None and (
            not isinstance(self.path, str | os.PathLike) or not str(self.path)
        ):
            raise ConfigurationError(
                f"path must name a file or be None, got {type(self.path).__name__}"
            )
        if self.path is not None:
            _require_place(Path(self.path))
        for name, fewest in (
            ("window", MIN_QUERIES),
            ("check_every", 1),
            ("max_searches", FEWEST_SEARCHES),
        ):
            value = getattr(self, name)
            if type(value) is not int or not fewest <= value <= MOST:
                given = value if isinstance(value, int | float) else type(value).__name__
                raise ConfigurationError(
                    f"{name} must be a whole number from {fewest} to {MOST}, got {given!s:.40}"
                )


def _require_place(path: Path) -> None:
    """Refuse a path where no file can ever be."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"path must name a file, and the system takes no such name ({type(error).__name__})"
        ) from None
    if path.is_dir():
        raise ConfigurationError(f"path must name a file, and {path.name!r} is a folder")
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if not above.is_dir():
        raise ConfigurationError(
            f"path must name a file in a folder, and {above.name!r} on the way to it is a file"
        )


def as_auto(given: Any) -> AutoCalibration | None:
    """Return the settings that `calibration=` asks for, None where it is something else.

    Raises:
        ConfigurationError: It is a text other than `"auto"`.
    """
    if isinstance(given, AutoCalibration):
        return given
    if not isinstance(given, str):
        return None
    if given == "auto":
        return AutoCalibration()
    raise ConfigurationError(
        'calibration must be "auto", an AutoCalibration or a Calibration, got another text; read a '
        "saved one with Calibration.load(path), or keep it with AutoCalibration(path=...)"
    )


def is_switched_off() -> bool:
    """Return True where `RECALL_SIGNAL_AUTO=off` forbids searches in the background."""
    return os.environ.get(SWITCH, "").strip().casefold() == "off"
