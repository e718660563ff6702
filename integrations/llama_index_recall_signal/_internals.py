"""The internals of LlamaIndex that have no public name, in one place.

A `VectorIndexRetriever` does not expose its store, encoder and query mode, and the hits of its
search are lost once `IndexNode` objects are resolved. The attributes and the hook behind that
are read here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import unwrap

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.response.schema import RESPONSE_TYPE
from llama_index.core.retrievers import (
    AutoMergingRetriever,
    QueryFusionRetriever,
    VectorIndexRetriever,
)
from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle, QueryType
from llama_index.core.vector_stores.types import VectorStoreQueryResult

from llama_index_recall_signal._unread import PageStore, Rest
from recall_signal._flow.values import has_settled_page
from recall_signal._wrapper.batches import has_certain_order
from recall_signal._wrapper.views import replaced

__all__ = [
    "VectorSearch",
    "aquery_unspanned",
    "aretrieve_unspanned",
    "fusion_arms",
    "index_target",
    "is_streaming",
    "overrides",
    "parent_id",
    "query_unspanned",
    "retrieve_unspanned",
    "store_ids",
    "vector_search",
    "with_larger_top_k",
]

DEFAULT_MODE = "default"
"""The one query mode whose first k hits are the same for every larger k."""

_SEARCH_METHODS = frozenset(
    {
        "retrieve",
        "aretrieve",
        "_retrieve",
        "_aretrieve",
        "_build_vector_store_query",
        "_get_nodes_with_embeddings",
        "_aget_nodes_with_embeddings",
        "_determine_nodes_to_fetch",
        "_insert_fetched_nodes_into_query_result",
        "_convert_nodes_to_scored_nodes",
        "_handle_recursive_retrieval",
        "_ahandle_recursive_retrieval",
    }
)
"""Methods of the search: a subclass or an object with one of its own may return anything."""


retrieve_unspanned: Callable[[BaseRetriever, QueryType], list[NodeWithScore]] = unwrap(
    BaseRetriever.retrieve
)
aretrieve_unspanned: Callable[[BaseRetriever, QueryType], Awaitable[list[NodeWithScore]]] = unwrap(
    BaseRetriever.aretrieve
)
query_unspanned: Callable[[BaseQueryEngine, QueryType], RESPONSE_TYPE] = unwrap(
    BaseQueryEngine.query
)
aquery_unspanned: Callable[[BaseQueryEngine, QueryType], Awaitable[RESPONSE_TYPE]] = unwrap(
    BaseQueryEngine.aquery
)
"""The base methods without their span: LlamaIndex puts one around the overriding method too."""


@dataclass(frozen=True, slots=True)
class VectorSearch:
    """Search of a `VectorIndexRetriever`, read at the call: its user may change it.

    Attributes:
        retriever: The retriever itself.
        store: Its vector store.
        encoder: What embeds its queries.
        mode: Its query mode, as `VectorStoreQueryMode` names it.
        options: What it hands to its store beside the query.
        top_k: How many hits it asks for; None where that is not a whole number.
    """

    retriever: VectorIndexRetriever
    store: object
    encoder: BaseEmbedding
    mode: str
    options: Mapping[str, object]
    top_k: int | None


def vector_search(retriever: BaseRetriever) -> VectorSearch | None:
    """Return how this retriever searches; None for any but LlamaIndex's own vector retriever."""
    if not isinstance(retriever, VectorIndexRetriever):
        return None
    if overrides(retriever.__class__, VectorIndexRetriever, _SEARCH_METHODS):
        return None
    if not _SEARCH_METHODS.isdisjoint(vars(retriever)):  # replaced in the object itself
        return None
    top_k, mode = retriever.similarity_top_k, retriever._vector_store_query_mode
    return VectorSearch(
        retriever=retriever,
        store=retriever._vector_store,
        encoder=retriever._embed_model,
        mode=str(getattr(mode, "value", mode)),
        options=retriever._kwargs,
        top_k=top_k if type(top_k) is int and top_k > 0 else None,
    )


