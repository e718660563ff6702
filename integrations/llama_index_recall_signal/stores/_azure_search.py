"""`AzureAISearchVectorStore`: the index's metric and the query mode decide.

The metric comes from the index client, where the store was given one; a search client may not
read it. Everything but a plain vector search on the cosine is read by the stored vectors.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Protocol

from llama_index_recall_signal.stores._base import Hits, ServerMetricAdapter, Vectors
from recall_signal import ScoreKind


class _Client(Protocol):
    def search(self, **query: object) -> Iterable[Mapping[str, Any]]: ...


class _Store(Protocol):
    """The part of the store that is read."""

    _field_mapping: Mapping[str, str]
    _index_client: Any
    _index_name: str
    _search_client: _Client | None


class AzureAISearchAdapter(ServerMetricAdapter[_Store]):
    """Reads `AzureAISearchVectorStore`."""

    other_modes: ClassVar = {
        "sparse": ScoreKind.BM25,
        "hybrid": ScoreKind.RRF,
        "semantic_hybrid": ScoreKind.RERANKER_LOGIT,
    }

    def fetch_kind(self, store: _Store) -> ScoreKind:
        """Follow the names from the vector field over its profile to the algorithm's metric."""
        if store._index_client is None:
            return ScoreKind.UNKNOWN
        index = store._index_client.get_index(store._index_name)
        name, search = store._field_mapping["embedding"], index.vector_search
        field = next(field for field in index.fields if field.name == name)
        profile = next(p for p in search.profiles if p.name == field.vector_search_profile_name)
        used = profile.algorithm_configuration_name
        algorithm = next(a for a in search.algorithms if a.name == used)
        is_cosine = algorithm.parameters is not None and algorithm.parameters.metric == "cosine"
        return ScoreKind.AZURE if is_cosine else ScoreKind.UNKNOWN

    def vectors(self, store: _Store, hits: Hits) -> Vectors | None:
        """Read the stored vectors by key, if the index returns them and filters by its key."""
        key, vector = store._field_mapping["id"], store._field_mapping["embedding"]
        ids = hits.node_ids
        if store._search_client is None or any("'" in id_ for id_ in ids):
            return None
        found = store._search_client.search(
            search_text=None,
            filter=f"search.in({key}, '{','.join(ids)}', ',')",
            select=[key, vector],
            top=len(ids),
        )
        known = {item[key]: item.get(vector) for item in found}
        return [known.get(id_) for id_ in ids]
