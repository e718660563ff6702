"""The recall signal around LlamaIndex retrievers and query engines, and in agents."""

from llama_index_recall_signal.agent import RecallAgent
from llama_index_recall_signal.encoders import DemoEmbedding
from llama_index_recall_signal.events import RecallSignalEvent
from llama_index_recall_signal.postprocessor import RecallPostprocessor
from llama_index_recall_signal.query_engine import RecallQueryEngine
from llama_index_recall_signal.response import RecallResponse
from llama_index_recall_signal.retriever import RecallRetriever
from llama_index_recall_signal.routing import RecallRouterQueryEngine
from llama_index_recall_signal.selection import RecallSelectorPostprocessor
from llama_index_recall_signal.stores import StoreAdapter, register_adapter
from llama_index_recall_signal.telemetry import RecallTelemetryHandler
from llama_index_recall_signal.tool import RecallTool, create_recall_tool
from llama_index_recall_signal.workflow import CorrectiveWorkflow
from llama_index_recall_signal.workflow_events import (
    CorrectiveAnswer,
    CorrectiveStart,
    RecallDecision,
)

__all__ = [
    "CorrectiveAnswer",
    "CorrectiveStart",
    "CorrectiveWorkflow",
    "DemoEmbedding",
    "RecallAgent",
    "RecallDecision",
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
]
