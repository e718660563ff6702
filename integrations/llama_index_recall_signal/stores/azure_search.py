"""``AzureAISearchVectorStore``: the index's metric and the query mode decide.

The metric is asked of the index client, where the store was given one; a search client may not
ask for it. Everything but a plain vector search on the cosine is read by the stored vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index_recall_signal.stores.base import Hits, StoreAdapter
from recall_signal import ScoreKind
from recall_signal.stores.asked import AskedOnce

__all__ = ["AzureAISearchAdapter"]

_MODES = {
    "sparse": ScoreKind.BM25,
    "hybrid": ScoreKind.RRF,
    "semantic_hybrid": ScoreKind.RERANKER_LOGIT,
}


class AzureAISearchAdapter(StoreAdapter):
    """Reads ``AzureAISearchVectorStore``."""

    def __init__(self) -> None:
        self._kinds = AskedOnce(_kind_by_index)

    def waits(self, store: Any) -> bool:
        """Until the server has told."""
        return self._kinds.waits(store)

    def score_kind(self, store: Any, mode: str) -> ScoreKind:
        """By the query mode, and in the default one by the index's metric."""
        if mode != "default":
            return _MODES.get(mode, ScoreKind.UNKNOWN)
        return ScoreKind.UNKNOWN if store._index_client is None else self._kinds.kind(store)

    def vectors(self, store: Any, hits: Hits) -> Sequence[Any | None] | None:
        """The stored vectors by key, if the index gives them out and filters by its key."""
        key, vector = store._field_mapping["id"], store._field_mapping["embedding"]
        ids = [hit.node_id for hit in hits.nodes]
        if store._search_client is None or any("'" in id_ for id_ in ids):
            return None
        found = store._search_client.search(
            search_text=None,
            filter=f"search.in({key}, '{','.join(ids)}', ',')",
            select=[key, vector],
            top=len(ids),
        )
        by_id = {item[key]: item.get(vector) for item in found}
        return [by_id.get(id_) for id_ in ids]


def _kind_by_index(store: Any) -> ScoreKind:
    """Along the names from the vector field over its profile to the algorithm's metric."""
    index = store._index_client.get_index(store._index_name)
    name = store._field_mapping["embedding"]
    field = next(field for field in index.fields if field.name == name)
    search = index.vector_search
    profile = next(p for p in search.profiles if p.name == field.vector_search_profile_name)
    used = profile.algorithm_configuration_name
    algorithm = next(a for a in search.algorithms if a.name == used)
    is_cosine = algorithm.parameters is not None and algorithm.parameters.metric == "cosine"
    return ScoreKind.AZURE if is_cosine else ScoreKind.UNKNOWN
