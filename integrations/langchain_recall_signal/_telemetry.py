"""`RecallTelemetryHandler`: the signal on the current OpenTelemetry span."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import BaseCallbackHandler

from langchain_recall_signal._events import EVENT_NAME
from recall_signal.telemetry import span_writer

__all__ = ["RecallTelemetryHandler"]


class RecallTelemetryHandler(BaseCallbackHandler):
    """Writes the signal of every retrieval to the span that is current then, without any text.

    Pass it to any call as `config={"callbacks": [RecallTelemetryHandler()]}`; one instance
    serves any number of concurrent calls.

    Raises:
        MissingDependencyError: `opentelemetry-api` is not installed.
    """

    run_inline = True  # in the caller's own context, where its span is the current one

    def __init__(self) -> None:
        super().__init__()
        self._write = span_writer("langchain")

    def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
        """Write the report of an event of a `RecallRetriever`."""
        if name == EVENT_NAME:
            self._write(data)
