"""How well can one tell that nothing relevant is stored? Data, figures of merit, a comparison."""

from recall_signal.evaluation.data import Document, Query, load_corpus, load_queries
from recall_signal.evaluation.html import html_report
from recall_signal.evaluation.report import print_report, write_html, write_json
from recall_signal.evaluation.result import Evaluation, Figures, Latency, Method
from recall_signal.evaluation.run import evaluate

__all__ = [
    "Document",
    "Evaluation",
    "Figures",
    "Latency",
    "Method",
    "Query",
    "evaluate",
    "html_report",
    "load_corpus",
    "load_queries",
    "print_report",
    "write_html",
    "write_json",
]
