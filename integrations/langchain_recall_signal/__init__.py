"""The recall signal around LangChain retrievers, and in LangGraph and LangChain agents."""

from typing import TYPE_CHECKING, Any

from langchain_recall_signal import _required as _required
from langchain_recall_signal._chain import create_recall_chain
from langchain_recall_signal._compressor import SelectorCompressor
from langchain_recall_signal._documents import without_report
from langchain_recall_signal._encoders import DemoEmbeddings
from langchain_recall_signal._log_handler import RecallLogHandler
from langchain_recall_signal._optional import LAZY, load
from langchain_recall_signal._response import RecallResponse
from langchain_recall_signal._retriever import RecallRetriever
from langchain_recall_signal._routing import RecallRoute, route_on_recall
from langchain_recall_signal._telemetry import RecallTelemetryHandler
from langchain_recall_signal._tool import create_recall_tool
from langchain_recall_signal.stores import StoreAdapter, register_adapter

if TYPE_CHECKING:
    from langchain_recall_signal._graph import CorrectiveState, corrective_graph
    from langchain_recall_signal._middleware import RecallMiddleware, RecallState

__all__ = [
    "CorrectiveState",
    "DemoEmbeddings",
    "RecallLogHandler",
    "RecallMiddleware",
    "RecallResponse",
    "RecallRetriever",
    "RecallRoute",
    "RecallState",
    "RecallTelemetryHandler",
    "SelectorCompressor",
    "StoreAdapter",
    "corrective_graph",
    "create_recall_chain",
    "create_recall_tool",
    "register_adapter",
    "route_on_recall",
    "without_report",
]


def __getattr__(name: str) -> Any:
    if name in LAZY:
        return load(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
