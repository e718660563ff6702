"""``PineconeVectorStore``: the index's metric decides, and every hit brings its vector along.

The metrics on products and distances are not read from the score: the store scales the query
where its retriever was given an ``alpha``, in every mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index_recall_signal.stores.base import Hits, StoreAdapter
from recall_signal import ScoreKind
from recall_signal.stores import Reading, read_scores
from recall_signal.stores.asked import AskedOnce

__all__ = ["PineconeAdapter"]

_METRICS = {
    "cosine": ScoreKind.COSINE,
    "dotproduct": ScoreKind.INNER_PRODUCT,
    "euclidean": ScoreKind.SQUARED_L2,
}


class PineconeAdapter(StoreAdapter):
    """Reads ``PineconeVectorStore``."""

    def __init__(self) -> None:
        self._kinds = AskedOnce(_kind_by_metric)

    def waits(self, store: Any) -> bool:
        """Until the server has told."""
        return self._kinds.waits(store)

    def score_kind(self, store: Any, mode: str) -> ScoreKind:
        """By the index's metric, in the default mode; the others mix word weights in."""
        return self._kinds.kind(store) if mode == "default" else ScoreKind.UNKNOWN

    def read(self, store: Any, hits: Hits) -> Reading:
        """The cosines of a cosine index; the hits' vectors tell those of any other."""
        kind = self.score_kind(store, hits.mode)
        if kind is not ScoreKind.COSINE:
            return Reading(None, reason="score_not_convertible")
        return read_scores(hits.scores, kind, "store", ranked=True)

    def vectors(self, store: Any, hits: Hits) -> Sequence[Any | None] | None:  # noqa: ARG002
        """The hits' own vectors; a caller can keep the index from sending them."""
        return [hit.node.embedding or None for hit in hits.nodes]


def _kind_by_metric(store: Any) -> ScoreKind:
    told = store.client.describe_index_stats()
    return _METRICS.get(getattr(told, "metric", ""), ScoreKind.UNKNOWN)
