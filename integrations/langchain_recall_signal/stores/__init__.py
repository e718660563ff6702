"""Adapters: one small file for each vector store."""

from langchain_recall_signal.stores.base import Hits, Reading, StoreAdapter
from langchain_recall_signal.stores.registry import find_adapter, register_adapter

__all__ = ["Hits", "Reading", "StoreAdapter", "find_adapter", "register_adapter"]
