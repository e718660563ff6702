"""Inspect a wrapped retriever: under its bindings, its store, its page size, its arguments."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping
from functools import cache
from inspect import Parameter, getattr_static, signature
from typing import Literal

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    Runnable,
    RunnableLambda,
    RunnableParallel,
    RunnableSequence,
    RunnableWithFallbacks,
)
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.configurable import (
    RunnableConfigurableAlternatives,
    RunnableConfigurableFields,
)
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever

from langchain_recall_signal._arms.tree import first_store
from langchain_recall_signal._arms.views import RETRIEVING
from langchain_recall_signal._encoders import MODEL_NAMES
from langchain_recall_signal.stores import find_adapter
from recall_signal import ConfigurationError
from recall_signal._wrapper.call_arguments import Accepted
from recall_signal._wrapper.runtime import Identity, encoder_identity
from recall_signal._wrapper.views import shares_state

__all__ = [
    "accepted_arguments",
    "encoder_of",
    "expects_k",
    "exposes_scores",
    "keeps_search",
    "page_size",
    "retriever_of",
    "search_arguments",
    "searched",
    "searched_store",
    "store_of",
    "unwrap",
]

_TAPPED_SEARCHES = ("similarity", "similarity_score_threshold")


def unwrap(retriever: Runnable[str, list[Document]]) -> Runnable[str, list[Document]]:
    """Return the runnable under `.bind`, `.with_config` and `.with_retry`."""
    while type(retriever) is not VectorStoreRetriever and isinstance(
        retriever, RunnableBindingBase
    ):
        retriever = retriever.bound
    return retriever


def store_of(retriever: Runnable[str, list[Document]]) -> object:
    """Return the store under a retriever, or the first inside; it may be exchanged."""
    store = getattr(unwrap(retriever), "vectorstore", None)
    return first_store(retriever) if store is None else store


def searched(
    retriever: Runnable[str, list[Document]], embeddings: Embeddings | None
) -> tuple[object, Identity]:
    """Return the store that is searched and what its encoders say; all may be exchanged."""
    store = store_of(retriever)
    own = encoder_identity(embeddings, MODEL_NAMES)
    return store, (encoder_identity(getattr(store, "embeddings", None), MODEL_NAMES), own)


def encoder_of(
    retriever: Runnable[str, list[Document]], embeddings: Embeddings | None
) -> Embeddings | None:
    """Return what embeds the queries: the encoder of the store, else the wrapper's own."""
    return getattr(store_of(retriever), "embeddings", None) or embeddings


def searched_store(retriever: Runnable[str, list[Document]]) -> VectorStore | None:
    """Return the store that LangChain's own vector store retriever searches; None for any other."""
    inner = _plain_retriever(retriever)
    return None if inner is None else inner.vectorstore


def _plain_retriever(retriever: Runnable[str, list[Document]]) -> VectorStoreRetriever | None:
    inner = unwrap(retriever)
    if not isinstance(inner, VectorStoreRetriever):
        return None
    return inner if keeps_search(type(inner), VectorStoreRetriever) else None


def keeps_search(retriever_class: type, base: type) -> bool:
    """Return whether a retriever's class searches as that base does, by its methods."""
    return all(_same(retriever_class, base, name) for name in RETRIEVING)


def retriever_of(
    store: VectorStore, search_type: str, search_kwargs: dict[str, object]
) -> VectorStoreRetriever:
    """Make LangChain's own retriever on a store.

    Raises:
        ConfigurationError: It is no store, or one that makes a retriever of its own kind, whose
            settings mean other things.
    """
    if not hasattr(store, "as_retriever"):
        raise ConfigurationError(
            f"from_vectorstore takes a vector store, got {type(store).__name__}; "
            "a retriever is wrapped by RecallRetriever(retriever=...)"
        )
    made: object = store.as_retriever(search_type=search_type, search_kwargs=search_kwargs)
    if isinstance(made, VectorStoreRetriever):
        return made
    raise ConfigurationError(
        f"from_vectorstore needs a store whose as_retriever() makes a VectorStoreRetriever, but "
        f"{type(store).__name__} makes a {type(made).__name__}; use RecallRetriever(retriever="
        'VectorStoreRetriever(vectorstore=store, search_kwargs={"k": 5}))'
    )


def exposes_scores(retriever: Runnable[str, list[Document]]) -> bool:
    """Return whether a view can see the scores: a plain retriever in a mode that has some."""
    inner = _plain_retriever(retriever)
    if inner is None:
        return False
    return inner.search_type in _TAPPED_SEARCHES and shares_state(inner.vectorstore)


