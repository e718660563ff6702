"""The protocol of 2026-07-28, which only version 2 of the SDK speaks."""

import mcp
import pytest
from httpx import ASGITransport, AsyncClient

from recall_signal.mcp import create_mcp_server
from recall_signal.mcp._http import http_app
from tests.frameworks import QUERY, Framework
from tests.mcp.clients import Session

MODERN = "2026-07-28"
PORT = 8123


async def test_without_a_handshake(framework: Framework) -> None:
    server = create_mcp_server(framework.over())
    async with mcp.Client(server, mode=MODERN) as client:  # type: ignore[attr-defined]
        session = Session(client)
        assert [tool["name"] for tool in await session.tools()] == ["recall"]
        found = await session.call(query=QUERY)
        wrong = await session.call(query=QUERY, k=99)
        with pytest.raises(mcp.MCPError, match="Unknown tool"):  # type: ignore[attr-defined]
            await session.call("recal", query=QUERY)
    assert found.page["recall"]["advice"] == "read"
    assert wrong.is_error


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "rebound.example"}, 421),
        ({"Origin": "http://rebound.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
async def test_foreign_names_are_refused_here_too(
    framework: Framework, headers: dict[str, str], status: int
) -> None:
    app = http_app(create_mcp_server(framework.over()), "/mcp", PORT)
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "n", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    given = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/list",
        **headers,
    }
    client = AsyncClient(transport=ASGITransport(app), base_url=f"http://127.0.0.1:{PORT}")
    async with app.router.lifespan_context(app), client:
        answer = await client.post("/mcp", json=call, headers=given)
    assert answer.status_code == status, answer.text
    assert ("inputSchema" in answer.text) == (status == 200)
