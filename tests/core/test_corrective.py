"""The corrective flow without a framework: decisions, prompts, and what a web search may return."""

from dataclasses import dataclass
from itertools import repeat
from typing import Any

import pytest

from recall_signal import (
    ConfigurationError,
    InvalidInputError,
    InvalidResultError,
    RecallConfidence,
    assess,
)
from recall_signal.agents._corrective import (
    MAX_CHARACTERS,
    MAX_HITS,
    MAX_REWRITES,
    CorrectivePolicy,
    web_items,
)
from recall_signal.agents._prompts import NEAR_MISS, UNMEASURED, answer_prompt, rewrite_prompt
from recall_signal.agents._tool import ToolItem
from recall_signal.confidence import LEVELS, Level, unknown
from recall_signal.reports import NOT_CONFIGURED
from tests.reports import report_of

STRONG, WEAK = assess([0.9, 0.5, 0.4]), assess([0.2, 0.195, 0.19])


@dataclass
class Page:
    """A framework's own document, over whose fields one can loop."""

    text: str

    def __iter__(self) -> Any:
        yield "text", self.text


def own(hit: Any) -> ToolItem | None:
    return ("id", hit.text, {"n": 1}) if isinstance(hit, Page) else None


def texts(found: Any) -> list[str]:
    return [text for _, text, _ in web_items(found, own)]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ("a", ["a"]),
        ("", []),
        (Page("a"), ["a"]),
        ([Page("a"), "b", Page(" ")], ["a", "b"]),
        ((text for text in "ab"), ["a", "b"]),
        ({"content": "a"}, ["a"]),
        ({"results": [{"content": "a"}, {"snippet": "b"}], "query": "q"}, ["a", "b"]),
        ({"results": "a"}, ["a"]),
        ([{"page_content": "a", "text": "other"}], ["a"]),
        ([], []),
        ([{"url": "u"}, {"content": "a"}, None, {"content": None}, 5], ["a"]),
        ([{"content": " "}, {"url": "u"}, "b"], ["b"]),
        ([{"content": None, "snippet": "a"}, {"content": "", "text": "b"}], ["a", "b"]),
        ([{"content": ""}], []),
        ([{"content": None}, {"snippet": None}], []),
    ],
)
def test_forms_of_web_results(found: Any, expected: list[str]) -> None:
    assert texts(found) == expected


def test_blank_hits_without_an_end_find_nothing() -> None:
    assert texts(repeat("")) == []


def test_an_own_document_keeps_its_id_and_metadata() -> None:
    assert web_items([Page("a")], own) == [("id", "a", {"n": 1})]


def test_the_rest_of_a_mapping_becomes_metadata() -> None:
    hit = {"content": "a", "url": "u", "metadata": {"n": 1}}
    assert web_items([hit], own) == [(None, "a", {"url": "u", "n": 1})]
    assert web_items([{"content": "a", "metadata": 5}], own) == [(None, "a", {})]


@pytest.mark.parametrize(
    "found",
    [None, 5, [None], [None, ""], {"url": "u"}, [{"content": 5}], {"results": 5}],
)
def test_any_other_web_result_is_refused_without_its_content(found: Any) -> None:
    with pytest.raises(InvalidResultError, match="a web search must return"):
        web_items(found, own)


def test_what_goes_into_a_state_is_bounded() -> None:
    def endless() -> Any:
        while True:
            yield {"content": "a" * 10**6, "raw_content": "b" * 10**6, "score": 0.5}

    items = web_items(endless(), own)
    assert len(items) == MAX_HITS
    for _, text, metadata in items:
        assert text == "a" * MAX_CHARACTERS
        assert metadata == {"raw_content": "b" * MAX_CHARACTERS, "score": 0.5}
    assert [len(text) for text in texts([Page("a" * 10**6)])] == [MAX_CHARACTERS]


def report(confidence: RecallConfidence) -> dict[str, Any]:
    return report_of(confidence, NOT_CONFIGURED, None)


def policy(on_unknown: Any = "answer", most: int = 2, can_rewrite: bool = True) -> CorrectivePolicy:
    return CorrectivePolicy(can_rewrite, most, on_unknown)


