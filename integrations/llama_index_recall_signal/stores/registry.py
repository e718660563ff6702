"""Which adapter reads which store of LlamaIndex."""

from __future__ import annotations

from typing import Any

from llama_index_recall_signal.stores.base import StoreAdapter
from recall_signal.stores import AdapterRegistry

__all__ = ["find_adapter", "register_adapter"]

_HERE = "llama_index_recall_signal.stores"
_registry = AdapterRegistry(
    StoreAdapter,
    searches=("query", "aquery"),
    known={
        "llama_index.core.vector_stores.simple.SimpleVectorStore": f"{_HERE}.simple:SimpleAdapter",
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
