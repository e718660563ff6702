"""Hits beyond the page that nobody reads: their ids and scores are enough.

A vector store that keeps no nodes names its hits, and LlamaIndex reads each of them from a document
store: ten times as many as the page has, where a search looks at a pool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from llama_index.core.schema import NodeWithScore
from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryResult

__all__ = ["PageStore", "Rest", "UnreadHit"]


@dataclass(frozen=True, slots=True)
class UnreadHit:
    """A hit whose node was not read, in the place of a node with its score, and of the node.

    Attributes:
        node_id: The node's id.
        score: The store's own number.
    """

    node_id: str
    score: float | None

    @property
    def node(self) -> UnreadHit:
        """Return what stands for the node."""
        return self

    @property
    def embedding(self) -> None:
        """Return None: the store keeps the vector."""

    @property
    def metadata(self) -> dict[str, Any]:
        """Return nothing."""
        return {}

    def get_content(self, metadata_mode: object = None) -> str:  # noqa: ARG002
        """Return no text."""
        return ""


@dataclass(slots=True)
class Rest:
    """Hits of a search beyond its page.

    Attributes:
        hits: None of them was read.
        ids: The store's own ids of them.
    """

    hits: list[NodeWithScore] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)


class PageStore:
    """A vector store as a view sees it for one call: its searches bring the page alone.

    Args:
        store: The store; one that keeps its nodes brings all of them.
        node_ids: The nodes' ids by the store's own.
        size: How many hits make the page.
        rest: Receives the other hits.
    """

    def __init__(self, store: Any, node_ids: Mapping[str, str], size: int, rest: Rest) -> None:
        self._store, self._node_ids, self._size, self._rest = store, node_ids, size, rest

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def query(self, query: VectorStoreQuery, **options: Any) -> VectorStoreQueryResult:
        """Search."""
        return self._page(self._store.query(query, **options))

    async def aquery(self, query: VectorStoreQuery, **options: Any) -> VectorStoreQueryResult:
        """`query`, asynchronously."""
        return self._page(await self._store.aquery(query, **options))

    def _page(self, result: VectorStoreQueryResult) -> VectorStoreQueryResult:
        ids, scores, size, rest = result.ids, result.similarities, self._size, self._rest
        if result.nodes or not (type(ids) is list and type(scores) is list):
            return result
        if len(ids) != len(scores):
            return result
        rest.ids = ids[size:]
        rest.hits = [
            cast("NodeWithScore", UnreadHit(self._node_ids.get(id_, id_), score))
            for id_, score in zip(rest.ids, scores[size:], strict=True)
        ]
        return replace(result, ids=ids[:size], similarities=scores[:size])
