"""Which adapter reads which store of LangChain."""

from __future__ import annotations

from typing import Any

from langchain_recall_signal.stores.base import StoreAdapter
from recall_signal.stores import AdapterRegistry

__all__ = ["find_adapter", "register_adapter"]

_HERE = "langchain_recall_signal.stores"
_CORE, _COMMUNITY = "langchain_core.vectorstores", "langchain_community.vectorstores"
_registry = AdapterRegistry(
    StoreAdapter,
    searches=(
        "similarity_search",
        "asimilarity_search",
        "similarity_search_with_score",
        "asimilarity_search_with_score",
        "similarity_search_with_score_by_vector",  # what FAISS's and others' searches end in
        "asimilarity_search_with_score_by_vector",
    ),
    known={
        f"{_CORE}.in_memory.InMemoryVectorStore": f"{_HERE}.in_memory:InMemoryAdapter",
        f"{_COMMUNITY}.faiss.FAISS": f"{_HERE}.faiss:FaissAdapter",
    },
)


def register_adapter(store_class: str, adapter: str | StoreAdapter) -> None:
    """Teach the wrapper a store of yours.

    Args:
        store_class: The store's class as ``package.module.Class``.
        adapter: An adapter, or where to find its class, as ``package.module:Class``.

    Raises:
        ConfigurationError: One of the two has another form.
    """
    _registry.register(store_class, adapter)


def find_adapter(store: Any) -> StoreAdapter | None:
    """The adapter of a store; None for one that is not known, or has a search of its own."""
    return _registry.find(store)
