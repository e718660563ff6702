"""The reranking protocol: score the page's texts, and say what the best score means.

No I/O here. A driver has :attr:`Rerank.texts` scored by some model, in whatever way; the steps
check the scores, order the page by them, and decide the match on a declared or learnt scale.
"""

from recall_signal.calibration.reranker import RerankScale
from recall_signal.reranking.match import with_match
from recall_signal.reranking.models import Scorer, as_scorer
from recall_signal.reranking.options import RerankerOptions, Reranking, as_options
from recall_signal.reranking.scores import InvalidScores
from recall_signal.reranking.steps import Rerank, Reranked, rerank_page

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
