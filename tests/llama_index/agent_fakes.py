"""What the tests of `RecallAgent` share: a scripted model, and tools of every level."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata, MessageRole
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.tools import AsyncBaseTool, FunctionTool, ToolOutput, ToolSelection

from llama_index_recall_signal import RecallAgent, RecallRetriever, create_recall_tool
from tests.llama_index.fakes import QUERY, ListRetriever, index_with_cosines, scored

STRONG = [0.9, 0.5, 0.45, 0.4]
WEAK = [0.2, 0.195, 0.19, 0.185]

Call = tuple[str, dict[str, Any]]
LOOK: Call = ("notes", {"query": QUERY})
WEB: Call = ("web", {"query": QUERY})


class ScriptedLLM(FunctionCallingLLM):
    """Makes the calls of one turn after the other, then says `done`."""

    script: list[list[Call]]
    offered: list[list[str]] = []  # noqa: RUF012  (pydantic copies it)
    heard: list[str] = []  # noqa: RUF012

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="scripted", is_function_calling_model=True)

    def _prepare_chat_with_tools(
        self, tools: Sequence[Any], *args: Any, chat_history: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        self.offered.append([tool.metadata.name for tool in tools])
        return {"messages": chat_history}

    def _next(self, messages: Sequence[ChatMessage]) -> ChatResponse:
        self.heard.extend(str(m.content) for m in messages if m.role == MessageRole.TOOL)
        calls = self.script.pop(0) if self.script else []
        message = ChatMessage("" if calls else "done", role=MessageRole.ASSISTANT)
        message.additional_kwargs["calls"] = [
            {"tool_id": f"c{len(self.offered)}-{n}", "tool_name": name, "tool_kwargs": kwargs}
            for n, (name, kwargs) in enumerate(calls)
        ]
        return ChatResponse(message=message)

    def get_tool_calls_from_response(
        self, response: Any, *args: Any, **kwargs: Any
    ) -> list[ToolSelection]:
        calls = response.message.additional_kwargs.get("calls", [])
        return [ToolSelection(**call) for call in calls]

    async def achat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        await asyncio.sleep(0)
        return self._next(messages)

    async def astream_chat(self, messages: Any, **kwargs: Any) -> Any:
        async def once() -> AsyncGenerator[ChatResponse, None]:
            yield self._next(messages)

        return once()

    def chat(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    stream_chat = complete = stream_complete = chat  # type: ignore[pydantic-field]

    async def acomplete(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    astream_complete = acomplete  # type: ignore[pydantic-field]


def notes(cosines: list[float], name: str = "notes") -> Any:
    retriever = RecallRetriever(index_with_cosines(cosines).as_retriever())
    return create_recall_tool(retriever, name, "What we know.")


def unmeasured(name: str = "notes") -> Any:
    retriever = RecallRetriever(ListRetriever(scored(None)))
    return create_recall_tool(retriever, name, "What we know.")


def web(answer: Callable[[str], Any] = lambda query: f"web on {query}") -> FunctionTool:
    return FunctionTool.from_defaults(answer, name="web", description="Search the web.")


def agent(script: list[list[Call]], *tools: Any, **settings: Any) -> tuple[RecallAgent, Any]:
    llm = ScriptedLLM(script=script)
    named = {"retriever_tools": ["notes"], "fallback_tools": ["web"], **settings}
    return RecallAgent(llm=llm, tools=list(tools), **named), llm


class Result:
    """The result of a tool call as a client of the Model Context Protocol has it."""

    def __init__(self, artifact: Any) -> None:
        self.structuredContent, self.isError = artifact, False


class ThroughAProtocol(AsyncBaseTool):
    """The tool as a client of the Model Context Protocol has it: it says nothing of a failure."""

    def __init__(self, tool: AsyncBaseTool) -> None:
        self.tool = tool

    @property
    def metadata(self) -> Any:
        return self.tool.metadata

    def call(self, query: str) -> ToolOutput:
        raise NotImplementedError

    async def acall(self, query: str) -> ToolOutput:
        output = await self.tool.acall(query)
        return ToolOutput(
            tool_name=output.tool_name,
            content="CallToolResult(...)",
            raw_input=output.raw_input,
            raw_output=Result(output.raw_output),
        )
