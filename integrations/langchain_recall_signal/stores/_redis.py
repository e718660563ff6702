"""`RedisVectorStore` of langchain-redis: the metric of the index's vector field decides.

The score is Redis' own distance: cosine distance, squared L2, or 1 minus the inner product. The
store returns neither the keys nor the ids of its hits, so their vectors cannot be read.
"""

from typing import Any, Protocol

from langchain_recall_signal.stores._base import StoreAdapter
from recall_signal import ScoreKind
from recall_signal.stores import Kind, unit_only

_KINDS: dict[str, Kind] = {
    "L2": ScoreKind.SQUARED_L2,
    "COSINE": ScoreKind.COSINE_DISTANCE,
    "IP": unit_only(ScoreKind.COSINE_DISTANCE),  # 1 - inner product
}


class _Store(Protocol):
    """The part of the store that is read: the index and the settings of its library."""

    index: Any
    config: Any


class RedisAdapter(StoreAdapter[_Store]):
    """Reads `RedisVectorStore`."""

    ties_keep_order = False
    unsupported_kwargs = frozenset({"sort_by", "with_vectors"})

    def score_kind(self, store: _Store) -> Kind:
        """Return the kind by the index's schema, which may differ from the store's settings."""
        field = store.index.schema.fields[store.config.embedding_field]
        return _KINDS.get(field.attrs.distance_metric.value.upper(), ScoreKind.UNKNOWN)
