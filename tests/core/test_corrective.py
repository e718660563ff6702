"""The corrective flow without a framework: decisions, prompts, and what a web search may return."""

from dataclasses import dataclass
from typing import Any

import pytest

from recall_signal import ConfigurationError, InvalidResultError, RecallConfidence, assess
from recall_signal.agents.artifact import ToolItem
from recall_signal.agents.corrective import (
    MOST_CHARACTERS,
    MOST_HITS,
    MOST_REWRITES,
    NEAR_MISS,
    UNMEASURED,
    answer_prompt,
    caution_after_search,
    caution_before_answer,
    check_settings,
    decide,
    rewrite_prompt,
    web_items,
)
from recall_signal.confidence import LEVELS, Level, unknown

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
    ],
)
def test_forms_of_web_results(found: Any, expected: list[str]) -> None:
    assert texts(found) == expected


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
    assert len(items) == MOST_HITS
    for _, text, metadata in items:
        assert text == "a" * MOST_CHARACTERS
        assert metadata == {"raw_content": "b" * MOST_CHARACTERS, "score": 0.5}
    assert [len(text) for text in texts([Page("a" * 10**6)])] == [MOST_CHARACTERS]


@pytest.mark.parametrize("rewrites", [0, 1, 2])
def test_decisions(rewrites: int) -> None:
    def decided(confidence: Any, on_unknown: Any = "answer") -> str:
        return decide(confidence, rewrites=rewrites, max_rewrites=2, on_unknown=on_unknown)

    again = "rewrite" if rewrites < 2 else "web_search"
    assert decided(STRONG) == "answer"
    assert decided(WEAK) == again
    nothing = unknown("no_scores", 3)
    assert decided(nothing) == "answer"
    assert decided(nothing, "web_search") == "web_search"
    assert decided(nothing, "rewrite") == again


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("most", range(MOST_REWRITES + 1))
@pytest.mark.parametrize("on_unknown", ["answer", "rewrite", "web_search"])
def test_every_chain_of_decisions_ends(level: Level, most: int, on_unknown: Any) -> None:
    """The only decision that leads back to a search is one that is counted."""
    signal = RecallConfidence(level=level, result_count=1, rationale="")
    for rewrites in range(most + 1):
        decision = decide(signal, rewrites=rewrites, max_rewrites=most, on_unknown=on_unknown)
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
        check_settings(*settings)


def test_settings_that_can() -> None:
    for on_unknown in ("answer", "rewrite", "web_search"):
        check_settings(True, 5, on_unknown)


def test_cautions_before_an_answer() -> None:
    assert caution_before_answer(STRONG) is None
    assert caution_before_answer(WEAK) is None
    assert caution_before_answer(unknown("no_scores", 3)) == UNMEASURED
    near = STRONG.model_copy(update={"match": "near_miss"})
    assert caution_before_answer(near) == NEAR_MISS
    assert caution_before_answer(STRONG.model_copy(update={"match": "exact"})) is None
    assert "likely" in NEAR_MISS


def test_cautions_after_a_search() -> None:
    nothing = "Likely nothing relevant is stored, and the web search"
    assert caution_after_search(WEAK, None) == f"{nothing} found nothing."
    assert caution_after_search(WEAK, "Boom") == f"{nothing} failed (Boom)."
    unmeasured = caution_after_search(unknown("no_scores", 3), None)
    assert unmeasured == f"{UNMEASURED} Also, the web search found nothing."


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
