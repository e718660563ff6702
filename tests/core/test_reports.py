"""What travels with the results: sparse, plain and independent of everything around it."""

import json
import sys
import threading
from contextlib import nullcontext
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from recall_signal import SelectionReason, SelectionReport, assess
from recall_signal.report_parsing import parse_report
from recall_signal.reports import (
    NOT_CONFIGURED,
    SELECTION_REASONS,
    ReportsMixin,
    RerankReport,
    copy_nested,
    metadata_entry,
)
from tests.reports import report_of

APPLIED = SelectionReport(applied=True, model="fake", kept=2, dropped=1, dropped_memory_ids=["m7"])


def test_the_reasons_are_the_promised_closed_set() -> None:
    assert set(SELECTION_REASONS) == {
        "not_configured",
        "no_results",
        "too_few_results",
        "skipped_by_level",
        "timeout",
        "llm_error",
        "invalid_output",
        "selected_none",
    }
    with pytest.raises(ValidationError):
        SelectionReport(applied=False, reason="bored")  # type: ignore[arg-type]


@pytest.mark.parametrize("reason", SELECTION_REASONS)
def test_not_applied_serialises_with_its_reason_alone(reason: SelectionReason) -> None:
    report = SelectionReport(applied=False, reason=reason)
    assert report.model_dump(mode="json") == {"applied": False, "reason": reason}
    assert json.loads(report.model_dump_json()) == {"applied": False, "reason": reason}


@pytest.mark.parametrize("count", [0, 1, 20])
def test_applied_serialises_all_but_a_reason(count: int) -> None:
    fields: dict[str, Any] = {
        "applied": True,
        "model": "fake",
        "kept": 0,
        "dropped": count,
        "dropped_memory_ids": [f"m{n}" for n in range(count)],
    }
    report = SelectionReport(**fields)
    assert report.model_dump(mode="json") == fields
    assert SelectionReport.model_validate_json(report.model_dump_json()) == report


APPLIED_FIELDS = APPLIED.model_dump()
RERANKED: Any = {"applied": True, "scale": "logit", "scored": 1, "reordered": True}


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (SelectionReport, {}),
        (SelectionReport, {"applied": True}),
        (SelectionReport, {"applied": False}),
        (SelectionReport, {**APPLIED_FIELDS, "reason": "timeout"}),
        (SelectionReport, {**APPLIED_FIELDS, "applied": False}),
        (SelectionReport, {"applied": False, "reason": "timeout", "model": "m"}),
        (SelectionReport, {"applied": False, "reason": "timeout", "kept": 0}),
        (SelectionReport, {**APPLIED_FIELDS, "kept": -1}),
        (SelectionReport, {**APPLIED_FIELDS, "dropped": 0}),
        (SelectionReport, {**APPLIED_FIELDS, "dropped_memory_ids": None}),
        (SelectionReport, {**APPLIED_FIELDS, "dropped": 21, "dropped_memory_ids": ["m"] * 21}),
        (SelectionReport, {**APPLIED_FIELDS, "dropped": 2}),
        (SelectionReport, {**APPLIED_FIELDS, "dropped": 25, "dropped_memory_ids": ["m"] * 19}),
        (SelectionReport, {**APPLIED_FIELDS, "model": ""}),
        (SelectionReport, {**APPLIED_FIELDS, "verdict": "yes"}),
        (SelectionReport, {**APPLIED_FIELDS, "applied": "yes"}),
        (SelectionReport, {**APPLIED_FIELDS, "applied": 1}),
        (SelectionReport, {"applied": 0, "reason": "timeout"}),
        (SelectionReport, {**APPLIED_FIELDS, "kept": "1"}),
        (SelectionReport, {**APPLIED_FIELDS, "kept": True}),
        (SelectionReport, {**APPLIED_FIELDS, "kept": 1.5}),
        (SelectionReport, {**APPLIED_FIELDS, "kept": -1.0}),
        (SelectionReport, {**APPLIED_FIELDS, "dropped": True}),
        (SelectionReport, {**APPLIED_FIELDS, "model": b"m"}),
        (SelectionReport, {**APPLIED_FIELDS, "dropped_memory_ids": {"m7"}}),
        (SelectionReport, {**APPLIED_FIELDS, "dropped_memory_ids": [7]}),
        (SelectionReport, {**APPLIED_FIELDS, "reason": None}),
        (SelectionReport, {"applied": False, "reason": "timeout", "model": None}),
        (RerankReport, {"applied": False}),
        (RerankReport, {**RERANKED, "reason": "timeout"}),
        (RerankReport, {**RERANKED, "scored": None}),
        (RerankReport, {**RERANKED, "scored": "1"}),
        (RerankReport, {**RERANKED, "scored": True}),
        (RerankReport, {**RERANKED, "reordered": 1}),
        (RerankReport, {**RERANKED, "reason": None}),
        (RerankReport, {"applied": False, "reason": "timeout", "scale": "logit"}),
    ],
)
def test_a_contradiction_is_refused_by_the_type_and_by_its_schema(kind: Any, fields: Any) -> None:
    with pytest.raises(ValidationError):
        kind(**fields)
    assert not Draft202012Validator(kind.model_json_schema()).is_valid(fields)


