"""A bound on the share of answerable queries that read `none`, by conformal p-values.

Holds for queries that are exchangeable with the labelled answerable ones (Vovk, Gammerman and
Shafer, 2005). Marginal: it is a share over many queries, and over many calibrations. It is about
queries whose pool can be measured: an empty pool reads `none` in any case. Never available
without labels: pieces of stored texts are no real queries, and with them the same bound fails (a
nominal 10 % was measured at 36 to 54 %).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

from recall_signal._numbers import require_share
from recall_signal.errors import CalibrationError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["check_sample", "needed_answerable", "p_value", "p_values"]

SMALLEST_BOUND = 1e-6
"""A smaller one would need more than a million labels."""


def p_value(top: float, answerable: Sequence[float]) -> float:
    """Return the share of answerable queries with a top cosine this low or lower, in (0, 1].

    Args:
        top: Of the query at hand.
        answerable: Ascending top cosines of labelled answerable queries.
    """
    return (1 + bisect_right(answerable, top)) / (len(answerable) + 1)


def p_values(tops: NDArray[np.float64], answerable: Sequence[float]) -> NDArray[np.float64]:
    """Return `p_value` of each of many top cosines."""
    import numpy as np

    below = np.searchsorted(np.array(answerable), tops, side="right")
    shares: NDArray[np.float64] = (1 + below) / (len(answerable) + 1)
    return shares


def needed_answerable(max_false_none: float) -> int:
    """Return the smallest number of labelled answerable queries that can carry a bound.

    Raises:
        ConfigurationError: The bound does not lie between a millionth and 1.
    """
    bound = require_share("max_false_none", max_false_none, SMALLEST_BOUND)
    return ceil(1.0 / bound - 1e-9) - 1


def check_sample(answerable: int, max_false_none: float) -> float:
    """Return a bound as a built-in float, if it has labels enough.

    Raises:
        CalibrationError: There are too few; the message says how many are needed.
    """
    needed = needed_answerable(max_false_none)
    if answerable < needed:
        raise CalibrationError(
            f"max_false_none={max_false_none} needs at least {needed} labelled answerable "
            f"queries, got {answerable}; label more, or allow a larger share"
        )
    return float(max_false_none)
