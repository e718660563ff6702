"""Which adapter reads which store, by dotted class name along the store's own class hierarchy.

Nothing of a store's package is imported: a name is only compared, and the adapter's module is
loaded when its store turns up.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from langchain_recall_signal.stores.base import StoreAdapter
from recall_signal import ConfigurationError

__all__ = ["find_adapter", "register_adapter"]

_HERE = "langchain_recall_signal.stores"
_CORE, _COMMUNITY = "langchain_core.vectorstores", "langchain_community.vectorstores"
_adapters: dict[str, str | StoreAdapter] = {
    f"{_CORE}.in_memory.InMemoryVectorStore": f"{_HERE}.in_memory:InMemoryAdapter",
    f"{_COMMUNITY}.faiss.FAISS": f"{_HERE}.faiss:FaissAdapter",
}

_SEARCHES = (
    "similarity_search",
    "asimilarity_search",
    "similarity_search_with_score",
    "asimilarity_search_with_score",
    "similarity_search_with_score_by_vector",  # what FAISS's and others' own searches end in
    "asimilarity_search_with_score_by_vector",
)


def register_adapter(store_class: str, adapter: str | StoreAdapter) -> None:
    """Teach the wrapper a store of yours.

    Args:
        store_class: The store's class as ``package.module.Class``.
        adapter: An adapter, or where to find its class, as ``package.module:Class``.

    Raises:
        ConfigurationError: One of the two has another form.
    """
    if not isinstance(store_class, str) or "." not in store_class:
        raise ConfigurationError(
            f"store_class must be a dotted class name like 'package.module.Class', "
            f"got {store_class!r}"
        )
    if not isinstance(adapter, StoreAdapter) and ":" not in str(adapter):
        raise ConfigurationError(
            "adapter must be a StoreAdapter or a text like 'package.module:Class', "
            f"got {type(adapter).__name__}"
        )
    _adapters[store_class] = adapter


def find_adapter(store: Any) -> StoreAdapter | None:
    """The adapter of a store, or None.

    A subclass is read like the store it comes from, unless it has a search of its own: what
    that returns is no longer known.
    """
    store_class = type(store)
    for known in store_class.__mro__:
        name = f"{known.__module__}.{known.__qualname__}"
        entry = _adapters.get(name)
        if entry is None:
            continue
        if any(getattr(store_class, m, None) is not getattr(known, m, None) for m in _SEARCHES):
            return None
        if isinstance(entry, str):
            module, _, attribute = entry.partition(":")
            entry = _adapters[name] = getattr(import_module(module), attribute)()
        return entry
    return None
