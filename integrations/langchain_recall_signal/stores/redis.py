"""``RedisVectorStore`` of langchain-redis: the metric of the index's vector field decides.

The score is Redis' own distance: cosine distance, squared L2, or 1 minus the inner product. The
store tells neither the keys nor the ids of its hits, so their vectors cannot be read.
"""

from __future__ import annotations

from typing import Any

from langchain_recall_signal.stores.base import Hits, StoreAdapter
from langchain_recall_signal.stores.products import read_product_distances
from recall_signal import ScoreKind
from recall_signal.stores import Reading

__all__ = ["RedisAdapter"]

_KINDS = {
    "L2": ScoreKind.SQUARED_L2,
    "COSINE": ScoreKind.COSINE_DISTANCE,
    "IP": ScoreKind.INNER_PRODUCT,  # once it is turned round: see read
}


class RedisAdapter(StoreAdapter):
    """Reads ``RedisVectorStore``."""

    ties_keep_order = False
    unlike = frozenset({"sort_by", "with_vectors"})

    def score_kind(self, store: Any) -> ScoreKind:
        """By the metric in the index's schema."""
        return _KINDS.get(_metric(store), ScoreKind.UNKNOWN)

    def read(self, store: Any, hits: Hits) -> Reading:
        """The cosines of these hits."""
        if _metric(store) == "IP":
            return read_product_distances(hits)
        return super().read(store, hits)


def _metric(store: Any) -> str:
    """The index's own, which an existing index need not share with the store's settings."""
    field = store.index.schema.fields[store.config.embedding_field]
    return str(field.attrs.distance_metric.value).upper()
