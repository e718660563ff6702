"""``LanceDB``, of langchain-lancedb and of langchain-community: the table's index decides.

Without an index, and with one of that metric, the score is the squared L2 distance. The
``distance`` of the older store is for its relevance scores only and changes no search. Neither
store tells the ids of its hits, so their vectors are found by the texts they were made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_recall_signal.stores.base import Hits, StoreAdapter
from langchain_recall_signal.stores.products import read_product_distances
from langchain_recall_signal.stores.texts import vectors_by_text
from recall_signal import ScoreKind
from recall_signal.stores import Reading

__all__ = ["CommunityLanceDBAdapter", "LanceDBAdapter"]

_KINDS = {
    "l2": ScoreKind.SQUARED_L2,
    "cosine": ScoreKind.COSINE_DISTANCE,
    "dot": ScoreKind.INNER_PRODUCT,  # once it is turned round: see read
}


class LanceDBAdapter(StoreAdapter):
    """Reads ``LanceDB`` of langchain-lancedb, which has no public name for its table."""

    def waits(self, store: Any) -> bool:  # noqa: ARG002
        """Always: an index may be made at any time, and the table has to be asked."""
        return True

    def score_kind(self, store: Any) -> ScoreKind:
        """By the metric of the index on the vectors."""
        return _KINDS.get(self._metric(store), ScoreKind.UNKNOWN)

    def read(self, store: Any, hits: Hits) -> Reading:
        """The cosines of these hits."""
        if self._metric(store) == "dot":
            return read_product_distances(hits)
        return super().read(store, hits)

    def encoder(self, store: Any) -> Any:
        """What the store embeds with, which it has no public name for."""
        return store._embedding_function

    def vectors(self, store: Any, documents: Sequence[Document]) -> Sequence[Any | None] | None:
        """The stored vectors, by the documents' texts."""
        table, vector_key, text_key = self._table(store)
        texts = {document.page_content for document in documents}
        quoted = ", ".join("'" + text.replace("'", "''") + "'" for text in texts)
        rows = table.search().where(f"`{text_key}` IN ({quoted})").select([text_key, vector_key])
        found = rows.limit(None).to_list()
        return vectors_by_text([(row[text_key], row[vector_key]) for row in found], documents)

    def _table(self, store: Any) -> tuple[Any, str, str]:
        """The table, None before anything was stored, and its columns of vectors and texts."""
        return store._get_or_create_table()[0], "vector", "text"

    def _metric(self, store: Any) -> str:
        table, vector_key, _ = self._table(store)
        for index in () if table is None else table.list_indices():
            if vector_key in index.columns:
                return str(getattr(table.index_stats(index.name), "distance_type", "")).lower()
        return "l2"


class CommunityLanceDBAdapter(LanceDBAdapter):
    """Reads ``LanceDB`` of langchain-community, which has no public names for its columns."""

    unlike = frozenset({"metrics", "query_type"})

    def encoder(self, store: Any) -> Any:
        """As the store says."""
        return store.embeddings

    def _table(self, store: Any) -> tuple[Any, str, str]:
        return store.get_table(), store._vector_key, store._text_key
