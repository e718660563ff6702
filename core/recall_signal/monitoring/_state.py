"""The state of a monitor: the figures of the parts that it has read, in one file.

Figures are counts, so the order of reading does not matter: a monitor that was killed and started
again ends with the very file of one that was not.
"""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict

from recall_signal.calibration._persistence import read, write
from recall_signal.errors import ConfigurationError
from recall_signal.monitoring._days import BEFORE, Count, Day, SavedDay
from recall_signal.monitoring._reading import Tally, list_parts, read_part

__all__ = ["STATE_FILE", "State", "read_log"]

_logger = logging.getLogger(__name__)

STATE_FILE = "_monitor.json"

VERSION = 1

MAX_BYTES = 500_000_000
"""Most bytes of a state that are read; a day of a retriever has 20 KB at most, a part 100 bytes."""

SAVE_EVERY = 10.0
"""Seconds between two saves on the way."""

Progress = Callable[[int, int], None]


@dataclass(slots=True)
class State:
    """The figures so far.

    Attributes:
        parts: Bytes of each part that was read, by its path in the log.
        tally: Days by retriever and date.
    """

    parts: dict[str, int] = field(default_factory=dict)
    tally: Tally = field(default_factory=dict)

    def add(self, name: str, size: int, found: Tally) -> None:
        """Add the figures of a part."""
        self.parts[name] = size
        for key, day in found.items():
            self.tally[key] = self.tally[key] + day if key in self.tally else day

    def by_retriever(self) -> dict[str, dict[str, Day]]:
        """Return the days of each retriever by date."""
        found: dict[str, dict[str, Day]] = {}
        for retriever, date in sorted(self.tally):
            found.setdefault(retriever, {})[date] = self.tally[retriever, date]
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, in one order whatever the order of reading was."""
        days = self.by_retriever()
        return {
            "v": VERSION,
            "parts": dict(sorted(self.parts.items())),
            "days": {
                name: {date: day.to_dict() for date, day in dates.items()}
                for name, dates in days.items()
            },
        }


def _iso(text: str) -> str:
    if datetime.date.fromisoformat(text).isoformat() != text or text < BEFORE:
        raise ValueError("no day of a log")
    return text


@dataclass(frozen=True, slots=True)
class _Saved:
    """The file of a state, beside its version."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    parts: dict[str, Count]
    days: dict[str, dict[Annotated[str, AfterValidator(_iso)], SavedDay]]

    def state(self) -> State:
        tally = {
            (name, date): day.day()
            for name, dates in self.days.items()
            for date, day in dates.items()
        }
        return State(self.parts, tally)


def read_log(
    log: str | Path,
    state_path: Path | None = None,
    progress: Progress | None = None,
    *,
    is_own: bool = False,
) -> State:
    """Read the parts of a log that its state has not, and save the state.

    Parts that were removed since keep their figures. A part whose size changed (they never do by
    themselves) makes everything be read anew.

    Args:
        log: A folder or a file.
        state_path: Where the state is kept; None keeps none.
        progress: Called with the parts read and the parts to read.
        is_own: Whether the state lies in the log's own folder. It is then this log's, and where it
            cannot be written, everything is read anew next time.

    Raises:
        ConfigurationError: The state cannot be read or written, or is that of something else.
        InvalidInputError: The log cannot be read.
    """
    parts = list_parts(log)
    root = Path(log) if Path(log).is_dir() else Path(log).parent
    names = {part.relative_to(root).as_posix(): part for part in parts}
    state = _load(state_path)
    if state_path is not None and not is_own:
        _require_own(state, state_path, names)
    sizes = {name: part.stat().st_size for name, part in names.items()}
    if any(state.parts.get(name, size) != size for name, size in sizes.items()):
        state = State()
    todo = [name for name in names if name not in state.parts]
    saved = monotonic()
    for done, name in enumerate(todo):
        if progress is not None:
            progress(done, len(todo))
        state.add(name, sizes[name], read_part(names[name]))
        if monotonic() - saved > SAVE_EVERY:
            _save(state, state_path, is_own=is_own)
            saved = monotonic()
    if progress is not None:
        progress(len(todo), len(todo))
    if todo:
        _save(state, state_path, is_own=is_own)
    return state


def _require_own(state: State, path: Path, names: Collection[str]) -> None:
    """Refuse the state of another log, whose figures would be added to those of this one."""
    if state.parts and names and not state.parts.keys() & {*names}:
        raise ConfigurationError(
            f"the state {path.name} knows none of this log's parts: it is that of another log, or "
            "of one whose parts were all removed; give each log a state of its own, or remove it"
        )


def _load(path: Path | None) -> State:
    if path is None:
        return State()
    remedy = "remove it, or give the path of another file"
    try:
        saved = read(
            path,
            _Saved,
            "state of a monitor",
            VERSION,
            limit=MAX_BYTES,
            refused=ConfigurationError,
            remedy=remedy,
        )
    except FileNotFoundError:
        return State()
    except OSError as error:
        raise ConfigurationError(
            f"the state {path.name} cannot be read ({type(error).__name__}); {remedy}"
        ) from None
    return saved.state()


def _save(state: State, path: Path | None, *, is_own: bool) -> None:
    if path is None:
        return
    try:
        write(path, state.to_dict())
    except OSError as error:
        if is_own:
            _logger.info("the state is not kept (%s)", type(error).__name__)
            return
        raise ConfigurationError(
            f"the state {path.name} cannot be written ({type(error).__name__}); give a path that "
            "can be"
        ) from None
