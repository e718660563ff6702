"""What ``recall`` returns: the page with both reports, also when the page is empty."""

from __future__ import annotations

from dataclasses import dataclass, field

from llama_index.core.schema import NodeWithScore

from llama_index_recall_signal.nodes import prompt_text
from recall_signal import CosineSource, Pool, RecallConfidence, SelectionReport
from recall_signal.display import response_html
from recall_signal.reports import Reports, RerankReport

__all__ = ["RecallResponse"]


@dataclass(frozen=True, slots=True, eq=False)
class RecallResponse(Reports):
    """One retrieval and its signal.

    Attributes:
        nodes: The page, in the wrapped retriever's order.
        confidence: The recall signal of the whole pool.
        selection: What the selector did.
        pool: Every candidate that was looked at: cosines, ids, scores. ``assess(pool,
            thresholds=...)`` judges it again without a search.
        cosine_source: Where the cosines came from, None where there are none.
        rerank: What the reranker did, None without one.
    """

    nodes: list[NodeWithScore]
    confidence: RecallConfidence
    selection: SelectionReport
    pool: Pool = field(default_factory=lambda: Pool([]))
    cosine_source: CosineSource | None = None
    rerank: RerankReport | None = None

    def _repr_html_(self) -> str:
        rows = [(item.node_id, prompt_text(item)) for item in self.nodes]
        return response_html(self.confidence, self.selection, rows)
