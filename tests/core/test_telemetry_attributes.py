"""Names and values of the span attributes, and the span that gets them."""

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import INVALID_SPAN, SpanKind, StatusCode, use_span

from recall_signal import MissingDependencyError, RecallConfidence, SelectionReport, assess
from recall_signal.reports import NOT_CONFIGURED, RerankReport, report_dict
from recall_signal.telemetry import (
    CONFIDENCE_FIELDS,
    MOST_OPEN,
    RERANK_FIELDS,
    SELECTION_FIELDS,
    RetrievalSpans,
    signal_attributes,
)

REPORT = report_dict(assess([0.9, 0.5, 0.45]), NOT_CONFIGURED, "store")


class Recorded:
    """A provider of our own, and what it exported."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("somebody else")
        self.spans = RetrievalSpans(self.provider)

    @property
    def written(self) -> list[Any]:
        return list(self.exporter.get_finished_spans())


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


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
    attributes = signal_attributes(report_dict(assess([]), selection, None))
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


def test_what_the_reranker_did_is_there_where_one_is_in_use() -> None:
    failed = RerankReport(applied=False, reason="timeout")
    added = signal_attributes(report_dict(assess([]), NOT_CONFIGURED, None, failed))
    assert {name: value for name, value in added.items() if ".rerank." in name} == {
        "recall_signal.rerank.applied": False,
        "recall_signal.rerank.reason": "timeout",
    }
    done = RerankReport(applied=True, scale="logit", scored=3, reordered=True)
    added = signal_attributes(report_dict(assess([]), NOT_CONFIGURED, None, done))
    assert added["recall_signal.rerank.scored"] == 3
    assert added["recall_signal.rerank.scale"] == "logit"
    assert not any(".rerank." in name for name in signal_attributes(REPORT))


@given(st.lists(st.one_of(st.none(), st.floats(-1, 1)), max_size=5))
def test_values_are_what_a_span_takes(cosines: list[float | None]) -> None:
    report = report_dict(assess(cosines), NOT_CONFIGURED, None)
    for name, value in signal_attributes(report).items():
        assert name.startswith("recall_signal.")
        assert isinstance(value, str | bool | int | float)


@pytest.mark.parametrize("report", [{}, {"confidence": None}, {"confidence": {"level": ["x"]}}])
def test_a_report_with_gaps_has_fewer_attributes(report: dict[str, Any]) -> None:
    assert signal_attributes(report) == {}


def test_a_span_of_our_own_has_the_duration_and_the_parent(recorded: Recorded) -> None:
    with recorded.tracer.start_as_current_span("request") as request:
        recorded.spans.begin("id", "wiki")
    recorded.spans.signal("id", REPORT)
    span = recorded.written[1]
    assert (span.name, span.kind, span.status.status_code) == (
        "retrieval",
        SpanKind.INTERNAL,
        StatusCode.UNSET,
    )
    assert span.attributes == {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.data_source.id": "wiki",
        **signal_attributes(REPORT),
    }
    assert span.parent.span_id == request.get_span_context().span_id
    assert span.start_time < recorded.written[0].end_time < span.end_time
    assert recorded.written[0].attributes == {}


def test_a_signal_without_a_beginning_is_written_all_the_same(recorded: Recorded) -> None:
    recorded.spans.signal("id", REPORT)
    (span,) = recorded.written
    assert span.attributes["recall_signal.level"] == "high"
    assert span.parent is None


@pytest.mark.parametrize(
    ("name", "attributes"),
    [("anything", {"gen_ai.operation.name": "retrieval"}), ("RecallRetriever._retrieve", {})],
)
def test_an_instrumentations_own_span_gets_the_attributes(
    recorded: Recorded, name: str, attributes: dict[str, str]
) -> None:
    recorded.spans.begin("id", "wiki")
    with recorded.tracer.start_as_current_span(name, attributes=attributes):
        recorded.spans.signal("id", REPORT, "RecallRetriever._retrieve")
    (span,) = recorded.written
    expected = {**attributes, "gen_ai.data_source.id": "wiki", **signal_attributes(REPORT)}
    assert span.attributes == expected


def test_a_span_that_does_not_record_is_left_alone(recorded: Recorded) -> None:
    with use_span(INVALID_SPAN):
        recorded.spans.begin("id")
        recorded.spans.signal("id", REPORT)
    assert len(recorded.written) == 1


def test_a_failure_is_named_by_its_class_alone(recorded: Recorded) -> None:
    recorded.spans.begin("id", "wiki")
    recorded.spans.fail("id", ValueError("the text of a query"))
    recorded.spans.fail("id", ValueError("once more"))
    (span,) = recorded.written
    assert span.attributes == {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.data_source.id": "wiki",
        "error.type": "ValueError",
    }
    assert span.status.status_code is StatusCode.ERROR
    assert (span.status.description, span.events) == (None, ())


def test_an_instrumentation_reports_failures_itself(recorded: Recorded) -> None:
    attributes = {"gen_ai.operation.name": "retrieval"}
    recorded.spans.begin("id")
    with recorded.tracer.start_as_current_span("retrieval", attributes=attributes):
        recorded.spans.fail("id", ValueError())
    (span,) = recorded.written
    assert span.attributes == attributes


def test_an_instrumentations_span_may_be_over_before_the_failure(recorded: Recorded) -> None:
    with recorded.tracer.start_as_current_span("Retriever.retrieve"):
        recorded.spans.begin("id", span_name="Retriever.retrieve")
    recorded.spans.fail("id", ValueError(), "Retriever.retrieve")
    assert [span.name for span in recorded.written] == ["Retriever.retrieve"]


def test_a_retrieval_without_a_signal_leaves_nothing(recorded: Recorded) -> None:
    recorded.spans.begin("id")
    recorded.spans.end("id")
    assert recorded.written == []
    assert not recorded.spans._open


def test_what_never_ends_is_forgotten_in_the_end(recorded: Recorded) -> None:
    for number in range(MOST_OPEN + 5):
        recorded.spans.begin(number)
    assert len(recorded.spans._open) == MOST_OPEN
    assert 4 not in recorded.spans._open


def test_without_opentelemetry_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(MissingDependencyError, match=r"pip install opentelemetry-api$"):
        RetrievalSpans()
