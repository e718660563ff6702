"""`CorrectiveWorkflow`: retrieve, look at the signal, then answer, rewrite or search the web."""

from __future__ import annotations

import logging
from functools import partial
from math import inf
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, TextNode
from llama_index.core.workflow import Context, Workflow, step

from llama_index_recall_signal._retriever import RecallRetriever
from llama_index_recall_signal._steps import as_step, attempted, said_text
from llama_index_recall_signal._workflow_events import (
    AnswerEvent,
    CorrectiveAnswer,
    CorrectiveStart,
    FoundEvent,
    RecallDecision,
    RewriteEvent,
    SearchEvent,
    SearchWebEvent,
)
from recall_signal import ConfigurationError
from recall_signal._given import kind_of
from recall_signal._steps.failures import original
from recall_signal._steps.timeouts import Workers
from recall_signal._text import encodable
from recall_signal.agents._corrective import CorrectivePolicy, Decision, web_items
from recall_signal.agents._prompts import answer_prompt, rewrite_prompt
from recall_signal.agents._tool import ToolItem, is_large
from recall_signal.report_parsing import level_in

__all__ = ["CorrectiveWorkflow"]

log = logging.getLogger(__name__)

_NEXT: dict[Decision, type[AnswerEvent | RewriteEvent | SearchWebEvent]] = {
    "answer": AnswerEvent,
    "rewrite": RewriteEvent,
    "web_search": SearchWebEvent,
}


class CorrectiveWorkflow(Workflow):
    """Answers from the store, or goes to the web where the signal says so.

    `retrieve -> signal -> answer`, or `-> rewrite -> retrieve` at most `max_rewrites`
    times, or `-> web_search -> answer`. Run it with `await workflow.run(question=...)`; the
    result is a `CorrectiveAnswer`. Each decision is a `RecallDecision` in the
    stream. One instance serves any number of runs at the same time, and the context of a run can
    be saved and resumed between any two steps.

    What `retriever` and `answer` raise passes through. A web search or a rewrite that raises
    costs only itself, and the result says so. Synchronous functions are called in a thread.

    Args:
        retriever: A `RecallRetriever`, or any retriever, which is then wrapped.
        answer: An LLM, which gets a built-in prompt, or a function from a dict with `question`,
            `query`, `nodes`, `recall`, `source` and `caution` to a text or a response.
        web_search: A tool, or a function from the query, to texts, nodes, or mappings with a
            `content`.
        rewrite: An LLM, or a function from a dict with `question`, `query` and `recall` to
            a new query. None never rewrites.
        max_rewrites: Most rewrites for one question, 0 to 5.
        on_unknown: Step after a search whose match could not be measured; an answer then carries
            a caution.
        timeout: Seconds for a run; None waits for as long as it takes.
        **settings: Other settings of `Workflow`.

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
        self._policy = CorrectivePolicy(rewrite is not None, max_rewrites, on_unknown)
        _check_timeout(timeout)
        if not isinstance(retriever, RecallRetriever):
            retriever = RecallRetriever(retriever)
        self._retriever = retriever
        self._answerer = as_step("answer", answer, _answer_prompt)
        self._searcher = as_step("web_search", web_search)
        self._rewriter = None if rewrite is None else as_step("rewrite", rewrite, _rewrite_prompt)
        self._workers = Workers()
        super().__init__(timeout=timeout, **settings)

    @step
    async def begin(self, ev: CorrectiveStart) -> SearchEvent:
        """Take the question."""
        return SearchEvent(question=ev.question, query=ev.question)

    @step
    async def retrieve(self, ev: SearchEvent) -> FoundEvent:
        """Search the store."""
        response = await self._retriever.arecall(ev.query)
        items, id_key = response.page_items(), self._retriever.settings.id_key
        read = partial(self._policy.retrieved, items, response, id_key)
        found = await self._workers.run_if(read, is_large=is_large(items))
        return FoundEvent(**ev.carry(**found))

    @step
    async def signal(
        self, ctx: Context, ev: FoundEvent
    ) -> AnswerEvent | RewriteEvent | SearchWebEvent:
        """Decide by the signal, and announce the decision in the stream."""
        update = self._policy.decide(ev.recall, ev.rewrites)
        decision: Decision = update["decision"]
        ctx.write_event_to_stream(
            RecallDecision(level=level_in(ev.recall), decision=decision, rewrites=ev.rewrites)
        )
        return _NEXT[decision](**ev.carry(caution=update["caution"]))

    @step
    async def rewrite(self, ev: RewriteEvent) -> SearchEvent | SearchWebEvent:
        """Rewrite the query; a failure costs only the rewrite."""
        given = {key: getattr(ev, key) for key in ("question", "query", "recall")}
        query = ""
        try:
            step: Any = self._rewriter  # a step, where the policy rewrites
            query = await attempted(self._workers, step, given, said_text)
        except Exception as error:
            log.warning("the rewrite failed: %s", type(original(error)).__name__)
        update = self._policy.rewritten(query, ev.query, ev.rewrites)
        following = SearchEvent if update.pop("decision") == "retrieve" else SearchWebEvent
        return following(**ev.carry(**update))

    @step
    async def web_search(self, ev: SearchWebEvent) -> AnswerEvent:
        """Search the web; without hits the stored documents are left, with a caution."""
        failed: str | None = None
        items: list[ToolItem] = []
        try:
            read = partial(web_items, own=_node_item)
            items = await attempted(self._workers, self._searcher, ev.query, read)
        except Exception as error:
            failed = type(original(error)).__name__
            log.warning("the web search failed: %s", failed)
        return AnswerEvent(**ev.carry(**self._policy.searched_web(items, failed, ev.recall)))

    @step
    async def answer(self, ev: AnswerEvent) -> CorrectiveAnswer:
        """Answer from the documents."""
        kept = ("question", "query", "recall", "source", "caution")
        given = {key: getattr(ev, key) for key in kept}
        said = await self._answerer({**given, "nodes": [_node(d) for d in ev.documents]})
        return CorrectiveAnswer(**ev.carry(answer=encodable(said_text(said))))


def _check_timeout(given: Any) -> None:
    """Refuse what LlamaIndex would take for a time, and fail by in each run."""
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if given is not None and not (is_number and 0 < given < inf):
        shown = given if is_number else kind_of(given)
        raise ConfigurationError(
            f"timeout must be seconds above 0, or None for as long as it takes, got {shown}"
        )


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
