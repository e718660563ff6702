"""``Milvus`` of langchain-milvus: the metric of the one dense vector field decides.

With several vector fields the score is a ranker's, with a sparse one a product of word
weights, with the built-in BM25 function a keyword score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langchain_core.documents import Document

from langchain_recall_signal.stores.base import Hits, StoreAdapter
from recall_signal import ScoreKind
from recall_signal.stores import Reading

__all__ = ["MilvusAdapter"]

_KINDS = {
    "L2": ScoreKind.SQUARED_L2,
    "IP": ScoreKind.INNER_PRODUCT,
    "COSINE": ScoreKind.COSINE,
    "BM25": ScoreKind.BM25,
}


class MilvusAdapter(StoreAdapter):
    """Reads ``Milvus`` and ``Zilliz``."""

    def score_kind(self, store: Any) -> ScoreKind:
        """By the number of vector fields, and by the metric of the only one."""
        if len(store.vector_fields) > 1:
            return ScoreKind.FUSED_NORMALIZED
        kind = _KINDS.get(_metric(store), ScoreKind.UNKNOWN)
        is_sparse = store._is_sparse  # the store has no public name for this
        return ScoreKind.UNKNOWN if is_sparse and kind is not ScoreKind.BM25 else kind

    def read(self, store: Any, hits: Hits) -> Reading:
        """The cosines or the keyword scores of these hits."""
        if (
            self.score_kind(store) is ScoreKind.BM25
        ):  # Milvus Lite shows these as distances, below 0
            hits = replace(hits, scores=[None if s is None else abs(s) for s in hits.scores])
        return super().read(store, hits)

    def vectors(self, store: Any, documents: Sequence[Document]) -> Sequence[Any | None] | None:
        """The stored vectors of the only embedded field, by the primary keys in the metadata."""
        key, fields = store._primary_field, store._vector_fields_from_embedding
        ids = [document.metadata.get(key) for document in documents]
        known_ids = [id_ for id_ in ids if id_ is not None]
        if not known_ids or len(fields) != 1 or store._is_sparse:
            return None
        rows = store.client.query(store.collection_name, ids=known_ids, output_fields=fields)
        known = {row[key]: row[fields[0]] for row in rows}
        return [known.get(id_) for id_ in ids]


def _metric(store: Any) -> str:
    """As it is searched with; where the caller's settings leave it out, as it was indexed."""
    for settings in (store.search_params, store.index_params):
        if isinstance(settings, dict) and "metric_type" in settings:
            return str(settings["metric_type"]).upper()
    return ""
