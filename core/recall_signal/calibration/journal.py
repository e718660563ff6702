"""Figures of searches on disk, so that an interrupted fit can go on."""

from __future__ import annotations

import json
from collections.abc import Iterator, MutableMapping
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from recall_signal.errors import ConfigurationError

__all__ = ["Journal", "Observation"]

_BEGINNING, _END = '{"key": "', "}"
"""Of every line; one that was cut off by a crash has at most the first."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What is kept of one search.

    Attributes:
        top: The top cosine.
        without: The top without a piece's own document.
        corrected: Hub-corrected, where that was asked for.
        corrected_without: Likewise.
        reranked: A reranker's best score, where there was one.
    """

    top: float | None
    without: float | None = None
    corrected: float | None = None
    corrected_without: float | None = None
    reranked: float | None = None


class Journal(MutableMapping[str, Observation]):
    """Observations by a hash of their query, one JSON line each, appended as they come.

    A line that was cut off by a crash is passed over. Figures are used as they stand: a fit of a
    retriever that has changed in the meantime needs a new file.

    Args:
        path: The file; made where there is none.
        name: What messages call it.

    Raises:
        ConfigurationError: The file holds something else, and is left as it is.
        OSError: The file cannot be read or written.
    """

    def __init__(self, path: str | Path, name: str = "resume") -> None:
        self._path = Path(path)
        with self._path.open("a+", encoding="utf-8", errors="replace") as file:
            file.seek(0)
            text = file.read()
            try:
                self._seen = dict(filter(None, map(_row, text.splitlines())))
            except (ValueError, TypeError, KeyError, RecursionError):
                raise ConfigurationError(
                    f"{name} {path} holds something else than an interrupted calibration; give a "
                    "new file"
                ) from None
            if text and not text.endswith("\n"):  # what comes next is not to join a broken line
                file.write("\n")

    def __getitem__(self, key: str) -> Observation:
        return self._seen[key]

    def __setitem__(self, key: str, seen: Observation) -> None:
        self._seen[key] = seen
        row = {"key": key, **asdict(seen)}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def __delitem__(self, key: str) -> None:
        del self._seen[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._seen)

    def __len__(self) -> int:
        return len(self._seen)


def _row(line: str) -> tuple[str, Observation] | None:
    """What a line holds, None where it was cut off.

    Raises:
        ValueError, TypeError, KeyError, RecursionError: It is none of ours.
    """
    if line.endswith(_END):
        row = json.loads(line)
        return str(row.pop("key")), Observation(**{name: _figure(row[name]) for name in row})
    if line.startswith(_BEGINNING) or _BEGINNING.startswith(line):
        return None
    raise ValueError("none of ours")


def _figure(value: Any) -> float | None:
    if value is None or (type(value) is float and isfinite(value)):
        return value
    raise ValueError("neither a finite number nor null")
