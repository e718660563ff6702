"""The SDK's own client, in both of its versions, and what its answers are in plain JSON."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mcp
from jsonschema import Draft202012Validator
from mcp import types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from recall_signal.mcp import create_mcp_server
from tests.schemas import published

ROOT = Path(__file__).parents[2]
IS_V2 = hasattr(mcp, "Client")

ANSWER = Draft202012Validator(published("mcp.v1.json"))
ENTRY = Draft202012Validator(published("entry.v1.json"))


@dataclass(frozen=True)
class Reply:
    """The result of a call."""

    text: str
    structured: dict[str, Any] | None
    is_error: bool

    @property
    def page(self) -> dict[str, Any]:
        """The structured content, checked against the published schema."""
        assert self.structured is not None
        assert not self.is_error
        ANSWER.validate(self.structured)
        for result in self.structured["results"]:
            ENTRY.validate({**self.structured["recall"], **result})
        return self.structured


class Session:
    """A connected client."""

    def __init__(self, client: Any) -> None:
        self.client = client

    async def tools(self) -> list[dict[str, Any]]:
        listed = (await self.client.list_tools()).model_dump(by_alias=True, exclude_none=True)
        tools: list[dict[str, Any]] = listed["tools"]
        return tools

    async def call(self, name: str = "recall", /, **arguments: Any) -> Reply:
        result = await self.client.call_tool(name, arguments)
        plain = result.model_dump(by_alias=True)
        (block,) = plain["content"]
        return Reply(block["text"], plain["structuredContent"], plain["isError"])

    async def cancel(self, call: asyncio.Task[Any]) -> None:
        """Cancel the first call of this session, and let the server know."""
        if not IS_V2:  # its client lets the server know of nothing
            params = types.CancelledNotificationParams(requestId=1)
            notice = types.CancelledNotification(params=params)
            await self.client.send_notification(types.ClientNotification(notice))
        call.cancel()
        await asyncio.wait([call])


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Session]:
    """Connect to a server in this process."""
    if IS_V2:
        async with mcp.Client(server, mode="legacy") as client:  # type: ignore[attr-defined]
            yield Session(client)
        return
    from mcp.shared.memory import create_connected_server_and_client_session

    async with create_connected_server_and_client_session(server) as client:
        yield Session(client)


@asynccontextmanager
async def serving(retriever: Any, **settings: Any) -> AsyncIterator[Session]:
    """Connect to a server with this retriever."""
    async with connect(create_mcp_server(retriever, **settings)) as session:
        yield session


def command(*arguments: object) -> list[str]:
    """The command line that runs `recall-signal mcp` with these options."""
    run = "from recall_signal.cli import main; main()"
    return [sys.executable, "-c", run, "mcp", *map(str, arguments)]


def environment() -> dict[str, str]:
    """What the command needs, where the SDK's client would pass on next to nothing."""
    return {**os.environ, "COLUMNS": "200"}


@asynccontextmanager
async def process(*arguments: object, errors: Any) -> AsyncIterator[Session]:
    """Start the command and connect to it over its standard input and output."""
    program, *rest = command(*arguments)
    started = mcp.StdioServerParameters(
        command=program, args=rest, env=environment(), cwd=str(ROOT)
    )
    async with (
        stdio_client(started, errlog=errors) as (reading, writing),
        mcp.ClientSession(reading, writing) as client,
    ):
        await client.initialize()
        yield Session(client)


@asynccontextmanager
async def over_http(url: str) -> AsyncIterator[Session]:
    """Connect to an address."""
    async with (
        streamable_http_client(url) as streams,
        mcp.ClientSession(streams[0], streams[1]) as client,
    ):
        await client.initialize()
        yield Session(client)
