"""Vectors with exactly given cosines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recall_signal.errors import InvalidInputError

__all__ = ["vectors_with_cosines"]


def vectors_with_cosines(
    query_vector: ArrayLike,
    cosines: ArrayLike,
    *,
    norm: float | Sequence[float] = 1.0,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Make vectors that have exactly these cosines with a query, in different directions.

    Args:
        query_vector: `[dim]`, of any length above 0; `dim` at least 2.
        cosines: `[n]`, each in [-1, 1].
        norm: The length of every vector, or one length for each.
        seed: Seed of the part of each vector that is orthogonal to the query.

    Returns:
        `[n, dim]`; row `i` has the cosine `cosines[i]` up to rounding (1e-15).

    Raises:
        InvalidInputError: There are no such vectors.

    Example:
        >>> vectors = vectors_with_cosines([0.0, 1.0], [0.9, 0.1])
        >>> (vectors @ [0.0, 1.0]).round(6).tolist()
        [0.9, 0.1]
    """
    query = np.asarray(query_vector, dtype=np.float64)
    wanted = np.asarray(cosines, dtype=np.float64)
    if query.ndim != 1 or len(query) < 2 or not np.linalg.norm(query) > 0.0:
        raise InvalidInputError(
            f"query_vector must be one vector of at least 2 dimensions and a length above 0, "
            f"got shape {query.shape}"
        )
    if wanted.ndim != 1 or not np.all(np.abs(wanted) <= 1.0):
        raise InvalidInputError(
            f"cosines must be a sequence of numbers in [-1, 1], got shape {wanted.shape}"
        )
    lengths = np.asarray(norm, dtype=np.float64)
    if lengths.shape not in {(), wanted.shape}:
        raise InvalidInputError(
            f"norm must be one number or {len(wanted)} of them, got shape {lengths.shape}"
        )
    unit = query / np.linalg.norm(query)
    # Not default_rng(seed) alone: the caller's query may be the first vector that one gives.
    sideways = np.random.default_rng([seed, 1]).standard_normal((len(wanted), len(query)))
    for _ in range(2):  # once more for what rounding left of the query's own direction
        sideways -= np.outer(sideways @ unit, unit)
    sideways /= np.linalg.norm(sideways, axis=1, keepdims=True)
    sines = np.sqrt(1.0 - wanted * wanted)
    rows = wanted[:, None] * unit + sines[:, None] * sideways
    scaled: NDArray[np.float64] = rows * np.broadcast_to(lengths, wanted.shape)[:, None]
    return scaled
