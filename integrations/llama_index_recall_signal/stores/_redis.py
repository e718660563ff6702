"""`RedisVectorStore`: the distance metric of the vector field in the schema decides.

The score is 1 minus the distance that Redis returns: the cosine, the inner product, or 1 minus
the squared L2 distance.
"""

from typing import Any, Protocol

import numpy as np

from llama_index_recall_signal.stores._base import DefaultModeAdapter, Hits, Vectors
from recall_signal import ScoreKind
from recall_signal.stores import ScoreReading, read_scores

_FIELD = "vector"
"""The store's name for its one vector field."""

_KINDS = {
    "COSINE": ScoreKind.COSINE,
    "IP": ScoreKind.INNER_PRODUCT,
    "L2": None,  # 1 - squared L2, which no kind stands for: see read
}


class _Store(Protocol):
    """The part of the store that is read: the schema and the index of Redis' own library."""

    schema: Any
    _index: Any


class RedisAdapter(DefaultModeAdapter[_Store]):
    """Reads `RedisVectorStore`."""

    def default_kind(self, store: _Store) -> ScoreKind | None:
        """Return the kind by the schema's metric."""
        metric = store.schema.fields[_FIELD].attrs.distance_metric.value
        return _KINDS.get(metric, ScoreKind.UNKNOWN)

    def read(self, store: _Store, hits: Hits) -> ScoreReading:
        """Read these hits; for the L2 metric, by what is missing from 1."""
        if self.score_kind(store, hits.mode) is not None:
            return super().read(store, hits)
        distances = [None if score is None else 1.0 - score for score in hits.scores]
        return read_scores(distances, ScoreKind.SQUARED_L2, "store", ranked=True)

    def vectors(self, store: _Store, hits: Hits) -> Vectors | None:
        """Read the stored vectors by the nodes' ids; the store has no public way to them."""
        index = store._index
        if index.client is None or not hits.nodes:
            return None
        pipeline = index.client.pipeline(transaction=False)
        for id_ in hits.node_ids:
            pipeline.hget(index.key(id_), _FIELD)
        return [
            None if raw is None else np.frombuffer(raw, np.float32) for raw in pipeline.execute()
        ]
