"""Scoring on Ray Data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recall_signal.errors import MissingDependencyError
from recall_signal.logs._score_batch import BatchScorer

if TYPE_CHECKING:
    import pyarrow as pa
    import ray.data

__all__ = ["score_ray"]


def score_ray(data: ray.data.Dataset, scorer: BatchScorer | None = None) -> ray.data.Dataset:
    """Score a dataset, block by block; nothing runs until it is read.

    The calibration goes to the cluster once, in Ray's store of objects. Ray does not keep the
    order of rows, so keep a column that names each.

    Args:
        data: With the columns of a log.
        scorer: The settings; by default those of `BatchScorer()`.

    Raises:
        MissingDependencyError: ray is not installed.
    """
    try:
        import ray
    except ImportError:
        raise MissingDependencyError("score_ray", package="ray[data]>=2.50") from None
    shared = ray.put(scorer or BatchScorer())

    def score(block: pa.Table) -> pa.Table:  # pragma: no cover  (runs in Ray's own processes)
        scored: pa.Table = ray.get(shared)(block)
        return scored

    return data.map_batches(score, batch_format="pyarrow", batch_size=None, zero_copy_batch=True)
