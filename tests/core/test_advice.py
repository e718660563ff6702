"""The wording of what to do next: a hint about strength, never a verdict."""

import re
from typing import Any, get_args

import pytest

from recall_signal import (
    ADVICE_TEXTS,
    Advice,
    InvalidInputError,
    RecallConfidence,
    advice,
    assess,
)
from recall_signal.advice import advise
from recall_signal.confidence import LEVELS, Level, unknown
from recall_signal.reports import NOT_CONFIGURED


def of_level(level: Level) -> RecallConfidence:
    return RecallConfidence(level=level, result_count=1, rationale="")


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("high", "read"),
        ("moderate", "read"),
        ("low", "fallback"),
        ("none", "fallback"),
        ("unknown", "undecided"),
    ],
)
def test_each_level_has_its_advice(level: Level, expected: Advice) -> None:
    assert advice(of_level(level)) == expected


def test_every_level_is_covered_and_every_advice_has_a_text() -> None:
    assert {advice(of_level(level)) for level in LEVELS} == set(get_args(Advice))
    assert set(ADVICE_TEXTS) == set(get_args(Advice))


def test_the_words_are_the_promised_ones() -> None:
    assert ADVICE_TEXTS["read"].startswith("Read these")
    assert "not verified" in ADVICE_TEXTS["read"]
    assert "prefer an external source" in ADVICE_TEXTS["fallback"]
    assert "Likely" in ADVICE_TEXTS["fallback"]
    assert "not measured" in ADVICE_TEXTS["undecided"]


PAGES: list[tuple[list[float | None], list[float] | None]] = [
    ([0.9, 0.5], None),
    ([0.40, 0.31], None),
    ([0.90, 0.89], None),
    ([0.56, 0.50], None),
    ([0.50, 0.50], None),
    ([0.90, 0.00], None),
    ([0.91], None),
    ([0.40], None),
    ([], None),
    ([None], None),
    ([2.0], None),
    ([], [0.8]),
    ([], [3, 1]),
    ([], [2, 1]),
    ([], [1.3, 1]),
    ([], [1, 1]),
]
SIGNALS = [assess(cosines, scores=scores) for cosines, scores in PAGES]


@pytest.mark.parametrize("confidence", SIGNALS, ids=lambda c: f"{c.level}-{c.basis}")
def test_the_rationale_says_what_the_figures_mean_and_not_what_to_do(
    confidence: RecallConfidence,
) -> None:
    text = confidence.rationale.lower()
    assert not re.search(r"\bread\b|external source|prefer|consider", text)
    assert ("says nothing" in text) == (advice(confidence) == "undecided")


@pytest.mark.parametrize("verdict", ["the answer is", "contains the answer", "is stored here"])
def test_no_text_is_a_verdict(verdict: str) -> None:
    texts = [*ADVICE_TEXTS.values(), *(confidence.rationale for confidence in SIGNALS)]
    assert [text for text in texts if verdict in text.lower()] == []


@pytest.mark.parametrize("given", ["low", None, {"level": "low"}])
def test_something_else_is_refused(given: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"such as response\.confidence, got "):
        advice(given)


def test_an_empty_question_says_nothing_about_what_is_stored() -> None:
    asked_nothing = unknown("empty_query", 0)
    on_empty_page = advise(asked_nothing, NOT_CONFIGURED, 0)
    assert on_empty_page.advice == "fallback"
    assert on_empty_page.text == (
        "The question is empty, and this says nothing about what is stored. Ask again, in words."
    )
    on_page = advise(unknown("empty_query", 1), NOT_CONFIGURED, 1)
    assert on_page.advice == "undecided"
    assert on_page.text == (
        "1 result came back for an empty question: none of them can match it. Ask again, in words."
    )
