"""Adapters of LangChain's vector stores, one small file for each."""

from langchain_recall_signal.stores._base import Hits, ServerMetricAdapter, StoreAdapter
from langchain_recall_signal.stores._registry import find_adapter, register_adapter
from recall_signal.stores import ScoreReading, read_scores, unit_only

__all__ = [
    "Hits",
    "ScoreReading",
    "ServerMetricAdapter",
    "StoreAdapter",
    "find_adapter",
    "read_scores",
    "register_adapter",
    "unit_only",
]