@pytest.mark.parametrize("report", [APPLIED, RerankReport(**RERANKED)])
def test_a_count_may_be_written_as_a_float(report: Any) -> None:
    """In a Struct of protobuf every number is one, and a JSON schema takes 2.0 for an integer."""
    fields = json.loads(report.model_dump_json())
    floats = {name: float(value) if type(value) is int else value for name, value in fields.items()}
    assert [*map(type, floats.values())].count(float)
    Draft202012Validator(type(report).model_json_schema()).validate(floats)
    read = type(report)(**floats)
    assert read.model_dump_json() == report.model_dump_json()
    holder = {"confidence": {"level": "high"}, "selection": floats, "rerank": floats}
    parsed = parse_report(holder)
    assert parsed is not None
    assert read in (parsed.selection, parsed.rerank)


def test_as_many_ids_as_dropped_results_up_to_twenty() -> None:
    schema = Draft202012Validator(SelectionReport.model_json_schema())
    for dropped in [*range(24), 1000]:
        for named in range(22):
            fields = {**APPLIED_FIELDS, "dropped": dropped, "dropped_memory_ids": ["m"] * named}
            fits = named == min(dropped, 20)
            assert schema.is_valid(fields) == fits
            with nullcontext() if fits else pytest.raises(ValidationError):
                SelectionReport(**fields)


def test_a_key_of_the_other_shape_is_named_though_it_is_none() -> None:
    with pytest.raises(ValidationError, match="got applied, model, reason, with None for model"):
        SelectionReport(applied=False, reason="timeout", model=None)


@pytest.mark.parametrize("mode", ["validation", "serialization"])
@pytest.mark.parametrize(
    "report",
    [
        APPLIED,
        NOT_CONFIGURED,
        RerankReport(**RERANKED),
        RerankReport(applied=False, reason="timeout"),
    ],
)
def test_the_schema_says_the_two_shapes(report: Any, mode: Any) -> None:
    schema = type(report).model_json_schema(mode=mode)
    applied, not_applied = schema["oneOf"]
    assert applied["additionalProperties"] is not_applied["additionalProperties"] is False
    assert set(not_applied["required"]) == {"applied", "reason"}
    Draft202012Validator(schema).validate(report.model_dump(mode="json"))


def test_a_lone_surrogate_in_an_id_is_valid_json() -> None:
    report = SelectionReport(
        applied=True, model="m\udfff", kept=0, dropped=1, dropped_memory_ids=["\ud800a"]
    )
    assert json.loads(report.model_dump_json())["dropped_memory_ids"] == ["?a"]
    assert report.model == "m?"


def test_a_report_is_frozen() -> None:
    with pytest.raises(ValidationError):
        APPLIED.kept = 5  # type: ignore[misc]


def test_not_configured_is_what_its_name_says() -> None:
    assert NOT_CONFIGURED.model_dump() == {"applied": False, "reason": "not_configured"}
    assert set(get_args(SelectionReason)) == set(SELECTION_REASONS)


def report() -> dict[str, Any]:
    return report_of(assess([0.9, 0.5]), APPLIED, "store")


