"""``RecallMiddleware``: fallback tools that an agent is offered only when a recall was weak."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest
from langchain.agents.middleware.types import OmitFromInput
from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langgraph.types import Command

from recall_signal import ConfigurationError
from recall_signal.agents.artifact import json_safe
from recall_signal.agents.fallbacks import OnUnknown, check_settings, refusal, room, unread_report
from recall_signal.signals import UNREAD, confidence_in, report_in, strongest

if TYPE_CHECKING:
    from langchain.agents.middleware.types import ToolCallRequest  # elsewhere in 1.0.0

__all__ = ["RecallMiddleware", "RecallState"]


def merge_recall(old: dict[str, Any] | None, new: dict[str, Any] | None) -> dict[str, Any] | None:
    """The reducer of ``recall``: the best level of one step, and the newest step."""
    one, other = report_in(old), report_in(new)
    if one is None or other is None or one.get("step") != other.get("step"):
        return new
    return strongest([one, other])


def count_fallbacks(old: int | None, new: int | None) -> int:
    """The reducer of ``recall_fallbacks``: counts up, None starts again."""
    return 0 if new is None else (old or 0) + new


class RecallState(AgentState[Any]):
    """What :class:`RecallMiddleware` adds to the state of an agent.

    Attributes:
        recall: Both reports of this turn's last search, with the ``tool`` that searched and the
            ``step`` it belongs to; None where this turn has not searched yet.
        recall_fallbacks: Calls of fallback tools in this turn.
    """

    recall: NotRequired[Annotated[dict[str, Any] | None, OmitFromInput, merge_recall]]
    recall_fallbacks: NotRequired[Annotated[int, OmitFromInput, count_fallbacks]]


class RecallMiddleware(AgentMiddleware[RecallState, Any]):
    """Puts the recall signal into the state, and offers the fallback tools only when it says so.

    The model sees a fallback tool only after a search of this turn that ended with ``none`` or
    ``low``, and not any more after a better one. A call of a tool that is not offered is answered
    with an error message, so the model goes on. Every user turn starts anew.

    Where several retriever tools are called in one step, the best measured level speaks for the
    step. Tools that the provider of the model runs itself can be hidden, but not counted.

    Args:
        retriever_tools: Names of tools whose artifact carries the signal, such as those of
            :func:`create_recall_tool`.
        fallback_tools: Names of tools to offer when nothing relevant was found, such as a web
            search. They are given to ``create_agent`` like any other tool.
        on_unknown: Whether an ``unknown`` level offers them as well.
        max_fallbacks: Most calls of fallback tools in one turn, at least 1.

    Raises:
        ConfigurationError: At construction for names or settings that cannot be right, at the
            first model call for names that the agent does not have.
    """

    state_schema = RecallState

    def __init__(
        self,
        *,
        retriever_tools: Sequence[str],
        fallback_tools: Sequence[str],
        on_unknown: OnUnknown = "hide",
        max_fallbacks: int = 3,
    ) -> None:
        super().__init__()
        self.retriever_tools, self.fallback_tools = check_settings(
            retriever_tools, fallback_tools, on_unknown, max_fallbacks
        )
        self.on_unknown: OnUnknown = on_unknown
        self.max_fallbacks = max_fallbacks
        self._known = False

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any]:  # noqa: ARG002
        """A new turn: no search yet, and no fallback used."""
        return {"recall": None, "recall_fallbacks": None}

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        """:meth:`before_agent`, asynchronously."""
        return self.before_agent(state, runtime)

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> Any:
        """Take the fallback tools away unless they are offered now."""
        return handler(self._offered(request))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[Any]]
    ) -> Any:
        """:meth:`wrap_model_call`, asynchronously."""
        return await handler(self._offered(request))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]
    ) -> Any:
        """Run the tool, and put its signal or its count into the state."""
        refusal = self._refusal(request)
        return refusal if refusal else self._noted(request, handler(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """:meth:`wrap_tool_call`, asynchronously."""
        refusal = self._refusal(request)
        return refusal if refusal else self._noted(request, await handler(request))

    def _offered(self, request: ModelRequest) -> ModelRequest:
        if not self._known:
            self._require({_tool_name(tool) for tool in request.tools})
        if self._room(request.state) > 0:
            return request
        tools = [tool for tool in request.tools if _tool_name(tool) not in self.fallback_tools]
        return request.override(tools=tools)

    def _require(self, given: set[str]) -> None:
        if missing := (self.retriever_tools | self.fallback_tools) - given:
            raise ConfigurationError(
                f"RecallMiddleware names tools that the agent does not have: {sorted(missing)}. "
                f"It has {sorted(given)}. Pass them to create_agent, and put this middleware "
                "before any other that removes tools"
            )
        self._known = True  # later on, somebody else may take tools away

    def _room(self, state: Mapping[str, Any]) -> int:
        """Calls of fallback tools that are allowed now."""
        report = state.get("recall")
        return room(
            None if report is None else confidence_in(report) or UNREAD,
            state.get("recall_fallbacks") or 0,
            on_unknown=self.on_unknown,
            max_fallbacks=self.max_fallbacks,
        )

    def _refusal(self, request: ToolCallRequest) -> ToolMessage | None:
        """The answer to a call of a fallback tool that is not offered, None to let it through."""
        call = request.tool_call
        name = call["name"]
        if name not in self.fallback_tools:
            return None
        calls = [
            one for one in _last_ai(request.state).tool_calls if one["name"] in self.fallback_tools
        ]
        before = _ahead(call, calls)
        if before is not None and before < self._room(request.state):
            return None
        text = refusal(name, self.max_fallbacks)
        return ToolMessage(text, name=name, tool_call_id=call["id"] or "", status="error")

    def _noted(self, request: ToolCallRequest, result: Any) -> Any:
        name = request.tool_call["name"]
        if name in self.fallback_tools:
            return _with_update(result, {"recall_fallbacks": 1})
        if name not in self.retriever_tools:
            return result
        report = next(filter(None, map(_report_of, _messages_in(result))), None)
        entry = {
            **json_safe(report or unread_report()),
            "tool": name,
            "step": _last_ai(request.state).id,
        }
        return _with_update(result, {"recall": entry})


def _tool_name(tool: Any) -> str:
    """The name of a tool; of one that the provider runs, what it goes by there."""
    if not isinstance(tool, Mapping):
        return str(tool.name)
    function = tool.get("function")
    inner = function.get("name") if isinstance(function, Mapping) else None
    return str(tool.get("name") or inner or tool.get("type"))


def _last_ai(state: Any) -> AIMessage:
    """The message whose tool calls are being carried out."""
    found = (m for m in reversed(state["messages"]) if isinstance(m, AIMessage))
    return next(found, AIMessage(""))


def _ahead(call: ToolCall, calls: Sequence[ToolCall]) -> int | None:
    """Calls of one step ahead of this one; None where an earlier one has the same id.

    An id that is not among them is one that another middleware made up. Of several calls with
    the same id, the first is known only as long as it is the same object.
    """
    same = [at for at, other in enumerate(calls) if other["id"] == call["id"]]
    if not same:
        return 0
    at = next((at for at in same if calls[at] is call), same[-1])
    return None if at > same[0] else len({other["id"] for other in calls[:at]})


def _messages_in(result: Any) -> list[Any]:
    """The messages of what a tool call gave: a message, a command, or a list of them."""
    if isinstance(result, list):
        return [message for part in result for message in _messages_in(part)]
    if isinstance(result, Command):
        update = result.update if isinstance(result.update, Mapping) else dict(result.update or ())
        return list(update.get("messages") or [])
    return [result]


def _report_of(message: Any) -> dict[str, Any] | None:
    return report_in(getattr(message, "artifact", None))


def _with_update(result: Any, update: dict[str, Any]) -> Any:
    """The result of a tool call with an addition to the state."""
    if isinstance(result, ToolMessage):
        return Command(update={"messages": [result], **update})
    if isinstance(result, Command) and isinstance(result.update, Mapping) and not result.graph:
        return replace(result, update={**result.update, **update})
    parts = result if isinstance(result, list) else [result]
    return [*parts, Command(update=update)]
