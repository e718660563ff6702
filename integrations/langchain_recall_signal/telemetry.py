"""``RecallTelemetryHandler``: the signal on the retriever's OpenTelemetry span."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document

from langchain_recall_signal.events import EVENT_NAME
from recall_signal.telemetry import DATA_SOURCE, RetrievalSpans

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

__all__ = ["RecallTelemetryHandler"]

_OURS = "recall"
"""What LangChain makes of the class name ``RecallRetriever`` for its traces."""


class RecallTelemetryHandler(BaseCallbackHandler):
    """Writes the signal of every retrieval to a span, without any text.

    Give it to any call as ``config={"callbacks": [RecallTelemetryHandler()]}``; one instance
    serves any number of calls at the same time. Where an instrumentation has made its retrieval
    span the current one, the attributes go there; otherwise the handler writes a span
    ``retrieval`` of its own. What was searched is taken from the retriever's
    ``metadata={"gen_ai.data_source.id": "..."}``.

    Args:
        tracer_provider: Where its own spans go; None for the global provider.

    Raises:
        MissingDependencyError: ``opentelemetry-api`` is not installed.
    """

    run_inline = True  # in the caller's own context, and in the order of what happens

    def __init__(self, tracer_provider: TracerProvider | None = None) -> None:
        super().__init__()
        self._spans = RetrievalSpans(tracer_provider)

    @property
    def ignore_llm(self) -> bool:
        """Models are none of its business."""
        return True

    @property
    def ignore_chat_model(self) -> bool:
        """Nor are chat models."""
        return True

    def on_retriever_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002
        query: str,  # noqa: ARG002
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Note the time; what a wrapped retriever does is part of the wrapper's span."""
        metadata = metadata or {}
        if metadata.get("ls_retriever_name") == _OURS:
            self._spans.begin(run_id, metadata.get(DATA_SOURCE))

    def on_custom_event(self, name: str, data: Any, *, run_id: UUID, **_: Any) -> None:
        """Write the signal."""
        if name == EVENT_NAME:
            self._spans.signal(run_id, data)

    def on_retriever_end(self, documents: Sequence[Document], *, run_id: UUID, **_: Any) -> None:  # noqa: ARG002
        """Forget it."""
        self._spans.end(run_id)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """Write the failure."""
        self._spans.fail(run_id, error)