def test_the_report_is_versioned_plain_json() -> None:
    value = report()
    assert value["v"] == 1
    assert value["confidence"]["level"] == "high"
    assert value["selection"]["dropped_memory_ids"] == ["m7"]
    assert value["cosine_source"] == "store"
    assert json.loads(json.dumps(value, allow_nan=False)) == value


def test_a_report_can_be_changed_without_changing_what_it_was_made_of() -> None:
    confidence = assess([0.9, 0.5])
    selection = APPLIED.model_copy(deep=True)
    value = report_of(confidence, selection, "store")
    value["confidence"]["level"] = "changed"
    value["selection"]["dropped_memory_ids"].append("changed")
    assert confidence.level == "high"
    assert selection == APPLIED


@pytest.mark.parametrize("selection", [APPLIED, NOT_CONFIGURED])
def test_every_response_gives_its_reports_as_a_dict(selection: SelectionReport) -> None:
    class Response(ReportsMixin):
        shown = 1

        def __init__(self) -> None:
            self.confidence, self.selection = assess([0.9, 0.5]), selection
            self.cosine_source = "vectors"

    value = Response().to_dict()
    assert value["confidence"] == assess([0.9, 0.5]).model_dump(mode="json")
    assert value["selection"] == selection.model_dump(mode="json")
    assert value["cosine_source"] == "vectors"


def test_an_entry_adds_rank_and_rounded_cosine() -> None:
    entry = metadata_entry(report(), 3, 0.123456789)
    assert entry == {**report(), "rank": 3, "cosine": 0.123457}
    assert metadata_entry(report(), 0, None)["cosine"] is None


@pytest.mark.parametrize("cosine", [float("nan"), float("inf")])
def test_an_entry_is_plain_json_without_nan(cosine: float) -> None:
    entry = metadata_entry(report(), 0, cosine)
    assert entry["cosine"] is None


def test_entries_share_nothing_that_can_be_changed() -> None:
    named = {"id": "a", "created": None, "status": "ready"}
    shared: dict[str, Any] = {**report(), "calibration": named, "rerank": {"applied": True}}
    first, second = metadata_entry(shared, 0, 0.9), metadata_entry(shared, 1, 0.5)
    assert second == {**shared, "rank": 1, "cosine": 0.5}
    parts = [id(part) for value in (first, second, shared) for part in containers(value)]
    assert len(set(parts)) == len(parts)


UNHURRIED = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def containers(value: Any) -> list[Any]:
    """Every dict and list in a value, itself included."""
    if isinstance(value, dict):
        return [value, *(found for item in value.values() for found in containers(item))]
    if isinstance(value, list):
        return [value, *(found for item in value for found in containers(item))]
    return []


@UNHURRIED
@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_a_fresh_copy_is_equal_and_new_all_the_way_down(value: dict[str, Any]) -> None:
    copy = copy_nested(value)
    assert copy == value
    assert not {id(item) for item in containers(copy)} & {id(item) for item in containers(value)}


def test_a_fresh_copy_shares_what_it_cannot_know() -> None:
    handle, frozen = object(), (1, 2)
    copy = copy_nested({"handle": handle, "frozen": frozen, "deep": [{"handle": handle}]})
    assert copy["handle"] is handle
    assert copy["frozen"] is frozen
    assert copy["deep"][0]["handle"] is handle


def test_metadata_that_holds_itself_is_handed_on() -> None:
    value: dict[str, Any] = {"n": 1}
    value["self"] = value
    copy = copy_nested(value)
    assert copy is not value
    assert copy["self"]["n"] == 1


def test_cycles_that_branch_end_soon() -> None:
    """Each level of recursion that went on by itself would double the time."""
    parent: dict[str, Any] = {"name": "p"}
    parent["kids"] = [{"parent": parent}, {"parent": parent}]
    copy = copy_nested(parent)
    assert copy is not parent
    assert copy["kids"] is parent["kids"]


def test_a_copy_may_be_made_while_another_thread_writes() -> None:
    value = {f"key {n}": [n] for n in range(200)}
    kept, stop = set(value), threading.Event()

    def write() -> None:
        while not stop.is_set():
            value["new"] = [0]
            del value["new"]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(2_000):
            assert copy_nested(value).keys() - {"new"} == kept
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        writer.join()
