"""`RecallTelemetryHandler`: the signal on the current OpenTelemetry span."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from pydantic import PrivateAttr

from llama_index_recall_signal._events import RecallSignalEvent
from recall_signal.telemetry import span_writer

__all__ = ["RecallTelemetryHandler"]


class RecallTelemetryHandler(BaseEventHandler):
    """Writes the signal of every retrieval to the span that is current then, without any text.

    Add it to LlamaIndex's instrumentation once::

        get_dispatcher().add_event_handler(RecallTelemetryHandler())

    Raises:
        MissingDependencyError: `opentelemetry-api` is not installed.
    """

    _write: Callable[[Mapping[str, object]], None] = PrivateAttr(
        default_factory=partial(span_writer, "llama-index")
    )

    @classmethod
    def class_name(cls) -> str:
        """Return the component's name."""
        return "RecallTelemetryHandler"

    def handle(self, event: BaseEvent, **_: Any) -> None:
        """Write the report of a `RecallSignalEvent`."""
        if isinstance(event, RecallSignalEvent):
            self._write(event.report)
