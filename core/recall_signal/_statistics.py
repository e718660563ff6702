"""Statistics that several rooms share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # numpy is loaded where it is used: the command sets its threads first
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["area_of_counts", "auroc", "quantile", "quantile_of_sorted"]


def auroc(higher: ArrayLike, lower: ArrayLike) -> float:
    """Return the area under the ROC curve: P(one of `higher` exceeds one of `lower`).

    The Mann-Whitney statistic divided by the number of pairs (Hanley and McNeil, 1982); ties
    count half.

    Args:
        higher: Scores that should be higher, at least one.
        lower: Scores that should be lower, at least one.
    """
    import numpy as np

    above, below = np.asarray(higher, dtype=np.float64), np.asarray(lower, dtype=np.float64)
    values, place = np.unique(np.concatenate([above, below]), return_inverse=True)
    counts = [
        np.bincount(part, minlength=len(values))[None]
        for part in (place[: len(above)], place[len(above) :])
    ]
    return float(area_of_counts(*counts)[0])


def area_of_counts(positive: NDArray[np.int64], negative: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the AUROC of each row of counts over ascending distinct scores, `[rows, scores]`."""
    import numpy as np

    below = np.cumsum(negative, axis=1) - negative / 2.0
    pairs = positive.sum(axis=1) * negative.sum(axis=1)
    area: NDArray[np.float64] = (positive * below).sum(axis=1) / pairs
    return area


def quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile by linear interpolation (Hyndman and Fan, 1996, type 7)."""
    return quantile_of_sorted(sorted(values), share)


def quantile_of_sorted(ranked: Sequence[float], share: float) -> float:
    """Return `quantile` of values that ascend already."""
    place = share * (len(ranked) - 1)
    below = int(place)
    above = min(below + 1, len(ranked) - 1)
    return ranked[below] + (place - below) * (ranked[above] - ranked[below])
