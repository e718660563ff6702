"""Logs of cosines for the tests of scoring, and what `assess` says of each row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from recall_signal import assess
from tests.calibration.toys import WORDS, calibration

NAMES = ("level", "top_score", "prominence", "relative_margin", "result_count", "basis", "reason")
CUTS = (0.12, 0.25, 0.4)

EDGES: list[list[float | None] | None] = [
    None,
    [],
    [None],
    [0.9],
    [0.2],
    [0.9, None, 0.5],
    [1.2, 0.1],
    [-1.2, 0.3],
    [float("nan"), 0.5, 0.4],
    [float("inf"), 0.5],
    [-0.3, -0.2, None, -0.5],
    [0.0, 0.0, 0.0],
    [0.86, 0.85, 0.85],
    [0.5, 0.0, 0.002],
]


def knife_edges(count: int, seed: int = 0) -> list[list[float | None] | None]:
    """Pools whose prominence lies on a cut, or one rounding away from it."""
    rng = np.random.default_rng(seed)
    rows: list[list[float | None] | None] = []
    for number in range(count):
        rest = np.round(rng.uniform(0.05, 0.6, rng.integers(1, 9)), 3)
        top = (1 + CUTS[number % 3]) * rest.mean()
        rows.append([float(np.nextafter(top, (0.0, 1.0, top)[number % 7 % 3])), *rest.tolist()])
    return rows


def rows_of(count: int, seed: int = 0) -> list[list[float | None] | None]:
    """Edges, knife edges, and ordinary rows of 0 to 20 candidates, a tenth of them missing."""
    rng = np.random.default_rng(seed)
    rows = EDGES + knife_edges(count // 3, seed)
    while len(rows) < count:
        values = np.round(
            rng.normal(0.45, 0.15, rng.integers(0, 21)).clip(-1, 1), rng.integers(2, 8)
        )
        gaps = rng.random(len(values)) < 0.1
        rows.append(
            [None if gap else value for value, gap in zip(values.tolist(), gaps, strict=True)]
        )
    return rows[:count]


def log_of(count: int, seed: int = 0) -> pa.Table:
    """A log with an id, cosines, term coverages and a text."""
    rng = np.random.default_rng(seed)
    coverage = [None if share < 0.2 else round(share, 4) for share in rng.random(count).tolist()]
    return pa.table(
        {
            "id": pa.array(range(count), pa.int64()),
            "cosines": pa.array(rows_of(count, seed), pa.list_(pa.float64())),
            "term_coverage": pa.array(coverage, pa.float64()),
            "retriever": pa.array(["a", None] * (count // 2) + ["a"] * (count % 2)),
        }
    )


def fitted() -> Any:
    """A calibration that reads words."""
    return calibration(words=WORDS)


def expected(table: pa.Table, fit: Any = None) -> list[dict[str, Any]]:
    """The scored columns of each row, by `assess`."""
    made = []
    for row in table.to_pylist():
        coverage = row["term_coverage"]
        if row["cosines"] is None:
            figures = dict.fromkeys(NAMES) | {"level": "unknown", "reason": "no_scores"}
            figures |= {"result_count": 0, "probability": None}
        else:
            signal = assess(row["cosines"], calibration=fit, term_coverage=coverage)
            figures = {name: getattr(signal, name) for name in (*NAMES, "probability")}
        is_known = coverage is not None and row["cosines"]
        figures["term_coverage"] = round(coverage, 3) if is_known else None
        if fit is None:
            del figures["probability"]
        made.append({"id": row["id"], "retriever": row["retriever"], **figures})
    return made
