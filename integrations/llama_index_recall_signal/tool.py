"""``create_recall_tool``: retrieval for an agent, with one line that says what to do with it."""

from __future__ import annotations

import logging
from typing import Any

from llama_index.core.schema import MetadataMode
from llama_index.core.tools.types import AsyncBaseTool, ToolMetadata, ToolOutput
from pydantic import BaseModel, Field

from llama_index_recall_signal.response import RecallResponse
from llama_index_recall_signal.retriever import RecallRetriever
from recall_signal import ConfigurationError
from recall_signal.agents.artifact import ToolItem, check_tool_name, tool_answer, tool_failure

__all__ = ["RecallTool", "create_recall_tool", "items_of"]

log = logging.getLogger(__name__)


class RecallInput(BaseModel):
    """The arguments of the tool."""

    query: str = Field(description="what to look up")


class RecallTool(AsyncBaseTool):
    """A tool around a :class:`RecallRetriever`; made by :func:`create_recall_tool`."""

    def __init__(self, retriever: RecallRetriever, metadata: ToolMetadata) -> None:
        self._retriever, self._metadata = retriever, metadata

    @property
    def metadata(self) -> ToolMetadata:
        """Name, description and arguments, as the model sees them."""
        return self._metadata

    @property
    def retriever(self) -> RecallRetriever:
        """What searches."""
        return self._retriever

    def call(self, query: str) -> ToolOutput:
        """Search."""
        try:
            response = self._retriever.recall(query)
        except Exception as error:
            return self._failed(query, error)
        return self._found(query, response)

    async def acall(self, query: str) -> ToolOutput:
        """:meth:`call`, asynchronously."""
        try:
            response = await self._retriever.arecall(query)
        except Exception as error:
            return self._failed(query, error)
        return self._found(query, response)

    def _found(self, query: str, response: RecallResponse) -> ToolOutput:
        content, artifact = tool_answer(items_of(response), response)
        return self._output(query, content, artifact)

    def _failed(self, query: str, error: Exception) -> ToolOutput:
        log.warning("the retriever failed in a tool: %s", type(error).__name__)
        content, artifact = tool_failure(error)
        return self._output(query, content, artifact)

    def _output(self, query: str, content: str, artifact: dict[str, Any]) -> ToolOutput:
        return ToolOutput(
            tool_name=self._metadata.get_name(),
            content=content,
            raw_input={"query": query},
            raw_output=artifact,
            is_error=artifact["error"] is not None,
        )


def create_recall_tool(retriever: RecallRetriever, name: str, description: str) -> RecallTool:
    """A tool that searches with a :class:`RecallRetriever`.

    The model reads one line that says how well the topic was matched and what to do now, then
    the texts, numbered and quoted, without metadata. The program gets plain JSON in
    ``ToolOutput.raw_output``: ``{"v": 1, "documents": [{"id", "page_content", "metadata"}],
    "recall": {...}, "error": None}``, also for an empty page. Where the retriever raises, the
    line says so, ``error`` holds the class of the error, ``is_error`` is set, and the agent goes
    on; a cancellation is passed on.

    Args:
        retriever: What searches.
        name: The tool's name, as the model sees it: letters, digits, ``_`` and ``-``, at most 64.
        description: What is stored there, for the model.

    Raises:
        ConfigurationError: The retriever is not a :class:`RecallRetriever`, or the name has other
            characters.
    """
    if not isinstance(retriever, RecallRetriever):
        raise ConfigurationError(
            "create_recall_tool needs a RecallRetriever, got "
            f"{type(retriever).__name__}; wrap it first: RecallRetriever(retriever)"
        )
    check_tool_name(name)
    metadata = ToolMetadata(description=description, name=name, fn_schema=RecallInput)
    return RecallTool(retriever, metadata)


def items_of(response: RecallResponse) -> list[ToolItem]:
    """The page of a response, as an artifact is made of it."""
    return [
        (item.node_id, item.node.get_content(MetadataMode.NONE), item.node.metadata)
        for item in response.nodes
    ]
