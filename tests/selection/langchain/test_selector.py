"""Everything that LangChain users can hand over as `selector=`."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.output_parsers import JsonOutputParser
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from langchain_recall_signal._selector import RunnableSelector
from recall_signal import ConfigurationError
from recall_signal.selection import ANSWER_SCHEMA
from tests.selection.fakes import (
    AsyncScripted,
    Scripted,
    ToolCalling,
    arguments,
    assert_keeps,
    assert_untouched,
    page,
    tool_call,
    wrapped,
)
from tests.selection.prompts import QUESTION, keeping, labels_in, saying

# Chat models


@pytest.mark.parametrize("kind", [Scripted, AsyncScripted, ToolCalling])
async def test_json_as_text(kind: type[Scripted]) -> None:
    await assert_keeps(kind(reply=keeping(3, 0)), 0, 3)


async def test_structured_output() -> None:
    await assert_keeps(ToolCalling(reply=arguments(0, 3)), 0, 3)


def test_structured_output_is_asked_for_by_its_schema() -> None:
    given: list[Any] = []

    class Watched(ToolCalling):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            given.extend(tools)
            return super().bind_tools(tools, **kwargs)

    wrapped(Watched(reply=arguments(0)))
    assert given == [ANSWER_SCHEMA]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (AIMessage("", tool_calls=[tool_call({"keep": ["ZZZZZ"]})]), "invalid_output"),
        (AIMessage("", tool_calls=[tool_call({})]), "invalid_output"),
        (AIMessage("", tool_calls=[tool_call({"keep": []})]), "invalid_output"),
        (AIMessage("", tool_calls=[tool_call({"keep": []})] * 2), "invalid_output"),
        (
            AIMessage(
                "",
                invalid_tool_calls=[
                    {"name": "kept_results", "args": '{"keep": []', "id": "1", "error": "half"}
                ],
            ),
            "invalid_output",
        ),
        (
            AIMessage(
                "",
                tool_calls=[tool_call({"keep": []})],
                response_metadata={"finish_reason": "length"},
            ),
            "invalid_output",
        ),
        (
            AIMessage(
                "",
                tool_calls=[tool_call({"keep": []})],
                response_metadata={"stop_reason": "MAX_TOKENS"},
            ),
            "invalid_output",
        ),
        (
            AIMessage(
                "",
                tool_calls=[tool_call({"keep": []})],
                response_metadata={"status": "incomplete"},
            ),
            "invalid_output",
        ),
        (AIMessage("I keep the first.", tool_calls=[]), "invalid_output"),
    ],
)
def test_malformed_tool_calls(reply: AIMessage, reason: str) -> None:
    model = ToolCalling(reply=saying(reply))
    assert_untouched(wrapped(model).recall(QUESTION), reason, page())


def test_a_streamed_call_that_was_cut_off_is_not_mended() -> None:
    """LangChain completes half the JSON of a chunk."""

    def half(prompt: str) -> AIMessage:
        chunk: Any = {
            "name": "kept_results",
            "args": f'{{"keep": ["{labels_in(prompt)[0]}"',
            "id": "1",
            "index": 0,
            "type": "tool_call_chunk",
        }
        mended = AIMessageChunk(content="", tool_call_chunks=[chunk]).tool_calls
        assert mended[0]["args"] == {"keep": [labels_in(prompt)[0]]}
        return AIMessage("", tool_calls=mended, response_metadata={"finish_reason": "length"})

    assert_untouched(wrapped(ToolCalling(reply=half)).recall(QUESTION), "invalid_output", page())


class Streaming(ToolCalling):
    """Answers by a streamed tool call, whose stream may end in the middle."""

    streaming: bool = True
    whole: bool = False
    end: Any = None

    def _stream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        text = keeping(0)(str(messages[0].text))
        parts = ("kept_results", text[:10]), (None, text[10:] if self.whole else text[10:-2])
        for name, part in parts:
            call: Any = {"name": name, "args": part, "id": None, "index": 0}
            call["id"] = "1" if name else None
            message = AIMessageChunk(content="", tool_call_chunks=[call])
            if self.end and not name:
                message.response_metadata = {"finish_reason": self.end}
            if run_manager:
                run_manager.on_llm_new_token("")
            yield ChatGenerationChunk(message=message)

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        manager = kwargs.pop("run_manager", None)
        for chunk in self._stream(*args, **kwargs):
            yield chunk
            if manager:
                await manager.on_llm_new_token("")


@pytest.mark.parametrize(
    ("whole", "end", "reason"),
    [
        (False, None, "invalid_output"),
        (True, None, "invalid_output"),  # nobody can tell it from the one above
        (False, "length", "invalid_output"),
        (True, "tool_calls", None),
        (True, "stop", None),
    ],
)
async def test_a_stream_has_to_say_how_it_ended(whole: bool, end: Any, reason: Any) -> None:
    retriever = wrapped(Streaming(reply=saying(""), streaming=True, whole=whole, end=end))
    for response in (retriever.recall(QUESTION), await retriever.arecall(QUESTION)):
        assert response.selection.reason == reason
        assert len(response.documents) == (1 if reason is None else 5)


@pytest.mark.parametrize("kind", [Scripted, AsyncScripted, ToolCalling])
async def test_a_model_is_called_as_in_traces(kind: Any) -> None:
    class Deployed(kind):
        deployment_name: str = "team-gpt"

        def _get_ls_params(self, **kwargs: Any) -> Any:
            return {**super()._get_ls_params(**kwargs), "ls_model_name": self.deployment_name}

    await assert_keeps(Deployed(reply=keeping(0), name_in_reply=None), 0, model="team-gpt")
    chain = RunnableLambda(lambda prompt: prompt) | Deployed(reply=keeping(0))
    await assert_keeps(chain, 0, model="team-gpt")


class JsonMode(AsyncScripted):
    """Structured output as text, read by LangChain's lenient parser."""

    raw: bool = True

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Any:
        if not self.raw:
            return self | JsonOutputParser()
        parsed = RunnablePassthrough.assign(parsed=lambda m: JsonOutputParser().invoke(m["raw"]))
        return {"raw": self} | parsed


