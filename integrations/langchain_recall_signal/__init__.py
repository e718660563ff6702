"""The recall signal around LangChain retrievers."""

from langchain_recall_signal.compressor import SelectorCompressor
from langchain_recall_signal.encoders import DemoEmbeddings
from langchain_recall_signal.response import RecallResponse
from langchain_recall_signal.retriever import RecallRetriever
from langchain_recall_signal.stores import StoreAdapter, register_adapter

__all__ = [
    "DemoEmbeddings",
    "RecallResponse",
    "RecallRetriever",
    "SelectorCompressor",
    "StoreAdapter",
    "register_adapter",
]
