"""``create_recall_tool``: retrieval for an agent, with one line that says what to do with it."""

from __future__ import annotations

import logging
import sys
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool
from pydantic import BaseModel, Field

from langchain_recall_signal.response import RecallResponse
from langchain_recall_signal.retriever import RecallRetriever
from recall_signal import ConfigurationError
from recall_signal.agents.artifact import ToolItem, check_tool_name, tool_answer, tool_failure

__all__ = ["create_recall_tool", "items_of", "must_propagate"]

log = logging.getLogger(__name__)

Answer = tuple[str, dict[str, Any]]


class RecallInput(BaseModel):
    """The arguments of the tool."""

    query: str = Field(description="what to look up")


def create_recall_tool(retriever: RecallRetriever, name: str, description: str) -> StructuredTool:
    """A tool that searches with a :class:`RecallRetriever`.

    The model reads one line that says how well the topic was matched and what to do now, then
    the texts, numbered and quoted, without metadata. The program gets an artifact of plain JSON:
    ``{"v": 1, "documents": [{"id", "page_content", "metadata"}], "recall": {...}, "error":
    None}``, also for an empty page. Where the retriever raises, the line says so, ``error`` holds
    the class of the error, and the agent goes on; a cancellation is passed on.

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
            f"{type(retriever).__name__}; wrap it first: RecallRetriever(retriever=...)"
        )
    check_tool_name(name)

    def search(query: str, config: RunnableConfig) -> Answer:
        try:
            return _answer(retriever.recall(query, config))
        except Exception as error:
            return _failed(error)

    async def asearch(query: str, config: RunnableConfig) -> Answer:
        try:
            return _answer(await retriever.arecall(query, config))
        except Exception as error:
            return _failed(error)

    return StructuredTool.from_function(
        func=search,
        coroutine=asearch,
        name=name,
        description=description,
        args_schema=RecallInput,
        infer_schema=False,
        response_format="content_and_artifact",
    )


def items_of(response: RecallResponse) -> list[ToolItem]:
    """The page of a response, as an artifact is made of it."""
    return [(d.id, d.page_content, d.metadata) for d in response.documents]


def must_propagate(error: Exception) -> bool:
    """Whether it is LangGraph's own way out of a node, such as an interrupt, and no failure."""
    errors = sys.modules.get("langgraph.errors")  # never loaded: then nobody raised one
    return errors is not None and isinstance(error, errors.GraphBubbleUp)


def _answer(response: RecallResponse) -> Answer:
    return tool_answer(items_of(response), response)


def _failed(error: Exception) -> Answer:
    if must_propagate(error):
        raise error
    log.warning("the retriever failed in a tool: %s", type(error).__name__)
    return tool_failure(error)
