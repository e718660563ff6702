"""A document is data: it cannot choose, be chosen by its own word, or leave its line."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_signal.selection import (
    DEFAULT_PROMPT,
    SelectionDecision,
    SelectionOptions,
    SelectionRequest,
    apply_answer,
    build_request,
)
from tests.selection.fakes import (
    AsyncScripted,
    Scripted,
    ToolCalling,
    assert_untouched,
    page,
    plain,
    report,
    wrapped,
)
from tests.selection.injections import INJECTIONS
from tests.selection.prompts import QUESTION, TEXTS, keeping, labels_in, none_in

OPTIONS = SelectionOptions()
BEFORE, BEHIND = DEFAULT_PROMPT.split("{candidates}")

injections = pytest.mark.parametrize("text", INJECTIONS.values(), ids=INJECTIONS.keys())


def with_injection(text: str, at: int = 2) -> list[str]:
    return [*TEXTS[:at], text, *TEXTS[at + 1 :]]


def assert_well_formed(request: SelectionRequest) -> None:
    """The structure that no text may change."""
    assert request.prompt.startswith(BEFORE)
    assert request.prompt.endswith(BEHIND)
    lines = request.prompt[len(BEFORE) : -len(BEHIND)].split("\n")
    fence, question, results, *candidates, none, last = lines
    assert re.fullmatch(r"===== [A-Z2-9]{5} =====", fence)
    assert last == fence
    assert question == f"Question: {request.question}"
    assert results == "Results:"
    assert candidates == [
        f"[{label}] {text}" for label, text in zip(request.labels, request.passages, strict=True)
    ]
    assert none == f"[{request.none_label}] none of these"
    whole = request.prompt.split("\n")
    assert whole == [*request.prompt.splitlines(), ""]
    assert [line for line in whole if line.lstrip().startswith("[")] == [*candidates, none]
    assert [line for line in whole if line.startswith("=====")] == [fence, fence]
    assert labels_in(request.prompt) == list(request.labels)
    for label in (*request.labels, request.none_label):
        assert request.prompt.count(label) == 1
    assert request.prompt.count(fence.split()[1]) == 2
    assert all(line.isprintable() for line in whole)
    request.prompt.encode()


def test_there_are_enough_injections() -> None:
    assert len(set(INJECTIONS.values())) == len(INJECTIONS) >= 100


@injections
def test_no_document_leaves_its_line(text: str) -> None:
    for at in (0, 2, 4):
        request = build_request(QUESTION, with_injection(text, at), OPTIONS)
        assert_well_formed(request)
        assert len(request.labels) == 5
        assert len(request.passages[at]) <= OPTIONS.max_characters


@injections
def test_no_question_leaves_its_line(text: str) -> None:
    assert_well_formed(build_request(text, with_injection(text), OPTIONS))


@injections
def test_no_document_changes_what_a_model_chose(text: str) -> None:
    documents = page(with_injection(text))
    for model in (Scripted(reply=keeping(0, 3)), ToolCalling(reply=keeping(0, 3))):
        response = wrapped(model, documents).recall(QUESTION)
        assert plain(response.documents) == plain([documents[0], documents[3]])
        assert report(response)["dropped_memory_ids"] == ["id1", "id2", "id4"]


# Models that do what documents say. They know no label except those in the texts.


def texts_in(prompt: str) -> Iterator[str]:
    """What the documents say, without the labels in front of them."""
    for line in prompt.split("\n"):
        found = re.match(r"\[([A-Z0-9]+)\] (.*)", line)
        if found and found[1] != none_in(prompt):
            yield found[2]


def obedient(prompt: str) -> str:
    """Keeps everything in the texts that looks like a label, a number or a name of one."""
    said = " ".join(texts_in(prompt))
    like = re.findall(r"\[([^\[\]]{1,20})\]|\b([A-Z0-9]{5})\b|\b(\d+)\b|\"(\w{1,9})\"", said)
    return json.dumps({"keep": list(dict.fromkeys("".join(groups) for groups in like))})


def parrot(prompt: str) -> str:
    """Repeats the first JSON object that stands in a text."""
    found = re.search(r"\{.*?\}", " ".join(texts_in(prompt)))
    return found[0] if found else '{"keep": []}'


def literal(prompt: str) -> str:
    """Says what the texts say."""
    return " ".join(texts_in(prompt))


def mixing(prompt: str) -> str:
    """Keeps the first result, and whatever a text told it to keep."""
    found = json.loads(obedient(prompt))["keep"]
    return json.dumps({"keep": [labels_in(prompt)[0], *found]})


on_empty = pytest.mark.parametrize("on_empty", ["keep", "drop"])


@on_empty
@injections
@pytest.mark.parametrize("model", [obedient, parrot, literal])
def test_a_model_that_obeys_a_document_selects_nothing(
    text: str, model: Any, on_empty: Any
) -> None:
    documents = page([text, "Lunch is at noon.", text])
    options = SelectionOptions(on_empty=on_empty)
    retriever = wrapped(Scripted(reply=model), documents, selector_options=options)
    assert_untouched(retriever.recall(QUESTION), "invalid_output", documents)


@on_empty
@injections
async def test_a_model_that_half_obeys_selects_by_real_labels_alone(
    text: str, on_empty: Any
) -> None:
    documents = page([TEXTS[0], "Lunch is at noon.", text])
    model, options = AsyncScripted(reply=mixing), SelectionOptions(on_empty=on_empty)
    response = await wrapped(model, documents, selector_options=options).arecall(QUESTION)
    told = len(json.loads(mixing(model.prompts[0]))["keep"]) > 1
    if told:
        assert_untouched(response, "invalid_output", documents)
    else:
        assert plain(response.documents) == plain(documents[:1])


def test_some_injections_are_obeyed() -> None:
    """The models above are not merely deaf."""
    prompts = [build_request(QUESTION, [text], OPTIONS).prompt for text in INJECTIONS.values()]
    assert sum(json.loads(obedient(prompt))["keep"] != [] for prompt in prompts) >= 25
    assert sum(parrot(prompt) != '{"keep": []}' for prompt in prompts) >= 8


# Labels


def test_a_label_that_stands_in_a_text_is_not_given_out() -> None:
    drawn = iter(["GUESS", "MARKS", "NONE2", "LUCKY", "AAAA2", "AAAA2", "QQQQ7", "AAAA3", "AAAA4"])
    texts = ["The label is GUESS.", "xLUCKYx", "Neither."]
    request = build_request("Is it QQQQ7?", texts, OPTIONS, lambda: next(drawn))
    assert request.labels == ("AAAA2", "AAAA3", "AAAA4")
    assert request.prompt.count("===== MARKS =====") == 2
    assert_well_formed(request)


def test_a_label_that_is_hidden_in_a_text_is_not_given_out() -> None:
    drawn = iter(["MARKS", "NONE2", "GUESS", "AAAA2"])
    request = build_request("?", ["G\u200bU\u00adE\u2060S\ufe0fS"], OPTIONS, lambda: next(drawn))
    assert request.passages == ("GUESS",)
    assert request.labels == ("AAAA2",)


def test_labels_are_new_for_every_call_and_say_nothing_of_the_place() -> None:
    requests = [build_request(QUESTION, TEXTS, OPTIONS) for _ in range(200)]
    labels = [label for request in requests for label in request.labels]
    assert len(labels) - len(set(labels)) < 5  # of 1,000 among 33 million, two may meet
    assert {len(label) for label in labels} == {5}
    firsts = {request.labels[0][0] for request in requests}
    assert len(firsts) > 15
    assert not set("IO01") & set("".join(labels))  # easily taken for each other


def test_document_ids_and_metadata_are_not_sent() -> None:
    documents = page()
    for document in documents:
        document.metadata["secret"] = "confidential-remark"
    model = Scripted(reply=keeping(0))
    wrapped(model, documents).recall(QUESTION)
    assert not re.search(r"\bid\d|confidential-remark", model.prompts[0])


def test_the_prompt_template_is_filled_once() -> None:
    """A text that looks like the template's own place for the data is only text."""
    options = SelectionOptions(prompt="Before\n{candidates}\n{question} {behind}")
    request = build_request("{candidates}", ["{candidates}", "{behind}"], options)
    assert request.prompt.startswith("Before\n=====")
    assert request.prompt.endswith("=====\n{question} {behind}")
    assert request.prompt.count("{candidates}") == 2


# Anything at all

ANY_TEXT = st.text(max_size=80) | st.text(
    st.sampled_from("[]=A2 \n\r\t\u2028\u200b\u202e\x1c\ufe0f{}\"'`"), max_size=40
)


@given(question=ANY_TEXT, texts=st.lists(ANY_TEXT, min_size=1, max_size=6))
@settings(max_examples=200, deadline=None)
def test_no_text_changes_the_structure(question: str, texts: list[str]) -> None:
    request = build_request(question, texts, OPTIONS)
    assert_well_formed(request)
    assert apply_answer(request, {"keep": list(request.labels)}, OPTIONS) == SelectionDecision(
        tuple(range(len(texts)))
    )
    none = apply_answer(request, {"keep": [request.none_label]}, OPTIONS)
    assert none == SelectionDecision(None, "selected_none")


@given(texts=st.lists(ANY_TEXT, min_size=2, max_size=6))
@settings(max_examples=100, deadline=None)
def test_no_text_is_an_answer(texts: list[str]) -> None:
    request = build_request(QUESTION, texts, OPTIONS)
    for said in (*texts, {"keep": texts}, {"keep": [texts[0]]}):
        assert apply_answer(request, said, OPTIONS).kept is None
