"""The official SDK, versions 1 and 2: everything that differs between them is here.

Types are built from the protocol's own JSON, which both versions take. The low-level server sends
schemas as they are, and leaves the check of arguments to the caller.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared import exceptions

from recall_signal._steps.failures import FATAL
from recall_signal.mcp._answer import ToolResult
from recall_signal.mcp._outbox import SIZE, Outbox, forward

__all__ = ["make_server", "must_propagate"]

INVALID_PARAMS = -32602
"""JSON-RPC's code of a wrong parameter, which the protocol wants for an unknown tool."""

UNKNOWN_TOOL = "Unknown tool"

CallTool = Callable[[Mapping[str, object] | None], Awaitable[ToolResult]]


def make_server(name: str, version: str, tool: Mapping[str, object], call: CallTool) -> Server:
    """Make a low-level server with one tool.

    Args:
        name: The server's name.
        version: Its version.
        tool: The tool as the protocol writes it.
        call: Answers a call of it.
    """
    listed = types.ListToolsResult.model_validate({"tools": [tool]})

    async def answer(params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name != tool["name"]:
            raise _unknown_tool()
        return _result(await call(params.arguments))

    make = _v1 if hasattr(Server, "call_tool") else _v2
    return make(name, version, listed, answer)


def must_propagate(error: BaseException) -> bool:
    """Return True for a cancellation and for what ends the program."""
    return isinstance(error, (*FATAL, anyio.get_cancelled_exc_class()))


Handler = Callable[[types.CallToolRequestParams], Awaitable[types.CallToolResult]]


class _Server(Server):
    """A server of version 1 that survives a cancellation while it writes an answer."""

    async def run(
        self, read_stream: Any, write_stream: Any, *settings: Any, **options: Any
    ) -> None:
        """Serve one client."""
        stream, outgoing = anyio.create_memory_object_stream[Any](SIZE)
        outbox: Any = Outbox(stream)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(forward, outgoing, write_stream)
            await super().run(read_stream, outbox, *settings, **options)


def _v1(name: str, version: str, listed: types.ListToolsResult, answer: Handler) -> Server:
    server = _Server(name, version)

    async def list_tools(_: types.ListToolsRequest) -> types.ServerResult:
        return types.ServerResult(listed)

    async def call_tool(request: types.CallToolRequest) -> types.ServerResult:
        return types.ServerResult(await answer(request.params))

    # Its decorators would check the arguments with messages that quote them.
    server.request_handlers[types.ListToolsRequest] = list_tools
    server.request_handlers[types.CallToolRequest] = call_tool
    return server


def _v2(  # pragma: no cover  (its tests run where version 2 is: make test-newest)
    name: str, version: str, listed: types.ListToolsResult, answer: Handler
) -> Server:
    async def list_tools(_context: object, _params: object) -> types.ListToolsResult:
        return listed

    async def call_tool(
        _context: object, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return await answer(params)

    make: Any = Server
    server: Server = make(name, version=version, on_list_tools=list_tools, on_call_tool=call_tool)
    return server


def _result(answer: ToolResult) -> types.CallToolResult:
    return types.CallToolResult.model_validate(
        {
            "content": [{"type": "text", "text": answer.text}],
            "structuredContent": answer.structured,
            "isError": answer.structured is None,
        }
    )


def _unknown_tool() -> Exception:
    """Return the protocol's error; it does not repeat the name."""
    if not hasattr(exceptions, "McpError"):  # pragma: no cover  (make test-newest)
        of_v2: Any = exceptions
        return of_v2.MCPError(INVALID_PARAMS, UNKNOWN_TOOL)  # type: ignore[no-any-return]
    data = types.ErrorData(code=INVALID_PARAMS, message=UNKNOWN_TOOL)
    return exceptions.McpError(data)
