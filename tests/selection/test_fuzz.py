"""Whatever a model says, the page survives, and the report says what became of it."""

import asyncio
import json
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_signal.selection import (
    Answer,
    SelectionDecision,
    SelectionOptions,
    apply_answer,
    build_request,
    parse_labels,
)
from tests.selection import malformed
from tests.selection.fakes import (
    Custom,
    Scripted,
    ToolCalling,
    assert_untouched,
    page,
    report,
    wrapped,
)
from tests.selection.prompts import NAME, QUESTION, TEXTS, keeping, labels_in

INVALID = SelectionDecision(None, "invalid_output")
OPTIONS = SelectionOptions()
DROPPING = SelectionOptions(on_empty="drop")

Made = Callable[..., Any]

texts = pytest.mark.parametrize("make", malformed.TEXTS.values(), ids=malformed.TEXTS.keys())
objects = pytest.mark.parametrize("make", malformed.OBJECTS.values(), ids=malformed.OBJECTS.keys())


def test_there_are_enough_malformed_answers() -> None:
    request = build_request(QUESTION, TEXTS, OPTIONS)
    said = {make(request.labels) for make in malformed.TEXTS.values()}
    assert len(said) == len(malformed.TEXTS) >= 400


def test_what_a_good_answer_is() -> None:
    request = build_request(QUESTION, TEXTS, OPTIONS)
    one, two, *_ = request.labels
    for answer in (
        {"keep": [two, one]},
        {"keep": (one, two)},
        json.dumps({"keep": [one, two]}),
        f'\n  {{ "keep" :\t[ "{two}",\r\n"{one}" ] }}  \n',
        json.dumps({"keep": [one, two]}).replace("keep", "\\u006b\\u0065\\u0065\\u0070"),
    ):
        assert apply_answer(request, answer, OPTIONS) == SelectionDecision((0, 1))

    class Kept(StrEnum):
        FIRST = one

    for text in (np.array(request.labels)[0], Kept.FIRST):
        assert apply_answer(request, {"keep": [text]}, OPTIONS) == SelectionDecision((0,))
        assert list(map(type, parse_labels({"keep": [text]}) or [])) == [str]
    none = {"keep": [request.none_label]}
    assert apply_answer(request, none, OPTIONS) == SelectionDecision(None, "selected_none")
    assert apply_answer(request, none, DROPPING) == SelectionDecision(())


@pytest.mark.parametrize("options", [OPTIONS, DROPPING], ids=["keep", "drop"])
def test_none_of_these_stands_alone(options: SelectionOptions) -> None:
    request = build_request(QUESTION, TEXTS, options)
    none, one = request.none_label, request.labels[0]
    for keep in ([], [none, none], [none, one], [one, none], [none.lower()], ["none of these"]):
        assert apply_answer(request, {"keep": keep}, options) == INVALID
        assert apply_answer(request, json.dumps({"keep": keep}), options) == INVALID


@texts
def test_a_malformed_text_is_invalid_output(make: Made) -> None:
    request = build_request(QUESTION, TEXTS, OPTIONS)
    answer = make(request.labels)
    assert apply_answer(request, answer, OPTIONS) == INVALID
    assert apply_answer(request, answer, DROPPING) == INVALID


@objects
def test_a_malformed_object_is_invalid_output(make: Made) -> None:
    request = build_request(QUESTION, TEXTS, OPTIONS)
    assert apply_answer(request, make(request.labels), OPTIONS) == INVALID
    assert apply_answer(request, make(request.labels), DROPPING) == INVALID


@texts
def test_a_chat_model_that_says_it_leaves_the_page(make: Made) -> None:
    model = Scripted(reply=lambda prompt: make(labels_in(prompt)))
    response = wrapped(model).recall(QUESTION)
    assert_untouched(response, "invalid_output", page())
    assert len(model.prompts) == 1
    assert all(d.metadata["recall"]["selection"] == report(response) for d in response.documents)


async def test_a_model_with_structured_output_that_says_it_as_text_leaves_the_page() -> None:
    async def says(make: Made) -> None:
        model = ToolCalling(reply=lambda prompt: make(labels_in(prompt)))
        assert_untouched(await wrapped(model).arecall(QUESTION), "invalid_output", page())

    await asyncio.gather(*map(says, malformed.TEXTS.values()))


@objects
async def test_a_selector_that_answers_it_leaves_the_page(make: Made) -> None:
    selector = Custom(lambda request: Answer(make(request.labels), NAME))
    assert_untouched(wrapped(selector).recall(QUESTION), "invalid_output", page())
    assert_untouched(await wrapped(selector).arecall(QUESTION), "invalid_output", page())


@objects
def test_a_selector_whose_answer_is_no_answer_leaves_the_page(make: Made) -> None:
    selector = Custom(lambda request: make(request.labels))
    assert_untouched(wrapped(selector).recall(QUESTION), "invalid_output", page())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(answer=st.binary(max_size=300) | st.text(max_size=300) | JSON | JSON.map(json.dumps))
@settings(max_examples=300, deadline=None)
def test_noise_is_invalid_output(answer: Any) -> None:
    request = build_request(QUESTION, TEXTS, OPTIONS)
    assert apply_answer(request, answer, OPTIONS) == INVALID


@given(noise=st.binary(max_size=300).map(lambda b: b.decode("latin-1")) | st.text(max_size=300))
@settings(max_examples=60, deadline=None)
def test_noise_from_a_chat_model_leaves_the_page(noise: str) -> None:
    response = wrapped(Scripted(reply=lambda prompt: noise)).recall(QUESTION)
    assert_untouched(response, "invalid_output", page())


def expected(labels: tuple[str, ...], keep: Any) -> SelectionDecision:
    """The same rule in other words."""
    sound = isinstance(keep, list) and all(isinstance(label, str) for label in keep)
    if not sound or any(keep.count(label) != 1 or label not in labels for label in keep):
        return INVALID
    if not keep:
        return INVALID
    return SelectionDecision(tuple(at for at, label in enumerate(labels) if label in keep))


@given(data=st.data(), as_text=st.booleans())
@settings(max_examples=300, deadline=None)
def test_almost_good_answers_are_all_or_nothing(data: st.DataObject, as_text: bool) -> None:
    request = build_request(QUESTION, TEXTS, OPTIONS)
    label = st.sampled_from(request.labels)
    stranger = st.sampled_from(["ZZZZZ", "1", ""]) | st.none() | st.integers() | st.booleans()
    keep = data.draw(st.lists(label, max_size=5) | st.lists(label | stranger, max_size=5) | JSON)
    answer = json.dumps({"keep": keep}) if as_text else {"keep": keep}
    assert apply_answer(request, answer, OPTIONS) == expected(request.labels, keep)


def test_labels_of_another_call_are_strangers() -> None:
    first = Scripted(reply=keeping(0))
    wrapped(first).recall(QUESTION)
    stale = keeping(0)(first.prompts[0])
    assert_untouched(
        wrapped(Scripted(reply=lambda prompt: stale)).recall(QUESTION), "invalid_output", page()
    )
