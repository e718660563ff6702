"""The server as an ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

__all__ = ["http_app"]

NAMES = ("127.0.0.1", "localhost")
"""Names by which a client on this machine reaches the server."""


class _Endpoint:
    """The one address; an object, since starlette wraps functions into something else."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._manager.handle_request(scope, receive, send)


def http_app(server: Server, path: str, port: int) -> Starlette:
    """Make the application for a server on the loopback address.

    Every request stands alone, so that clients live through a restart of the server.

    Args:
        server: From `create_mcp_server`.
        path: Where it answers.
        port: The port that it listens on: names of another one are refused.
    """
    hosts = [f"{name}:{port}" for name in NAMES]
    manager = StreamableHTTPSessionManager(
        server,
        json_response=True,
        stateless=True,
        security_settings=TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=hosts,
            allowed_origins=[f"http://{host}" for host in hosts],
        ),
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    return Starlette(routes=[Route(path, _Endpoint(manager))], lifespan=lifespan)
