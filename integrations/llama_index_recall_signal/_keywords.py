"""Keyword retrievers, whose own score is known: they are recognised by name, without an import."""

from __future__ import annotations

import sys
from functools import cache
from inspect import getattr_static

from llama_index.core.base.base_retriever import BaseRetriever

__all__ = ["is_keyword_retriever", "keyword_classes"]

_KNOWN = frozenset({"llama_index.retrievers.bm25.base.BM25Retriever"})
_SEARCHES = ("_retrieve", "_aretrieve", "retrieve", "aretrieve")


def is_keyword_retriever(retriever: BaseRetriever) -> bool:
    """Return whether `NodeWithScore.score` is a keyword score.

    A subclass is read like its parent, unless it overrides a search: the meaning of that result
    is unknown.
    """
    return _is_keyword_class(type(retriever))


@cache
def _is_keyword_class(retriever_class: type) -> bool:
    for known in retriever_class.__mro__:
        if f"{known.__module__}.{known.__qualname__}" in _KNOWN:
            return all(
                getattr_static(retriever_class, name, None) is getattr_static(known, name, None)
                for name in _SEARCHES
            )
    return False


def keyword_classes() -> tuple[type, ...]:
    """Return the keyword retrievers' classes whose modules are loaded."""
    places = (name.rpartition(".") for name in _KNOWN)
    found = (getattr(sys.modules.get(module), name, None) for module, _, name in places)
    return tuple(known for known in found if isinstance(known, type))
