"""What is seen of one search: the figures that are kept of its pool."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite, nan
from typing import Any

from recall_signal.calibration.hub import Bank
from recall_signal.calibration.journal import Observation
from recall_signal.calibration.pseudo import PseudoQuery, is_source
from recall_signal.calibration.reranker import best_of
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


def observe(pool: Pool, piece: PseudoQuery | None, bank: Bank | None = None) -> Observation:
    """The pool's top cosine, and the one without the document that a piece was cut from.

    With a bank both also hub-corrected, where the pool has vectors.
    """
    top, reranked = top_of(pool.cosines), best_of(pool.rerank_scores)
    corrected = bank.top(pool) if bank is not None and top is not None else None
    if piece is None:
        return Observation(top, corrected=corrected, reranked=reranked)
    own = _own(pool, piece)
    others = top_of(c for c, same in zip(pool.cosines, own, strict=True) if not same)
    return Observation(
        top,
        others,
        corrected,
        bank.top(pool, own) if bank is not None and corrected is not None else None,
        reranked,
    )


def _own(pool: Pool, piece: PseudoQuery) -> list[bool]:
    """Which candidates are the document that the piece was cut from."""
    if pool.texts is not None or (pool.ids is not None and piece.source_id is not None):
        return is_source(pool, piece)
    # Nothing tells the piece's own document; the best candidate can hardly be another.
    values = [_as_float(cosine) for cosine in pool.cosines]
    best = max((v for v in values if isfinite(v)), default=nan)
    own = [False] * len(values)
    if best in values:
        own[values.index(best)] = True
    return own


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
