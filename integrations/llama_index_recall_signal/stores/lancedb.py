"""``LanceDBVectorStore``: the query type and the metric of the vector index decide.

The score of a vector search is ``exp(-distance)``; without an index the distance is squared L2.
A full-text search scales its scores so that the best is 1, a hybrid one counts down from 1 to 0:
there the vectors decide, which every hit carries.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llama_index_recall_signal.stores.base import Hits, StoreAdapter
from llama_index_recall_signal.stores.products import read_product_exponentials
from recall_signal import ScoreKind
from recall_signal.stores import Reading

__all__ = ["LanceDBAdapter"]

log = logging.getLogger(__name__)

_KINDS = {
    "l2": ScoreKind.EXP_NEG_SQUARED_L2,
    "cosine": ScoreKind.EXP_NEG_COSINE_DISTANCE,
    "dot": ScoreKind.EXP_NEG_COSINE_DISTANCE,  # for unit vectors; see read
}


@dataclass(frozen=True, slots=True)
class _Search:
    """How a vector search measures: by which distance, and whether by shortened vectors."""

    metric: str = "l2"
    is_rough: bool = False


class LanceDBAdapter(StoreAdapter):
    """Reads ``LanceDBVectorStore``."""

    def mode(self, store: Any, mode: str, options: Mapping[str, Any]) -> str:
        """By the query type: a single retriever may have another one than the store."""
        query_type: str = options.get("query_type", store.query_type)
        return mode if query_type == "vector" else query_type

    def waits(self, store: Any) -> bool:  # noqa: ARG002
        """Always: an index may be made at any time, and the table has to be asked."""
        return True

    def score_kind(self, store: Any, mode: str) -> ScoreKind:
        """By the metric of the table's index, for a vector search."""
        if mode != "default":
            return ScoreKind.UNKNOWN
        return _KINDS.get(_search(store).metric, ScoreKind.UNKNOWN)

    def read(self, store: Any, hits: Hits) -> Reading:
        """The cosines of these hits, as far as their scores tell them."""
        kind, search = self.score_kind(store, hits.mode), _search(store)
        if kind.convertible and search.is_rough:
            return Reading(None, reason="score_not_convertible")
        if kind.convertible and search.metric == "dot":
            return read_product_exponentials(hits)
        return super().read(store, hits)


def _search(store: Any) -> _Search:
    """An index has the metric it was made with; rows that it does not hold are measured alike."""
    try:
        table = store.table
        for index in table.list_indices():
            if index.columns == [store.vector_column_name]:
                metric = str(table.index_stats(index.name).distance_type)
                return _Search(metric.lower(), not index.index_type.upper().endswith("FLAT"))
    except Exception as error:
        log.warning("reading a table's indexes failed: %s", type(error).__name__)
        return _Search("unknown")
    return _Search()
