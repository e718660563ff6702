"""``AstraDBVectorStore`` of langchain-astradb: the collection's metric and the search decide.

The database maps every metric into [0, 1]. A hybrid search carries its reranker's score.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_recall_signal.stores.base import Hits, StoreAdapter
from recall_signal import ScoreKind
from recall_signal.stores import Reading, read_scores
from recall_signal.stores.asked import AskedOnce

__all__ = ["AstraDBAdapter"]

_METRICS = {
    "cosine": ScoreKind.HALF_COSINE,
    "dot_product": ScoreKind.INNER_PRODUCT,  # once it is read from (1 + product) / 2
    "euclidean": ScoreKind.INVERSE_SQUARED_L2,
}
_MOST_IDS = 100
"""What the database takes in one request."""


class AstraDBAdapter(StoreAdapter):
    """Reads ``AstraDBVectorStore``."""

    def __init__(self) -> None:
        self._kinds = AskedOnce(_kind_by_collection)

    def waits(self, store: Any) -> bool:
        """Until the server has told."""
        return self._kinds.waits(store)

    def score_kind(self, store: Any) -> ScoreKind:
        """By the collection's metric, unless the search is a hybrid one."""
        return ScoreKind.RERANKER_LOGIT if store.hybrid_search else self._kinds.kind(store)

    def read(self, store: Any, hits: Hits) -> Reading:
        """By the metric."""
        kind, scores = self.score_kind(store), hits.scores
        if kind is ScoreKind.INNER_PRODUCT:
            scores = [None if score is None else 2.0 * score - 1.0 for score in scores]
        return read_scores(scores, kind, "store", ranked=True)

    def vectors(self, store: Any, documents: Sequence[Document]) -> Sequence[Any | None] | None:
        """The stored vectors, by id."""
        ids = [document.id for document in documents if document.id is not None]
        by_id: dict[str, Any] = {}
        for start in range(0, len(ids), _MOST_IDS):
            part = ids[start : start + _MOST_IDS]
            found = store.run_query(n=len(part), ids=part, include_embeddings=True)
            by_id.update({item.id: item.embedding for item in found})
        return [by_id.get(document.id or "") for document in documents]


def _kind_by_collection(store: Any) -> ScoreKind:
    vector = store.astra_env.collection.options().vector
    return _METRICS.get(vector.metric, ScoreKind.UNKNOWN)
