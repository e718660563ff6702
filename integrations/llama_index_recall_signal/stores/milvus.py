"""``MilvusVectorStore``: the metric of the dense index decides.

In the default mode the score is the cosine, the inner product, or the squared L2 distance,
where a lower one is better although it is called a similarity. The other modes score by words,
by a ranker or by MMR: there the stored vectors decide.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from llama_index_recall_signal.stores.base import Hits, StoreAdapter
from recall_signal import ScoreKind

__all__ = ["MilvusAdapter"]

log = logging.getLogger(__name__)

_KINDS = {
    "COSINE": ScoreKind.COSINE,
    "IP": ScoreKind.INNER_PRODUCT,
    "L2": ScoreKind.SQUARED_L2,
}


class MilvusAdapter(StoreAdapter):
    """Reads ``MilvusVectorStore``, through its synchronous client."""

    def __init__(self) -> None:
        self._kinds: WeakKeyDictionary[Any, dict[tuple[str, str], ScoreKind]] = WeakKeyDictionary()

    def score_kind(self, store: Any, mode: str) -> ScoreKind:
        """By the metric of the index, not of the store: that of a found collection may differ."""
        if mode != "default":
            return ScoreKind.UNKNOWN
        kinds = self._kinds.setdefault(store.client, {})
        field = (store.collection_name, store.embedding_field)
        kind = kinds.get(field)
        if kind is None:
            try:
                kind = kinds[field] = _read_kind(store)
            except Exception as error:
                log.warning("reading an index's metric failed: %s", type(error).__name__)
                return ScoreKind.UNKNOWN
        return kind

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
