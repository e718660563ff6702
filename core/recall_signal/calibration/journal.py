"""Figures of searches on disk, so that an interrupted fit can go on."""

from __future__ import annotations

import json
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Journal", "Observation"]


@dataclass(frozen=True, slots=True)
class Observation:
    """What is kept of one search: the top cosine, and the top without a piece's own document."""

    top: float | None
    without: float | None = None


class Journal(MutableMapping[str, Observation]):
    """Observations by a hash of their query, one JSON line each, appended as they come.

    A line that was cut off by a crash is passed over.

    Args:
        path: The file; made where there is none.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._seen: dict[str, Observation] = {}
        if self._path.exists():
            for line in self._path.read_text("utf-8").splitlines():
                try:
                    row = json.loads(line)
                    self._seen[row["key"]] = Observation(row["top"], row["without"])
                except (ValueError, TypeError, KeyError):
                    continue

    def __getitem__(self, key: str) -> Observation:
        return self._seen[key]

    def __setitem__(self, key: str, seen: Observation) -> None:
        self._seen[key] = seen
        row = {"key": key, "top": seen.top, "without": seen.without}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def __delitem__(self, key: str) -> None:
        del self._seen[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._seen)

    def __len__(self) -> int:
        return len(self._seen)
