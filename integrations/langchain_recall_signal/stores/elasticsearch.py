"""``ElasticsearchStore`` of langchain-elasticsearch: the strategy and the mapping decide.

An approximate search scores by the similarity of the index's mapping, whatever distance the
strategy names; an exact one by the script that its strategy sends. Hybrid searches give
no scores at all, and documents carry no ids to read their vectors by.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_recall_signal.stores.base import StoreAdapter
from recall_signal import ScoreKind
from recall_signal.stores.asked import AskedOnce

__all__ = ["AsyncElasticsearchAdapter", "ElasticsearchAdapter"]

_APPROXIMATE = {
    "cosine": ScoreKind.HALF_COSINE,
    "dot_product": ScoreKind.HALF_COSINE,  # the server takes unit vectors only
    "l2_norm": ScoreKind.INVERSE_SQUARED_L2,
}
_EXACT = {
    "COSINE": ScoreKind.COSINE_PLUS_ONE,
    "DOT_PRODUCT": ScoreKind.SIGMOID_IP,
    "EUCLIDEAN_DISTANCE": ScoreKind.INVERSE_L2,
}


class AsyncElasticsearchAdapter(StoreAdapter):
    """Reads ``AsyncElasticsearchStore``, whose client cannot be asked for the mapping here."""

    unlike = frozenset({"custom_query", "doc_builder", "fetch_k"})  # the scored search drops some

    def scored_search(self, store: Any) -> str | None:
        """None for hybrid searches, where it refuses to run."""
        hybrid = getattr(store._store.retrieval_strategy, "hybrid", False)
        return None if hybrid else super().scored_search(store)

    def score_kind(self, store: Any) -> ScoreKind:
        """By the strategy, as far as it decides."""
        strategy = store._store.retrieval_strategy
        name = _strategy(strategy)
        if name == "BM25Strategy":
            return ScoreKind.BM25
        if name == "DenseVectorScriptScoreStrategy":
            return _EXACT.get(strategy.distance.value, ScoreKind.UNKNOWN)
        if name == "DenseVectorStrategy" and not strategy.hybrid:
            return self.approximate(store)
        return ScoreKind.UNKNOWN

    def approximate(self, store: Any) -> ScoreKind:  # noqa: ARG002
        """What an approximate search scores by."""
        return ScoreKind.UNKNOWN


class ElasticsearchAdapter(AsyncElasticsearchAdapter):
    """Reads ``ElasticsearchStore``."""

    def __init__(self) -> None:
        self._kinds = AskedOnce(_kind_by_mapping)

    def waits(self, store: Any) -> bool:
        """Until the server has told, for an approximate search."""
        return self._kinds.waits(store)

    def approximate(self, store: Any) -> ScoreKind:
        """By the similarity of the vector field in the index's mapping."""
        return self._kinds.kind(store)


def _strategy(strategy: Any) -> str:
    """The name of Elasticsearch's own strategy that makes the query; none for a custom one."""
    query = type(strategy).es_query
    if not query.__module__.startswith("elasticsearch."):
        return ""
    name: str = query.__qualname__.partition(".")[0]
    return name.removeprefix("Async")


def _kind_by_mapping(store: Any) -> ScoreKind:
    """By what the mappings of all indices behind the store's name agree on."""
    indices = store.client.indices.get_mapping(index=store._store.index)
    kinds = {
        _kind_of_field(index["mappings"], store.vector_query_field) for index in indices.values()
    }
    return kinds.pop() if len(kinds) == 1 else ScoreKind.UNKNOWN


def _kind_of_field(mappings: Mapping[str, Any], path: str) -> ScoreKind:
    field: Mapping[str, Any] = mappings
    for name in path.split("."):
        field = field["properties"][name]
    if field.get("element_type", "float") != "float":
        return ScoreKind.UNKNOWN
    return _APPROXIMATE.get(field.get("similarity", ""), ScoreKind.UNKNOWN)
