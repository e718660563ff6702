"""What several stores share: a distance that is 1 minus the inner product."""

from __future__ import annotations

from langchain_recall_signal.stores.base import Hits
from recall_signal import ScoreKind
from recall_signal.stores import Reading, read_scores

__all__ = ["read_product_distances"]


def read_product_distances(hits: Hits) -> Reading:
    """The cosines where the score is ``1 - inner product``.

    For unit vectors that is the cosine distance; unlike that, it depends on their length.
    """
    products = [None if score is None else 1.0 - float(score) for score in hits.scores]
    return read_scores(products, ScoreKind.INNER_PRODUCT, "store", ranked=True)