def page_size(retriever: Runnable[str, list[Document]], k: int | None) -> int | None:
    """Return the wrapped retriever's own page size; None where it is unknown.

    The nearest setting wins: the call's or the wrapper's `k`, what was bound on the way, the
    retriever's `search_kwargs`, the default of the store's own search.
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


def search_arguments(
    retriever: Runnable[str, list[Document]], kwargs: Mapping[str, object]
) -> Mapping[str, object]:
    """Return the search's arguments: the call's go before those of bindings and the retriever."""
    given = [kwargs]
    while isinstance(retriever, RunnableBindingBase):
        given.append(retriever.kwargs)
        retriever = retriever.bound
    return ChainMap(*map(dict, given), getattr(retriever, "search_kwargs", {}))


def expects_k(
    retriever: Runnable[str, list[Document]], method: Literal["invoke", "ainvoke"]
) -> bool:
    """Return whether `k` can be handed on to a method of this retriever.

    LangChain drops it where a retriever declares no argument of its own, and raises a TypeError
    where it declares others, or takes any in its synchronous method only.
    """
    inner = unwrap(retriever)
    choices = _choices(inner)
    if choices:
        return all(expects_k(choice, method) for choice in choices)
    return isinstance(inner, BaseRetriever) and _takes_k(type(inner), method)


def _choices(retriever: Runnable[str, list[Document]]) -> list[Runnable[str, list[Document]]]:
    """Return the retrievers one of which answers a call and has all of its arguments."""
    if isinstance(retriever, RunnableWithFallbacks):
        return [*retriever.runnables]
    if isinstance(retriever, RunnableConfigurableAlternatives):
        others = retriever.alternatives.values()
        return [retriever.default, *(one for one in others if isinstance(one, Runnable))]
    return [retriever.default] if isinstance(retriever, RunnableConfigurableFields) else []


_OWN_ARGUMENTS = frozenset({"run_id", "verbose"})
"""Arguments that LangChain's `invoke` itself takes beside the configuration."""


_PASSED_ON = (
    (RunnableSequence, "first"),
    (RunnableWithFallbacks, "runnable"),
    (RunnableConfigurableFields, "default"),
)
"""Runnables that pass the arguments of a call on, and the attribute to which they do."""


def accepted_arguments(
    retriever: Runnable[str, list[Document]], method: Literal["invoke", "ainvoke"]
) -> Accepted:
    """Return the arguments of a call that reach the search, and whether any others do."""
    inner = _taker_of_arguments(retriever)
    store, listed = searched_store(inner), None
    if store is not None:
        adapter = find_adapter(store)
        listed = None if adapter is None else adapter.search_arguments
        names, open_ended = _parameters(store.similarity_search)
        if getattr(inner, "search_type", None) == "mmr":
            names |= _parameters(store.max_marginal_relevance_search)[0]
    elif isinstance(inner, RunnableParallel):  # which drops them all
        names, open_ended = frozenset(), False
    elif isinstance(inner, BaseRetriever):
        name = "_get_relevant_documents" if method == "invoke" else "_aget_relevant_documents"
        names, open_ended = _parameters(getattr(inner, name))
    elif isinstance(inner, RunnableLambda):
        names, open_ended = _parameters(getattr(inner, "func", None) or inner.afunc)
    else:
        names, open_ended = frozenset(), True
    return Accepted(names | (listed or frozenset()) | _OWN_ARGUMENTS, open_ended and listed is None)


def _taker_of_arguments(retriever: Runnable[str, list[Document]]) -> Runnable[str, list[Document]]:
    """Return the part to which a call's arguments are passed on."""
    while True:
        inner = unwrap(retriever)
        for wrapper, attribute in _PASSED_ON:
            if isinstance(inner, wrapper):
                retriever = getattr(inner, attribute)
                break
        else:
            return inner


def _parameters(function: Callable[..., object]) -> tuple[frozenset[str], bool]:
    parameters = signature(function).parameters
    return frozenset(parameters), any(
        parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters.values()
    )


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


def _whole(value: object) -> int | None:
    return value if type(value) is int else None


def _same(cls: type, base: type, name: str) -> bool:
    """Return whether a class has the method from that base, also where a tracer has wrapped it."""
    return getattr_static(cls, name) is getattr_static(base, name)
