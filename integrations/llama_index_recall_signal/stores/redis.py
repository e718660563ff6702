"""``RedisVectorStore``: the distance metric of the vector field in the schema decides.

The score is 1 minus the distance that Redis gives: the cosine, the inner product, or 1 minus
the squared L2 distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from llama_index_recall_signal.stores.base import Hits, StoreAdapter
from recall_signal import ScoreKind
from recall_signal.stores import Reading, read_scores

__all__ = ["RedisAdapter"]

_FIELD = "vector"
"""What the store calls its one vector field."""

_KINDS = {
    "COSINE": ScoreKind.COSINE,
    "IP": ScoreKind.INNER_PRODUCT,
    "L2": ScoreKind.SQUARED_L2,  # what is missing from 1; see read
}


class RedisAdapter(StoreAdapter):
    """Reads ``RedisVectorStore``."""

    def score_kind(self, store: Any, mode: str) -> ScoreKind:
        """By the schema's metric, in the default mode only."""
        metric = store.schema.fields[_FIELD].attrs.distance_metric.value
        return _KINDS.get(metric, ScoreKind.UNKNOWN) if mode == "default" else ScoreKind.UNKNOWN

    def read(self, store: Any, hits: Hits) -> Reading:
        """The cosines of these hits, as far as their scores tell them."""
        kind = self.score_kind(store, hits.mode)
        if kind is not ScoreKind.SQUARED_L2:
            return super().read(store, hits)
        distances = [None if score is None else 1.0 - score for score in hits.scores]
        return read_scores(distances, kind, "store", ranked=True)

    def vectors(self, store: Any, hits: Hits) -> Sequence[Any | None] | None:
        """The stored vectors, by the nodes' ids; the store has no public way to them."""
        index = store._index
        if index.client is None or not hits.nodes:
            return None
        pipeline = index.client.pipeline(transaction=False)
        for hit in hits.nodes:
            pipeline.hget(index.key(hit.node.node_id), _FIELD)
        return [
            None if raw is None else np.frombuffer(raw, np.float32) for raw in pipeline.execute()
        ]
