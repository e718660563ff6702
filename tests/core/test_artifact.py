"""The artifact of a retrieval tool: plain JSON whatever the metadata holds."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_signal import ConfigurationError
from recall_signal.agents._json import MAX_DEPTH, MAX_VALUES, TRUNCATED, json_safe
from recall_signal.agents._tool import tool_answer, tool_artifact, tool_failure
from recall_signal.agents._tool_settings import tool_settings
from recall_signal.confidence import RecallConfidence
from recall_signal.reports import ReportsMixin, SelectionReport


class Word(StrEnum):
    ONE = "one"


class Number(IntEnum):
    TWO = 2


class Other(Enum):
    PAIR = (1, 2)


class Broken(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise RuntimeError

    def __iter__(self) -> Any:
        raise RuntimeError

    def __len__(self) -> int:
        return 1


@dataclass
class Response(ReportsMixin):
    confidence: RecallConfidence
    selection: SelectionReport
    cosine_source: None = None
    rerank: None = None
    shown: int = 1  # a property of the class


RESPONSE = Response(
    RecallConfidence(level="low", result_count=1, rationale="r"),
    SelectionReport(applied=False, reason="not_configured"),
)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (None, None),
        (True, True),
        (np.True_, True),
        (1, 1),
        (2**63, "0x8000000000000000"),
        (-(2**63), -(2**63)),
        (1.5, 1.5),
        (float("inf"), None),
        (np.float32(0.5), 0.5),
        (np.float64(0.5), 0.5),
        (np.int64(3), 3),
        (np.array([[1, 2]]), [[1, 2]]),
        ("a\udc80", "a?"),
        (np.str_("x"), "x"),
        (Word.ONE, "one"),
        (Number.TWO, 2),
        (Other.PAIR, [1, 2]),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
        (Decimal("1.50"), "1.50"),
        (PurePosixPath("a/b"), "a/b"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ((1, {2}), [1, [2]]),
        ({1: "a", None: "b", False: "c"}, {"1": "a", "None": "b", "False": "c"}),
        ({(1, 2): "x", Word.ONE: 1}, {"[1, 2]": "x", "one": 1}),
        (b"x", None),
        (object(), None),
        (Broken(), None),
    ],
)
def test_values(value: Any, plain: Any) -> None:
    made = json_safe(value)
    assert made == plain
    assert type(made) is type(plain)


def test_what_is_too_deep_or_cyclic_becomes_none() -> None:
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    made = json_safe(cyclic)
    assert str(made).count("[") == MAX_DEPTH
    assert json.dumps(made).count("null") == 1


@pytest.mark.parametrize("width", [2, 3, 8])
def test_what_holds_itself_several_times_ends(width: int) -> None:
    """Its depth alone would allow `width ** MAX_DEPTH` values."""
    in_list: list[Any] = []
    in_list += [in_list] * width
    in_dict: dict[str, Any] = {}
    in_dict.update({str(n): in_dict for n in range(width)})
    for value in (in_list, in_dict):
        said = json.dumps(json_safe(value))
        assert said.count(TRUNCATED) in (1, 2)  # a key and its value
        assert len(said) < 40 * MAX_VALUES


def test_a_key_counts_as_well() -> None:
    key: Any = ()
    for _ in range(MAX_DEPTH):
        key = (key, key)
    assert len(json.dumps(json_safe({key: 1}))) < 40 * MAX_VALUES


def test_long_values_are_cut_and_say_so() -> None:
    numbers = list(range(MAX_VALUES - 1))
    assert json_safe(numbers) == numbers
    assert json_safe([*numbers, -1, -2]) == [*numbers, TRUNCATED]
    assert json_safe(np.zeros(2 * MAX_VALUES))[-2:] == [0.0, TRUNCATED]
    by_name = json_safe({str(n): n for n in range(2 * MAX_VALUES)})
    assert len(by_name) <= MAX_VALUES
    assert TRUNCATED in by_name.values() or TRUNCATED in by_name


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary()),
        lambda inner: st.one_of(
            st.lists(inner), st.dictionaries(st.one_of(st.text(), st.integers()), inner)
        ),
    )
)
def test_anything_is_json_and_stays_what_it_is(value: Any) -> None:
    made = json_safe(value)
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert json_safe(made) == made


def test_an_answer() -> None:
    content, artifact = tool_answer([("a", "text", {"n": np.float32(1)})], RESPONSE)
    assert content.startswith("[recall: low] 1 result")
    assert content.endswith('\n> [1] "a"\n\n[1]\n> text')
    assert artifact == {
        "v": 1,
        "documents": [{"id": "a", "page_content": "text", "metadata": {"n": 1.0}}],
        "recall": RESPONSE.to_dict(),
        "error": None,
    }


def test_the_id_is_one_in_the_line_and_in_the_artifact() -> None:
    page: list[tuple[str | None, str, dict[str, Any]]] = [
        ("a", "text", {"key": "D7"}),
        ("b", "text", {}),
        (None, "text", {"key": 8}),
    ]
    content, artifact = tool_answer(page, RESPONSE, "key")
    assert content.split("\n")[1] == '> [1] "D7"; [2] "b"; [3] "8"'
    assert [document["id"] for document in artifact["documents"]] == ["D7", "b", "8"]


def test_metadata_that_cannot_be_read_costs_the_line_of_ids_alone() -> None:
    content, artifact = tool_answer([("a", "text", Broken())], RESPONSE, "key")
    assert content.split("\n")[1:] == ["", "[1]", "> text"]
    assert artifact["documents"] == [{"id": "a", "page_content": "text", "metadata": None}]


def test_a_failure() -> None:
    content, artifact = tool_failure(TimeoutError("secret"))
    assert "Retrieval failed (TimeoutError)" in content
    assert artifact["error"] == "TimeoutError"
    assert artifact["documents"] == []
    assert artifact["recall"]["confidence"]["level"] == "unknown"
    assert artifact["recall"]["confidence"]["reason"] == "retrieval_failed"
    assert artifact["recall"]["selection"] == {"applied": False, "reason": "no_results"}
    assert "secret" not in content + json.dumps(artifact)


def test_an_artifact_shares_nothing_with_what_it_is_made_of() -> None:
    metadata = {"tags": ["a"]}
    artifact = tool_artifact([(None, "t", metadata)], {"confidence": {}})
    artifact["documents"][0]["metadata"]["tags"].append("b")
    assert metadata == {"tags": ["a"]}


@pytest.mark.parametrize("name", ["notes", "team_notes-2", "a" * 64])
def test_names_that_a_model_can_be_told(name: str) -> None:
    assert tool_settings(name, "x").name == name


@pytest.mark.parametrize("name", ["", "team notes", "a" * 65, "notizen_ü", "notes\n", "a.b", None])
def test_other_names_are_refused(name: Any) -> None:
    with pytest.raises(ConfigurationError, match="1 to 64 of the characters"):
        tool_settings(name, "x")
