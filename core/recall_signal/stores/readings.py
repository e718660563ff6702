"""What a store's scores say: cosines, or the reason why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import le
from typing import Any

from recall_signal.embedding import cosines_of
from recall_signal.reports import CosineSource
from recall_signal.scores import ScoreKind, as_number, to_cosines
from recall_signal.thresholds import RANGE_TOLERANCE

__all__ = [
    "Reading",
    "checked",
    "read_scores",
    "read_vectors",
]

_PLAIN = {float, type(None)}

_A_RANKING, _A_RISE = 4, 1e-3
"""Hits, and a rise from the first to the last, from which an order is no accident."""


@dataclass(slots=True)
class Reading:
    """The cosines behind some hits, or the reason why there are none.

    Attributes:
        cosines: One per hit.
        source: Where they came from.
        reason: Why there are none.
        scores: Keyword scores, one per hit, to be judged in their place.
        for_unit_vectors: Whether all this holds for vectors of length 1 only, so that the
            wrapper has to look at the store's.
    """

    cosines: Sequence[float | None] | None
    source: CosineSource | None = None
    reason: str | None = None
    scores: Sequence[float | None] | None = None
    for_unit_vectors: bool = False

    @property
    def is_enough(self) -> bool:
        """Whether nothing else has to be looked at: of an empty page nothing can be learnt."""
        if self.for_unit_vectors:
            return self.cosines is not None and not len(self.cosines)
        return self.cosines is not None or self.scores is not None


def read_scores(
    scores: Sequence[float | None], kind: ScoreKind, source: CosineSource, *, ranked: bool = False
) -> Reading:
    """The cosines by the formula of a score kind alone; keyword scores are handed on.

    Args:
        scores: As the store gave them.
        kind: What they are.
        source: Who says so.
        ranked: Whether they come from one plain search, best first. Cosines that rise all the
            way down such a list show that the kind is the other way round.
    """
    if kind is ScoreKind.BM25:
        numbers = [None if score is None else as_number(score) for score in scores]
        return Reading(None, scores=numbers)
    cosines, reason = to_cosines(scores, kind)
    unchecked = kind.needs_unit_norm and source == "store"  # who declares a kind knows the norms
    if cosines is None:
        return Reading(None, reason=reason, for_unit_vectors=unchecked)
    known = [cosine for cosine in cosines if cosine is not None]
    if known and max(max(known), -min(known)) > RANGE_TOLERANCE:
        return Reading(None, reason="score_out_of_range", for_unit_vectors=unchecked)
    if ranked and _rises(known):
        return Reading(None, reason="score_inverted", for_unit_vectors=unchecked)
    reading = _reading(cosines, source)
    reading.for_unit_vectors = unchecked
    return reading


def read_vectors(query_vector: Any, vectors: Sequence[Any | None]) -> Reading:
    """The cosines from the candidates' own vectors, None for a candidate without one.

    Raises:
        VectorMismatch: The dimensions differ.
    """
    known = iter(cosines_of(query_vector, [vector for vector in vectors if vector is not None]))
    return _reading([None if vector is None else next(known) for vector in vectors], "vectors")


def checked(reading: Any, count: int) -> Reading:
    """What an adapter read, once it is sure that it fits the hits.

    Raises:
        ValueError: It is not a :class:`Reading` with one value for each hit.
        InvalidInputError: One of them is not a number or None.
    """
    if not isinstance(reading, Reading):
        raise ValueError("an adapter must return a Reading")
    for values in (reading.cosines, reading.scores):
        if values is not None and len(values) != count:
            raise ValueError("an adapter must read one value for each hit")
    if reading.cosines is not None and not set(map(type, reading.cosines)) <= _PLAIN:
        plain = [None if cosine is None else as_number(cosine) for cosine in reading.cosines]
        return replace(reading, cosines=plain)
    return reading


def _reading(cosines: Sequence[float | None], source: CosineSource) -> Reading:
    if cosines and all(cosine is None for cosine in cosines):
        return Reading(None, reason="no_scores")
    return Reading(cosines, source)


def _rises(cosines: Sequence[float]) -> bool:
    """Whether no hit is worse than the one before it, and the last better than the first."""
    if len(cosines) < _A_RANKING or cosines[-1] - cosines[0] < _A_RISE:
        return False
    return all(map(le, cosines, cosines[1:]))
