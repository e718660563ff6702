"""A cancellation costs one answer, whenever it comes."""

import json
import subprocess
from pathlib import Path
from time import sleep
from typing import Any

import anyio
import pytest
from mcp import types
from pydantic import TypeAdapter

from recall_signal.mcp import create_mcp_server
from recall_signal.mcp._outbox import Outbox, forward
from tests.frameworks import FRAMEWORKS, STRONG
from tests.mcp.clients import command, environment

CALLS = 60

MESSAGE: TypeAdapter[Any] = TypeAdapter(types.JSONRPCMessage)

CLIENT = {"name": "test", "version": "1"}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def request(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def cancelled(number: int) -> dict[str, Any]:
    params = {"requestId": number, "reason": "stop"}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


def call(number: int) -> dict[str, Any]:
    return request(number, "tools/call", name="recall", arguments={"query": "anything"})


def test_a_server_survives_cancellations_at_any_moment(tmp_path: Path) -> None:
    """While an answer is written it ended the whole server, in version 1 of the SDK."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("The kiln is fired on Mondays.")
    arguments = ("--docs", tmp_path / "docs", "--cache", tmp_path / "cache", "--no-calibration")
    with subprocess.Popen(
        command(*arguments),
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None

        def send(message: dict[str, Any]) -> None:
            server.stdin.write(json.dumps(message).encode() + b"\n")  # type: ignore[union-attr]
            server.stdin.flush()  # type: ignore[union-attr]

        def answered(number: int) -> bool:
            lines = iter(server.stdout or ())
            return any(json.loads(line).get("id") == number for line in lines)

        send(request(1, "initialize", **HELLO))
        assert answered(1)
        send(READY)
        for number in range(2, CALLS):
            send(call(number))
            sleep(number % 40 * 0.0005)
            send(cancelled(number))
        send(call(CALLS))
        assert answered(CALLS), f"the server ended with {server.poll()}"
        server.stdin.close()
        assert server.wait(20) == 0


async def test_a_cancellation_while_an_answer_is_written() -> None:
    """Nobody reads the answer yet: it waits, and the cancellation overtakes it."""
    from mcp.shared.message import SessionMessage

    server = create_mcp_server(FRAMEWORKS["langchain"].over(STRONG))
    said, heard = anyio.create_memory_object_stream[Any](0)
    written, read = anyio.create_memory_object_stream[Any](0)

    async def send(message: dict[str, Any]) -> None:
        await said.send(SessionMessage(MESSAGE.validate_python(message)))

    async def answer(number: int) -> dict[str, Any]:
        async for message in read:
            plain: dict[str, Any] = message.message.model_dump()
            if plain.get("id") == number:
                return plain
        raise AssertionError("the server has ended")

    async with said, read, anyio.create_task_group() as tasks:
        tasks.start_soon(server.run, heard, written, server.create_initialization_options())
        await send(request(1, "initialize", **HELLO))
        await answer(1)
        await send(READY)
        for number in (2, 3):
            await send(call(number))
            await anyio.sleep(0.3)
            await send(cancelled(number))
            await anyio.sleep(0.1)
        with anyio.fail_after(10):
            await send(call(4))
            assert "result" in await answer(4)
        said.close()


async def test_an_outbox_waits_where_it_is_full_and_ends_where_the_client_is_gone() -> None:
    stream, outgoing = anyio.create_memory_object_stream[Any](1)
    outbox = Outbox(stream)
    await outbox.send("one")
    with anyio.move_on_after(0.05) as waited:
        await outbox.send("two")
    assert waited.cancelled_caught
    transport, client = anyio.create_memory_object_stream[Any](0)
    client.close()
    await forward(outgoing, transport)
    with pytest.raises(anyio.BrokenResourceError):
        await outbox.send("three")
    await outbox.aclose()
