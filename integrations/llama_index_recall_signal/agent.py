"""``RecallAgent``: fallback tools that an agent is offered only when a recall was weak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.agent.workflow import AgentOutput, FunctionAgent, ToolCallResult
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemory
from llama_index.core.tools import AsyncBaseTool, ToolMetadata, ToolOutput, ToolSelection
from llama_index.core.workflow import Context

from recall_signal import ConfigurationError
from recall_signal.agents.artifact import json_safe
from recall_signal.agents.fallbacks import OnUnknown, check_settings, refusal, room, unread_report
from recall_signal.signals import KEY, UNREAD, confidence_in, report_in, strongest

__all__ = ["RecallAgent"]

USED = "recall_fallbacks"
STEP = "recall_step"
"""The step of the run in which the agent was last asked; None where its turn is over."""

NOT_OFFERED = "not_offered"


class RecallAgent(FunctionAgent):
    """A ``FunctionAgent`` that is offered its fallback tools only when the signal says so.

    The model sees a fallback tool only after a search of this turn that ended with ``none`` or
    ``low``, and not any more after a better one. A call of a tool that is not offered is answered
    with an error, so the model goes on; in events it is a call of ``not_offered``. The context's
    store has the last search's reports under ``recall``, and the number of fallback calls of this
    turn under ``recall_fallbacks``.

    Every user turn starts anew. An agent to which a workflow of several hands over is not told
    that a turn began. It sees that where it gave the last answer itself, where the message is
    another one, or where the run has not come as far as it was; a message that is repeated after
    another agent's answer, and handed over later than before, is taken for the turn before.

    Where several retriever tools are called in one step, the best measured level speaks for the
    step.

    Attributes:
        retriever_tools: Names of tools that give a signal: those of :func:`create_recall_tool`,
            a ``QueryEngineTool`` around a :class:`RecallQueryEngine`, a ``RetrieverTool`` around
            a :class:`RecallRetriever`.
        fallback_tools: Names of tools to offer when nothing relevant was found, such as a web
            search.
        on_unknown: Whether an ``unknown`` level offers them as well.
        max_fallbacks: Most calls of fallback tools in one turn, at least 1.

    Raises:
        ConfigurationError: A setting is wrong, or a name is not that of one of ``tools``.
    """

    retriever_tools: frozenset[str]
    fallback_tools: frozenset[str]
    on_unknown: OnUnknown = "hide"
    max_fallbacks: int = 3

    def __init__(
        self,
        *,
        retriever_tools: Sequence[str],
        fallback_tools: Sequence[str],
        on_unknown: OnUnknown = "hide",
        max_fallbacks: int = 3,
        **settings: Any,
    ) -> None:
        searching, falling_back = check_settings(
            retriever_tools, fallback_tools, on_unknown, max_fallbacks
        )
        super().__init__(
            retriever_tools=searching,
            fallback_tools=falling_back,
            on_unknown=on_unknown,
            max_fallbacks=max_fallbacks,
            **settings,
        )
        given: list[Any] = self.tools or []
        if missing := (searching | falling_back) - {tool.metadata.name for tool in given}:
            raise ConfigurationError(
                f"RecallAgent names tools that it does not have: {sorted(missing)}. Pass them "
                "in tools="
            )
        self.tools = [*given, _NotOffered(max_fallbacks)]

    async def take_step(
        self,
        ctx: Any,
        llm_input: list[ChatMessage],
        tools: Sequence[AsyncBaseTool],
        memory: BaseMemory,
    ) -> AgentOutput:
        """Show the model the tools that are offered now, and let it call these only."""
        entry = await ctx.store.get(KEY, default=None)
        used = await ctx.store.get(USED, default=0)
        now = await ctx.store.get("num_iterations", default=0)
        if await self._is_another_turn(ctx, entry, now):
            entry, used = None, 0
        left = room(
            None if entry is None else confidence_in(entry) or UNREAD,
            used,
            on_unknown=self.on_unknown,
            max_fallbacks=self.max_fallbacks,
        )
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
                **(report_in(result.tool_output.raw_output) or unread_report()),
                "tool": result.tool_name,
            }
            for result in results
            if result.tool_name in self.retriever_tools
        ]
        best = strongest(found)
        if best is not None:
            await ctx.store.set(KEY, {**json_safe(best), "turn": await _turn(ctx)})
        await super().handle_tool_call_results(ctx, results, memory)

    async def finalize(self, ctx: Context, output: AgentOutput, memory: BaseMemory) -> AgentOutput:
        """The turn is over."""
        await ctx.store.set(STEP, None)
        return await super().finalize(ctx, output, memory)

    async def _is_another_turn(self, ctx: Any, entry: Any, now: int) -> bool:
        """Whether the signal is not of this turn: a run counts its steps from 0 upwards."""
        last = await ctx.store.get(STEP, default=None)
        said = entry.get("turn") if isinstance(entry, Mapping) else await _turn(ctx)
        return last is None or now <= last or said != await _turn(ctx)

    def _allowed(
        self, calls: Sequence[ToolSelection], left: int
    ) -> tuple[list[ToolSelection], int]:
        """The calls with those beyond what is left answered by a refusal, and the others' count."""
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
    """What a call of a tool goes to that is not offered; no model ever sees it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit

    @property
    def metadata(self) -> ToolMetadata:
        """Its name."""
        return ToolMetadata(description="", name=NOT_OFFERED)

    def call(self, name: str) -> ToolOutput:
        """Say so."""
        text = refusal(name, self._limit)
        return ToolOutput(
            tool_name=NOT_OFFERED,
            content=text,
            raw_input={"name": name},
            raw_output=text,
            is_error=True,
        )

    async def acall(self, name: str) -> ToolOutput:
        """Say so."""
        return self.call(name)


async def _turn(ctx: Any) -> str | None:
    """What the user said in this turn."""
    said: str | None = await ctx.store.get("user_msg_str", default=None)
    return said
