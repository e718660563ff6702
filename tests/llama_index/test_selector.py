"""The selector around LlamaIndex retrievers, and as a node postprocessor."""

import asyncio
import enum
from types import SimpleNamespace
from typing import Any

import pytest
from llama_index.core.llms import MockLLM

from llama_index_recall_signal import RecallSelectorPostprocessor
from llama_index_recall_signal._selector import LLMSelector
from recall_signal import ConfigurationError
from recall_signal.selection import Answer
from tests.llama_index.fakes import page_of
from tests.llama_index.selector_fakes import (
    APPLIED,
    AsyncLLM,
    FunctionLLM,
    TextLLM,
    both,
    found,
    kept,
    report,
    wrapped,
)
from tests.selection.prompts import QUESTION, keeping, labels_in, none_in


def arguments(*places: int) -> Any:
    return lambda prompt: {"keep": [labels_in(prompt)[at] for at in places]}


# What can select


@pytest.mark.parametrize(
    "selector",
    [
        TextLLM(reply=keeping(2, 0)),
        AsyncLLM(reply=keeping(2, 0)),
        FunctionLLM(reply=arguments(2, 0)),
        FunctionLLM(reply=keeping(2, 0)),
        FunctionLLM(reply=arguments(2, 0), as_blocks=False),
        FunctionLLM(reply=lambda prompt: [keeping(2, 0)(prompt)]),
        LLMSelector(AsyncLLM(reply=keeping(2, 0)), structured=False),
    ],
    ids=["text", "async text", "call", "call as text", "old call", "call as json", "selector"],
)
async def test_an_llm_selects(selector: Any) -> None:
    response = await both(selector)
    assert report(response) == APPLIED
    assert kept(response.nodes) == ["id0", "id2"]
    assert page_of(response.nodes) == [page_of(found())[0], page_of(found())[2]]
    entries = [item.node.metadata["recall"] for item in response.nodes]
    assert [entry["selection"] for entry in entries] == [APPLIED] * 2
    assert [entry["rank"] for entry in entries] == [0, 1]


def test_a_function_is_required() -> None:
    llm = FunctionLLM(reply=arguments(0))
    wrapped(llm).retrieve(QUESTION)
    assert llm.required == [True]
    assert llm.tools[0].metadata.name == "kept_results"
    assert llm.tools[0].metadata.get_parameters_dict()["required"] == ["keep"]


async def test_structured_prediction_can_be_insisted_on() -> None:
    """For an LLM that calls no functions, through LlamaIndex's own program."""
    llm = LLMSelector(AsyncLLM(reply=keeping(0)), structured=True)
    assert report(await both(llm)) == {
        **APPLIED,
        "model": "declared",
        "kept": 1,
        "dropped": 3,
        "dropped_memory_ids": ["id1", "id2", "id3"],
    }
    for said in ('{"keep": [1]}', '{"keep": ["A"], "more": 1}', '{"kept": []}'):
        refused = LLMSelector(AsyncLLM(reply=lambda prompt, said=said: said), structured=True)
        assert report(await both(refused)) == {"applied": False, "reason": "invalid_output"}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (lambda prompt: {}, "invalid_output"),
        (lambda prompt: {"keep": []}, "invalid_output"),
        (lambda prompt: {"keep": [none_in(prompt)]}, "selected_none"),
        (lambda prompt: {"keep": [1]}, "invalid_output"),
        (lambda prompt: {"keep": ["ZZZZZ"]}, "invalid_output"),
        (lambda prompt: {"keep": labels_in(prompt), "why": "all"}, "invalid_output"),
        (lambda prompt: [keeping(0)(prompt)[:-2]], "invalid_output"),
        (lambda prompt: [keeping(0)(prompt)] * 2, "invalid_output"),
        (lambda prompt: "I keep the first.", "invalid_output"),
        (lambda prompt: RuntimeError(prompt), "llm_error"),
    ],
    ids=[
        "no keys",
        "empty",
        "none",
        "number",
        "stranger",
        "key more",
        "cut off",
        "two",
        "text",
        "error",
    ],
)
async def test_malformed_calls(reply: Any, reason: str) -> None:
    response = await both(FunctionLLM(reply=reply))
    assert report(response) == {"applied": False, "reason": reason}
    assert page_of(response.nodes) == page_of(found())


class Finish(enum.Enum):
    MAX_TOKENS = 2
    STOP = 1


