"""``QdrantVectorStore``: the mode and the collection's distance decide.

In the default mode the score is the cosine, the inner product or the L2 distance. In hybrid
mode it is a fusion of both lists, each scaled to its own range, in sparse mode a product of word
weights: there the stored vectors decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index_recall_signal.stores.base import Hits, StoreAdapter
from recall_signal import ScoreKind
from recall_signal.stores.asked import AskedOnce

__all__ = ["QdrantAdapter"]

_KINDS = {
    "Cosine": ScoreKind.COSINE,
    "Dot": ScoreKind.INNER_PRODUCT,
    "Euclid": ScoreKind.L2,
}


class QdrantAdapter(StoreAdapter):
    """Reads ``QdrantVectorStore``, through its synchronous client."""

    def __init__(self) -> None:
        self._kinds = AskedOnce(_read_kind)

    def waits(self, store: Any) -> bool:
        """Until the server has told."""
        return self._kinds.waits(store)

    def score_kind(self, store: Any, mode: str) -> ScoreKind:
        """By the distance of the collection, which it has for life."""
        return (
            ScoreKind.UNKNOWN
            if mode != "default" or store.client is None
            else self._kinds.kind(store)
        )

    def vectors(self, store: Any, hits: Hits) -> Sequence[Any | None] | None:
        """The stored dense vectors, by the nodes' ids, which are the points'."""
        ids = [_point_id(hit.node.node_id) for hit in hits.nodes]
        if not ids or store.client is None:
            return None
        name = store.dense_vector_name
        points = store.client.retrieve(
            store.collection_name, ids=ids, with_payload=False, with_vectors=True
        )
        known = {point.id: _dense(point.vector, name) for point in points}
        return [known.get(id_) for id_ in ids]


def _read_kind(store: Any) -> ScoreKind:
    settings = store.client.get_collection(store.collection_name).config.params.vectors
    if isinstance(settings, dict):
        settings = settings.get(store.dense_vector_name)
    if settings is None or settings.multivector_config is not None:
        return ScoreKind.UNKNOWN
    return _KINDS.get(settings.distance.value, ScoreKind.UNKNOWN)


def _point_id(node_id: str) -> int | str:
    """A point's id is a whole number or a UUID; the node's is a text either way."""
    return int(node_id) if node_id.isdecimal() else node_id


def _dense(vector: Any, name: str) -> Any:
    """The one vector that is compared: a point may hold several by name."""
    return vector.get(name) if isinstance(vector, dict) else vector
