"""What is seen of one search: the figures that are kept of its pool."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite, nan
from typing import Any

from recall_signal.calibration.journal import Observation
from recall_signal.calibration.pseudo import PseudoQuery, is_source
from recall_signal.errors import InvalidInputError
from recall_signal.pool import Pool
from recall_signal.thresholds import RANGE_TOLERANCE

__all__ = ["as_pool", "observe", "top_of"]


def as_pool(found: Any) -> Pool:
    """What a search returned, as a pool.

    Raises:
        InvalidInputError: It is neither a pool nor a sequence of cosines.
    """
    if isinstance(found, Pool):
        return found
    if hasattr(found, "tolist"):
        found = found.tolist()
    if not isinstance(found, list | tuple):
        raise InvalidInputError(
            f"search must return a Pool or a sequence of cosines, got {type(found).__name__}"
        )
    return Pool(found)


def observe(pool: Pool, piece: PseudoQuery | None) -> Observation:
    """The pool's top cosine, and the one without the document that a piece was cut from."""
    if piece is None:
        return Observation(top_of(pool.cosines))
    if pool.texts is None and (pool.ids is None or piece.source_id is None):
        # Nothing tells the piece's own document; the best candidate can hardly be another.
        ranked = sorted(_finite(pool.cosines), reverse=True)
        return Observation(top_of(ranked), top_of(ranked[1:]))
    others = [c for c, own in zip(pool.cosines, is_source(pool, piece), strict=True) if not own]
    return Observation(top_of(pool.cosines), top_of(others))


def top_of(cosines: Iterable[Any]) -> float | None:
    """The highest value; None where there is none, or where any lies outside [-1.001, 1.001].

    Raises:
        InvalidInputError: A value is neither a number nor None.
    """
    values = _finite(cosines)
    if not values or max(values) > RANGE_TOLERANCE or min(values) < -RANGE_TOLERANCE:
        return None
    return max(values)


def _finite(cosines: Iterable[Any]) -> list[float]:
    return list(filter(isfinite, map(_as_float, cosines)))


def _as_float(cosine: Any) -> float:
    if cosine is None:
        return nan
    try:
        if not isinstance(cosine, str | bytes):
            return float(cosine)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidInputError(
        f"search must return a number or None per candidate, got {type(cosine).__name__}"
    )
