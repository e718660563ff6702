"""What a wrapped retriever is: what is under its bindings, its store, its page size."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from inspect import Parameter, getattr_static, signature
from typing import Any, Literal

from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever

from recall_signal import ConfigurationError

__all__ = [
    "expects_k",
    "innermost",
    "is_tappable",
    "page_size",
    "retriever_of",
    "search_arguments",
    "searched_store",
]

_OWN_SEARCH = ("_get_relevant_documents", "_aget_relevant_documents", "invoke", "ainvoke")
_TAPPED_SEARCHES = ("similarity", "similarity_score_threshold")


def innermost(retriever: Runnable[Any, Any]) -> Runnable[Any, Any]:
    """The runnable under ``.bind``, ``.with_config`` and ``.with_retry``."""
    while type(retriever) is not VectorStoreRetriever and isinstance(
        retriever, RunnableBindingBase
    ):
        retriever = retriever.bound
    return retriever


def searched_store(retriever: Runnable[Any, Any]) -> Any:
    """The store that LangChain's own vector store retriever searches; None for any other."""
    inner = innermost(retriever)
    if not isinstance(inner, VectorStoreRetriever):
        return None
    is_plain = all(_same(type(inner), VectorStoreRetriever, name) for name in _OWN_SEARCH)
    return inner.vectorstore if is_plain else None


def retriever_of(
    store: VectorStore, search_type: str, search_kwargs: dict[str, Any]
) -> VectorStoreRetriever:
    """LangChain's own retriever on a store.

    Raises:
        ConfigurationError: It is no store, or one that makes a retriever of its own kind, whose
            settings mean other things.
    """
    if not hasattr(store, "as_retriever"):
        raise ConfigurationError(
            f"from_vectorstore takes a vector store, got {type(store).__name__}; "
            "a retriever is wrapped by RecallRetriever(retriever=...)"
        )
    made: Any = store.as_retriever(search_type=search_type, search_kwargs=search_kwargs)
    if isinstance(made, VectorStoreRetriever):
        return made
    raise ConfigurationError(
        f"from_vectorstore needs a store whose as_retriever() makes a VectorStoreRetriever, but "
        f"{type(store).__name__} makes a {type(made).__name__}; use RecallRetriever(retriever="
        'VectorStoreRetriever(vectorstore=store, search_kwargs={"k": 5}))'
    )


def is_tappable(retriever: Runnable[Any, Any]) -> bool:
    """Whether a view can see the scores: a plain retriever in a mode that has some."""
    store = searched_store(retriever)
    inner: Any = innermost(retriever)
    return (
        store is not None and inner.search_type in _TAPPED_SEARCHES and hasattr(store, "__dict__")
    )


def page_size(retriever: Runnable[Any, Any], k: int | None) -> int | None:
    """How many documents the wrapped retriever would return by itself; None where unknown.

    The nearest setting wins: the call's or the wrapper's ``k``, what was bound on the way, the
    retriever's ``search_kwargs``, the default of the store's own search.
    """
    if k is not None:
        return k
    while not isinstance(retriever, VectorStoreRetriever):
        if not isinstance(retriever, RunnableBindingBase):
            return None
        if "k" in retriever.kwargs:
            return _whole(retriever.kwargs["k"])
        retriever = retriever.bound
    settings = retriever.search_kwargs
    if "k" in settings:
        return _whole(settings["k"])
    return _default_k(type(retriever.vectorstore))


def search_arguments(retriever: Runnable[Any, Any], kwargs: Mapping[str, Any]) -> set[str]:
    """The names of what the search gets: from the call, from bindings, from the retriever."""
    names = set(kwargs)
    while isinstance(retriever, RunnableBindingBase):
        names.update(retriever.kwargs)
        retriever = retriever.bound
    return names.union(getattr(retriever, "search_kwargs", ()))


def expects_k(retriever: Runnable[Any, Any], method: Literal["invoke", "ainvoke"]) -> bool:
    """Whether ``k`` can be handed on to a method of this retriever.

    LangChain drops it where a retriever declares no argument of its own, and raises a TypeError
    where it declares others, or takes any in its synchronous method only.
    """
    inner = innermost(retriever)
    return isinstance(inner, BaseRetriever) and _takes_k(type(inner), method)


@cache
def _takes_k(retriever_class: type[BaseRetriever], method: Literal["invoke", "ainvoke"]) -> bool:
    search = "_get_relevant_documents" if method == "invoke" else "_aget_relevant_documents"
    for function in (getattr(retriever_class, method), getattr(retriever_class, search)):
        parameters = signature(function).parameters
        if "k" not in parameters and not any(
            parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters.values()
        ):
            return False
    return True


@cache
def _default_k(store_class: type[VectorStore]) -> int | None:
    parameter = signature(store_class.similarity_search).parameters.get("k")
    return _whole(parameter.default) if parameter else None


def _whole(value: Any) -> int | None:
    return value if type(value) is int else None


def _same(cls: type, base: type, name: str) -> bool:
    """Whether a class has the method from that base, also where a tracer has wrapped it."""
    return getattr_static(cls, name) is getattr_static(base, name)
