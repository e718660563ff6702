"""A fingerprint of an encoder: coarse projections of its vectors for a few fixed texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import shake_256
from math import fsum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # numpy is loaded where it is used: the command sets its threads first
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["FINGERPRINT_TEXTS", "Fingerprint", "fingerprint_of"]

FINGERPRINT_TEXTS = (
    "How long does it take to boil an egg?",
    "cheap flights to the coast in spring",
    "The meeting was moved to Thursday afternoon.",
    "replace a flat bicycle tyre",
    "¿Dónde puedo cambiar dinero?",
    "Welche Farbe passt zu einem grauen Sofa?",
    "symptoms of a mild cold",
    "Explain photosynthesis to a child.",
)
"""Queries on unrelated matters, in the styles and some of the languages of the probes."""

PROJECTIONS = 16
"""Random signs for each text. Eight texts with sixteen each estimate the squared distance of two
encoders with a relative deviation of sqrt(2 / 128) = .125."""

DISTANCE = 0.02
"""Mean squared distance of unit vectors from which two encoders are not the same one: a cosine of
.99. Noise of 1e-3 on every coordinate makes .001 with 512 dimensions and .006 with 3,072 (both
sides noisy); adding a common direction of a fifth of a vector's length makes .04."""

_DIGITS = 5


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The vectors of the fixed texts, as little of them as it takes to recognise them.

    Attributes:
        dimensions: The length of a vector.
        projections: `[texts * PROJECTIONS]`: unit vectors times random signs, divided by
            the square root of the dimensions, to five decimals.
    """

    dimensions: int
    projections: tuple[float, ...]

    def distance(self, other: Fingerprint) -> float | None:
        """Return the mean squared distance of the unit vectors of both, in [0, 4].

        The projections are `p = S v / sqrt(d)` with random signs S, so that `d |p - p'|^2 / P`
        estimates `|v - v'|^2` without bias (Johnson and Lindenstrauss 1984; signs: Achlioptas
        2003). None where the dimensions differ, or the texts.
        """
        if self.dimensions != other.dimensions or len(self.projections) != len(other.projections):
            return None
        gaps = [a - b for a, b in zip(self.projections, other.projections, strict=True)]
        return self.dimensions * fsum(gap * gap for gap in gaps) / len(gaps)

    def is_same_encoder(self, other: Fingerprint) -> bool:
        """Return True where both can come from one encoder."""
        distance = self.distance(other)
        return distance is not None and distance <= DISTANCE


def fingerprint_of(vectors: Sequence[Sequence[float]] | Any | None) -> Fingerprint | None:
    """Return the fingerprint of an encoder's answer, None where it is no usable one.

    Args:
        vectors: `[n, dim]`: one vector for each of `FINGERPRINT_TEXTS`.
    """
    if vectors is None:
        return None
    import numpy as np

    try:
        matrix = np.asarray(vectors, dtype=float)
    except (TypeError, ValueError):
        return None
    if matrix.ndim != 2 or len(matrix) != len(FINGERPRINT_TEXTS) or not matrix.size:
        return None
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        return None
    dimensions = matrix.shape[1]
    projected = (matrix / lengths) @ _signs(dimensions) / np.sqrt(dimensions)
    return Fingerprint(dimensions, tuple(np.round(projected, _DIGITS).ravel().tolist()))


def _signs(dimensions: int) -> NDArray[np.float64]:
    """Return signs `[dim, PROJECTIONS]`, the same ones on every machine and in every release."""
    import numpy as np

    bits = shake_256(b"recall-signal fingerprint").digest(dimensions * PROJECTIONS // 8 + 1)
    drawn = np.unpackbits(np.frombuffer(bits, dtype=np.uint8))[: dimensions * PROJECTIONS]
    signs: NDArray[np.float64] = (
        drawn.reshape(dimensions, PROJECTIONS).astype(np.float64) * 2.0 - 1.0
    )
    return signs
