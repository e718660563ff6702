"""`LanceDBVectorStore`: the query type and the metric of the vector index decide.

The score of a vector search is `exp(-distance)`; without an index the distance is squared L2.
A full-text search scales its scores so that the best is 1, a hybrid one counts down from 1 to 0:
there the vectors decide, which every hit carries.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from llama_index_recall_signal.stores._base import DefaultModeAdapter, Hits
from recall_signal import ScoreKind
from recall_signal.stores import Kind, ScoreReading, unit_only

_KINDS: dict[str, Kind] = {
    "l2": ScoreKind.EXP_NEG_SQUARED_L2,
    "cosine": ScoreKind.EXP_NEG_COSINE_DISTANCE,
    "dot": unit_only(ScoreKind.EXP_NEG_COSINE_DISTANCE),  # exp(inner product - 1)
}


class _Store(Protocol):
    """The part of the store that is read."""

    query_type: str
    table: Any
    vector_column_name: str


class LanceDBAdapter(DefaultModeAdapter[_Store]):
    """Reads `LanceDBVectorStore`."""

    def mode(self, store: _Store, mode: str, options: Mapping[str, object]) -> str:
        """Return the query type: a single retriever may have another one than the store."""
        query_type = str(options.get("query_type", store.query_type))
        return mode if query_type == "vector" else query_type

    def waits(self, store: object) -> bool:  # noqa: ARG002
        """Return True: an index may be made at any time, and reading it takes a request."""
        return True

    def default_kind(self, store: _Store) -> Kind:
        """Return the kind by the metric of the table's index, of unindexed rows as well."""
        index = _vector_index(store)
        if index is None:
            return ScoreKind.EXP_NEG_SQUARED_L2
        metric = str(store.table.index_stats(index.name).distance_type).lower()
        return _KINDS.get(metric, ScoreKind.UNKNOWN)

    def read(self, store: _Store, hits: Hits) -> ScoreReading:
        """Read these hits, unless their distances are those of shortened vectors."""
        index = _vector_index(store) if hits.mode == "default" else None
        if index is None or index.index_type.upper().endswith("FLAT"):
            return super().read(store, hits)
        return ScoreReading(None, reason="score_not_convertible")


def _vector_index(store: _Store) -> Any | None:
    """Return the index on the store's vectors, None without one."""
    indexes = store.table.list_indices()
    return next((index for index in indexes if index.columns == [store.vector_column_name]), None)
