"""`create_recall_tool`: retrieval for an agent, with one line of advice before the results."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

from llama_index.core.tools.types import AsyncBaseTool, ToolMetadata, ToolOutput

from llama_index_recall_signal._response import RecallResponse
from llama_index_recall_signal._retriever import RecallRetriever
from recall_signal import ConfigurationError
from recall_signal._steps.timeouts import Workers
from recall_signal.agents._tool import is_large, tool_answer, tool_failure
from recall_signal.agents._tool_settings import (
    MAX_K,
    ToolArguments,
    ToolSettings,
    require_parts,
    tool_settings,
)

__all__ = ["RecallTool", "create_recall_tool"]

log = logging.getLogger(__name__)

Arguments = dict[str, object]


class RecallTool(AsyncBaseTool):
    """A tool around a `RecallRetriever`; made by `create_recall_tool`."""

    def __init__(self, retriever: RecallRetriever, settings: ToolSettings) -> None:
        self._retriever, self._settings, self._workers = retriever, settings, Workers()

    @property
    def metadata(self) -> ToolMetadata:
        """Name, description and arguments, as the model sees them."""
        settings = self._settings
        return ToolMetadata(settings.description, settings.name, settings.arguments)

    @property
    def retriever(self) -> RecallRetriever:
        """The retriever that the tool searches with."""
        return self._retriever

    def call(  # type: ignore[override]  # LlamaIndex calls by the names of the schema
        self,
        query: str,
        k: int | None = None,
        use_rerank: bool | None = None,
        select: bool | None = None,
        **unknown: object,
    ) -> ToolOutput:
        """Search.

        Args:
            query: The question.
            k: Results to return; this option and the others only where the tool's owner allows it.
            use_rerank: Reorders the results by the reranker.
            select: Removes results by the selector.
            **unknown: None: any other argument is refused.

        Raises:
            ConfigurationError: An option is wrong, or not allowed.
        """
        given = self._parse(query, k, use_rerank, select, unknown)
        try:
            response = self._retriever.recall(query, **_options(given))
        except Exception as error:
            return self._failed(given, error)
        return self._found(given, response)

    async def acall(  # type: ignore[override]
        self,
        query: str,
        k: int | None = None,
        use_rerank: bool | None = None,
        select: bool | None = None,
        **unknown: object,
    ) -> ToolOutput:
        """`call`, asynchronously."""
        given = self._parse(query, k, use_rerank, select, unknown)
        try:
            response = await self._retriever.arecall(query, **_options(given))
        except Exception as error:
            return self._failed(given, error)
        found = partial(self._found, given, response)
        return await self._workers.run_if(found, is_large=is_large(response.page_items()))

    def _parse(
        self,
        query: str,
        k: int | None,
        use_rerank: bool | None,
        select: bool | None,
        unknown: Mapping[str, object],
    ) -> Arguments:
        given = {"query": query, "k": k, "use_rerank": use_rerank, "select": select}
        known = {name: value for name, value in given.items() if value is not None}
        return self._settings.parse({**known, **unknown})

    def _found(self, given: Arguments, response: RecallResponse) -> ToolOutput:
        id_key = self._retriever.settings.id_key
        return self._output(given, *tool_answer(response.page_items(), response, id_key))

    def _failed(self, given: Arguments, error: Exception) -> ToolOutput:
        log.warning("the retriever failed in a tool: %s", type(error).__name__)
        return self._output(given, *tool_failure(error))

    def _output(self, given: Arguments, content: str, artifact: dict[str, Any]) -> ToolOutput:
        return ToolOutput(
            tool_name=self._settings.name,
            content=content,
            raw_input=given,
            raw_output=artifact,
            is_error=artifact["error"] is not None,
        )


def create_recall_tool(
    retriever: RecallRetriever,
    name: str,
    description: str,
    *,
    allow: ToolArguments = (),
    max_k: int = MAX_K,
) -> RecallTool:
    """Make a tool that searches with a `RecallRetriever`.

    The model reads one line that says how well the topic was matched and what to do now, one
    with the ids and dates of the results where they have any, then the texts, numbered and
    quoted, without metadata. The program gets plain JSON in
    `ToolOutput.raw_output`: `{"v": 1, "documents": [{"id", "page_content", "metadata"}],
    "recall": {...}, "error": None}`, also for an empty page. Where the retriever raises, the
    line says so, `error` holds the class of the error, `is_error` is set, and the agent goes
    on; a cancellation is passed on.

    Args:
        retriever: The retriever to search with.
        name: The tool's name, as the model sees it: letters, digits, `_` and `-`, at most 64.
        description: What is stored there, for the model. What the levels mean is added.
        allow: Options of a call that the model may set as arguments: `k`, `use_rerank`,
            `select`. An argument that is not allowed is refused.
        max_k: Largest `k` that the model may ask for.

    Raises:
        ConfigurationError: The retriever is not a `RecallRetriever`, a setting is wrong, or
            `allow` names what the retriever has no reranker or selector for.
    """
    if not isinstance(retriever, RecallRetriever):
        raise ConfigurationError(
            "create_recall_tool needs a RecallRetriever, got "
            f"{type(retriever).__name__}; wrap it first: RecallRetriever(retriever)"
        )
    fields = retriever.settings
    settings = tool_settings(name, description, allow, max_k)
    require_parts(settings, reranker=fields.reranker, selector=fields.selector)
    return RecallTool(retriever, settings)


def _options(given: Arguments) -> Arguments:
    return {name: value for name, value in given.items() if name != "query"}
