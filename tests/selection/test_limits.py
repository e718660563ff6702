"""What is sent: within limits, in the caller's words, and readable without them."""

import json
from typing import Any

import pytest

from recall_signal import assess
from recall_signal.selection import Answer, SelectionOptions, build_request
from tests.selection.fakes import Custom, Scripted, assert_untouched, page, plain, report, wrapped
from tests.selection.prompts import QUESTION, TEXTS, keeping

# Limits


def sent(options: SelectionOptions, texts: Any = TEXTS) -> tuple[str, ...]:
    return build_request(QUESTION, texts, options).passages


def test_max_characters_cuts_each_text_and_the_question() -> None:
    request = build_request("why " * 50, ["a b " * 50, "short"], SelectionOptions(max_characters=8))
    assert request.passages == ("a b a b ", "short")
    assert request.question == "why why "


def test_max_characters_counts_what_is_seen() -> None:
    spread = " \n".join("abcdefgh")
    assert sent(SelectionOptions(max_characters=7), [spread]) == ("a b c d",)
    assert sent(SelectionOptions(max_characters=8), ["\u200b".join("abcdefgh")]) == ("abcdefgh",)


@pytest.mark.parametrize(
    "hidden",
    ["\u200b", "\u3164", "\ufe0f", " ", "\x00\n", "\ue000\n", "\U000e0041 ", "\U0001d159\n"],
)
@pytest.mark.parametrize("count", [4_100, 90_000, 300_000])
def test_a_text_behind_invisible_characters_is_seen(hidden: str, count: int) -> None:
    assert sent(SelectionOptions(), [hidden * count + "the port is 8443"]) == ("the port is 8443",)
    assert sent(SelectionOptions(), ["one " + hidden * count + "two"]) == ("one two",)


def test_max_candidates_and_max_total_send_the_first_ones_whole() -> None:
    assert sent(SelectionOptions(max_candidates=2)) == TEXTS[:2]
    room = len(TEXTS[0]) + len(TEXTS[1])
    assert sent(SelectionOptions(max_total=room)) == TEXTS[:2]
    assert sent(SelectionOptions(max_total=room + 5)) == TEXTS[:2]
    assert sent(SelectionOptions(max_total=room - 1)) == TEXTS[:1]


def test_one_candidate_is_always_sent() -> None:
    assert sent(SelectionOptions(max_total=10)) == (TEXTS[0][:10],)
    assert sent(SelectionOptions(max_total=1, max_candidates=1)) == ("T",)


@pytest.mark.parametrize(
    "limit", [{"max_candidates": 2}, {"max_total": len(TEXTS[0]) + len(TEXTS[1])}]
)
@pytest.mark.parametrize("on_empty", ["keep", "drop"])
def test_what_was_not_sent_stays(limit: dict[str, int], on_empty: Any) -> None:
    options = SelectionOptions(**limit, on_empty=on_empty)
    retriever = wrapped(Scripted(reply=keeping(1)), selector_options=options)
    response = retriever.recall(QUESTION)
    assert plain(response.documents) == plain(page()[1:])
    assert report(response)["kept"] == 4
    assert report(response)["dropped_memory_ids"] == ["id0"]
    emptied = wrapped(Scripted(reply=keeping()), selector_options=options).recall(QUESTION)
    if on_empty == "keep":
        assert_untouched(emptied, "selected_none", page())
    else:
        assert plain(emptied.documents) == plain(page()[2:])
        assert report(emptied)["dropped_memory_ids"] == ["id0", "id1"]


def test_a_huge_page_is_cheap_to_ask_about() -> None:
    request = build_request(QUESTION, ["word " * 1_000_000] * 300, SelectionOptions())
    assert len(request.prompt) < 45_000
    assert len(request.labels) == 20


# The prompt


def test_another_prompt_is_sent_as_it_is() -> None:
    options = SelectionOptions(prompt="Wähle aus:\n{candidates}\nAntworte als JSON: {keep: [...]}")
    model = Scripted(reply=keeping(2))
    response = wrapped(model, selector_options=options).recall(QUESTION)
    assert plain(response.documents) == plain([page()[2]])
    assert model.prompts[0].startswith("Wähle aus:\n=====")
    assert model.prompts[0].endswith("=====\nAntworte als JSON: {keep: [...]}")


def test_a_request_can_be_read_without_its_prompt() -> None:
    """For selectors that are no language model."""
    selector = Custom(lambda r: Answer({"keep": [r.labels[r.passages.index(TEXTS[3])]]}, "words"))
    response = wrapped(selector).recall(QUESTION)
    assert plain(response.documents) == plain([page()[3]])
    (request,) = selector.requests
    assert (request.question, request.passages, request.total) == (QUESTION, TEXTS, 5)


def test_reports_are_plain_json() -> None:
    response = wrapped(Scripted(reply=keeping(0))).recall(QUESTION)
    assert json.loads(json.dumps(response.to_dict(), allow_nan=False)) == response.to_dict()
    assert response.confidence == assess([None] * 5).model_copy(
        update={"reason": "no_score_access", "rationale": response.confidence.rationale}
    )
