"""A signal is read back out of anything, and nothing that is read raises."""

import json
from dataclasses import dataclass, field
from enum import StrEnum
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, ToolMessage, messages_to_dict
from llama_index.core.schema import NodeWithScore, TextNode

from recall_signal import RecallConfidence, assess
from recall_signal.confidence import LEVELS, unknown
from recall_signal.report_parsing import (
    NO_SIGNAL,
    advice_in,
    get_field,
    level_in,
    parse_confidence,
    parse_report,
    report_in,
    strongest,
)
from recall_signal.reports import NOT_CONFIGURED, ReportsMixin, metadata_entry
from tests.ids import stable_repr
from tests.reports import report_of

STRONG = assess([0.9, 0.5, 0.45, 0.4])
WEAK = assess([0.2, 0.195, 0.19, 0.185])
REPORT = report_of(STRONG, NOT_CONFIGURED, "store")
FIELDS = REPORT["confidence"]
ARTIFACT = {"v": 1, "documents": [], "recall": REPORT, "error": None}


@dataclass
class Response(ReportsMixin):
    confidence: RecallConfidence = STRONG
    selection: Any = NOT_CONFIGURED
    cosine_source: Any = "store"
    shown: int = 1  # a property of the class
    metadata: dict[str, Any] = field(default_factory=dict)


def carrier(entry: Any = REPORT) -> SimpleNamespace:
    return SimpleNamespace(text="stored", metadata={"source": "a.md", "recall": entry})


