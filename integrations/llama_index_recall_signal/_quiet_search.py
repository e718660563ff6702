"""Search without the events and the spans of the wrapped retriever where nobody is to hear them.

LlamaIndex makes an id, a bound signature and several validated events for each call of a retriever,
also where no handler is there. Around the wrapper's own call it does so in any case; inside of it,
the same search would be announced a second time, to nobody. A search that learns is nobody's query,
and is announced to nobody, whoever listens; only a wrapper around it has to hear its arms.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import unwrap

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.retrievers import VectorIndexRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, QueryType

from llama_index_recall_signal._internals import aretrieve_unspanned, retrieve_unspanned
from llama_index_recall_signal._listener import is_heard, is_recorded
from recall_signal._wrapper.learning import is_learning

__all__ = ["aretrieve", "asearch", "retrieve", "search"]

_DISPATCHERS = [get_dispatcher(cls.__module__) for cls in (BaseRetriever, VectorIndexRetriever)]

_METHODS = [
    (vars(cls), name, vars(cls)[name])
    for cls, names in (
        (BaseRetriever, ("retrieve", "aretrieve")),
        (VectorIndexRetriever, ("_retrieve", "_aretrieve")),
    )
    for name in names
]
"""Methods that a tracer may have replaced since."""

_search: Callable[[VectorIndexRetriever, QueryBundle], list[NodeWithScore]] = unwrap(
    VectorIndexRetriever._retrieve
)
_asearch: Callable[[VectorIndexRetriever, QueryBundle], Awaitable[list[NodeWithScore]]] = unwrap(
    VectorIndexRetriever._aretrieve
)


def retrieve(wrapper: BaseRetriever, query: QueryType) -> list[NodeWithScore]:
    """Return what the `retrieve` of LlamaIndex does, without its events for a search that learns.

    Args:
        wrapper: Ours.
        query: The question.
    """
    if not is_learning():
        return retrieve_unspanned(wrapper, query)
    bundle = QueryBundle(query) if isinstance(query, str) else query
    nodes = unwrap(type(wrapper)._retrieve)(wrapper, bundle)
    return wrapper._handle_recursive_retrieval(bundle, nodes)


async def aretrieve(wrapper: BaseRetriever, query: QueryType) -> list[NodeWithScore]:
    """`retrieve`, asynchronously."""
    if not is_learning():
        return await aretrieve_unspanned(wrapper, query)
    bundle = QueryBundle(query) if isinstance(query, str) else query
    nodes = await unwrap(type(wrapper)._aretrieve)(wrapper, bundle)
    return await wrapper._ahandle_recursive_retrieval(bundle, nodes)


def search(view: VectorIndexRetriever, bundle: QueryBundle) -> list[NodeWithScore]:
    """Return what `retrieve` returns; its events and spans are left out where nobody hears them.

    Args:
        view: A view of LlamaIndex' own retriever, whose search no subclass has overridden.
        bundle: The query; the search may leave its vector here.
    """
    if _is_heard(view):
        return view.retrieve(bundle)
    return view._handle_recursive_retrieval(bundle, _search(view, bundle))


async def asearch(view: VectorIndexRetriever, bundle: QueryBundle) -> list[NodeWithScore]:
    """`search`, asynchronously."""
    if _is_heard(view):
        return await view.aretrieve(bundle)
    return await view._ahandle_recursive_retrieval(bundle, await _asearch(view, bundle))


def _is_heard(view: VectorIndexRetriever) -> bool:
    if is_learning():
        return is_recorded()
    manager = getattr(view, "callback_manager", None)
    if manager is None or manager.handlers or any(map(is_heard, _DISPATCHERS)):
        return True
    return any(methods.get(name) is not own for methods, name, own in _METHODS)
