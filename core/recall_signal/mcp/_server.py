"""`create_mcp_server`: a `RecallRetriever` as a tool for any client of the protocol."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Collection, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Protocol

from recall_signal._given import given_names
from recall_signal._report_schema import answer_schema
from recall_signal._wrapper.response import RecallResponseBase
from recall_signal.agents._tool_settings import MAX_K, tool_settings
from recall_signal.errors import ConfigurationError, MissingDependencyError
from recall_signal.mcp._answer import Layout, ToolResult
from recall_signal.mcp._arguments import Arguments
from recall_signal.report_parsing import KEY

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

__all__ = ["RecallSource", "create_mcp_server"]

log = logging.getLogger(__name__)

DISTRIBUTION = "recall-signal"

DESCRIPTION = "Look up stored texts."


class RecallSource(Protocol):
    """The part of a `RecallRetriever`, of either framework, that a server needs."""

    def arecall(self, query: str, /, *args: Any, **options: Any) -> Awaitable[RecallResponseBase]:
        """Search and assess; `k` and `use_rerank` are the options."""
        ...


def create_mcp_server(
    retriever: RecallSource,
    *,
    description: str = DESCRIPTION,
    name: str = KEY,
    max_k: int = MAX_K,
    metadata_keys: Collection[str] = (),
) -> Server:
    """Make a server whose one tool searches with a `RecallRetriever`.

    The tool takes `query`, and where given `k` and `use_rerank`. Its text is that of
    `create_recall_tool`: a line of advice, then the texts, numbered and quoted. Its structured
    content is `{"v": 1, "recall": {...}, "results": [{"id", "text", "rank", "cosine"}], "error":
    None}`, by the JSON Schema `mcp.v1.json`. A retrieval that raises is an answer as well, with
    the class of its error and the advice `fallback`; only wrong arguments are an error (`isError`).

    Args:
        retriever: A `RecallRetriever` of either framework.
        description: What is stored, for the model; a sentence on the levels is added.
        name: The tool's name: letters, digits, `_` and `-`, at most 64.
        max_k: Most results that a call may ask for, at least 1.
        metadata_keys: Metadata that results carry under `metadata`; none by default.

    Returns:
        A low-level `Server` of the SDK, for `serve_stdio`, `serve_http` or a transport of one's
        own.

    Raises:
        ConfigurationError: A setting is wrong.
        MissingDependencyError: The extra `mcp` is not installed.
    """
    _check(retriever)
    keys = given_names("metadata_keys", metadata_keys, "keys")
    tool = tool_settings(name, description, ("k", "use_rerank"), max_k)
    try:
        from recall_signal.mcp._sdk import make_server, must_propagate
    except ImportError:
        raise MissingDependencyError("create_mcp_server", "mcp") from None
    settings = getattr(retriever, "settings", retriever)  # LlamaIndex keeps them apart
    arguments = Arguments(tool, can_rerank=getattr(settings, "reranker", None) is not None)
    layout = Layout(getattr(settings, "id_key", None), tuple(keys))

    async def call(given: Mapping[str, object] | None) -> ToolResult:
        try:
            query, options = arguments.check(given or {})
        except ConfigurationError as wrong:
            return ToolResult(f"Wrong arguments: {wrong}.", None)
        try:
            return layout.answer(await retriever.arecall(query, **options))
        except BaseException as error:
            if must_propagate(error):
                raise
            log.warning("the retriever failed in a tool: %s", type(error).__name__)
            return layout.failure(error)

    listed = {
        "name": tool.name,
        "title": "Recall",
        "description": tool.description,
        "inputSchema": arguments.schema,
        "outputSchema": answer_schema(),
        "annotations": {
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    }
    return make_server(DISTRIBUTION, version(DISTRIBUTION), listed, call)


def _check(retriever: object) -> None:
    if not callable(getattr(retriever, "arecall", None)):
        raise ConfigurationError(
            "create_mcp_server needs a RecallRetriever of langchain_recall_signal or "
            f"llama_index_recall_signal, got {type(retriever).__name__}"
        )