HOLDERS: dict[str, Any] = {
    "response": Response(),
    "confidence": STRONG,
    "report": REPORT,
    "report with the confidence itself": {"confidence": STRONG},
    "fields": FIELDS,
    "entry": metadata_entry(REPORT, 0, 0.9),
    "artifact": ARTIFACT,
    "artifact with the response": {"recall": Response()},
    "with metadata": carrier(),
    "dict with metadata": {"metadata": {"recall": REPORT}},
    "list": [carrier("not ours"), carrier()],
    "tuple": (carrier(),),
    "something with a confidence": SimpleNamespace(confidence=STRONG),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_every_holder_has_the_same_signal(name: str) -> None:
    holder = HOLDERS[name]
    report = report_in(holder)
    assert report is not None
    assert report["confidence"] == FIELDS
    assert parse_confidence(holder) == STRONG
    assert level_in(holder) == STRONG.level == "high"
    assert advice_in(holder) == "read"


RESULT = {"v": 1, "results": [], "recall": REPORT, "error": None}
DUMPS: dict[str, Any] = {
    "node": NodeWithScore(node=TextNode(text="t", metadata={"recall": REPORT})).model_dump(),
    "node, its own way": NodeWithScore(node=TextNode(metadata={"recall": REPORT})).to_dict(),
    "message": messages_to_dict([ToolMessage("", tool_call_id="1", artifact=ARTIFACT)])[0],
    "answer": messages_to_dict([AIMessage("", response_metadata={"recall": REPORT})])[0],
    "message, serialised": dumpd(ToolMessage("", tool_call_id="1", artifact=ARTIFACT)),
    "document, serialised": dumpd(Document("", metadata={"recall": REPORT})),
}
OF_TOOLS: dict[str, Any] = {
    "artifact": ARTIFACT,
    "structured content": RESULT,
    "message": ToolMessage("", tool_call_id="1", artifact=ARTIFACT),
    "message as a dict": DUMPS["message"],
    "output": SimpleNamespace(raw_output=ARTIFACT),
    "of a protocol": SimpleNamespace(artifact={"structured_content": RESULT}),
}


@pytest.mark.parametrize("name", DUMPS)
def test_dumps_are_read(name: str) -> None:
    assert report_in(DUMPS[name]) == REPORT
    assert report_in([DUMPS[name]]) == REPORT


@pytest.mark.parametrize("name", OF_TOOLS)
def test_a_tool_has_its_report_under_one_key(name: str) -> None:
    assert report_in(OF_TOOLS[name], "signal") == REPORT


@pytest.mark.parametrize("key", ["recall", "signal"])
@pytest.mark.parametrize("name", [*DUMPS, "artifact", "recall"])
def test_what_somebody_stored_is_no_report(name: str, key: str) -> None:
    """None of these stands under the wrapper's key."""
    fake = {name: {**DUMPS, "artifact": ARTIFACT, "recall": {"recall": REPORT}}[name]}
    stored = {"source": "a", "node": fake, "data": fake, "kwargs": fake, "artifact": fake, **fake}
    stored.pop(key, None)
    document, node = Document("", metadata=stored), TextNode(metadata=stored)
    for holder in (document, document.model_dump(), dumpd(document), node, node.to_dict()):
        assert report_in(holder, key) is None
    for holder in (NodeWithScore(node=node), NodeWithScore(node=node).to_dict()):
        assert report_in(holder, key) is None


def test_what_else_is_in_a_report_stays_in_it() -> None:
    assert report_in(REPORT) == REPORT
    newer = {**REPORT, "v": 2, "novelty": 0.3, "step": "s1"}
    assert report_in({"recall": newer}) == newer
    assert report_in(FIELDS) == {"confidence": FIELDS}


def test_a_tool_that_is_not_ours_may_give_its_page_itself() -> None:
    """As `create_retriever_tool` of LangChain does."""
    page = [Document("a"), Document("b", metadata={"recall": REPORT})]
    message = ToolMessage("a, b", artifact=page, tool_call_id="1")
    assert report_in(message) == report_in([message]) == REPORT
    assert report_in(ToolMessage("a", artifact=page[:1], tool_call_id="1")) is None


def test_what_is_read_is_a_copy() -> None:
    for holder in (REPORT, FIELDS, STRONG):
        report = report_in(holder)
        assert report is not None
        report["confidence"]["level"] = "none"
    assert (FIELDS["level"], STRONG.level) == ("high", "high")


CYCLIC: dict[str, Any] = {}
CYCLIC["recall"] = CYCLIC["metadata"] = CYCLIC["confidence"] = CYCLIC


class Hostile:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError

    def __repr__(self) -> str:
        return "hostile"


class HostileText(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = str.__hash__


FOREIGN: list[Any] = [
    None,
    5,
    "high",
    [],
    {},
    [None, 5, {}],
    {"recall": "high"},
    {"level": "superb"},
    {"level": ["high"]},
    {"level": np.array(["high", "low"])},
    {"level": HostileText("high")},
    {"level": "high", "confidence": 0.9},
    {"confidence": 3},
    {"confidence": {"level": None}},
    {"confidence": {}},
    SimpleNamespace(level="high"),
    SimpleNamespace(confidence=SimpleNamespace(level="high")),
    MagicMock(),
    Hostile(),
    {"recall": Hostile()},
    CYCLIC,
    [CYCLIC, CYCLIC],
]


@pytest.mark.parametrize("value", FOREIGN, ids=lambda value: type(value).__name__)
def test_what_is_no_report_has_no_signal(value: Any) -> None:
    assert report_in(value) is None
    assert parse_confidence(value) is None
    assert level_in(value) == "unknown"
    assert advice_in(value) == "undecided"


def test_a_value_with_a_level_of_its_own_is_asked_for_ours_first() -> None:
    answer = SimpleNamespace(level="high", confidence=STRONG, metadata={"recall": {"level": "low"}})
    assert level_in(answer) == "low"
    assert level_in({"level": "high", "recall": {"level": "none"}}) == "none"
    assert level_in({"recall": "not ours", "confidence": FIELDS}) == "high"


def test_a_field_of_a_newer_release_is_ignored() -> None:
    assert parse_confidence({**FIELDS, "novelty": 0.3, "recall": None}) == STRONG


def test_a_field_that_is_missing_is_empty() -> None:
    read = parse_confidence({"confidence": {"level": "low"}})
    assert read == RecallConfidence(level="low", result_count=0, rationale="")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("top_score", "high"),
        ("top_score", float("nan")),
        ("prominence", [0.4]),
        ("result_count", None),
        ("rationale", 5),
        ("basis", "guess"),
        ("match", ["near_miss"]),
        ("probability", Hostile()),
    ],
    ids=stable_repr,
)
def test_a_field_of_a_wrong_type_is_empty_and_the_others_stay(name: str, wrong: Any) -> None:
    empty = RecallConfidence(level="high", result_count=0, rationale="")
    expected = STRONG.model_copy(update={name: getattr(empty, name)})
    assert parse_confidence({**FIELDS, name: wrong}) == expected


def test_all_fields_of_wrong_types_leave_the_level() -> None:
    wrong = {name: object() for name in FIELDS}
    read = parse_confidence({**wrong, "level": "moderate"})
    assert read == RecallConfidence(level="moderate", result_count=0, rationale="")


