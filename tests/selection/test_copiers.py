"""Models that copy what documents say, and answers that are none, in both frameworks.

No advice changes and no page is lost, under both settings of `on_empty`. Calls take turns at being
synchronous and not.
"""

import json
from collections.abc import Callable, Mapping
from itertools import cycle
from typing import Any

import pytest

from recall_signal.selection import Answer, SelectionOptions, SelectionRequest
from tests.frameworks import STRONG, Framework
from tests.selection import malformed
from tests.selection.injections import INJECTIONS
from tests.selection.test_hostile import literal, mixing, obedient, parrot

WAYS = cycle(("sync", "async"))

BENIGN = "Lunch is at noon."


class Copier:
    """A selector whose model makes its answer of the request."""

    def __init__(self, answer: Callable[[SelectionRequest], Any]) -> None:
        self.answer = answer

    def select(self, request: SelectionRequest) -> Answer:
        return Answer(self.answer(request), "copier")

    async def aselect(self, request: SelectionRequest) -> Answer:
        return self.select(request)


def copying(model: Callable[[str], str]) -> Copier:
    return Copier(lambda request: model(request.prompt))


options = pytest.mark.parametrize(
    "options", [SelectionOptions(on_empty="keep"), SelectionOptions(on_empty="drop")]
)


async def outcome(
    framework: Framework, way: str, search: Any, options: SelectionOptions, selector: Any = None
) -> Any:
    settings = {"selector": selector, "selector_options": options} if selector else {}
    return await framework.recall(framework.around(search, **settings), way)


def texts(framework: Framework, response: Any) -> list[str]:
    return [item.text for item in framework.page(response)]


@options
@pytest.mark.parametrize("model", [obedient, parrot, literal])
async def test_a_copier_empties_no_page_and_changes_no_advice(
    framework: Framework, model: Any, options: SelectionOptions
) -> None:
    for (name, text), way in zip(INJECTIONS.items(), WAYS, strict=False):
        page = [text, BENIGN, text]
        bare = await outcome(framework, way, lambda page=page: page, options)
        response = await outcome(framework, way, lambda page=page: page, options, copying(model))
        assert texts(framework, response) == texts(framework, bare), name
        assert response.selection.reason == "invalid_output", name
        assert (response.advice, response.advice_text) == (bare.advice, bare.advice_text), name


@options
async def test_a_half_obedient_copier_drops_nothing_but_what_it_was_asked_to(
    framework: Framework, options: SelectionOptions
) -> None:
    """It keeps the first result, and whatever a text names besides."""
    for (name, text), way in zip(INJECTIONS.items(), WAYS, strict=False):
        page = [BENIGN, text, "A second note."]
        bare = await outcome(framework, way, lambda page=page: page, options)
        response = await outcome(framework, way, lambda page=page: page, options, copying(mixing))
        left = texts(framework, response)
        if response.selection.applied:
            assert left == [BENIGN], name
        else:
            assert (left, response.selection.reason) == (page, "invalid_output"), name
        assert response.advice == bare.advice, name


ANSWERS: Mapping[str, Any] = {**malformed.TEXTS, **malformed.OBJECTS}


@options
async def test_a_malformed_answer_changes_nothing(
    framework: Framework, options: SelectionOptions
) -> None:
    """Over a page worth reading: the advice stays `read`, the page stays whole."""
    assert len(ANSWERS) >= 400
    making: list[Any] = []
    selector = Copier(lambda request: making[-1](request.labels))
    retriever = framework.over(STRONG, selector=selector, selector_options=options)
    for (name, make), way in zip(ANSWERS.items(), WAYS, strict=False):
        making.append(make)
        response = await framework.recall(retriever, way)
        assert texts(framework, response) == ["t0", "t1", "t2", "t3"], name
        assert response.selection.reason == "invalid_output", name
        assert response.advice == "read", name


async def test_the_answers_are_not_all_refused(framework: Framework, way: str) -> None:
    """The same selector, with a sound answer."""
    selector = Copier(lambda request: json.dumps({"keep": [request.labels[1]]}))
    retriever = framework.over(STRONG, selector=selector)
    assert texts(framework, await framework.recall(retriever, way)) == ["t1"]
