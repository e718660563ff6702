"""Serve over standard input and output, or over HTTP on this machine."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from recall_signal.errors import ConfigurationError, MissingDependencyError

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

__all__ = [
    "HOST",
    "PATH",
    "loopback_socket",
    "protocol_output",
    "run_http",
    "run_stdio",
    "serve_http",
    "serve_stdio",
]

log = logging.getLogger(__name__)

HOST = "127.0.0.1"
PATH = "/mcp"

CLOSING_SECONDS = 2
"""Time for running requests when the server is stopped."""


def serve_stdio(server: Server) -> None:
    """Serve over standard input and output until the client closes them.

    Whatever else writes to standard output meanwhile goes to standard error, so that only the
    protocol reaches the client. Ctrl-C ends the process at once.

    Args:
        server: From `create_mcp_server`.
    """
    with protocol_output() as output:
        run_stdio(server, output)


def serve_http(server: Server, port: int) -> None:
    """Serve streamable HTTP on `http://127.0.0.1:port/mcp` until Ctrl-C.

    Only this machine can connect. Requests with the `Host` or `Origin` of somebody else, such as
    a web page behind a rebound name, are refused.

    Args:
        server: From `create_mcp_server`.
        port: 0 to 65535; 0 takes a free one.

    Raises:
        ConfigurationError: The port is out of range or in use.
    """
    with loopback_socket(port) as listening:
        run_http(server, listening)


@contextmanager
def protocol_output() -> Iterator[TextIO]:
    """Yield standard output for the protocol alone; everything else goes to standard error."""
    stdout = sys.stdout
    stdout.flush()
    wire = os.dup(1)
    os.dup2(2, 1)
    try:
        output = os.fdopen(os.dup(wire), "w", encoding="utf-8", newline="\n")
        with suppress(BrokenPipeError), output:  # a client that left reads no more
            yield output
    finally:
        stdout.flush()
        os.dup2(wire, 1)
        os.close(wire)


def run_stdio(server: Server, output: TextIO) -> None:
    """Serve standard input until it ends.

    Args:
        server: From `create_mcp_server`.
        output: Where the protocol is written.
    """
    try:
        import anyio
        from mcp.server.stdio import stdio_server
    except ImportError:
        raise MissingDependencyError("serve_stdio", "mcp") from None

    gone = (BrokenPipeError, anyio.BrokenResourceError, anyio.ClosedResourceError)

    async def run() -> None:
        try:
            async with stdio_server(stdout=anyio.wrap_file(output)) as (reading, writing):
                await server.run(reading, writing, server.create_initialization_options())
        except* gone:
            log.info("the client left while something was written to it")

    with _interruptible():
        anyio.run(run)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end the process; a thread that waits for input would hold every other way."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def loopback_socket(port: int) -> socket.socket:
    """Return a listening socket that only this machine can reach.

    Raises:
        ConfigurationError: The port is out of range or in use.
    """
    if not 0 <= port <= 65535:
        raise ConfigurationError(f"the port must be 0 to 65535, got {port}")
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise ConfigurationError(f"port {port} cannot be used: {error.strerror}") from None


def run_http(server: Server, listening: socket.socket) -> None:
    """Serve streamable HTTP until Ctrl-C.

    Args:
        server: From `create_mcp_server`.
        listening: From `loopback_socket`.
    """
    try:
        import uvicorn

        from recall_signal.mcp._http import http_app
    except ImportError:
        raise MissingDependencyError("serve_http", "mcp") from None
    config = uvicorn.Config(
        http_app(server, PATH, listening.getsockname()[1]),
        log_config=None,  # the application's own logging stays as it is
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=CLOSING_SECONDS,
    )
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:  # raised again by uvicorn once everything is closed
        return