async def test_structured_output_as_text() -> None:
    await assert_keeps(JsonMode(reply=keeping(1)), 1)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-2],
        lambda text: f"```json\n{text}\n```",
        lambda text: f"```json\n{text}",
        lambda text: text.replace("]", ",]"),
    ],
)
def test_what_a_lenient_parser_mends_is_not_believed(change: Callable[[str], str]) -> None:
    model = JsonMode(reply=lambda prompt: change(keeping(0)(prompt)))
    assert_untouched(wrapped(model).recall(QUESTION), "invalid_output", page())


async def test_what_a_parser_refuses_is_invalid_output() -> None:
    retriever = wrapped(AsyncScripted(reply=saying("prose")) | JsonOutputParser())
    assert_untouched(retriever.recall(QUESTION), "invalid_output", page())
    assert_untouched(await retriever.arecall(QUESTION), "invalid_output", page())


async def test_structured_output_of_a_shape_of_its_own() -> None:
    class OwnShape(JsonMode):
        def with_structured_output(self, schema: Any, **kwargs: Any) -> Any:
            return RunnableLambda(lambda prompt: {"raw": self.invoke(prompt), "parsed": None})

    await assert_keeps(OwnShape(reply=keeping(1)), 1)


async def test_structured_output_without_its_raw_reply() -> None:
    await assert_keeps(JsonMode(reply=keeping(1), raw=False), 1, model="JsonMode")


@pytest.mark.parametrize("error", [NotImplementedError, ValueError, TypeError, AttributeError])
async def test_a_model_without_structured_output_answers_as_text(error: type[Exception]) -> None:
    class Without(AsyncScripted):
        def with_structured_output(self, *args: Any, **kwargs: Any) -> Any:
            raise error

    await assert_keeps(Without(reply=keeping(2)), 2)


async def test_structured_output_can_be_turned_off_or_insisted_on() -> None:
    selector = RunnableSelector(ToolCalling(reply=keeping(2)), structured=False)
    await assert_keeps(selector, 2)
    await assert_keeps(RunnableSelector(ToolCalling(reply=arguments(2)), structured=True), 2)
    with pytest.raises(ConfigurationError, match="Scripted has no structured output"):
        RunnableSelector(Scripted(reply=keeping(0)), structured=True)
