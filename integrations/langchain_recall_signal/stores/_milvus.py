"""`Milvus` of langchain-milvus: the metric of the one dense vector field decides.

With several vector fields the score is a ranker's, with a sparse one a product of word
weights, with the built-in BM25 function a keyword score.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from langchain_core.documents import Document

from langchain_recall_signal.stores._base import Hits, StoreAdapter, Vectors
from recall_signal import ScoreKind
from recall_signal.stores import ScoreReading

_KINDS = {
    "L2": ScoreKind.SQUARED_L2,
    "IP": ScoreKind.INNER_PRODUCT,
    "COSINE": ScoreKind.COSINE,
    "BM25": ScoreKind.BM25,
}


class _Client(Protocol):
    def query(
        self, collection_name: str, /, *, ids: Sequence[object], output_fields: Sequence[str]
    ) -> Iterable[Mapping[str, Any]]: ...


class _Store(Protocol):
    """The part of the store that is read."""

    client: _Client
    collection_name: str
    index_params: object
    search_params: object
    vector_fields: Sequence[str]
    _is_sparse: bool
    _primary_field: str
    _vector_fields_from_embedding: Sequence[str]


class MilvusAdapter(StoreAdapter[_Store]):
    """Reads `Milvus` and `Zilliz`."""

    ties_keep_order = False

    def score_kind(self, store: _Store) -> ScoreKind:
        """Return the kind by the number of vector fields, and the metric of the only one."""
        if len(store.vector_fields) > 1:
            return ScoreKind.FUSED_NORMALIZED
        kind = _KINDS.get(_metric(store), ScoreKind.UNKNOWN)
        is_sparse = store._is_sparse  # the store has no public name for this
        return ScoreKind.UNKNOWN if is_sparse and kind is not ScoreKind.BM25 else kind

    def read(self, store: _Store, hits: Hits) -> ScoreReading:
        """Read these hits; Milvus Lite returns keyword scores as distances, below 0."""
        if self.score_kind(store) is ScoreKind.BM25:
            hits = replace(hits, scores=[None if s is None else abs(s) for s in hits.scores])
        return super().read(store, hits)

    def vectors(self, store: _Store, documents: Sequence[Document]) -> Vectors | None:
        """Read the vectors of the only embedded field, by the primary keys in the metadata."""
        key, fields = store._primary_field, store._vector_fields_from_embedding
        ids = [document.metadata.get(key) for document in documents]
        known_ids = [id_ for id_ in ids if id_ is not None]
        if not known_ids or len(fields) != 1 or store._is_sparse:
            return None
        rows = store.client.query(store.collection_name, ids=known_ids, output_fields=fields)
        known = {row[key]: row[fields[0]] for row in rows}
        return [known.get(id_) for id_ in ids]


def _metric(store: _Store) -> str:
    """Return the metric of the search; where its settings leave it out, that of the index."""
    for settings in (store.search_params, store.index_params):
        if isinstance(settings, dict) and "metric_type" in settings:
            return str(settings["metric_type"]).upper()
    return ""
