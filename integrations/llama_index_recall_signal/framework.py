"""Everything that LlamaIndex has no public name for, in one place.

A ``VectorIndexRetriever`` tells neither its store nor its encoder nor its query mode, and what
its search brought is gone once ``IndexNode`` objects are resolved. The attributes and the hook
behind that are read here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.retrievers import VectorIndexRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.vector_stores.types import VectorStoreQueryResult

__all__ = ["VectorSearch", "vector_search", "widened"]

DEFAULT_MODE = "default"
"""The one query mode whose first k hits are the same for every larger k."""

_OWN_WAY = frozenset(
    {
        "retrieve",
        "aretrieve",
        "_retrieve",
        "_aretrieve",
        "_build_vector_store_query",
        "_get_nodes_with_embeddings",
        "_aget_nodes_with_embeddings",
        "_convert_nodes_to_scored_nodes",
        "_handle_recursive_retrieval",
        "_ahandle_recursive_retrieval",
    }
)
"""A subclass with one of these of its own may return anything."""


@dataclass(frozen=True, slots=True)
class VectorSearch:
    """How a ``VectorIndexRetriever`` searches, read at the call: its user may change it.

    Attributes:
        retriever: The retriever itself.
        store: Its vector store.
        encoder: What embeds its queries.
        mode: Its query mode, as ``VectorStoreQueryMode`` names it.
        options: What it hands to its store beside the query.
        top_k: How many hits it asks for; None where that is not a whole number.
    """

    retriever: VectorIndexRetriever
    store: Any
    encoder: BaseEmbedding
    mode: str
    options: Mapping[str, Any]
    top_k: int | None


def vector_search(retriever: BaseRetriever) -> VectorSearch | None:
    """How this retriever searches; None where it is not LlamaIndex's own vector retriever."""
    if not isinstance(retriever, VectorIndexRetriever) or _goes_its_own_way(type(retriever)):
        return None
    top_k = retriever.similarity_top_k
    return VectorSearch(
        retriever=retriever,
        store=retriever._vector_store,
        encoder=retriever._embed_model,
        mode=retriever._vector_store_query_mode.value,
        options=retriever._kwargs,
        top_k=top_k if type(top_k) is int and top_k > 0 else None,
    )


def widened(
    search: VectorSearch,
    limit: int | None,
    size: int | None,
    hits: list[NodeWithScore],
    ids: list[str],
) -> VectorIndexRetriever:
    """A copy for one call that searches wider and returns what the retriever itself would.

    Args:
        search: The retriever, which stays as it is.
        limit: How many hits the copy asks for; None leaves its own number.
        size: How many of them make the page; None for all.
        hits: Receives every hit of the search, before ``IndexNode`` objects are resolved.
        ids: Receives the store's own ids of these hits, where it gave any.
    """
    view, narrow = copy(search.retriever), copy(search.retriever)
    if limit is not None:
        view.similarity_top_k = limit
    if size is not None:
        narrow.similarity_top_k = size

    def resolve(query_bundle: QueryBundle, nodes: list[NodeWithScore]) -> list[NodeWithScore]:
        hits[:] = nodes
        page = nodes[:size] if _is_settled(nodes, size) else narrow._retrieve(query_bundle)
        return search.retriever._handle_recursive_retrieval(query_bundle, page)

    async def aresolve(
        query_bundle: QueryBundle, nodes: list[NodeWithScore]
    ) -> list[NodeWithScore]:
        hits[:] = nodes
        settled = _is_settled(nodes, size)
        page = nodes[:size] if settled else await narrow._aretrieve(query_bundle=query_bundle)
        return await search.retriever._ahandle_recursive_retrieval(query_bundle, page)

    def convert(result: VectorStoreQueryResult) -> list[NodeWithScore]:
        ids[:] = result.ids or ()
        return search.retriever._convert_nodes_to_scored_nodes(result)

    vars(view).update(
        _convert_nodes_to_scored_nodes=convert,
        _handle_recursive_retrieval=resolve,
        _ahandle_recursive_retrieval=aresolve,
    )
    return view


def _is_settled(hits: Sequence[NodeWithScore], size: int | None) -> bool:
    """Whether the first hits are surely those of a search for that many only.

    Among equal scores a store decides by what it compared on the way: ``SimpleVectorStore``
    keeps and orders ties differently for every size. The retriever is then asked for its own
    page as well, at its own size.
    """
    if size is None or len(hits) <= size:
        return True
    scores = [float("nan") if hit.score is None else hit.score for hit in hits[: size + 1]]
    falls = all(one > other for one, other in pairwise(scores))
    return falls or all(one < other for one, other in pairwise(scores))


def _goes_its_own_way(retriever_class: type) -> bool:
    line = retriever_class.__mro__
    ahead = line[: line.index(VectorIndexRetriever)]
    return any(_OWN_WAY & vars(subclass).keys() for subclass in ahead)
