"""The recall tool as a server of the Model Context Protocol (extra `mcp`)."""

from recall_signal.mcp._server import RecallSource, create_mcp_server
from recall_signal.mcp._serving import serve_http, serve_stdio

__all__ = ["RecallSource", "create_mcp_server", "serve_http", "serve_stdio"]
