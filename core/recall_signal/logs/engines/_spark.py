"""Scoring on Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from recall_signal.errors import MissingDependencyError
from recall_signal.logs._score_batch import BatchScorer

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["score_spark"]


def score_spark(frame: DataFrame, scorer: BatchScorer | None = None) -> DataFrame:
    """Score a data frame; nothing runs until it is read.

    The calibration goes to each executor once, as a broadcast variable. Levels are plain strings,
    since Spark takes no dictionaries from Arrow.

    Args:
        frame: With the columns of a log.
        scorer: The settings; by default those of `BatchScorer()`.

    Raises:
        MissingDependencyError: pyspark is not installed.
    """
    try:
        from pyspark.sql.pandas.types import from_arrow_schema
    except ImportError:
        raise MissingDependencyError("score_spark", package="pyspark[sql]>=4.0") from None
    plain = replace(scorer or BatchScorer(), encoded=False)
    given = frame.limit(0).toArrow().schema
    result = from_arrow_schema(plain.schema(given))
    shared = frame.sparkSession.sparkContext.broadcast(plain)

    def score(
        batches: Iterable[pa.RecordBatch],
    ) -> Iterator[pa.RecordBatch]:  # pragma: no cover  (runs in Spark's own processes)
        return map(shared.value, batches)

    return frame.select(*plain.read(given)).mapInArrow(score, result)
