"""`OpensearchVectorStore`: the mapping's space type decides; vectors can be read by id.

Only `l2` means the same number in every search of the store, with a filter or without. The
score of `cosinesimil` depends on the server's version, and filters can bring a script of
another metric in, so that other spaces are read by the stored vectors.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from llama_index_recall_signal.stores._base import Hits, ServerMetricAdapter, Vectors
from recall_signal import ScoreKind


class _Index(Protocol):
    """The store's client: its settings around the vendor's own client."""

    is_aoss: bool
    _embedding_field: str
    _index: str
    _os_client: Any


class _Store(Protocol):
    client: _Index


class OpenSearchAdapter(ServerMetricAdapter[_Store]):
    """Reads `OpensearchVectorStore`."""

    other_modes: ClassVar = {"text_search": ScoreKind.BM25, "hybrid": ScoreKind.FUSED_NORMALIZED}

    def fetch_kind(self, store: _Store) -> ScoreKind:
        """Return the kind that the mappings of all indices behind the store's name agree on."""
        index = store.client
        found = index._os_client.indices.get_mapping(index=index._index)
        fields = [each["mappings"]["properties"][index._embedding_field] for each in found.values()]
        is_l2 = {_space(field) for field in fields} == {"l2"}
        return ScoreKind.INVERSE_SQUARED_L2 if is_l2 else ScoreKind.UNKNOWN

    def vectors(self, store: _Store, hits: Hits) -> Vectors | None:
        """Read the stored vectors by id; the serverless service reads nothing by id."""
        index = store.client
        if index.is_aoss:
            return None
        ids, field = hits.node_ids, index._embedding_field
        found = index._os_client.mget(
            index=index._index, body={"ids": ids}, params={"_source_includes": field}
        )
        known = {item["_id"]: item.get("_source", {}).get(field) for item in found["docs"]}
        return [known.get(id_) for id_ in ids]


def _space(field: Mapping[str, Any]) -> str | None:
    space: str | None = field.get("space_type") or field.get("method", {}).get("space_type")
    return space
