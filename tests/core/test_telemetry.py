"""The signal on OpenTelemetry spans: names, values, and the span that gets them."""

import asyncio
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.context import get_current
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Tracer

from langchain_recall_signal import RecallTelemetryHandler
from recall_signal import MissingDependencyError, RecallConfidence, SelectionReport, assess
from recall_signal.confidence import unknown
from recall_signal.reports import NOT_CONFIGURED, RerankReport, report_dict
from recall_signal.telemetry import (
    CONFIDENCE_FIELDS,
    RERANK_FIELDS,
    SELECTION_FIELDS,
    signal_attributes,
)
from tests.frameworks import STRONG, WEAK, Framework
from tests.reports import report_of

REPORT = report_of(assess([0.9, 0.5, 0.45]), NOT_CONFIGURED, "store")


def test_the_attributes_of_a_measured_page() -> None:
    assert signal_attributes(REPORT) == {
        "recall_signal.level": "high",
        "recall_signal.top_score": 0.9,
        "recall_signal.prominence": 0.895,
        "recall_signal.relative_margin": 17.0,
        "recall_signal.result_count": 3,
        "recall_signal.basis": "prominence",
        "recall_signal.cosine_source": "store",
        "recall_signal.selection.applied": False,
        "recall_signal.selection.reason": "not_configured",
    }


def test_the_attributes_of_a_selection_hold_no_ids() -> None:
    selection = SelectionReport(
        applied=True, model="small", kept=1, dropped=1, dropped_memory_ids=["payroll of Odile"]
    )
    attributes = signal_attributes(report_of(assess([]), selection, None))
    assert attributes == {
        "recall_signal.level": "none",
        "recall_signal.result_count": 0,
        "recall_signal.selection.applied": True,
        "recall_signal.selection.model": "small",
        "recall_signal.selection.kept": 1,
        "recall_signal.selection.dropped": 1,
    }


def test_every_field_of_the_reports_is_decided_about() -> None:
    assert RecallConfidence.model_fields.keys() - set(CONFIDENCE_FIELDS) == {"rationale"}
    left_out = SelectionReport.model_fields.keys() - set(SELECTION_FIELDS)
    assert left_out == {"dropped_memory_ids"}
    assert RerankReport.model_fields.keys() == set(RERANK_FIELDS)


def test_the_outcome_of_a_reranker_is_there_where_one_is_in_use() -> None:
    failed = RerankReport(applied=False, reason="timeout")
    added = signal_attributes(report_of(assess([]), NOT_CONFIGURED, None, failed))
    assert {name: value for name, value in added.items() if ".rerank." in name} == {
        "recall_signal.rerank.applied": False,
        "recall_signal.rerank.reason": "timeout",
    }
    assert not any(".rerank." in name for name in signal_attributes(REPORT))


@given(st.lists(st.one_of(st.none(), st.floats(-1, 1)), max_size=5))
def test_values_are_what_a_span_takes(cosines: list[float | None]) -> None:
    report = report_of(assess(cosines), NOT_CONFIGURED, None)
    for name, value in signal_attributes(report).items():
        assert name.startswith("recall_signal.")
        assert isinstance(value, str | bool | int | float)


@pytest.mark.parametrize("report", [{}, {"confidence": None}, {"confidence": {"level": ["x"]}}])
def test_a_report_with_gaps_has_fewer_attributes(report: dict[str, Any]) -> None:
    assert signal_attributes(report) == {}


def test_without_opentelemetry_the_error_says_what_to_install(
    framework: Framework, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    extra = framework.name.replace("_", "-")
    with pytest.raises(MissingDependencyError, match=rf"pip install 'recall-signal\[{extra}\]'$"):
        framework.package.RecallTelemetryHandler()


# Both frameworks


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def tracer(exporter: InMemorySpanExporter) -> Iterator[Tracer]:
    """An application's own tracer; nothing may be left attached."""
    before, provider = get_current(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield provider.get_tracer("an application")
    assert get_current() == before


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


async def test_the_current_span_gets_the_attributes(
    framework: Framework, way: str, tracer: Tracer, exporter: InMemorySpanExporter
) -> None:
    retriever = framework.over()
    with (
        framework.telemetry() as call,
        tracer.start_as_current_span("request", attributes={"mine": 1}),
    ):
        RecallTelemetryHandler().on_custom_event("another", {"confidence": {"match": "exact"}})
        response = await framework.recall(retriever, way, **call)
    (span,) = exporter.get_finished_spans()
    assert attributes(span) == {"mine": 1, **signal_attributes(response.to_dict())}
    assert attributes(span)["recall_signal.level"] == "high"
    assert "t0" not in json.dumps(attributes(span))


async def test_an_empty_page_is_written_as_well(
    framework: Framework, way: str, tracer: Tracer, exporter: InMemorySpanExporter
) -> None:
    with framework.telemetry() as call, tracer.start_as_current_span("request"):
        await framework.recall(framework.around(list), way, **call)
    (span,) = exporter.get_finished_spans()
    assert attributes(span)["recall_signal.level"] == "none"


async def test_without_a_span_nothing_is_written(
    framework: Framework, way: str, tracer: Tracer, exporter: InMemorySpanExporter
) -> None:
    with framework.telemetry() as call:
        assert (await framework.recall(framework.over(), way, **call)).confidence.level == "high"
    assert exporter.get_finished_spans() == ()


async def test_concurrent_calls_write_to_their_own_spans(
    framework: Framework, tracer: Tracer, exporter: InMemorySpanExporter
) -> None:
    strong, weak = framework.over(STRONG), framework.over(WEAK)

    async def one(number: int, call: dict[str, Any]) -> None:
        with tracer.start_as_current_span("request", attributes={"n": number}):
            await framework.recall((strong, weak)[number % 2], "async", **call)

    with framework.telemetry() as call:
        await asyncio.gather(*(one(number, call) for number in range(20)))
    written = [attributes(span) for span in exporter.get_finished_spans()]
    assert len(written) == 20
    assert {(span["n"] % 2, span["recall_signal.level"]) for span in written} == {
        (0, "high"),
        (1, "none"),
    }


async def test_a_failure_and_a_cancellation_pass_and_write_nothing(
    framework: Framework, tracer: Tracer, exporter: InMemorySpanExporter
) -> None:
    def fail() -> list[str]:
        raise KeyError("secret")

    with framework.telemetry() as call, tracer.start_as_current_span("request"):
        with pytest.raises(KeyError):
            await framework.recall(framework.around(fail), "async", **call)
        task = asyncio.create_task(framework.recall(framework.hanging(), "async", **call))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    (span,) = exporter.get_finished_spans()
    assert attributes(span) == {}


def test_a_report_without_a_signal_leaves_that_of_the_span() -> None:
    selection = SelectionReport(applied=False, reason="timeout")
    report = report_dict(unknown("no_signal", 3), selection, None, advice="undecided")
    assert signal_attributes(report) == {
        "recall_signal.selection.applied": False,
        "recall_signal.selection.reason": "timeout",
    }
