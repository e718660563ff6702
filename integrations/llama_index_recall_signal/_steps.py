"""Steps that a workflow and a query engine are made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any, TypeVar

from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.base.response.schema import Response
from llama_index.core.llms import ChatResponse, CompletionResponse
from llama_index.core.tools import BaseTool, adapt_to_async_tool

from recall_signal import ConfigurationError, InvalidResultError
from recall_signal._steps.failures import contained
from recall_signal._steps.timeouts import Workers

__all__ = ["Step", "as_step", "attempted", "said_text"]

Step = Callable[[Any], Awaitable[Any]]

Value = TypeVar("Value")


def as_step(what: str, given: Any, prompt: Callable[[Any], str] | None = None) -> Step:
    """Return one asynchronous function of any accepted kind.

    Raises:
        ConfigurationError: It is none of these.
    """
    if prompt is not None and isinstance(given, BaseLLM):
        return lambda value: given.acomplete(prompt(value))
    if prompt is None and isinstance(given, BaseTool):
        return lambda query: _call_tool(given, query)
    if callable(given) and not isinstance(given, type | BaseTool):
        workers = Workers()
        return lambda value: _call(workers, given, value)
    kind = "an LLM" if prompt else "a tool"
    raise ConfigurationError(f"{what} must be {kind} or a function, got {type(given).__name__}")


async def attempted(
    workers: Workers, step: Step, value: object, read: Callable[[Any], Value]
) -> Value:
    """Run a step that may fail, and read its result; whatever is raised is an `Exception`.

    A cancellation of the running task passes.
    """
    said = await workers.wait_for(lambda: step(value))
    return contained(lambda: read(said))


async def _call(workers: Workers, function: Callable[[Any], Any], value: Any) -> Any:
    """Await a coroutine function; run any other in a thread, so that it does not block the loop."""
    if iscoroutinefunction(function):
        return await function(value)
    result = await workers.call(partial(function, value))
    return await result if isawaitable(result) else result


async def _call_tool(tool: BaseTool, query: str) -> Any:
    output = await adapt_to_async_tool(tool).acall(query)
    if output.is_error:
        error = getattr(output, "exception", None)  # newer than llama-index-core 0.14.0
        raise error or InvalidResultError(f"{output.tool_name} reported an error")
    return output.raw_output


def said_text(said: Any) -> str:
    """Return the text of an LLM's or a function's result.

    Raises:
        InvalidResultError: It is neither a text nor a response.
    """
    if isinstance(said, str):
        return said
    if isinstance(said, CompletionResponse):
        return said.text
    if isinstance(said, ChatResponse):
        return said.message.content or ""
    if isinstance(said, Response):
        return said.response or ""
    raise InvalidResultError(
        "an LLM, or a function such as on_absent, must return a text or a response, got "
        f"{type(said).__name__}"
    )
