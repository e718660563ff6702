"""`RecallMiddleware`: fallback tools that an agent is offered only when a recall was weak."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest
from langchain.agents.middleware.types import OmitFromInput
from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command

from recall_signal.agents._fallbacks import OnUnknown, fallback_policy, tool_report
from recall_signal.report_parsing import KEY, report_in, strongest

if TYPE_CHECKING:
    from langchain.agents.middleware.types import ToolCallRequest  # elsewhere in 1.0.0

__all__ = ["RecallMiddleware", "RecallState"]


Report = dict[str, Any]


def merge_recall(old: Report | None, new: Report | None) -> Report | None:
    """Reduce `recall`: the best level of one step, and the newest step."""
    one, other = report_in(old), report_in(new)
    if one is None or other is None or one.get("step") != other.get("step"):
        return new
    return strongest([one, other])


def count_fallbacks(old: int | None, new: int | None) -> int:
    """Reduce `recall_fallbacks`: counts up, None resets it."""
    return 0 if new is None else (old or 0) + new


class RecallState(AgentState[Any]):
    """Additions of `RecallMiddleware` to the state of an agent.

    Attributes:
        recall: Both reports of this turn's last search, with the `tool` that searched and the
            `step` it belongs to; None where this turn has not searched yet.
        recall_fallbacks: Calls of fallback tools in this turn.
    """

    recall: NotRequired[Annotated[Report | None, OmitFromInput, merge_recall]]
    recall_fallbacks: NotRequired[Annotated[int, OmitFromInput, count_fallbacks]]


class RecallMiddleware(AgentMiddleware[Any, Any]):
    """Puts the recall signal into the state, and offers fallback tools only after a weak recall.

    The model sees a fallback tool only after a search of this turn whose advice is "fallback"
    (`low`, `none`, or nothing left to read), that failed, or that could not be measured, and
    no longer after a better one. A call of a tool that is not offered is answered
    with an error message, so the model goes on. Every user turn starts without a signal.

    Where several retriever tools are called in one step, the best measured level speaks for the
    step. Tools that the provider of the model runs itself can be hidden, but not counted.

    Args:
        retriever_tools: Names of tools whose artifact carries the signal, such as those of
            `create_recall_tool`.
        fallback_tools: Names of tools to offer when nothing relevant was found, such as a web
            search. They are given to `create_agent` like any other tool.
        on_unknown: `"offer"` offers them after an `unknown` level as well, `"hide"` does not.
        max_fallbacks: Most calls of fallback tools in one turn, at least 1.
        metadata_key: That of the `RecallRetriever` inside a tool whose artifact is its documents,
            such as LangChain's own retriever tool.

    Raises:
        ConfigurationError: At construction for wrong names or settings, at the first model call
            for tools that the agent does not have.
    """

    state_schema = RecallState

    def __init__(
        self,
        *,
        retriever_tools: Sequence[str],
        fallback_tools: Sequence[str],
        on_unknown: OnUnknown = "offer",
        max_fallbacks: int = 3,
        metadata_key: str = KEY,
    ) -> None:
        super().__init__()
        self.policy = fallback_policy(
            retriever_tools, fallback_tools, on_unknown, max_fallbacks, metadata_key
        )
        self._checked = False

    def before_agent(self, state: object, runtime: object) -> dict[str, None]:  # noqa: ARG002
        """Start a turn: no search yet, and no fallback used."""
        return {"recall": None, "recall_fallbacks": None}

    async def abefore_agent(self, state: object, runtime: object) -> dict[str, None]:
        """`before_agent`, asynchronously."""
        return self.before_agent(state, runtime)

    def wrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], object]
    ) -> Any:
        """Hide the fallback tools unless they are offered now."""
        return handler(self._offered(request))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[object]]
    ) -> Any:
        """`wrap_model_call`, asynchronously."""
        return await handler(self._offered(request))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], object]
    ) -> Any:
        """Run the tool, and add its signal or its count to the state."""
        refusal = self._refusal(request)
        return refusal if refusal else self._noted(request, handler(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[object]]
    ) -> Any:
        """`wrap_tool_call`, asynchronously."""
        refusal = self._refusal(request)
        return refusal if refusal else self._noted(request, await handler(request))

    def _offered(self, request: ModelRequest) -> ModelRequest:
        if not self._checked:
            self.policy.require(
                map(_tool_name, request.tools),
                "Pass them to create_agent, and put RecallMiddleware before any other middleware "
                "that removes tools",
            )
            self._checked = True  # later on, another middleware may remove tools
        if self._remaining(request.state) > 0:
            return request
        hidden = self.policy.fallback_tools
        return request.override(tools=[t for t in request.tools if _tool_name(t) not in hidden])

    def _remaining(self, state: Mapping[str, Any]) -> int:
        """Return the calls of fallback tools that are allowed now."""
        used = state.get("recall_fallbacks") or 0
        return self.policy.remaining_calls(state.get("recall"), used)

    def _refusal(self, request: ToolCallRequest) -> ToolMessage | None:
        """Answer a call of a fallback tool that is not offered; None lets the call through."""
        call, fallbacks = request.tool_call, self.policy.fallback_tools
        name = call["name"]
        if name not in fallbacks:
            return None
        calls = [one for one in _last_ai(request.state).tool_calls if one["name"] in fallbacks]
        before = _calls_before(call, calls)
        if before is not None and before < self._remaining(request.state):
            return None
        text = self.policy.refusal(name)
        return ToolMessage(text, name=name, tool_call_id=call["id"] or "", status="error")

    def _noted(self, request: ToolCallRequest, result: object) -> Any:
        name = request.tool_call["name"]
        if name in self.policy.fallback_tools:
            return _with_update(result, {"recall_fallbacks": 1})
        if name not in self.policy.retriever_tools:
            return result
        messages = _messages_in(result)
        failed = any(getattr(message, "status", None) == "error" for message in messages)
        artifacts = [getattr(message, "artifact", None) for message in messages]
        step = _last_ai(request.state).id
        report = tool_report(artifacts, failed, self.policy.metadata_key)
        entry = {**report, "tool": name, "step": step}
        return _with_update(result, {"recall": entry})


def _tool_name(tool: BaseTool | Mapping[str, object]) -> str:
    """Return the name of a tool, also of one that the provider runs."""
    if not isinstance(tool, Mapping):
        return str(tool.name)
    function = tool.get("function")
    inner = function.get("name") if isinstance(function, Mapping) else None
    return str(tool.get("name") or inner or tool.get("type"))


def _last_ai(state: Any) -> AIMessage:
    """Return the message whose tool calls are being carried out."""
    found = (m for m in reversed(state["messages"]) if isinstance(m, AIMessage))
    return next(found, AIMessage(""))


def _calls_before(call: ToolCall, calls: Sequence[ToolCall]) -> int | None:
    """Count the calls of one step before this one; None where an earlier one has the same id.

    An id that is not among them was made up by another middleware. Of several calls with the same
    id, the first is recognised only as long as it is the same object.
    """
    same = [at for at, other in enumerate(calls) if other["id"] == call["id"]]
    if not same:
        return 0
    at = next((at for at in same if calls[at] is call), same[-1])
    return None if at > same[0] else len({other["id"] for other in calls[:at]})


def _messages_in(result: object) -> list[object]:
    """Return the messages of a tool call's result: a message, a command, or a list of them."""
    if isinstance(result, list):
        return [message for part in result for message in _messages_in(part)]
    if isinstance(result, Command):
        update = result.update if isinstance(result.update, Mapping) else dict(result.update or ())
        return list(update.get("messages") or [])
    return [result]


def _with_update(result: object, update: dict[str, object]) -> Any:
    """Add an update of the state to the result of a tool call."""
    if isinstance(result, ToolMessage):
        return Command(update={"messages": [result], **update})
    if isinstance(result, Command) and isinstance(result.update, Mapping) and not result.graph:
        return replace(result, update={**result.update, **update})
    parts = result if isinstance(result, list) else [result]
    return [*parts, Command(update=update)]
