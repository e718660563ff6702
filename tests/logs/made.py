"""Finished queries and logs for the tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid5

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from recall_signal import RecallConfidence, SelectionReport, assess
from recall_signal.calibration._fingerprint import fingerprint_of
from recall_signal.logs import CanaryRecord, LogWriter, log_schema, parquet_options

NAMES = UUID(int=7)


@dataclass
class Query:
    """The end of a query."""

    cosines: Sequence[float | None] = (0.9, 0.5, 0.4)
    query: str = "When does the bakery open?"
    selection: SelectionReport = field(
        default_factory=lambda: SelectionReport(applied=False, reason="not_configured")
    )
    calibration: dict[str, str] | None = None
    seconds: float | None = 0.002
    retriever: str | None = "FAISS"
    encoder: str | None = "demo"
    items: Sequence[Any] = ("a", "b")
    calibrator: Any = None

    @property
    def confidence(self) -> RecallConfidence:
        return assess(list(self.cosines))

    @property
    def report(self) -> dict[str, Any]:
        named = {} if self.calibration is None else {"calibration": self.calibration}
        return {"advice": "read", **named}

    @property
    def settings(self) -> Any:
        return SimpleNamespace(retriever=self.retriever, encoder=self.encoder)


def run_id(number: int) -> bytes:
    return uuid5(NAMES, str(number)).bytes


def write(log: LogWriter, *queries: Query) -> None:
    for number, query in enumerate(queries):
        log.write(query, run_id(number))


def parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("day=*/part-*.parquet"))


def rows(folder: Path) -> list[dict[str, Any]]:
    return [row for part in parts(folder) for row in pq.ParquetFile(part).read().to_pylist()]


def canary_lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "_canaries.jsonl").read_text().splitlines()]


def write_day(
    folder: Path,
    day: str,
    tops: Sequence[float],
    *,
    name: str = "1",
    retriever: str | None = None,
    encoder: str = "demo",
    level: str = "high",
    advice: str = "read",
    probability: float | None = None,
    calibration: str | None = "abc",
) -> Path:
    """A part with one row for each top cosine, which has a background of .1."""
    start = datetime.fromisoformat(day).replace(tzinfo=UTC)
    count = len(tops)
    columns: dict[str, list[Any]] = {
        "ts": [start + timedelta(seconds=80_000 * at / count) for at in range(count)],
        "run_id": [run_id(at) for at in range(count)],
        "retriever": [retriever] * count,
        "encoder": [encoder] * count,
        "calibration": [calibration] * count,
        "level": [level] * count,
        "advice": [advice] * count,
        "probability": [probability] * count,
        "cosines": [[top, 0.1] for top in tops],
    }
    schema = log_schema()
    arrays = [pa.array(columns.get(f.name, [None] * count), f.type) for f in schema]
    part = folder / f"day={day}" / f"part-{name}.parquet"
    part.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), part, **parquet_options(schema))
    return part


START = date(2026, 1, 5)


def date_of(number: int) -> str:
    return (START + timedelta(number)).isoformat()


def normal_tops(seed: int, count: int = 300, mean: float = 0.6) -> list[float]:
    random = np.random.default_rng(seed)
    return np.clip(random.normal(mean + random.normal(0, 0.01), 0.1, count), -1, 1).tolist()


def write_days(folder: Path, count: int, **given: Any) -> None:
    """Quiet days from `START` on."""
    for number in range(count):
        write_day(folder, date_of(number), normal_tops(number), **given)


def record(
    number: int,
    rose: float = 0.0,
    fell: float = 0.0,
    *,
    count: int = 48,
    encoder: int | None = 1,
    **given: Any,
) -> CanaryRecord:
    """A day's canaries, of which these shares moved."""
    steps = [0.1] * round(rose * count) + [-0.1] * round(fell * count)
    steps += [0.0] * (count - len(steps))
    tops = {f"{at:08x}": 0.3 + 0.001 * at + step for at, step in enumerate(steps)}
    vectors = None if encoder is None else np.random.default_rng(encoder).normal(size=(8, 32))
    return CanaryRecord(f"{date_of(number)}T03:00:00+00:00", tops, fingerprint_of(vectors), **given)
