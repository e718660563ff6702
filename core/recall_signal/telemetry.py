"""The signal as attributes of an OpenTelemetry span.

`opentelemetry-api` is optional. It is imported where a handler is made, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from recall_signal.errors import MissingDependencyError

__all__ = ["PREFIX", "signal_attributes", "span_writer"]

PREFIX = "recall_signal."
"""The semantic conventions for generative AI have no name for the strength of a match."""

CONFIDENCE_FIELDS = (
    "level",
    "top_score",
    "prominence",
    "relative_margin",
    "result_count",
    "basis",
    "probability",
    "term_coverage",
    "reason",
    "rerank_score",
    "match",
)
"""All but the rationale, which says the same in words."""

SELECTION_FIELDS = ("applied", "reason", "model", "kept", "dropped")
"""All but the ids of dropped results, which may reveal something."""

RERANK_FIELDS = ("applied", "reason", "scale", "scored", "reordered")
"""Only where a reranker is in use."""

Attributes = dict[str, str | bool | int | float]


def signal_attributes(report: Mapping[str, object]) -> dict[str, str | bool | int | float]:
    """Return the reports as span attributes, without any text of a query or a document.

    Args:
        report: As in `RecallResponse.to_dict()`, a document's metadata entry, or the data of
            the event `recall_signal`. Values that are None or missing become no attribute, and
            a report without any signal (`no_signal`, as a selector over a bare list makes it)
            says nothing of the signal that the span may hold already.
    """
    values: dict[str, object] = {"cosine_source": report.get("cosine_source")}
    parts = (
        ("confidence", "", CONFIDENCE_FIELDS),
        ("selection", "selection.", SELECTION_FIELDS),
        ("rerank", "rerank.", RERANK_FIELDS),
    )
    for part, prefix, names in parts:
        given = report.get(part)
        if isinstance(given, Mapping) and given.get("reason") != "no_signal":
            values |= {f"{prefix}{name}": given.get(name) for name in names}
    return {
        f"{PREFIX}{name}": value
        for name, value in values.items()
        if isinstance(value, str | bool | int | float)
    }


def span_writer(extra: str) -> Callable[[Mapping[str, object]], None]:
    """Return a function that writes a report's attributes to the current span.

    A span that does not record is left alone; no span is started and no context is attached.

    Args:
        extra: The extra of `recall-signal` that brings OpenTelemetry to the caller.

    Raises:
        MissingDependencyError: `opentelemetry-api` is not installed.
    """
    try:
        from opentelemetry.trace import get_current_span
    except ImportError:
        raise MissingDependencyError("Telemetry", extra) from None

    def write(report: Mapping[str, object]) -> None:
        span = get_current_span()
        if span.is_recording():
            span.set_attributes(signal_attributes(report))

    return write
