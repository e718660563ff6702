"""`RecallAgent`: fallback tools that an agent is offered only when a recall was weak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.agent.workflow import AgentOutput, FunctionAgent, ToolCallResult
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemory
from llama_index.core.tools import (
    AsyncBaseTool,
    QueryEngineTool,
    RetrieverTool,
    ToolMetadata,
    ToolOutput,
    ToolSelection,
)
from llama_index.core.workflow import Context
from pydantic import PrivateAttr

from llama_index_recall_signal._query_engine import RecallQueryEngine
from llama_index_recall_signal._retriever import RecallRetriever
from llama_index_recall_signal._router_query_engine import RecallRouterQueryEngine
from recall_signal import ConfigurationError
from recall_signal.agents._fallbacks import (
    FallbackPolicy,
    OnUnknown,
    fallback_policy,
    tool_report,
)
from recall_signal.report_parsing import KEY, get_field, strongest

__all__ = ["RecallAgent"]

USED = "recall_fallbacks"
STEP = "recall_step"
"""The step of the run in which the agent last acted; None where its turn is over."""

NOT_OFFERED = "not_offered"

_FAILED = ("is_error", "isError")
"""Names under which a result of the Model Context Protocol says that the tool failed."""

_ENGINES = (RecallQueryEngine, RecallRouterQueryEngine)


class RecallAgent(FunctionAgent):
    """A `FunctionAgent` whose fallback tools are offered only after a weak recall.

    The model sees a fallback tool only after a search of this turn whose advice is "fallback"
    (`low`, `none`, or nothing left to read), that failed, or that could not be measured, and
    no longer after a better one. A call of a tool that is not offered is answered
    with an error, so the model goes on; in events it is a call of `not_offered`. The context's
    store has the last search's reports under `recall`, and the number of fallback calls of this
    turn under `recall_fallbacks`.

    Every user turn starts without a signal. An agent in a workflow of several agents gets no notice
    of a new turn. It detects one where it gave the last answer itself, where the message differs,
    or where the run has counted fewer steps than before; a message that is repeated after another
    agent's answer, and handed over later than before, is taken for the previous turn.

    Where several retriever tools are called in one step, the best measured level speaks for the
    step.

    Attributes:
        retriever_tools: Names of tools that give a signal: those of `create_recall_tool`,
            a `QueryEngineTool` around a `RecallQueryEngine`, a `RetrieverTool` around
            a `RecallRetriever`.
        fallback_tools: Names of tools to offer when nothing relevant was found, such as a web
            search.
        on_unknown: `"offer"` offers them after an `unknown` level as well, `"hide"` does not.
        max_fallbacks: Most calls of fallback tools in one turn, at least 1.
        metadata_key: Where nodes carry their reports, for a tool that does not say so itself; the
            three kinds above do.

    Raises:
        ConfigurationError: A setting is wrong, or a name is not that of one of `tools`.
    """

    retriever_tools: frozenset[str]
    fallback_tools: frozenset[str]
    on_unknown: OnUnknown = "offer"
    max_fallbacks: int = 3
    metadata_key: str = KEY

    _policy: FallbackPolicy = PrivateAttr()
    _keys: dict[str | None, str] = PrivateAttr(default_factory=dict)

    def __init__(
        self,
        *,
        retriever_tools: Sequence[str],
        fallback_tools: Sequence[str],
        on_unknown: OnUnknown = "offer",
        max_fallbacks: int = 3,
        metadata_key: str = KEY,
        **settings: Any,
    ) -> None:
        policy = fallback_policy(
            retriever_tools, fallback_tools, on_unknown, max_fallbacks, metadata_key
        )
        super().__init__(
            retriever_tools=policy.retriever_tools,
            fallback_tools=policy.fallback_tools,
            on_unknown=on_unknown,
            max_fallbacks=max_fallbacks,
            metadata_key=metadata_key,
            **settings,
        )
        given: list[Any] = self.tools or []
        policy.require((tool.metadata.name for tool in given), "Pass them to RecallAgent in tools=")
        if any(tool.metadata.name == NOT_OFFERED for tool in given):
            raise ConfigurationError(
                f"a tool of a RecallAgent cannot be named {NOT_OFFERED}: calls of tools that are "
                "not offered go by this name; give it another one"
            )
        self.tools = [*given, _NotOffered(policy)]
        self._policy = policy
        self._keys = {tool.metadata.name: _key_of(tool) or metadata_key for tool in given}

    async def take_step(
        self,
        ctx: Any,
        llm_input: list[ChatMessage],
        tools: Sequence[AsyncBaseTool],
        memory: BaseMemory,
    ) -> AgentOutput:
        """Show the model the tools that are offered now, and refuse calls of others."""
        entry = await ctx.store.get(KEY, default=None)
        used = await ctx.store.get(USED, default=0)
        now = await ctx.store.get("num_iterations", default=0)
        if await self._is_another_turn(ctx, entry, now):
            entry, used = None, 0
        left = self._policy.remaining_calls(entry, used)
        hidden = {NOT_OFFERED} if left > 0 else {NOT_OFFERED} | self.fallback_tools
        offered = [tool for tool in tools if tool.metadata.name not in hidden]
        output = await super().take_step(ctx, llm_input, offered, memory)
        output.tool_calls, called = self._allowed(output.tool_calls, left)
        await ctx.store.set(KEY, entry)
        await ctx.store.set(USED, used + called)
        await ctx.store.set(STEP, now)
        return output

    async def handle_tool_call_results(
        self, ctx: Context, results: list[ToolCallResult], memory: BaseMemory
    ) -> None:
        """Note the best signal of this step."""
        found = [
            {
                **_report_of(result.tool_output, self._keys[result.tool_name]),
                "tool": result.tool_name,
            }
            for result in results
            if result.tool_name in self.retriever_tools
        ]
        best = strongest(found)
        if best is not None:
            await ctx.store.set(KEY, {**best, "turn": await _turn(ctx)})
        await super().handle_tool_call_results(ctx, results, memory)

    async def finalize(self, ctx: Context, output: AgentOutput, memory: BaseMemory) -> AgentOutput:
        """End the turn."""
        await ctx.store.set(STEP, None)
        return await super().finalize(ctx, output, memory)

    async def _is_another_turn(self, ctx: Any, entry: Any, now: int) -> bool:
        """Return True where the signal is of an earlier turn: a run counts its steps from 0."""
        last = await ctx.store.get(STEP, default=None)
        said = entry.get("turn") if isinstance(entry, Mapping) else await _turn(ctx)
        return last is None or now <= last or said != await _turn(ctx)

    def _allowed(
        self, calls: Sequence[ToolSelection], left: int
    ) -> tuple[list[ToolSelection], int]:
        """Refuse the calls of fallback tools beyond those left, and count the allowed ones."""
        kept, called = [], 0
        for call in calls:
            if call.tool_name not in self.fallback_tools:
                kept.append(call)
            elif called < left:
                called += 1
                kept.append(call)
            else:
                refused = {"tool_name": NOT_OFFERED, "tool_kwargs": {"name": call.tool_name}}
                kept.append(call.model_copy(update=refused))
        return kept, called


class _NotOffered(AsyncBaseTool):
    """Target of calls of tools that are not offered; no model ever sees it."""

    def __init__(self, policy: FallbackPolicy) -> None:
        self._policy = policy

    @property
    def metadata(self) -> ToolMetadata:
        """Its name."""
        return ToolMetadata(description="", name=NOT_OFFERED)

    def call(self, name: str) -> ToolOutput:
        """Answer with the refusal."""
        text = self._policy.refusal(name)
        return ToolOutput(
            tool_name=NOT_OFFERED,
            content=text,
            raw_input={"name": name},
            raw_output=text,
            is_error=True,
        )

    async def acall(self, name: str) -> ToolOutput:
        """Answer with the refusal."""
        return self.call(name)


def _key_of(tool: AsyncBaseTool) -> str | None:
    """Return the key of the engine or retriever inside a tool, where that is known."""
    if isinstance(tool, QueryEngineTool) and isinstance(tool.query_engine, _ENGINES):
        return tool.query_engine.metadata_key
    if isinstance(tool, RetrieverTool) and isinstance(tool.retriever, RecallRetriever):
        return tool.retriever.settings.metadata_key
    return None


def _report_of(output: ToolOutput, key: str = KEY) -> dict[str, Any]:
    """Read a tool's output; one of the Model Context Protocol says itself if it failed."""
    result = output.raw_output
    failed = output.is_error or any(get_field(result, name) is True for name in _FAILED)
    return tool_report([result], failed, key)


async def _turn(ctx: Any) -> str | None:
    """Return the user's message of this turn."""
    said: str | None = await ctx.store.get("user_msg_str", default=None)
    return said
