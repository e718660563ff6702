"""The recall signal around LlamaIndex retrievers and query engines."""

from llama_index_recall_signal.encoders import DemoEmbedding
from llama_index_recall_signal.events import RecallSignalEvent
from llama_index_recall_signal.postprocessor import RecallPostprocessor
from llama_index_recall_signal.query_engine import RecallQueryEngine
from llama_index_recall_signal.response import RecallResponse
from llama_index_recall_signal.retriever import RecallRetriever
from llama_index_recall_signal.selection import RecallSelectorPostprocessor
from llama_index_recall_signal.stores import StoreAdapter, register_adapter

__all__ = [
    "DemoEmbedding",
    "RecallPostprocessor",
    "RecallQueryEngine",
    "RecallResponse",
    "RecallRetriever",
    "RecallSelectorPostprocessor",
    "RecallSignalEvent",
    "StoreAdapter",
    "register_adapter",
]
