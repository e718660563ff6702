"""The recall signal around LangChain retrievers, and in LangGraph and LangChain agents."""

from typing import TYPE_CHECKING, Any

from langchain_recall_signal.compressor import SelectorCompressor
from langchain_recall_signal.encoders import DemoEmbeddings
from langchain_recall_signal.optional import LAZY, load
from langchain_recall_signal.response import RecallResponse
from langchain_recall_signal.retriever import RecallRetriever
from langchain_recall_signal.routing import RecallRoute, route_on_recall
from langchain_recall_signal.stores import StoreAdapter, register_adapter
from langchain_recall_signal.telemetry import RecallTelemetryHandler
from langchain_recall_signal.tool import create_recall_tool

if TYPE_CHECKING:
    from langchain_recall_signal.graph import CorrectiveState, corrective_graph
    from langchain_recall_signal.middleware import RecallMiddleware, RecallState

__all__ = [
    "CorrectiveState",
    "DemoEmbeddings",
    "RecallMiddleware",
    "RecallResponse",
    "RecallRetriever",
    "RecallRoute",
    "RecallState",
    "RecallTelemetryHandler",
    "SelectorCompressor",
    "StoreAdapter",
    "corrective_graph",
    "create_recall_tool",
    "register_adapter",
    "route_on_recall",
]


def __getattr__(name: str) -> Any:
    if name in LAZY:
        return load(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
