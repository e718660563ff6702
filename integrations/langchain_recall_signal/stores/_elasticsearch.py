"""`ElasticsearchStore` of langchain-elasticsearch: the strategy and the mapping decide.

An approximate search scores by the similarity of the index's mapping, whatever distance the
strategy names; an exact one by the script that its strategy sends. Hybrid searches return
no scores, and documents carry no ids to read their vectors by.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from langchain_recall_signal.stores._base import ServerMetricAdapter, StoreAdapter
from recall_signal import ScoreKind
from recall_signal.stores import Kind

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


class _Search(Protocol):
    index: str
    retrieval_strategy: Any


class _Store(Protocol):
    """The part of both stores that is read."""

    _store: _Search
    client: Any
    vector_query_field: str


class AsyncElasticsearchAdapter(StoreAdapter[_Store]):
    """Reads `AsyncElasticsearchStore`, whose client cannot read the mapping here."""

    unsupported_kwargs = frozenset({"custom_query", "doc_builder", "fetch_k"})
    """The scored search drops some of them."""

    def scored_search(self, store: _Store) -> str | None:
        """Return None for hybrid searches, where the scored search refuses to run."""
        hybrid = getattr(store._store.retrieval_strategy, "hybrid", False)
        return None if hybrid else super().scored_search(store)

    def score_kind(self, store: _Store) -> Kind:
        """Return the kind by the strategy, as far as it decides."""
        return _kind_of_strategy(store._store.retrieval_strategy) or ScoreKind.UNKNOWN


class ElasticsearchAdapter(ServerMetricAdapter[_Store], AsyncElasticsearchAdapter):
    """Reads `ElasticsearchStore`."""

    def local_kind(self, store: _Store) -> Kind | None:
        """Return the kind by the strategy, unless the search is approximate."""
        return _kind_of_strategy(store._store.retrieval_strategy)

    def fetch_kind(self, store: _Store) -> Kind:
        """Return the kind that the mappings of all indices behind the store's name agree on."""
        indices = store.client.indices.get_mapping(index=store._store.index)
        path = store.vector_query_field
        kinds = {_kind_of_field(index["mappings"], path) for index in indices.values()}
        return kinds.pop() if len(kinds) == 1 else ScoreKind.UNKNOWN


def _kind_of_strategy(strategy: Any) -> ScoreKind | None:
    """Return the kind by Elasticsearch's own strategies; None for an approximate search.

    The class that makes the query decides: that of a custom strategy is unknown.
    """
    query = type(strategy).es_query
    is_known = query.__module__.startswith("elasticsearch.")
    name = query.__qualname__.partition(".")[0].removeprefix("Async") if is_known else ""
    if name == "BM25Strategy":
        return ScoreKind.BM25
    if name == "DenseVectorScriptScoreStrategy":
        return _EXACT.get(strategy.distance.value, ScoreKind.UNKNOWN)
    return None if name == "DenseVectorStrategy" and not strategy.hybrid else ScoreKind.UNKNOWN


def _kind_of_field(mappings: Mapping[str, Any], path: str) -> ScoreKind:
    field = mappings
    for name in path.split("."):
        field = field["properties"][name]
    if field.get("element_type", "float") != "float":
        return ScoreKind.UNKNOWN
    return _APPROXIMATE.get(field.get("similarity", ""), ScoreKind.UNKNOWN)
