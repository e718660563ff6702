"""Score kinds in an adapter's table, with the condition that their formula depends on."""

from __future__ import annotations

from recall_signal.scores import ScoreKind

__all__ = ["Kind", "UnitOnlyKind", "unit_only"]


class UnitOnlyKind(str):
    """Score kind whose formula holds for this store's vectors of length 1 only.

    Equal to the kind's name, so that it can stand wherever a score kind can.
    """

    __slots__ = ()


Kind = ScoreKind | UnitOnlyKind
"""The kind of a store's number, as an adapter names it."""


def unit_only(kind: ScoreKind) -> UnitOnlyKind:
    """Mark a kind as valid for vectors of length 1 only, so that their length is checked.

    For stores that replace the cosine of a formula by the inner product, such as a distance of
    `1 - q.x`, which is the cosine distance of unit vectors. Kinds built on the Euclidean
    distance or the inner product itself need no mark: `ScoreKind.needs_unit_norm`.
    """
    return UnitOnlyKind(kind.value)