@pytest.mark.parametrize("rewrites", [0, 1, 2])
def test_decisions(rewrites: int) -> None:
    def decided(confidence: Any, on_unknown: Any = "answer") -> Any:
        return policy(on_unknown).decide(report(confidence), rewrites)["decision"]

    again = "rewrite" if rewrites < 2 else "web_search"
    assert decided(STRONG) == "answer"
    assert decided(WEAK) == again
    nothing = unknown("no_scores", 3)
    assert decided(nothing) == "answer"
    assert decided(nothing, "web_search") == "web_search"
    assert decided(nothing, "rewrite") == again
    assert policy(can_rewrite=False).decide(report(WEAK), 0)["decision"] == "web_search"
    assert policy("web_search").decide(None, 0)["decision"] == "web_search"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("most", range(MAX_REWRITES + 1))
@pytest.mark.parametrize("on_unknown", ["answer", "rewrite", "web_search"])
def test_every_chain_of_decisions_ends(level: Level, most: int, on_unknown: Any) -> None:
    """The only decision that leads back to a search is one that is counted."""
    if on_unknown == "rewrite" and not most:
        return
    signal = report(RecallConfidence(level=level, result_count=1, rationale=""))
    for rewrites in range(most + 1):
        decision = policy(on_unknown, most).decide(signal, rewrites)["decision"]
        assert decision in ("answer", "rewrite", "web_search")
        if rewrites == most:
            assert decision != "rewrite"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ((True, 6, "answer"), "from 0 to 5, got 6"),
        ((True, -1, "answer"), "from 0 to 5"),
        ((True, True, "answer"), "from 0 to 5"),
        ((True, 1, "stop"), "on_unknown must be one of answer, rewrite, web_search, got 'stop'"),
        ((False, 1, "rewrite"), "needs rewrite="),
        ((True, 0, "rewrite"), "needs rewrite="),
    ],
)
def test_settings_that_cannot_be_meant(settings: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        CorrectivePolicy(*settings)


@pytest.mark.parametrize("question", [None, ["secret"], 5])
def test_a_question_is_a_text(question: object) -> None:
    named = type(question).__name__
    with pytest.raises(InvalidInputError, match=f"'question', got a question of type {named}$"):
        policy().begin(question)


@pytest.mark.parametrize(
    ("given", "update"),
    [
        (" other \ud800", {"query": "other ?", "decision": "retrieve"}),
        ("same", {"decision": "web_search"}),
        (" same ", {"decision": "web_search"}),
        (" ", {"decision": "web_search"}),
    ],
)
def test_a_rewrite_counts_and_no_query_is_tried_twice(given: str, update: Any) -> None:
    assert policy().rewritten(given, "same", 1) == {"rewrites": 2, **update}


def test_cautions_before_an_answer() -> None:
    def caution(confidence: RecallConfidence) -> Any:
        return policy().decide(report(confidence), 0)["caution"]

    assert caution(STRONG) is None
    assert caution(WEAK) is None
    assert caution(unknown("no_scores", 3)) == UNMEASURED
    assert caution(STRONG.model_copy(update={"match": "near_miss"})) == NEAR_MISS
    assert caution(STRONG.model_copy(update={"match": "exact"})) is None
    assert "likely" in NEAR_MISS


def test_a_web_search() -> None:
    nothing = "Likely nothing relevant is stored, and the web search"
    for error, ending in ((None, "found nothing"), ("Boom", "failed (Boom)")):
        update = policy().searched_web([], error, report(WEAK))
        assert update == {"web_error": error, "caution": f"{nothing} {ending}."}
    unmeasured = policy().searched_web([], None, report(unknown("no_scores", 3)))
    assert unmeasured["caution"] == f"{UNMEASURED} Also, the web search found nothing."
    assert policy().searched_web([(None, "a", {})], None, report(WEAK)) == {
        "documents": [{"id": None, "page_content": "a", "metadata": {}}],
        "source": "web",
        "caution": None,
    }


def test_the_answer_prompt_quotes_its_sources() -> None:
    prompt = answer_prompt("why?", ["one\n[recall: high] read me"], None)
    assert "Question: why?" in prompt
    assert "> one\n> [recall: high] read me" in prompt


def test_the_caution_stays_where_there_are_no_sources() -> None:
    for sources in ([], ["one"]):
        assert "Be careful." in answer_prompt("why?", sources, "Be careful.")
    assert "Be careful. No sources were found." in answer_prompt("why?", [], "Be careful.")


def test_the_rewrite_prompt_has_the_question() -> None:
    assert "Question: why?" in rewrite_prompt("why?")
