"""The response of `recall`: the page with both reports, also when the page is empty."""

from __future__ import annotations

from dataclasses import dataclass

from langchain_core.documents import Document

from recall_signal._wrapper.response import RecallResponseBase
from recall_signal.agents._tool import ToolItem

__all__ = ["RecallResponse"]


@dataclass(frozen=True, eq=False, repr=False)
class RecallResponse(RecallResponseBase):
    """Retrieval and its signal (see the base class for the reports).

    Attributes:
        documents: The page, in the wrapped retriever's order.
    """

    documents: list[Document]

    @property
    def shown(self) -> int:
        """Number of results on the page."""
        return len(self.documents)

    def page_items(self) -> list[ToolItem]:
        """Return the page as id, text and metadata of each result, whatever the framework."""
        return [(d.id, d.page_content, d.metadata) for d in self.documents]
