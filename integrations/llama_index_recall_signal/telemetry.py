"""``RecallTelemetryHandler``: the signal on the retriever's OpenTelemetry span."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.span import BaseSpan
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from pydantic import PrivateAttr

from llama_index_recall_signal.events import RecallSignalEvent
from llama_index_recall_signal.postprocessor import RecallPostprocessor
from llama_index_recall_signal.retriever import RecallRetriever
from recall_signal.telemetry import DATA_SOURCE, RetrievalSpans

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

__all__ = ["RecallTelemetryHandler"]


class RecallTelemetryHandler(BaseEventHandler, BaseSpanHandler[BaseSpan]):
    """Writes the signal of every retrieval to a span, without any text.

    Add it to LlamaIndex's instrumentation twice, as what it is::

        handler, root = RecallTelemetryHandler(), get_dispatcher()
        root.add_span_handler(handler)  # when a retrieval begins, and how it fails
        root.add_event_handler(handler)  # its signal

    Where an instrumentation has made its retrieval span the current one, the attributes go
    there; otherwise the handler writes a span ``retrieval`` of its own. What was searched is
    taken from ``instrument_tags({"gen_ai.data_source.id": "..."})`` around the call.

    Args:
        tracer_provider: Where its own spans go; None for the global provider.

    Raises:
        MissingDependencyError: ``opentelemetry-api`` is not installed.
    """

    _spans: RetrievalSpans = PrivateAttr()

    def __init__(self, tracer_provider: TracerProvider | None = None) -> None:
        super().__init__()
        self._spans = RetrievalSpans(tracer_provider)

    @classmethod
    def class_name(cls) -> str:
        """The component's name."""
        return "RecallTelemetryHandler"

    def handle(self, event: BaseEvent, **_: Any) -> None:
        """Write the signal."""
        if isinstance(event, RecallSignalEvent):
            self._spans.signal(event.span_id, event.report, _name(event.span_id or ""))

    def new_span(
        self,
        id_: str,
        bound_args: Any,  # noqa: ARG002
        instance: Any = None,
        parent_span_id: str | None = None,  # noqa: ARG002
        tags: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Note the time; what a wrapped retriever does is part of the wrapper's span."""
        if isinstance(instance, RecallRetriever | RecallPostprocessor):
            self._spans.begin(id_, (tags or {}).get(DATA_SOURCE), _name(id_))

    def prepare_to_exit_span(
        self,
        id_: str,
        bound_args: Any,  # noqa: ARG002
        instance: Any = None,  # noqa: ARG002
        result: Any = None,  # noqa: ARG002
        **_: Any,
    ) -> None:
        """Forget it."""
        self._spans.end(id_)

    def prepare_to_drop_span(
        self,
        id_: str,
        bound_args: Any,  # noqa: ARG002
        instance: Any = None,  # noqa: ARG002
        err: BaseException | None = None,
        **_: Any,
    ) -> None:
        """Write the failure, once: ``retrieve`` has a span around that of ``_retrieve``."""
        is_inner = id_.partition(".")[2].startswith("_")
        if err is None or is_inner:
            self._spans.end(id_)
        else:
            self._spans.fail(id_, err, _name(id_))


def _name(span_id: str) -> str:
    """Class and method of a span of LlamaIndex."""
    return span_id.partition("-")[0]
