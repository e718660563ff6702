"""Chains around models, models that are no chat models, and selectors of one's own."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.language_models import FakeListLLM, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda

from langchain_recall_signal._selector import RunnableSelector
from recall_signal import ConfigurationError
from recall_signal.selection import Answer, SelectionRequest
from tests.selection.fakes import (
    AsyncScripted,
    Custom,
    Scripted,
    ToolCalling,
    arguments,
    assert_keeps,
    assert_untouched,
    page,
    selector_threads,
    wrapped,
)
from tests.selection.prompts import QUESTION, keeping, saying

# Models with something around them


@pytest.mark.parametrize(
    "around",
    [
        lambda model: model.with_config({"tags": ["mine"], "metadata": {"a": 1}}),
        lambda model: model.with_retry(stop_after_attempt=2),
        lambda model: model.with_config({"tags": ["x"]}).with_config({"run_name": "mine"}),
    ],
    ids=["config", "retry", "twice"],
)
async def test_structured_output_reaches_through(around: Callable[[Any], Any]) -> None:
    await assert_keeps(around(ToolCalling(reply=arguments(0))), 0)


@pytest.mark.parametrize(
    "around",
    [
        lambda model: model.bind(temperature=0),
        lambda model: model.bind(stop=["x"]).with_config({"tags": ["mine"]}),
        lambda model: model.with_fallbacks([Scripted(reply=saying(RuntimeError()))]),
        lambda model: RunnableLambda(lambda prompt: prompt) | model,
        lambda model: ChatPromptTemplate.from_messages([("human", "{question}")]) | model,
    ],
    ids=["bind", "bind and config", "fallbacks", "chain", "template"],
)
@pytest.mark.parametrize("kind", [Scripted, AsyncScripted, ToolCalling])
async def test_anything_that_ends_in_a_model(around: Any, kind: type[Scripted]) -> None:
    await assert_keeps(around(kind(reply=keeping(0, 4))), 0, 4)


async def test_a_chain_that_ends_in_text_is_called_by_its_model() -> None:
    await assert_keeps(Scripted(reply=keeping(0)) | StrOutputParser(), 0, model="Scripted")
    function = RunnableLambda(lambda prompt: json.loads(keeping(0)(prompt)))
    await assert_keeps(function, 0, model="RunnableLambda")


async def test_a_function_with_async_code() -> None:
    async def answer(prompt: str) -> Any:
        await asyncio.sleep(0)
        return keeping(0)(prompt)

    retriever = wrapped(RunnableLambda(answer) | RunnableLambda(lambda text: text))
    assert (await retriever.arecall(QUESTION)).selection.applied
    assert_untouched(retriever.recall(QUESTION), "llm_error", page())


def test_text_models_and_langchains_own_fakes() -> None:
    llm = FakeListLLM(responses=['{"keep": []}'])
    assert_untouched(wrapped(llm).recall(QUESTION), "invalid_output", page())
    script = GenericFakeChatModel(messages=iter([AIMessage('{"keep": []}')]))
    retriever = wrapped(script)
    assert_untouched(retriever.recall(QUESTION), "invalid_output", page())
    assert_untouched(retriever.recall(QUESTION), "llm_error", page())  # the script is at its end


@pytest.mark.parametrize("number", [3, None, ["x"], b"x"])
def test_a_chain_that_ends_in_something_else(number: Any) -> None:
    chain = Scripted(reply=keeping(0)) | RunnableLambda(lambda message: number)
    assert_untouched(wrapped(chain).recall(QUESTION), "invalid_output", page())


async def test_who_needs_a_thread() -> None:
    """Only what would block the loop or LangChain's own pool."""

    async def answer(prompt: str) -> str:
        return str(keeping(0)(prompt))

    native = AsyncScripted(reply=keeping(0))
    blocking = Scripted(reply=keeping(0))
    expected: list[tuple[Any, bool]] = [
        (native, True),
        (native.with_config({"tags": []}), True),
        (native | RunnableLambda(lambda message: message), True),
        (native.with_fallbacks([native]), True),
        (RunnableLambda(answer), True),
        (Custom(lambda request: Answer("{}", "m")), True),
        (StrOutputParser(), True),
        (blocking, False),
        (blocking.bind(stop=["x"]), False),
        (RunnableLambda(answer) | blocking, False),
        (native.with_fallbacks([blocking]), False),
        (RunnableLambda(keeping(0)), False),
        (GenericFakeChatModel(messages=iter([])), False),
    ]
    for selector, native_async in expected:
        assert RunnableSelector(selector).native_async is native_async


# Custom selectors


class OnlySync:
    def select(self, request: SelectionRequest) -> Answer:
        assert selector_threads()
        return Answer({"keep": [request.labels[1]]}, "rules")


async def test_a_selector_with_and_without_async_code() -> None:
    both = Custom(lambda request: Answer({"keep": [request.labels[1]]}, "rules"))
    await assert_keeps(both, 1, model="rules")
    assert len(both.requests) == 2
    await assert_keeps(OnlySync(), 1, model="rules")


class AsyncSelect:
    async def select(self, request: SelectionRequest) -> Answer:
        raise AssertionError


WRONG: dict[str, Any] = {
    "a name": "gpt-x",
    "a number": 3,
    "a function": lambda request: Answer("{}", "m"),
    "an object": object(),
    "a class": OnlySync,
    "a model's class": Scripted,
    "select that is no method": type("Odd", (), {"select": 3})(),
    "select that is a coroutine": AsyncSelect(),
    "only aselect": type("Half", (), {"aselect": OnlySync.select})(),
    "a list": [Scripted(reply=keeping(0))],
}


@pytest.mark.parametrize("selector", WRONG.values(), ids=WRONG.keys())
def test_what_is_no_selector_is_refused_at_construction(selector: Any) -> None:
    with pytest.raises(ConfigurationError, match="selector must be a chat model"):
        wrapped(selector)
