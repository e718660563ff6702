"""The response of `recall`: the page with both reports, also when the page is empty."""

from __future__ import annotations

from dataclasses import dataclass

from llama_index.core.schema import NodeWithScore

from llama_index_recall_signal._nodes import content
from recall_signal._wrapper.response import RecallResponseBase
from recall_signal.agents._tool import ToolItem

__all__ = ["RecallResponse"]


@dataclass(frozen=True, eq=False, repr=False)
class RecallResponse(RecallResponseBase):
    """Retrieval and its signal (see the base class for the reports).

    Attributes:
        nodes: The page, in the wrapped retriever's order.
    """

    nodes: list[NodeWithScore]

    @property
    def shown(self) -> int:
        """Number of results on the page."""
        return len(self.nodes)

    def page_items(self) -> list[ToolItem]:
        """Return the page as id, text and metadata of each result, whatever the framework."""
        return [(item.node_id, content(item), item.node.metadata) for item in self.nodes]
