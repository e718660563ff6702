"""``MilvusVectorStore``: the metric of the dense index decides.

In the default mode the score is the cosine, the inner product, or the squared L2 distance,
where a lower one is better although it is called a similarity. The other modes score by words,
by a ranker or by MMR: there the stored vectors decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index_recall_signal.stores.base import Hits, StoreAdapter
from recall_signal import ScoreKind
from recall_signal.stores.asked import AskedOnce

__all__ = ["MilvusAdapter"]

_KINDS = {
    "COSINE": ScoreKind.COSINE,
    "IP": ScoreKind.INNER_PRODUCT,
    "L2": ScoreKind.SQUARED_L2,
}


class MilvusAdapter(StoreAdapter):
    """Reads ``MilvusVectorStore``, through its synchronous client."""

    def __init__(self) -> None:
        self._kinds = AskedOnce(_read_kind)

    def waits(self, store: Any) -> bool:
        """Until the server has told."""
        return self._kinds.waits(store)

    def score_kind(self, store: Any, mode: str) -> ScoreKind:
        """By the metric of the index, not of the store: that of a found collection may differ."""
        return ScoreKind.UNKNOWN if mode != "default" else self._kinds.kind(store)

    def vectors(self, store: Any, hits: Hits) -> Sequence[Any | None] | None:
        """The stored dense vectors, by the nodes' ids, which are the primary keys."""
        ids = [hit.node.node_id for hit in hits.nodes]
        if not ids:
            return None
        field = store.embedding_field
        rows = store.client.get(store.collection_name, ids=ids, output_fields=[field])
        known = {row["id"]: row.get(field) for row in rows}
        return [known.get(id_) for id_ in ids]


def _read_kind(store: Any) -> ScoreKind:
    client, collection = store.client, store.collection_name
    names = client.list_indexes(collection, field_name=store.embedding_field)
    metrics = {client.describe_index(collection, name)["metric_type"] for name in names}
    return _KINDS.get(metrics.pop(), ScoreKind.UNKNOWN) if len(metrics) == 1 else ScoreKind.UNKNOWN