CUT_OFF: dict[str, Any] = {
    "chat completions": SimpleNamespace(
        model="m", choices=[SimpleNamespace(finish_reason="length")]
    ),
    "a dict of them": {"choices": [{"finish_reason": "length"}]},
    "responses": SimpleNamespace(model="m", status="incomplete"),
    "messages": {"stop_reason": "max_tokens"},
    "converse": {"stopReason": "max_tokens"},
    "local": {"done_reason": "length"},
    "candidates": {"candidates": [SimpleNamespace(finish_reason=Finish.MAX_TOKENS)]},
    "an enumeration": {"finish_reason": Finish.MAX_TOKENS},
    "a filter": {"choices": [{"finish_reason": "content_filter"}]},
    "a refusal": {"stop_reason": "refusal"},
    "details": {"incomplete_details": {"reason": "max_output_tokens"}},
    "failed": SimpleNamespace(status="failed"),
}
WHOLE: dict[str, Any] = {
    "chat completions": SimpleNamespace(
        model="m", choices=[SimpleNamespace(finish_reason="tool_calls")]
    ),
    "responses": SimpleNamespace(status="completed"),
    "candidates": {"candidates": [SimpleNamespace(finish_reason=Finish.STOP)]},
    "a token beside": {"choices": [{"finish_reason": "tool_calls", "stop_reason": 128_008}]},
    "no choice": {"choices": []},
    "something else": {"choices": 5, "status": object()},
    "nothing": None,
}
kinds = pytest.mark.parametrize(
    "make",
    [
        lambda **more: FunctionLLM(reply=arguments(0), **more),
        lambda **more: FunctionLLM(reply=keeping(0), **more),
        lambda **more: AsyncLLM(reply=keeping(0), **more),
        lambda **more: TextLLM(reply=keeping(0), **more),
    ],
    ids=["call", "call as text", "async text", "text"],
)


@kinds
@pytest.mark.parametrize("raw", CUT_OFF.values(), ids=CUT_OFF.keys())
async def test_an_answer_that_was_cut_off_is_not_taken(make: Any, raw: Any) -> None:
    response = await both(make(raw=raw))
    assert report(response) == {"applied": False, "reason": "invalid_output"}
    assert page_of(response.nodes) == page_of(found())


@kinds
@pytest.mark.parametrize("raw", WHOLE.values(), ids=WHOLE.keys())
async def test_a_whole_answer_is_taken_whatever_it_says_beside(make: Any, raw: Any) -> None:
    assert report(await both(make(raw=raw)))["kept"] == 1


async def test_the_end_may_be_said_by_the_message() -> None:
    llm = FunctionLLM(reply=arguments(0), more={"finish_reason": "length"})
    assert report(await both(llm)) == {"applied": False, "reason": "invalid_output"}


class OnlySync:
    def select(self, request: Any) -> Answer:
        return Answer({"keep": [request.labels[0]]}, "rules")


class Both(OnlySync):
    async def aselect(self, request: Any) -> Answer:
        await asyncio.sleep(0)
        return self.select(request)


class AsyncSelect:
    async def select(self, request: Any) -> Answer:
        raise AssertionError


async def test_a_selector_of_ones_own() -> None:
    for selector in (OnlySync(), Both()):
        assert report(await both(selector))["model"] == "rules"


@pytest.mark.parametrize(
    "selector", ["gpt-x", 3, object(), OnlySync, MockLLM, AsyncSelect(), lambda request: None]
)
def test_what_is_no_selector_is_refused(selector: Any) -> None:
    for make in (wrapped, lambda s: RecallSelectorPostprocessor(selector=s)):
        with pytest.raises(ConfigurationError, match="selector must be an LLM"):
            make(selector)


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (None, "declared"),
        ({}, "declared"),
        ({"model": 3}, "declared"),
        (type("Raw", (), {"model": "own"})(), "own"),
    ],
)
def test_a_model_is_called_what_it_calls_itself(raw: Any, name: str) -> None:
    assert report(wrapped(TextLLM(reply=keeping(0), raw=raw)).recall(QUESTION))["model"] == name


def test_the_mock_llm_of_llamaindex_leaves_the_page() -> None:
    response = wrapped(MockLLM()).recall(QUESTION)
    assert report(response) == {"applied": False, "reason": "invalid_output"}


def test_the_model_reads_what_a_prompt_would_show() -> None:
    nodes = found()
    nodes[0].node.metadata["secret"] = "not for models"
    nodes[0].node.excluded_llm_metadata_keys.append("secret")
    llm = TextLLM(reply=keeping(0))
    wrapped(llm, nodes).retrieve(QUESTION)
    (prompt,) = llm.prompts
    assert "n: 0" in prompt
    assert "not for models" not in prompt
    assert "id0" not in prompt
