"""``CorrectiveWorkflow``: retrieve, look at the signal, then answer, rewrite or search the web."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from inspect import isawaitable, iscoroutinefunction
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.base.response.schema import Response
from llama_index.core.llms import ChatResponse, CompletionResponse
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, TextNode
from llama_index.core.tools import BaseTool, adapt_to_async_tool
from llama_index.core.workflow import Context, Workflow, step

from llama_index_recall_signal.retriever import RecallRetriever
from llama_index_recall_signal.tool import items_of
from llama_index_recall_signal.workflow_events import (
    Answer,
    CorrectiveAnswer,
    CorrectiveStart,
    Found,
    RecallDecision,
    Rewrite,
    Search,
    SearchWeb,
)
from recall_signal import ConfigurationError, InvalidResultError
from recall_signal.agents.artifact import ToolItem, tool_artifact
from recall_signal.agents.corrective import (
    Decision,
    answer_prompt,
    caution_after_search,
    caution_before_answer,
    check_settings,
    decide,
    rewrite_prompt,
    web_items,
)
from recall_signal.agents.wording import encodable

__all__ = ["CorrectiveWorkflow"]

log = logging.getLogger(__name__)

Step = Callable[[Any], Awaitable[Any]]

_NEXT: dict[Decision, type[Answer | Rewrite | SearchWeb]] = {
    "answer": Answer,
    "rewrite": Rewrite,
    "web_search": SearchWeb,
}


class CorrectiveWorkflow(Workflow):
    """Answers from the store, or goes to the web where the signal says so.

    ``retrieve -> signal -> answer``, or ``-> rewrite -> retrieve`` at most ``max_rewrites``
    times, or ``-> web_search -> answer``. Run it with ``await workflow.run(question=...)``; the
    result is a :class:`CorrectiveAnswer`. Each decision is a :class:`RecallDecision` in the
    stream. One instance serves any number of runs at the same time, and the context of a run can
    be saved and resumed between any two steps.

    What ``retriever`` and ``answer`` raise passes through. A web search or a rewrite that raises
    costs only itself, and the result says so. Synchronous functions are called in a thread.

    Args:
        retriever: A :class:`RecallRetriever`, or any retriever, which is then wrapped.
        answer: An LLM, which gets a prompt of ours, or a function from a dict with ``question``,
            ``query``, ``nodes``, ``recall``, ``source`` and ``caution`` to a text or a response.
        web_search: A tool, or a function from the query, to texts, nodes, or mappings with a
            ``content``.
        rewrite: An LLM, or a function from a dict with ``question``, ``query`` and ``recall`` to
            a new query. None never rewrites.
        max_rewrites: Most rewrites for one question, 0 to 5.
        on_unknown: Where to go when nothing could be measured. An answer then carries a caution.
        timeout: Seconds for a run; None waits for as long as it takes.
        **settings: Other settings of ``Workflow``.

    Raises:
        ConfigurationError: A setting is wrong.
    """

    def __init__(
        self,
        retriever: BaseRetriever,
        answer: Any,
        web_search: Any,
        *,
        rewrite: Any = None,
        max_rewrites: int = 1,
        on_unknown: Decision = "answer",
        timeout: float | None = None,
        **settings: Any,
    ) -> None:
        check_settings(rewrite is not None, max_rewrites, on_unknown)
        if not isinstance(retriever, RecallRetriever):
            retriever = RecallRetriever(retriever)
        self._retriever = retriever
        self._answerer = _step("answer", answer, _answer_prompt)
        self._searcher = _step("web_search", web_search)
        self._rewriter = None if rewrite is None else _step("rewrite", rewrite, _rewrite_prompt)
        self._max_rewrites = 0 if rewrite is None else max_rewrites
        self._on_unknown = on_unknown
        super().__init__(timeout=timeout, **settings)

    @step
    async def begin(self, ev: CorrectiveStart) -> Search:
        """A question comes in."""
        return Search(question=ev.question, query=ev.question)

    @step
    async def retrieve(self, ev: Search) -> Found:
        """Search the store."""
        response = await self._retriever.arecall(ev.query)
        found = tool_artifact(items_of(response), response.to_dict())
        return Found(**ev.known(documents=found["documents"], recall=found["recall"]))

    @step
    async def signal(self, ctx: Context, ev: Found) -> Answer | Rewrite | SearchWeb:
        """Decide by the signal, and say so in the stream."""
        decision = decide(
            ev.confidence,
            rewrites=ev.rewrites,
            max_rewrites=self._max_rewrites,
            on_unknown=self._on_unknown,
        )
        level = ev.confidence.level
        ctx.write_event_to_stream(
            RecallDecision(level=level, decision=decision, rewrites=ev.rewrites)
        )
        return _NEXT[decision](**ev.known(caution=caution_before_answer(ev.confidence)))

    @step
    async def rewrite(self, ev: Rewrite) -> Search | SearchWeb:
        """One more rewrite is counted whatever comes of it; the same query is not tried twice."""
        given = {key: getattr(ev, key) for key in ("question", "query", "recall")}
        query = ""
        try:
            query = encodable(_text(await self._rewriter(given))).strip()  # type: ignore[misc]
        except Exception as error:
            log.warning("the rewrite failed: %s", type(error).__name__)
        if not query or query == ev.query:
            return SearchWeb(**ev.known(rewrites=ev.rewrites + 1))
        return Search(**ev.known(rewrites=ev.rewrites + 1, query=query))

    @step
    async def web_search(self, ev: SearchWeb) -> Answer:
        """Search the web; where that brings nothing, what the store had is left, with a caution."""
        failed, items = None, []
        try:
            items = web_items(await self._searcher(ev.query), _node_item)
        except Exception as error:
            failed = type(error).__name__
            log.warning("the web search failed: %s", failed)
        if items:
            found = tool_artifact(items, {})["documents"]
            return Answer(**ev.known(documents=found, source="web", caution=None))
        caution = caution_after_search(ev.confidence, failed)
        return Answer(**ev.known(web_error=failed, caution=caution))

    @step
    async def answer(self, ev: Answer) -> CorrectiveAnswer:
        """Answer from what there is."""
        kept = ("question", "query", "recall", "source", "caution")
        given = {key: getattr(ev, key) for key in kept}
        said = await self._answerer({**given, "nodes": [_node(d) for d in ev.documents]})
        return CorrectiveAnswer(**ev.known(answer=encodable(_text(said))))


def _step(what: str, given: Any, prompt: Callable[[Any], str] | None = None) -> Step:
    """Whatever was given as one asynchronous function."""
    if prompt is not None and isinstance(given, BaseLLM):
        return lambda value: given.acomplete(prompt(value))
    if prompt is None and isinstance(given, BaseTool):
        return lambda query: _call_tool(given, query)
    if callable(given) and not isinstance(given, type | BaseTool):
        return lambda value: _call(given, value)
    kind = "an LLM" if prompt else "a tool"
    raise ConfigurationError(f"{what} must be {kind} or a function, got {type(given).__name__}")


async def _call(function: Callable[[Any], Any], value: Any) -> Any:
    """A coroutine function here, any other in a thread, so that it holds up nobody."""
    if iscoroutinefunction(function):
        return await function(value)
    result = await asyncio.to_thread(function, value)
    return await result if isawaitable(result) else result


async def _call_tool(tool: BaseTool, query: str) -> Any:
    output = await adapt_to_async_tool(tool).acall(query)
    if output.is_error:
        error = getattr(output, "exception", None)  # newer than llama-index-core 0.14.0
        raise error or InvalidResultError(f"{output.tool_name} reported an error")
    return output.raw_output


def _text(said: Any) -> str:
    """The text of what an LLM or a function gave.

    Raises:
        InvalidResultError: It is neither a text nor a response.
    """
    if isinstance(said, str):
        return said
    if isinstance(said, CompletionResponse):
        return said.text
    if isinstance(said, ChatResponse):
        return said.message.content or ""
    if isinstance(said, Response):
        return said.response or ""
    raise InvalidResultError(f"expected a text or a response, got {type(said).__name__}")


def _node_item(hit: Any) -> ToolItem | None:
    node = hit.node if isinstance(hit, NodeWithScore) else hit
    if not isinstance(node, BaseNode):
        return None
    return node.node_id, node.get_content(MetadataMode.NONE), node.metadata


def _node(document: dict[str, Any]) -> NodeWithScore:
    known = {} if document["id"] is None else {"id_": document["id"]}
    node = TextNode(text=document["page_content"], metadata=document["metadata"], **known)
    return NodeWithScore(node=node)


def _answer_prompt(given: dict[str, Any]) -> str:
    texts = [item.node.get_content(MetadataMode.NONE) for item in given["nodes"]]
    return answer_prompt(given["question"], texts, given["caution"])


def _rewrite_prompt(given: dict[str, Any]) -> str:
    return rewrite_prompt(given["question"])
