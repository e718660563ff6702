"""A bound on the share of answerable queries that are told ``none``, by conformal p-values.

Holds for queries that are exchangeable with the labelled answerable ones (Vovk, Gammerman and
Shafer, 2005); with a sample of its own for each group of users (Mondrian), within each group.
Marginal: it is a share over many queries, and over many calibrations. It is about queries whose
pool can be measured: an empty pool reads ``none`` in any case. Never available without labels:
pieces of stored texts are no real queries, and with them the same bound fails (a nominal 10 %
was measured at 36 to 54 %).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import ceil

from recall_signal.errors import CalibrationError, ConfigurationError

__all__ = ["check_sample", "needed_answerable", "p_value"]

SMALLEST_BOUND = 1e-6
"""A smaller one would need more than a million labels."""


def p_value(top: float, answerable: Sequence[float]) -> float:
    """How usual a top cosine this low is among answerable queries, in (0, 1].

    Args:
        top: Of the query at hand.
        answerable: Ascending top cosines of labelled answerable queries.
    """
    return (1 + bisect_right(answerable, top)) / (len(answerable) + 1)


def needed_answerable(max_false_none: float) -> int:
    """The smallest number of labelled answerable queries that a bound can be had from.

    Raises:
        ConfigurationError: The bound is no share between a millionth and 1, both excluded.
    """
    if not isinstance(max_false_none, float) or not SMALLEST_BOUND < max_false_none < 1.0:
        raise ConfigurationError(
            "max_false_none must be a share between 0 and 1, both excluded, and above "
            f"{SMALLEST_BOUND:f}, such as 0.05; got {max_false_none!r:.40}"
        )
    return ceil(1.0 / max_false_none - 1e-9) - 1


def check_sample(answerable: int, max_false_none: float) -> None:
    """Refuse a bound that so few labels cannot carry.

    Raises:
        CalibrationError: There are too few; the message says how many are needed.
    """
    needed = needed_answerable(max_false_none)
    if answerable < needed:
        raise CalibrationError(
            f"max_false_none={max_false_none} needs at least {needed} labelled answerable "
            f"queries, got {answerable}; label more, or allow a larger share"
        )
