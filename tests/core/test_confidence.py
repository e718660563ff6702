"""The signal as a value: frozen, closed, plain JSON with every key."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from recall_signal import REASONS, RecallConfidence
from recall_signal.confidence import LEVELS, unknown

KEYS = [
    "level",
    "top_score",
    "prominence",
    "relative_margin",
    "result_count",
    "rationale",
    "basis",
    "probability",
    "term_coverage",
    "reason",
    "rerank_score",
    "match",
]


def signal(**changes: Any) -> RecallConfidence:
    return RecallConfidence(**{"level": "low", "result_count": 3, "rationale": "weak", **changes})


def test_the_levels_are_closed() -> None:
    assert LEVELS == ("high", "moderate", "low", "none", "unknown")
    with pytest.raises(ValidationError):
        signal(level="certain")


def test_the_bases_are_closed() -> None:
    for basis in ("prominence", "absolute", "separation", "stream", "calibration", "labels", None):
        assert signal(basis=basis).basis == basis
    with pytest.raises(ValidationError):
        signal(basis="gut feeling")


def test_it_is_frozen_and_takes_no_other_field() -> None:
    with pytest.raises(ValidationError):
        signal().level = "high"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        signal(query="a secret")


def test_the_wire_form_has_every_key_in_order() -> None:
    dumped = signal().model_dump(mode="json")
    assert list(dumped) == KEYS
    assert dumped["top_score"] is None
    json.dumps(dumped, allow_nan=False)


def test_the_wire_form_can_be_read_back() -> None:
    original = signal(top_score=0.5, basis="absolute", probability=0.25)
    assert RecallConfidence.model_validate_json(original.model_dump_json()) == original


@pytest.mark.parametrize("reason", REASONS)
def test_unknown_explains_itself_for_every_reason(reason: str) -> None:
    confidence = unknown(reason, 4)
    assert (confidence.level, confidence.reason, confidence.result_count) == ("unknown", reason, 4)
    assert REASONS[reason] in confidence.rationale
    assert "nothing about whether the results are relevant" in confidence.rationale
    assert confidence.basis is None
    assert confidence.top_score is None
    assert confidence.probability is None


def test_a_notebook_shows_the_level() -> None:
    assert "low" in signal()._repr_html_()
