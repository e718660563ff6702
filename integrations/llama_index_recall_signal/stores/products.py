"""What several stores share: ``exp(-distance)`` where the distance is 1 minus the inner product."""

from __future__ import annotations

from math import log

from llama_index_recall_signal.stores.base import Hits
from recall_signal import ScoreKind
from recall_signal.stores import Reading, read_scores

__all__ = ["read_product_exponentials"]


def read_product_exponentials(hits: Hits) -> Reading:
    """The cosines where the score is ``exp(inner product - 1)``.

    For unit vectors that is ``exp(-cosine distance)``; unlike that, it depends on their length.
    """
    is_plain = hits.mode == "default"
    products = [_product(score) for score in hits.scores]
    return read_scores(products, ScoreKind.INNER_PRODUCT, "store", ranked=is_plain)


def _product(score: float | None) -> float | None:
    """None where nothing is left of the product: the exponential of long vectors is 0."""
    return 1.0 + log(score) if score else None
