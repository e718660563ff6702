"""The signal as an event of LlamaIndex's instrumentation."""

from __future__ import annotations

from typing import Any

from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.schema import NodeWithScore
from pydantic import PrivateAttr

from recall_signal import Advice, CosineSource, RecallConfidence, SelectionReport
from recall_signal._flow.values import Outcome
from recall_signal.reports import RerankReport, report_dict

__all__ = ["DISPATCHER", "RecallSignalEvent", "dispatch_signal"]

DISPATCHER = get_dispatcher(__name__)


class RecallSignalEvent(BaseEvent):
    """Both reports of one retrieval, sent also where nothing was found.

    Holds no query text and no node. Add a handler to `get_dispatcher()` to receive it.

    Attributes:
        confidence: The recall signal.
        selection: What the selector did.
        cosine_source: Where the cosines came from.
        rerank: What the reranker did, None without one.
        calibration: The calibration in use (`id`, `created`, `status`), None without one.
        advice: From the level and what is left to read.
    """

    confidence: RecallConfidence
    selection: SelectionReport
    cosine_source: CosineSource | None
    rerank: RerankReport | None = None
    calibration: dict[str, str | None] | None = None
    advice: Advice

    _outcome: Outcome[NodeWithScore] | None = PrivateAttr(default=None)
    """For the handler that writes logs; it is no field, so nothing that is serialised has it."""

    @classmethod
    def class_name(cls) -> str:
        """Return the event's name."""
        return "RecallSignalEvent"

    @property
    def report(self) -> dict[str, Any]:
        """Return the reports as plain JSON values, as in `response.metadata["recall"]`."""
        return report_dict(
            self.confidence,
            self.selection,
            self.cosine_source,
            self.rerank,
            advice=self.advice,
            calibration=self.calibration,
        )


def dispatch_signal(outcome: Outcome[NodeWithScore], advice: Advice) -> None:
    """Send the event. What a handler raises is kept from us by the dispatcher."""
    event = RecallSignalEvent(
        confidence=outcome.confidence,
        selection=outcome.selection,
        cosine_source=outcome.cosine_source,
        rerank=outcome.rerank,
        advice=advice,
        calibration=outcome.report.get("calibration"),
    )
    event._outcome = outcome
    DISPATCHER.event(event)
