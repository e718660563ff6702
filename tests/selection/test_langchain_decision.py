"""LangChain's decision models (from langchain-core 1.8 on) as selectors."""

import asyncio
import json
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pytest

if tuple(map(int, version("langchain-core").split(".")[:2])) < (1, 8):
    pytest.skip("decision models came with langchain-core 1.8", allow_module_level=True)

from langchain_core.decisions import BaseDecisionModel, ClassifierResponse, Noul
from selection_fakes import (
    QUESTION,
    TEXTS,
    Listener,
    Sleeper,
    assert_keeps,
    assert_untouched,
    page,
    report,
    selector_threads,
    wrapped,
)

from langchain_recall_signal import SelectorCompressor
from langchain_recall_signal.selector import RunnableSelector

NAME = "judge-1"


class Judge(BaseDecisionModel):
    """Gives each result the probability that the test decides; None leaves it out."""

    model: str = "judge"
    rate: Callable[[str], Any]
    seen: list[Any] = []  # noqa: RUF012  (pydantic copies it)
    extra: dict[str, Any] = {}  # noqa: RUF012

    @property
    def _provider(self) -> str:
        return "scripted"

    def _classify(self, state: Any, questions: Any) -> ClassifierResponse:
        self.seen.append((state, questions))
        rated = {label: self.rate(state["results"][label]) for label in questions}
        answers = {
            label: {"type": "noul", "noul": value}
            for label, value in rated.items()
            if value is not None
        }
        body = {"model": NAME, "answers": {**answers, **self.extra}}
        return ClassifierResponse.model_validate(body)


class AsyncJudge(Judge):
    async def _aclassify(self, state: Any, questions: Any) -> ClassifierResponse:
        await asyncio.sleep(0)
        return self._classify(state, questions)


def about_ports(text: str) -> float:
    return 0.9 if "port" in text.lower() else 0.1


kinds = pytest.mark.parametrize("kind", [Judge, AsyncJudge])


@kinds
async def test_it_keeps_what_is_likely(kind: type[Judge]) -> None:
    await assert_keeps(kind(rate=about_ports), 0, 2, model=NAME)
    await assert_keeps(kind(rate=about_ports).with_config({"tags": ["x"]}), 0, 2, model=NAME)


@pytest.mark.parametrize(("probability", "kept"), [(0.5, 5), (0.4999, None), (0, None), (1, 5)])
def test_it_takes_half_for_likely(probability: float, kept: int | None) -> None:
    response = wrapped(Judge(rate=lambda text: probability)).recall(QUESTION)
    assert report(response).get("kept") == kept
    if kept is None:
        assert_untouched(response, "selected_none", page())


def test_it_is_asked_about_labels_and_told_no_ids() -> None:
    model = Judge(rate=about_ports)
    wrapped(model).recall(QUESTION)
    ((state, questions),) = model.seen
    assert state["question"] == QUESTION
    assert tuple(state["results"].values()) == TEXTS
    assert list(questions) == list(state["results"])
    for label, question in questions.items():
        assert isinstance(question, Noul)
        assert label in str(question.instructions)
    assert "id0" not in json.dumps(state)


@kinds
@pytest.mark.parametrize(
    "extra",
    [
        {"ZZZZZ": {"type": "noul", "noul": 1.0}},
        {"one": {"type": "noul", "noul": 1.0}, "two": {"type": "noul", "noul": 0.0}},
    ],
)
async def test_answers_to_what_was_not_asked_are_invalid(kind: type[Judge], extra: Any) -> None:
    retriever = wrapped(kind(rate=about_ports, extra=extra))
    assert_untouched(retriever.recall(QUESTION), "invalid_output", page())
    assert_untouched(await retriever.arecall(QUESTION), "invalid_output", page())


def test_a_missing_answer_makes_all_of_it_invalid() -> None:
    model = Judge(rate=lambda text: None if "Lunch" in text else 1.0)
    assert_untouched(wrapped(model).recall(QUESTION), "invalid_output", page())


@kinds
@pytest.mark.parametrize("value", [1.5, -0.1, float("nan"), "yes"])
async def test_what_is_no_probability_is_an_error(kind: type[Judge], value: Any) -> None:
    retriever = wrapped(kind(rate=lambda text: value))
    assert_untouched(retriever.recall(QUESTION), "llm_error", page())
    assert_untouched(await retriever.arecall(QUESTION), "llm_error", page())


@kinds
async def test_it_is_a_child_of_the_retriever(kind: type[Judge]) -> None:
    retriever = wrapped(kind(rate=about_ports))
    sync, not_sync = Listener(), Listener()
    retriever.invoke(QUESTION, {"callbacks": [sync]})
    await retriever.ainvoke(QUESTION, {"callbacks": [not_sync]})
    for listener in (sync, not_sync):
        assert listener.parents_of(kind.__name__) == [["recall_selector", "RecallRetriever"]]


async def test_without_async_code_it_gets_a_thread(sleeper: Sleeper) -> None:
    assert RunnableSelector(AsyncJudge(rate=about_ports)).native_async
    assert not RunnableSelector(Judge(rate=about_ports)).native_async
    retriever = wrapped(Judge(rate=sleeper), selector_timeout=0.1)
    assert_untouched(await retriever.arecall(QUESTION), "timeout", page())
    assert selector_threads()


def test_it_can_compress() -> None:
    compressor = SelectorCompressor(selector=Judge(rate=about_ports))
    kept = compressor.compress_documents(page(), QUESTION)
    assert [document.id for document in kept] == ["id0", "id2"]