def with_larger_top_k(
    search: VectorSearch,
    limit: int | None,
    size: int | None,
    hits: list[NodeWithScore],
    ids: list[str],
    *,
    may_drop: Callable[[int], bool] = lambda _: False,
    is_together: bool = False,
    fetched: int | None = None,
) -> VectorIndexRetriever:
    """Return a view of a retriever for one call, which searches wider and returns what it would.

    Args:
        search: The retriever, which stays as it is.
        limit: How many hits the view asks for; None leaves its own number.
        size: How many of them make the page; None for all.
        hits: Receives every hit of the search, before `IndexNode` objects are resolved.
        ids: Receives the store's own ids of these hits, where it gave any.
        may_drop: Returns whether the store may have left out hits, by how many it brought: the
            first of a wider search then reach further than a search for the page alone.
        is_together: Whether the question's vector was made together with others, and is made again
            for a page whose order it may change.
        fetched: How many hits are read from the document store, where the vector store keeps no
            nodes; None for all. The others are `UnreadHit`.

    Raises:
        TypeError: There is no view of it.
    """
    rest = Rest()

    def narrow(query_bundle: QueryBundle) -> VectorIndexRetriever:
        if is_together:
            query_bundle.embedding = None
        return replaced(search.retriever, _top_k(size))

    def is_settled(nodes: Sequence[NodeWithScore]) -> bool:
        if limit is not None and len(nodes) > limit:
            return False  # a store that takes a limit for a hint: its own page may be longer too
        scores = [hit.score for hit in nodes]
        if is_together and not has_certain_order(scores, size):
            return False
        return not may_drop(len(nodes)) and has_settled_page(scores, size)

    def resolve(query_bundle: QueryBundle, nodes: list[NodeWithScore]) -> list[NodeWithScore]:
        hits[:] = [*nodes, *rest.hits]
        page = nodes[:size] if is_settled(hits) else narrow(query_bundle)._retrieve(query_bundle)
        return search.retriever._handle_recursive_retrieval(query_bundle, page)

    async def aresolve(
        query_bundle: QueryBundle, nodes: list[NodeWithScore]
    ) -> list[NodeWithScore]:
        hits[:] = [*nodes, *rest.hits]
        if is_settled(hits):
            page = nodes[:size]
        else:
            page = await narrow(query_bundle)._aretrieve(query_bundle=query_bundle)
        return await search.retriever._ahandle_recursive_retrieval(query_bundle, page)

    def convert(result: VectorStoreQueryResult) -> list[NodeWithScore]:
        ids[:] = [*(result.ids or ()), *rest.ids]
        return search.retriever._convert_nodes_to_scored_nodes(result)

    hooks = {
        "_convert_nodes_to_scored_nodes": convert,
        "_handle_recursive_retrieval": resolve,
        "_ahandle_recursive_retrieval": aresolve,
    }
    return replaced(search.retriever, _top_k(limit) | hooks | _store(search, fetched, rest))


def _store(search: VectorSearch, fetched: int | None, rest: Rest) -> dict[str, object]:
    if fetched is None:
        return {}
    node_ids = search.retriever._index.index_struct.nodes_dict
    return {"_vector_store": PageStore(search.store, node_ids, fetched, rest)}


def _top_k(number: int | None) -> dict[str, object]:
    return {} if number is None else {"_similarity_top_k": number}


def store_ids(retriever: VectorIndexRetriever, node_ids: Sequence[str]) -> list[str]:
    """Return the store's own ids of some nodes, by the index; empty where it keeps none."""
    known = {node_id: own for own, node_id in retriever._index.index_struct.nodes_dict.items()}
    ids = [known.get(node_id) for node_id in node_ids]
    found = [own for own in ids if own is not None]
    return found if len(found) == len(ids) else []


def index_target(retrievers: Sequence[BaseRetriever], index_id: str) -> BaseNode | None:
    """Return the node that an `IndexNode` leads to in one of these retrievers, by its id."""
    for retriever in retrievers:
        for known in (getattr(retriever, "_node_dict", {}), getattr(retriever, "object_map", {})):
            target = known.get(index_id)
            if isinstance(target, BaseNode):
                return target
    return None


def parent_id(retrievers: Sequence[BaseRetriever], node_id: str) -> str | None:
    """Return the id of a node's parent, by the store of one of these retrievers."""
    for retriever in retrievers:
        if isinstance(retriever, AutoMergingRetriever):
            docstore = retriever._storage_context.docstore
            node = docstore.get_document(node_id, raise_error=False)
            if node is not None:
                return None if node.parent_node is None else node.parent_node.node_id
    return None


def fusion_arms(retriever: BaseRetriever) -> list[BaseRetriever]:
    """Return the retrievers that a fusion always asks, those of fusions in it too.

    Anything else is its own one arm.
    """
    if type(retriever) is not QueryFusionRetriever:
        return [retriever]
    return [arm for inner in retriever._retrievers for arm in fusion_arms(inner)]


def is_streaming(engine: BaseQueryEngine) -> bool:
    """Return whether an engine around one retriever gives its answers as streams."""
    synthesizer = getattr(engine, "_response_synthesizer", None)
    return getattr(synthesizer, "_streaming", False) is True


def overrides(retriever_class: type, base: type, methods: frozenset[str]) -> bool:
    """Return whether a subclass of that base has one of these methods of its own."""
    line = retriever_class.__mro__
    ahead = line[: line.index(base)]
    return any(methods & vars(subclass).keys() for subclass in ahead)
