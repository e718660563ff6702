"""`create_recall_tool`: retrieval for an agent, with one line of advice before the results."""

from __future__ import annotations

import logging
import sys
from functools import partial
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import StructuredTool

from langchain_recall_signal._reporter import holds_wrapper, reporter
from recall_signal import ConfigurationError
from recall_signal._steps.timeouts import Workers
from recall_signal.agents._tool import is_large, tool_answer, tool_failure
from recall_signal.agents._tool_settings import MAX_K, ToolArguments, require_parts, tool_settings

__all__ = ["create_recall_tool", "must_propagate"]

log = logging.getLogger(__name__)

ContentAndArtifact = tuple[str, dict[str, Any]]
"""Content for the model, artifact for the program."""


def create_recall_tool(
    retriever: Runnable[Any, Any],
    name: str,
    description: str,
    *,
    allow: ToolArguments = (),
    max_k: int = MAX_K,
) -> StructuredTool:
    """Make a tool that searches with a `RecallRetriever`.

    The model reads one line that says how well the topic was matched and what to do now, one
    with the ids and dates of the results where they have any, then the texts, numbered and
    quoted, without metadata. The program gets an artifact of plain JSON:
    `{"v": 1, "documents": [{"id", "page_content", "metadata"}], "recall": {...}, "error":
    None}`, also for an empty page. Where the retriever raises, the line says so, `error` holds
    the class of the error, and the agent goes on; a cancellation is passed on.

    Args:
        retriever: The `RecallRetriever` to search with; also with a bound configuration, retries,
            fallbacks or configurable fields.
        name: The tool's name, as the model sees it: letters, digits, `_` and `-`, at most 64.
        description: What is stored there, for the model. What the levels mean is added.
        allow: Options of a call that the model may set as arguments: `k`, `use_rerank`,
            `select`. An argument that is not allowed is refused.
        max_k: Largest `k` that the model may ask for.

    Raises:
        ConfigurationError: The retriever is not a `RecallRetriever`, a setting is wrong, or
            `allow` names what the retriever has no reranker or selector for.
    """
    if not holds_wrapper(retriever):
        raise ConfigurationError(
            "create_recall_tool needs a RecallRetriever, got "
            f"{type(retriever).__name__}; wrap it first: RecallRetriever(retriever=...)"
        )
    settings = tool_settings(name, description, allow, max_k)
    wrapper, retrieving = reporter(retriever)
    require_parts(settings, reranker=wrapper.reranker, selector=wrapper.selector)
    workers = Workers()

    def search(query: str, config: RunnableConfig, **options: int | None) -> ContentAndArtifact:
        try:
            if retriever is wrapper:
                response = wrapper.recall(query, config, **options)
            else:
                response = retrieving.invoke(query, config, **options)
            return tool_answer(response.page_items(), response, wrapper.id_key)
        except Exception as error:
            return _failed(error)

    async def asearch(
        query: str, config: RunnableConfig, **options: int | None
    ) -> ContentAndArtifact:
        try:
            if retriever is wrapper:
                response = await wrapper.arecall(query, config, **options)
            else:
                response = await retrieving.ainvoke(query, config, **options)
            items = response.page_items()
            answer = partial(tool_answer, items, response, wrapper.id_key)
            return await workers.run_if(answer, is_large=is_large(items))
        except Exception as error:
            return _failed(error)

    return StructuredTool.from_function(
        func=search,
        coroutine=asearch,
        name=settings.name,
        description=settings.description,
        args_schema=settings.arguments,
        infer_schema=False,
        response_format="content_and_artifact",
    )


def must_propagate(error: Exception) -> bool:
    """Return True for LangGraph's own control flow, such as an interrupt, which is no failure."""
    errors = sys.modules.get("langgraph.errors")  # not loaded: then nobody raised one
    return errors is not None and isinstance(error, errors.GraphBubbleUp)


def _failed(error: Exception) -> ContentAndArtifact:
    if must_propagate(error):
        raise error
    log.warning("the retriever failed in a tool: %s", type(error).__name__)
    return tool_failure(error)