def test_a_level_may_be_a_member_of_an_enum() -> None:
    class Level(StrEnum):
        LOW = "low"

    assert type(level_in({"level": Level.LOW})) is str
    assert parse_confidence({"level": Level.LOW}).level == "low"


def test_through_json_and_back() -> None:
    for confidence in (STRONG, WEAK, assess([]), unknown("no_scores", 3), NO_SIGNAL):
        report = report_of(confidence, NOT_CONFIGURED, None)
        assert parse_confidence(json.loads(json.dumps(report))) == confidence


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["recall", "metadata", *RecallConfidence.model_fields]),
            st.one_of(inner, st.sampled_from(LEVELS)),
        ),
    ),
)


@given(JSON, st.sampled_from(LEVELS))
def test_it_never_raises(value: Any, level: str) -> None:
    assert level_in(value) in LEVELS
    assert advice_in(value) in ("read", "fallback", "undecided")
    fields = value if isinstance(value, dict) else {"top_score": value}
    read = parse_confidence({"confidence": {**fields, "level": level}})
    assert read is None or read.level in LEVELS


class Raising(dict[str, Any]):
    """A mapping that raises."""

    def get(self, *_: Any) -> Any:
        raise RuntimeError("a secret")


class Unequal(str):
    """A text that cannot be compared."""

    def __eq__(self, _: object) -> bool:
        raise RuntimeError("a secret")

    __hash__ = str.__hash__


@pytest.mark.parametrize(
    "more",
    [
        {"selection": {"kept": np.array([0, 0])}},
        {"selection": {"reason": np.array(["selected_none", "x"])}},
        {"selection": Raising(kept=0)},
        {"advice": Unequal("read")},
    ],
)
def test_a_value_that_cannot_be_compared_says_nothing(more: Any) -> None:
    report = {"confidence": {"level": "high"}, **more}
    assert advice_in(report) == "read"
    read = parse_report(report)
    assert read is not None
    assert (read.advice, read.selection) == ("read", NOT_CONFIGURED)


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_a_cosine_that_is_no_number_is_empty(value: float) -> None:
    read = parse_report({"confidence": {"level": "high"}, "cosine": value})
    assert read is not None
    assert read.cosine is None


def test_the_strongest_is_the_best_measured_one_and_the_first_of_those() -> None:
    ranked = [{"level": level} for level in LEVELS]
    for at in range(len(ranked)):
        assert strongest(reversed(ranked[at:])) is ranked[at]
    one, other = carrier(), Response()
    assert strongest([WEAK, one, other]) is one
    assert strongest([other, one]) is other
    assert strongest([None, "not ours"]) is None
    assert strongest([]) is None


def test_pages_worth_reading_speak_before_better_levels() -> None:
    emptied = {"confidence": {"level": "high"}, "advice": "fallback"}
    weak, readable = {"level": "low"}, {"level": "moderate"}
    assert strongest([emptied, weak, readable]) is readable
    assert strongest([weak, emptied]) is emptied


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        ({"advice": "fallback"}, "fallback"),
        ({"advice": "undecided"}, "undecided"),
        ({"advice": "go"}, "read"),
        ({"advice": ["fallback"]}, "read"),
        ({"selection": {"applied": False, "reason": "selected_none"}}, "fallback"),
        ({"selection": {"applied": True, "kept": 0}}, "fallback"),
        ({"selection": {"applied": True, "kept": 1}}, "read"),
        ({"selection": "none"}, "read"),
        ({"documents": []}, "fallback"),
        ({"nodes": ()}, "fallback"),
        ({"documents": ["a"], "advice": None}, "read"),
        ({"documents": [], "advice": "read"}, "read"),
        ({"documents": None}, "read"),
    ],
)
def test_the_advice_of_a_report_goes_before_its_level(report: Any, expected: str) -> None:
    assert advice_in({"confidence": {"level": "high"}, **report}) == expected
    assert advice_in(report) == "undecided"  # without a signal


def test_a_field_of_a_mapping_or_of_an_object() -> None:
    assert get_field({"a": 1}, "a") == get_field(SimpleNamespace(a=1), "a") == 1
    assert get_field({}, "get") is None
    assert get_field(5, "a") is None


def test_what_stands_for_no_signal_says_why() -> None:
    assert (NO_SIGNAL.level, NO_SIGNAL.reason, NO_SIGNAL.result_count) == (
        "unknown",
        "no_signal",
        0,
    )
