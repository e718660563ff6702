"""The signal as attributes of an OpenTelemetry span: names, values, and which span.

``opentelemetry-api`` is optional. It is imported where a handler is made, and nowhere else.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

from recall_signal.errors import MissingDependencyError

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, TracerProvider

__all__ = ["DATA_SOURCE", "OPERATION", "PREFIX", "RetrievalSpans", "signal_attributes"]

PREFIX = "recall_signal."
"""The semantic conventions have no name for the strength of a match, so these are our own."""

OPERATION = "gen_ai.operation.name"
RETRIEVAL = "retrieval"
DATA_SOURCE = "gen_ai.data_source.id"
ERROR = "error.type"
"""Names of the semantic conventions for generative AI (0.1.0, 2026, in development)."""

CONFIDENCE_FIELDS = (
    "level",
    "top_score",
    "prominence",
    "relative_margin",
    "result_count",
    "basis",
    "probability",
    "reason",
    "rerank_score",
    "match",
)
"""All but the rationale, which says the same in words."""

SELECTION_FIELDS = ("applied", "reason", "model", "kept", "dropped")
"""All but the ids of dropped results, of which nobody knows what they tell."""

RERANK_FIELDS = ("applied", "reason", "scale", "scored", "reordered")
"""Only where a reranker is in use."""

MOST_OPEN = 10_000
"""Retrievals remembered at a time. Of a cancelled one LangChain never tells the end."""

Attributes = dict[str, str | bool | int | float]


def signal_attributes(report: Mapping[str, Any]) -> dict[str, str | bool | int | float]:
    """The reports as span attributes, without any text of a query or a document.

    Args:
        report: As in ``RecallResponse.to_dict()``, a document's metadata entry, or the data of
            the event ``recall_signal``. What is None or not there becomes no attribute.
    """
    confidence = report.get("confidence") or {}
    selection = report.get("selection") or {}
    rerank = report.get("rerank") or {}
    values = {name: confidence.get(name) for name in CONFIDENCE_FIELDS}
    values["cosine_source"] = report.get("cosine_source")
    values |= {f"selection.{name}": selection.get(name) for name in SELECTION_FIELDS}
    values |= {f"rerank.{name}": rerank.get(name) for name in RERANK_FIELDS}
    return {
        PREFIX + name: value
        for name, value in values.items()
        if isinstance(value, str | bool | int | float)
    }


@dataclass(frozen=True, slots=True)
class _Opened:
    """A retrieval that has begun: when (nanoseconds), inside what, on what, in whose span."""

    start: int | None = None
    context: Context | None = None
    attributes: Attributes = field(default_factory=dict)
    traced: bool = False


class RetrievalSpans:
    """Puts the signal on the retriever's span.

    An instrumentation whose retrieval span is the current one gets the attributes on that.
    Otherwise a span of our own is written when the signal is there, with the time at which the
    retrieval began. No context is ever attached, so none can be left behind, and what runs at
    the same time knows nothing of each other.

    Args:
        tracer_provider: Where our own spans go; None for the global provider.

    Raises:
        MissingDependencyError: ``opentelemetry-api`` is not installed.
    """

    def __init__(self, tracer_provider: TracerProvider | None = None) -> None:
        try:
            from opentelemetry import context, trace
        except ImportError:
            raise MissingDependencyError("Telemetry", package="opentelemetry-api") from None
        self._trace, self._context = trace, context
        self._tracer = trace.get_tracer("recall_signal", tracer_provider=tracer_provider)
        self._open: dict[Hashable, _Opened] = {}
        self._lock = Lock()

    def begin(self, key: Hashable, data_source: Any = None, span_name: str | None = None) -> None:
        """A retrieval begins.

        Args:
            key: Its id in the framework.
            data_source: The id of what is searched, where that is told.
            span_name: What an instrumentation would call the retriever's span.
        """
        opened = _Opened(
            start=time.time_ns(),
            context=self._context.get_current(),
            attributes={DATA_SOURCE: data_source} if isinstance(data_source, str) else {},
            traced=self._is_traced(span_name),
        )
        with self._lock:
            self._open[key] = opened
            if len(self._open) > MOST_OPEN:
                del self._open[next(iter(self._open))]

    def signal(
        self, key: Hashable, report: Mapping[str, Any], span_name: str | None = None
    ) -> None:
        """Its signal is there.

        Args:
            key: As in :meth:`begin`; where it is not known, the span has no duration.
            report: As in :func:`signal_attributes`.
            span_name: As in :meth:`begin`.
        """
        opened = self._take(key) or _Opened()
        attributes = opened.attributes | signal_attributes(report)
        if self._is_traced(span_name):
            self._trace.get_current_span().set_attributes(attributes)
        else:
            self._start(opened, attributes).end()

    def end(self, key: Hashable) -> None:
        """It is over; where there was no signal, there is no span."""
        self._take(key)

    def fail(self, key: Hashable, error: BaseException, span_name: str | None = None) -> None:
        """It raised: a span of our own says so, by the error's class alone.

        An instrumentation does that itself. Its span may be over by now, or have begun after ours.
        """
        opened = self._take(key)
        if opened is None or opened.traced or self._is_traced(span_name):
            return
        span = self._start(opened, opened.attributes | {ERROR: type(error).__qualname__})
        span.set_status(self._trace.StatusCode.ERROR)
        span.end()

    def _take(self, key: Hashable) -> _Opened | None:
        with self._lock:
            return self._open.pop(key, None)

    def _is_traced(self, name: str | None) -> bool:
        """Whether the current span is the retriever's: by its operation, or else by its name.

        OpenInference names its spans in LlamaIndex after class and method, and says what they
        are only at their end.
        """
        span: Any = self._trace.get_current_span()
        if not span.is_recording():
            return False
        attributes = getattr(span, "attributes", None) or {}
        named = name is not None and getattr(span, "name", None) == name
        return named or attributes.get(OPERATION) == RETRIEVAL

    def _start(self, opened: _Opened, attributes: Attributes) -> Span:
        return self._tracer.start_span(
            RETRIEVAL,
            context=opened.context,
            kind=self._trace.SpanKind.INTERNAL,
            attributes={OPERATION: RETRIEVAL, **attributes},
            start_time=opened.start,
        )
