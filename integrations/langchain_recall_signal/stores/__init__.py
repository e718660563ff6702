"""Adapters: one small file for each vector store."""

from langchain_recall_signal.stores.base import Hits, StoreAdapter
from langchain_recall_signal.stores.registry import find_adapter, register_adapter
from recall_signal.stores import Reading, read_scores

__all__ = [
    "Hits",
    "Reading",
    "StoreAdapter",
    "find_adapter",
    "read_scores",
    "register_adapter",
]
