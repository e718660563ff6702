"""The two transports within this process, and what they say where they cannot run."""

import asyncio
import io
import json
import os
import signal
import socket
import sys
import threading
from time import sleep
from typing import Any

import pytest

from recall_signal import ConfigurationError, MissingDependencyError
from recall_signal.mcp import create_mcp_server, serve_http, serve_stdio
from recall_signal.mcp._serving import loopback_socket, run_http, run_stdio
from tests.frameworks import FRAMEWORKS, QUERY
from tests.mcp.clients import over_http


@pytest.fixture
def server() -> Any:
    return create_mcp_server(FRAMEWORKS["langchain"].over())


def typed(monkeypatch: pytest.MonkeyPatch, lines: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))


HELLO = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
    b'"capabilities":{},"clientInfo":{"name":"n","version":"1"}}}\n'
)


def test_standard_output_is_for_the_protocol(
    server: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    typed(monkeypatch, HELLO + b"no JSON at all\n")
    before = signal.getsignal(signal.SIGINT)
    serve_stdio(server)
    assert signal.getsignal(signal.SIGINT) is before
    os.write(1, b"after\n")
    out, _ = capfd.readouterr()
    *protocol, after = out.splitlines()
    assert {json.loads(line)["jsonrpc"] for line in protocol} <= {"2.0"}
    assert after == "after"


class Gone(io.StringIO):
    """The client reads no more."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_client_that_has_left_is_no_error(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, HELLO)
    run_stdio(server, Gone())


def test_beside_the_main_thread_ctrl_c_is_not_touched(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, HELLO)
    written = io.StringIO()
    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=run_stdio, args=(server, written))
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    assert signal.getsignal(signal.SIGINT) is before


def test_http_until_ctrl_c(server: Any) -> None:
    with loopback_socket(0) as free:
        port = free.getsockname()[1]
    answers: list[Any] = []

    def ask() -> None:
        async def once() -> None:
            async with over_http(f"http://127.0.0.1:{port}/mcp") as session:
                answers.append(await session.call(query=QUERY))

        try:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:  # not listening yet
                    sleep(0.01)
            asyncio.run(once())
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=ask)
    thread.start()
    serve_http(server, port)
    thread.join(30)
    assert answers[0].page["recall"]["advice"] == "read"


def test_a_port_in_use() -> None:
    with loopback_socket(0) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"port {port} cannot be used: "):
            loopback_socket(port)


@pytest.mark.parametrize("port", [-1, 65536])
def test_no_such_port(port: int) -> None:
    with pytest.raises(ConfigurationError, match=f"the port must be 0 to 65535, got {port}"):
        loopback_socket(port)


@pytest.mark.parametrize(
    ("module", "run", "what"),
    [
        ("mcp.server.lowlevel", lambda server: create_mcp_server(server), "create_mcp_server"),
        ("mcp.server.stdio", lambda server: run_stdio(server, io.StringIO()), "serve_stdio"),
        ("uvicorn", lambda server: run_http(server, None), "serve_http"),  # type: ignore[arg-type]
    ],
)
def test_without_the_extra(
    module: str, run: Any, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("recall_signal.mcp._")]:
        if name.endswith(("_http", "_sdk")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=f"^{what} needs .*recall-signal\\[mcp\\]"):
        run(FRAMEWORKS["langchain"].over())
