"""The signal as an event of LlamaIndex's instrumentation."""

from __future__ import annotations

from typing import Any

from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.events import BaseEvent

from recall_signal import CosineSource, RecallConfidence, SelectionReport
from recall_signal.reports import RerankReport, report_dict

__all__ = ["RecallSignalEvent", "dispatch_signal"]

_dispatcher = get_dispatcher(__name__)


class RecallSignalEvent(BaseEvent):
    """Both reports of one retrieval, sent also where nothing was found.

    Holds no query text and no node. Add a handler to ``get_dispatcher()`` to receive it.

    Attributes:
        confidence: The recall signal.
        selection: What the selector did.
        cosine_source: Where the cosines came from.
        rerank: What the reranker did, None without one.
    """

    confidence: RecallConfidence
    selection: SelectionReport
    cosine_source: CosineSource | None
    rerank: RerankReport | None = None

    @classmethod
    def class_name(cls) -> str:
        """The event's name."""
        return "RecallSignalEvent"

    @property
    def report(self) -> dict[str, Any]:
        """The reports as plain JSON values, as in ``response.metadata["recall"]``."""
        return report_dict(self.confidence, self.selection, self.cosine_source, self.rerank)


def dispatch_signal(
    confidence: RecallConfidence,
    selection: SelectionReport,
    cosine_source: CosineSource | None,
    rerank: RerankReport | None,
) -> None:
    """Send the event. What a handler raises is kept from us by the dispatcher."""
    _dispatcher.event(
        RecallSignalEvent(
            confidence=confidence,
            selection=selection,
            cosine_source=cosine_source,
            rerank=rerank,
        )
    )
