"""Measure how well a retriever's scores tell that nothing relevant is stored."""

from recall_signal.evaluation._data import Document, Query, load_corpus, load_queries
from recall_signal.evaluation._evaluate import evaluate
from recall_signal.evaluation._html import html_report, write_html
from recall_signal.evaluation._report import print_report, write_json
from recall_signal.evaluation._result import Evaluation, Latency, Method, Metrics

__all__ = [
    "Document",
    "Evaluation",
    "Latency",
    "Method",
    "Metrics",
    "Query",
    "evaluate",
    "html_report",
    "load_corpus",
    "load_queries",
    "print_report",
    "write_html",
    "write_json",
]
