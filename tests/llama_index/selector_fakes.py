"""Scripted LLMs for the selector's tests."""

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
    MessageRole,
)
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.schema import NodeWithScore, TextNode

from llama_index_recall_signal import RecallRetriever
from tests.llama_index.fakes import ListRetriever
from tests.selection import prompts
from tests.selection.prompts import NAME, QUESTION

TEXTS = prompts.TEXTS[:4]

try:
    from llama_index.core.base.llms.types import ToolCallBlock
except ImportError:  # llama-index-core 0.14.0 to 0.14.2
    ToolCallBlock = None  # type: ignore[assignment,misc]


APPLIED = {
    "applied": True,
    "model": NAME,
    "kept": 2,
    "dropped": 2,
    "dropped_memory_ids": ["id1", "id3"],
}
"""What keeping the first and the third says."""


def _said(reply: Any) -> Any:
    if isinstance(reply, BaseException):
        raise reply
    return reply


class TextLLM(CustomLLM):
    """Sync code only; its async methods are `CustomLLM`'s."""

    reply: Any
    prompts: list[str] = []  # noqa: RUF012  (pydantic copies it)
    raw: Any = {"model": NAME}  # noqa: RUF012

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="declared")

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        self.prompts.append(prompt)
        return CompletionResponse(text=_said(self.reply(prompt)), raw=self.raw)

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError


class AsyncLLM(TextLLM):
    areply: Any = None

    @llm_completion_callback()
    async def acomplete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        self.prompts.append(prompt)
        said = await self.areply(prompt) if self.areply else self.reply(prompt)
        return CompletionResponse(text=_said(said), raw=self.raw)


class FunctionLLM(FunctionCallingLLM):
    """Calls a function: `reply` gives its arguments, several of them, or a text."""

    reply: Any
    tools: list[Any] = []  # noqa: RUF012
    required: list[bool] = []  # noqa: RUF012
    as_blocks: bool = True
    raw: Any = {"model": NAME}  # noqa: RUF012
    more: dict[str, Any] = {}  # noqa: RUF012

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="declared", is_function_calling_model=True)

    def _prepare_chat_with_tools(
        self,
        tools: Sequence[Any],
        user_msg: Any = None,
        *args: Any,
        tool_required: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        self.tools.extend(tools)
        self.required.append(tool_required)
        return {"messages": [ChatMessage(user_msg)]}

    @llm_chat_callback()
    def chat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        said = _said(self.reply(str(messages[0].content)))
        message = ChatMessage("", role=MessageRole.ASSISTANT)
        if isinstance(said, str):
            message.content = said
        else:
            calls = said if isinstance(said, list) else [said]
            if self.as_blocks and ToolCallBlock is not None:
                message.blocks = [ToolCallBlock(tool_name="k", tool_kwargs=c) for c in calls]
            else:
                message.additional_kwargs["tool_calls"] = calls
        message.additional_kwargs.update(self.more)
        return ChatResponse(message=message, raw=self.raw)

    @llm_chat_callback()
    async def achat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        await asyncio.sleep(0)
        return self.chat(messages, **kwargs)

    def get_tool_calls_from_response(self, response: Any, *args: Any, **kwargs: Any) -> Any:
        calls = response.message.additional_kwargs.get("tool_calls", [])
        return [SimpleNamespace(tool_kwargs=call) for call in calls]

    def complete(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    stream_complete = stream_chat = complete  # type: ignore[pydantic-field]

    async def acomplete(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    astream_complete = astream_chat = acomplete  # type: ignore[pydantic-field]


def found() -> list[NodeWithScore]:
    return [
        NodeWithScore(
            node=TextNode(id_=f"id{n}", text=text, metadata={"n": n, "tags": [{"of": [n]}]}),
            score=1.0 - n / 10,
        )
        for n, text in enumerate(TEXTS)
    ]


def wrapped(selector: Any, nodes: Any = None, **more: Any) -> RecallRetriever:
    nodes = found() if nodes is None else nodes
    return RecallRetriever(ListRetriever(nodes), selector=selector, **more)


def report(response: Any) -> dict[str, Any]:
    said: dict[str, Any] = response.selection.model_dump(mode="json")
    return said


def kept(nodes: Sequence[NodeWithScore]) -> list[str]:
    return [item.node_id for item in nodes]


async def both(selector: Any, **more: Any) -> Any:
    """The response, the same synchronously and not."""
    retriever = wrapped(selector, **more)
    sync, not_sync = retriever.recall(QUESTION), await retriever.arecall(QUESTION)
    assert sync.to_dict() == not_sync.to_dict()
    assert kept(sync.nodes) == kept(not_sync.nodes)
    return sync
