"""``OpensearchVectorStore``: the mapping's space type decides; vectors can be read by id.

Only ``l2`` means the same number in every search of the store, with a filter or without. What
``cosinesimil`` scores depends on the server's version, and filters can bring a script of another
metric in, so that other spaces are read by the stored vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index_recall_signal.stores.base import Hits, StoreAdapter
from recall_signal import ScoreKind
from recall_signal.stores.asked import AskedOnce

__all__ = ["OpenSearchAdapter"]

_MODES = {"text_search": ScoreKind.BM25, "hybrid": ScoreKind.FUSED_NORMALIZED}


class OpenSearchAdapter(StoreAdapter):
    """Reads ``OpensearchVectorStore``."""

    def __init__(self) -> None:
        self._kinds = AskedOnce(_kind_by_mapping)

    def waits(self, store: Any) -> bool:
        """Until the server has told."""
        return self._kinds.waits(store)

    def score_kind(self, store: Any, mode: str) -> ScoreKind:
        """By the query mode, and in the default one by the index's mapping."""
        return self._kinds.kind(store) if mode == "default" else _MODES.get(mode, ScoreKind.UNKNOWN)

    def vectors(self, store: Any, hits: Hits) -> Sequence[Any | None] | None:
        """The stored vectors, by id; the serverless service reads nothing by id."""
        index = store.client
        if index.is_aoss:
            return None
        ids, field = [hit.node_id for hit in hits.nodes], index._embedding_field
        found = index._os_client.mget(
            index=index._index, body={"ids": ids}, params={"_source_includes": field}
        )
        by_id = {item["_id"]: item.get("_source", {}).get(field) for item in found["docs"]}
        return [by_id.get(id_) for id_ in ids]


def _kind_by_mapping(store: Any) -> ScoreKind:
    """By what the mappings of all indices behind the store's name agree on."""
    index = store.client
    found = index._os_client.indices.get_mapping(index=index._index)
    spaces = {
        _space(each["mappings"]["properties"], index._embedding_field) for each in found.values()
    }
    return ScoreKind.INVERSE_SQUARED_L2 if spaces == {"l2"} else ScoreKind.UNKNOWN


def _space(properties: Mapping[str, Any], name: str) -> str | None:
    field = properties[name]
    space: str | None = field.get("space_type") or field.get("method", {}).get("space_type")
    return space
