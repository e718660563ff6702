"""The reranking protocol: score the page's texts, and decide the match of the best score.

No I/O here. A driver has `Rerank.texts` scored by some model, in whatever way; the steps
check the scores, order the page by them, and decide the match on a declared or learned scale.
"""

from recall_signal.calibration._reranker import RerankScale
from recall_signal.reranking._match import with_match
from recall_signal.reranking._options import (
    InvalidScores,
    RerankerOptions,
    Reranking,
    Scorer,
    as_options,
    as_scorer,
)
from recall_signal.reranking._rerank import Rerank, Reranked, rerank_page

__all__ = [
    "InvalidScores",
    "Rerank",
    "RerankScale",
    "Reranked",
    "RerankerOptions",
    "Reranking",
    "Scorer",
    "as_options",
    "as_scorer",
    "rerank_page",
    "with_match",
]
