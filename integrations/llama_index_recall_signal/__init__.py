"""The recall signal around LlamaIndex retrievers and query engines, and in agents."""

from llama_index_recall_signal import _required as _required
from llama_index_recall_signal._agent import RecallAgent
from llama_index_recall_signal._encoders import DemoEmbedding
from llama_index_recall_signal._events import RecallSignalEvent
from llama_index_recall_signal._log_handler import RecallLogHandler
from llama_index_recall_signal._nodes import without_report
from llama_index_recall_signal._postprocessor import RecallPostprocessor
from llama_index_recall_signal._query_engine import RecallQueryEngine
from llama_index_recall_signal._response import RecallResponse
from llama_index_recall_signal._retriever import RecallRetriever
from llama_index_recall_signal._router_query_engine import RecallRouterQueryEngine
from llama_index_recall_signal._selector_postprocessor import RecallSelectorPostprocessor
from llama_index_recall_signal._telemetry import RecallTelemetryHandler
from llama_index_recall_signal._tool import RecallTool, create_recall_tool
from llama_index_recall_signal._workflow import CorrectiveWorkflow
from llama_index_recall_signal._workflow_events import (
    CorrectiveAnswer,
    CorrectiveStart,
    RecallDecision,
)
from llama_index_recall_signal.stores import StoreAdapter, register_adapter

__all__ = [
    "CorrectiveAnswer",
    "CorrectiveStart",
    "CorrectiveWorkflow",
    "DemoEmbedding",
    "RecallAgent",
    "RecallDecision",
    "RecallLogHandler",
    "RecallPostprocessor",
    "RecallQueryEngine",
    "RecallResponse",
    "RecallRetriever",
    "RecallRouterQueryEngine",
    "RecallSelectorPostprocessor",
    "RecallSignalEvent",
    "RecallTelemetryHandler",
    "RecallTool",
    "StoreAdapter",
    "create_recall_tool",
    "register_adapter",
    "without_report",
]
