"""Cosines from a store's scores, or the reason why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import le
from typing import Any, get_args

from numpy.typing import ArrayLike, NDArray

from recall_signal._flow.embedding import cosines_of
from recall_signal._names import MAX_NAME, is_plain
from recall_signal.errors import InvalidInputError
from recall_signal.reports import CosineSource
from recall_signal.scores import ScoreKind, as_number, parse_score_kind, to_cosines
from recall_signal.stores._kinds import UnitOnlyKind
from recall_signal.thresholds import RANGE_TOLERANCE

__all__ = ["ScoreReading", "are_stand_ins", "read_scores", "read_vectors", "validated"]

_PLAIN = {float, type(None)}
_SOURCES = frozenset(get_args(CosineSource))

_MIN_RANKING, _MIN_RISE = 4, 1e-3
"""Hits, and a rise from the first to the last, from which an order is no accident."""


@dataclass(frozen=True, slots=True)
class ScoreReading:
    """The cosines behind some hits, or the reason why there are none.

    Attributes:
        cosines: One per hit.
        source: Where they came from.
        reason: Why there are none.
        scores: Keyword scores, one per hit, to be judged in their place.
        for_unit_vectors: Whether the cosines and the reason hold for vectors of length 1 only,
            so that the length of the store's vectors has to be checked.

    Raises:
        InvalidInputError: The source or the reason is of another type, or the reason no short
            printable text.
    """

    cosines: Sequence[float | None] | None
    source: CosineSource | None = None
    reason: str | None = None
    scores: Sequence[float | None] | None = None
    for_unit_vectors: bool = False

    def __post_init__(self) -> None:
        if self.reason is not None and not (type(self.reason) is str and is_plain(self.reason)):
            given = type(self.reason).__name__
            raise InvalidInputError(
                f"the reason of a ScoreReading must be a printable str of 1 to {MAX_NAME} "
                f"characters, got {given}"
            )
        source = self.source
        if source is not None and not (isinstance(source, str) and source in _SOURCES):
            known = ", ".join(repr(source) for source in get_args(CosineSource))
            raise InvalidInputError(f"the source of a ScoreReading must be one of {known} or None")

    @property
    def is_complete(self) -> bool:
        """Return whether the reading needs no vectors: an empty page has none to check."""
        if self.for_unit_vectors:
            return self.cosines is not None and not len(self.cosines)
        return self.cosines is not None or self.scores is not None


def read_scores(
    scores: Sequence[float | None],
    kind: ScoreKind | str,
    source: CosineSource,
    *,
    ranked: bool = False,
) -> ScoreReading:
    """Compute cosines by the formula of a score kind; keyword scores are passed on.

    Args:
        scores: As the store gave them.
        kind: The kind of these numbers; `unit_only` where its formula needs unit vectors.
        source: Who named the kind. The norms behind a `declared` kind are not checked.
        ranked: Whether they come from one plain search, best first. Cosines that rise all the
            way down such a list show that the kind points the other way.

    Raises:
        ConfigurationError: There is no such kind.
        InvalidInputError: A score is not a number.
    """
    plain = parse_score_kind(kind)
    if plain is ScoreKind.BM25:
        numbers = [None if score is None else as_number(score) for score in scores]
        return ScoreReading(None, scores=numbers)
    needs_unit_norm = plain.needs_unit_norm or isinstance(kind, UnitOnlyKind)
    unchecked = needs_unit_norm and source == "store"
    cosines, reason = to_cosines(scores, plain)
    if cosines is None:
        return ScoreReading(None, reason=reason, for_unit_vectors=unchecked)
    known = [cosine for cosine in cosines if cosine is not None]
    if known and max(max(known), -min(known)) > RANGE_TOLERANCE:
        return ScoreReading(None, reason="score_out_of_range", for_unit_vectors=unchecked)
    if ranked and _rises(known):
        return ScoreReading(None, reason="score_inverted", for_unit_vectors=unchecked)
    return _reading(cosines, source, for_unit_vectors=unchecked)


def read_vectors(
    query_vector: ArrayLike, vectors: Sequence[ArrayLike | None] | NDArray[Any]
) -> ScoreReading:
    """Compute cosines from the candidates' own vectors, None for a candidate without one.

    Raises:
        VectorMismatch: The dimensions differ.
    """
    known = iter(cosines_of(query_vector, [vector for vector in vectors if vector is not None]))
    return _reading([None if vector is None else next(known) for vector in vectors], "vectors")


def validated(reading: object, count: int) -> ScoreReading:
    """Return an adapter's reading with built-in floats and one value per hit.

    Raises:
        InvalidInputError: It is not a `ScoreReading`, has another number of values, or
            one of them is neither a number nor None.
    """
    if not isinstance(reading, ScoreReading):
        given = type(reading).__name__
        raise InvalidInputError(f"an adapter's read must return a ScoreReading, got {given}")
    cosines, scores = _plain(reading.cosines, count), _plain(reading.scores, count)
    if cosines is reading.cosines and scores is reading.scores:
        return reading
    return replace(reading, cosines=cosines, scores=scores)


def _plain(values: Sequence[float | None] | None, count: int) -> Sequence[float | None] | None:
    """Return the same values as built-in floats."""
    if values is None:
        return None
    if len(values) != count:
        raise InvalidInputError(
            f"an adapter's read must return one value for each of {count} hits, got {len(values)}"
        )
    if set(map(type, values)) <= _PLAIN:
        return values
    return [None if value is None else as_number(value) for value in values]


def _reading(
    cosines: Sequence[float | None], source: CosineSource, *, for_unit_vectors: bool = False
) -> ScoreReading:
    if cosines and all(cosine is None for cosine in cosines):
        return ScoreReading(None, reason="no_scores", for_unit_vectors=for_unit_vectors)
    return ScoreReading(cosines, source, for_unit_vectors=for_unit_vectors)


def _rises(cosines: Sequence[float]) -> bool:
    """Return whether no hit is worse than the one before it, and the last beats the first."""
    if len(cosines) < _MIN_RANKING or cosines[-1] - cosines[0] < _MIN_RISE:
        return False
    return all(map(le, cosines, cosines[1:]))


def are_stand_ins(scores: Sequence[float | None]) -> bool:
    """Return whether every cosine of a store is 0 or 1, as where a vector has no direction.

    Libraries give these for vectors of zeros, NaN or infinities, and for lengths whose square is
    beyond their floats. The stored vectors then decide.
    """
    return len(scores) > 0 and all(score in _STAND_INS for score in scores)


_STAND_INS = (0.0, 1.0)
