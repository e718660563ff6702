"""`LanceDB`, of langchain-lancedb and of langchain-community: the table's index decides.

Without an index, and with one of that metric, the score is the squared L2 distance. The
`distance` of the older store is for its relevance scores only and changes no search. Neither
store returns the ids of its hits, so their vectors are found by their texts.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from langchain_core.documents import Document

from langchain_recall_signal.stores._base import StoreAdapter, Vectors
from langchain_recall_signal.stores._texts import vectors_by_text
from recall_signal import ScoreKind
from recall_signal.stores import Kind, unit_only

_KINDS: dict[str, Kind] = {
    "l2": ScoreKind.SQUARED_L2,
    "cosine": ScoreKind.COSINE_DISTANCE,
    "dot": unit_only(ScoreKind.COSINE_DISTANCE),  # 1 - inner product
}


class _Store(Protocol):
    """The parts of both stores that are read; only the older one names its columns."""

    embeddings: object
    _embedding_function: object
    _text_key: str
    _vector_key: str

    def _get_or_create_table(self) -> Sequence[Any]: ...

    def get_table(self, name: object = None, /) -> Any: ...


class LanceDBAdapter(StoreAdapter[_Store]):
    """Reads `LanceDB` of langchain-lancedb, which has no public name for its table."""

    def waits(self, store: object) -> bool:  # noqa: ARG002
        """Return True: an index may be made at any time, and reading it takes a request."""
        return True

    def score_kind(self, store: _Store) -> Kind:
        """Return the kind by the metric of the index on the vectors."""
        table, vector_key, _ = self._table(store)
        for index in () if table is None else table.list_indices():
            if vector_key in index.columns:
                metric = getattr(table.index_stats(index.name), "distance_type", "")
                return _KINDS.get(str(metric).lower(), ScoreKind.UNKNOWN)
        return ScoreKind.SQUARED_L2

    def encoder(self, store: _Store) -> object:
        """Return the store's encoder, which has a public name in the older store only."""
        return store.embeddings or store._embedding_function

    def vectors(self, store: _Store, documents: Sequence[Document]) -> Vectors:
        """Read the stored vectors by the documents' texts."""
        table, vector_key, text_key = self._table(store)
        texts = {document.page_content for document in documents}
        quoted = ", ".join("'" + text.replace("'", "''") + "'" for text in texts)
        rows = table.search().where(f"`{text_key}` IN ({quoted})").select([text_key, vector_key])
        found = rows.limit(None).to_list()
        return vectors_by_text([(row[text_key], row[vector_key]) for row in found], documents)

    def _table(self, store: _Store) -> tuple[Any, str, str]:
        """Return the table, None while it is empty, and its columns of vectors and texts."""
        return store._get_or_create_table()[0], "vector", "text"


class CommunityLanceDBAdapter(LanceDBAdapter):
    """Reads `LanceDB` of langchain-community, which has no public names for its columns."""

    unsupported_kwargs = frozenset({"metrics", "query_type"})

    def item_count(self, store: _Store, arguments: Mapping[str, object], limit: int) -> int | None:
        """Count the rows where a filter is applied behind the limit, as it is by default."""
        if arguments.get("filter") is None or arguments.get("prefilter"):
            return None
        rows: int = store.get_table(arguments.get("name")).count_rows()
        return min(limit, rows)

    def _table(self, store: _Store) -> tuple[Any, str, str]:
        return store.get_table(), store._vector_key, store._text_key
