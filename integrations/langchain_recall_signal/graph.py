"""``corrective_graph``: retrieve, look at the signal, then answer, rewrite or search the web."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from langchain_core.documents import Document
from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph

from langchain_recall_signal.retriever import RecallRetriever
from langchain_recall_signal.tool import items_of, must_propagate
from recall_signal import ConfigurationError, InvalidResultError, RecallConfidence
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
from recall_signal.driver import drive, drive_async
from recall_signal.signals import UNREAD, confidence_in

__all__ = ["CorrectiveState", "corrective_graph"]

log = logging.getLogger(__name__)


class CorrectiveState(TypedDict, total=False):
    """The state of a :func:`corrective_graph`, plain JSON throughout.

    Attributes:
        question: The input.
        query: What is searched for: the question, or what it was rewritten to.
        documents: What the answer is made from, as ``{"id", "page_content", "metadata"}``.
        recall: Both reports of the last search of the store.
        rewrites: Rewritten queries so far.
        decision: The node that was chosen last.
        source: Where the documents come from.
        web_error: Class name of what the web search raised, None where it did not.
        caution: What the reader of the answer has to know, None where there is nothing.
        answer: The output.
    """

    question: str
    query: str
    documents: list[dict[str, Any]]
    recall: dict[str, Any] | None
    rewrites: int
    decision: str
    source: Literal["memory", "web"]
    web_error: str | None
    caution: str | None
    answer: str


@dataclass(frozen=True, slots=True)
class _Run:
    """A request of a node: this step on this input."""

    step: Runnable[Any, Any]
    value: Any


Update = dict[str, Any]
Steps = Generator[_Run, Any, Update]


def corrective_graph(
    retriever: Runnable[Any, Any],
    answer: Any,
    web_search: Any,
    *,
    rewrite: Any = None,
    max_rewrites: int = 1,
    on_unknown: Decision = "answer",
) -> StateGraph[CorrectiveState]:
    """A graph that answers from the store, or goes to the web where the signal says so.

    ``retrieve -> signal -> answer``, or ``-> rewrite -> retrieve`` at most ``max_rewrites``
    times, or ``-> web_search -> answer``. Compile it with or without a checkpointer and invoke it
    with ``{"question": ...}``. The decision is in the state, and in the custom stream as
    ``{"recall": {"level", "decision", "rewrites"}}``.

    Steps may be Runnables (models and tools are), functions, or coroutine functions; the last
    kind only for ``ainvoke``. What ``retriever`` and ``answer`` raise passes through. A web search
    or a rewrite that raises costs only itself, and the state says so.

    Args:
        retriever: A :class:`RecallRetriever`, or what it can wrap.
        answer: A model, which gets a prompt of ours, or a step from a dict with ``question``,
            ``query``, ``documents`` (as ``Document``), ``recall``, ``source`` and ``caution`` to
            a text or a message.
        web_search: A step from the query to texts, documents, or mappings with a ``content``.
        rewrite: A model, or a step from a dict with ``question``, ``query`` and ``recall`` to
            a new query. None never rewrites.
        max_rewrites: Most rewrites for one question, 0 to 5.
        on_unknown: Where to go when nothing could be measured. An answer then carries a caution.

    Raises:
        ConfigurationError: A setting is wrong.
    """
    check_settings(rewrite is not None, max_rewrites, on_unknown)
    if not isinstance(retriever, RecallRetriever):
        retriever = RecallRetriever(retriever=retriever)
    nodes = _Nodes(
        retriever=retriever.as_report_runnable(),
        answerer=_step("answer", answer, _answer_prompt),
        searcher=_step("web_search", web_search, None),
        rewriter=None if rewrite is None else _step("rewrite", rewrite, _rewrite_prompt),
        max_rewrites=0 if rewrite is None else max_rewrites,
        on_unknown=on_unknown,
    )
    graph = StateGraph(CorrectiveState)
    for name in ("begin", "retrieve", "signal", "web_search", "answer"):
        graph.add_node(name, _node(getattr(nodes, name)))
    graph.add_edge(START, "begin")
    graph.add_edge("begin", "retrieve")
    graph.add_edge("retrieve", "signal")
    choices = ["answer", "web_search"]
    if nodes.max_rewrites:
        graph.add_node("rewrite", _node(nodes.rewrite))
        graph.add_conditional_edges("rewrite", _decided, ["retrieve", "web_search"])
        choices.append("rewrite")
    graph.add_conditional_edges("signal", _decided, choices)
    graph.add_edge("web_search", "answer")
    graph.add_edge("answer", END)
    return graph


@dataclass(frozen=True, slots=True)
class _Nodes:
    """The nodes: each a generator from a state to an update, without any I/O of its own."""

    retriever: Runnable[Any, Any]
    answerer: Runnable[Any, Any]
    searcher: Runnable[Any, Any]
    rewriter: Any  # a Runnable, where max_rewrites is above 0
    max_rewrites: int
    on_unknown: Decision

    def begin(self, state: CorrectiveState) -> Steps:
        """A new question starts anew, also on a thread that has answered one before."""
        yield from ()
        return {
            "query": state["question"],
            "documents": [],
            "recall": None,
            "rewrites": 0,
            "source": "memory",
            "web_error": None,
            "caution": None,
        }

    def retrieve(self, state: CorrectiveState) -> Steps:
        response = yield _Run(self.retriever, state["query"])
        found = tool_artifact(items_of(response), response.to_dict())
        return {"documents": found["documents"], "recall": found["recall"]}

    def signal(self, state: CorrectiveState) -> Steps:
        yield from ()
        confidence, rewrites = _confidence(state), state["rewrites"]
        decision = decide(
            confidence,
            rewrites=rewrites,
            max_rewrites=self.max_rewrites,
            on_unknown=self.on_unknown,
        )
        level = confidence.level
        get_stream_writer()(
            {"recall": {"level": level, "decision": decision, "rewrites": rewrites}}
        )
        return {"decision": decision, "caution": caution_before_answer(confidence)}

    def rewrite(self, state: CorrectiveState) -> Steps:
        """One more rewrite is counted whatever comes of it; the same query is not tried twice."""
        given = {key: state.get(key) for key in ("question", "query", "recall")}
        query = ""
        try:
            query = encodable(_text((yield _Run(self.rewriter, given)))).strip()
        except Exception as error:
            _survive("rewrite", error)
        update: Update = {"rewrites": state["rewrites"] + 1}
        if not query or query == state["query"]:
            return {**update, "decision": "web_search"}
        return {**update, "query": query, "decision": "retrieve"}

    def web_search(self, state: CorrectiveState) -> Steps:
        failed, items = None, []
        try:
            items = web_items((yield _Run(self.searcher, state["query"])), _document_item)
        except Exception as error:
            failed = _survive("web search", error)
        if items:
            found = tool_artifact(items, {})["documents"]
            return {"documents": found, "source": "web", "caution": None}
        caution = caution_after_search(_confidence(state), failed)
        return {"web_error": failed, "caution": caution}

    def answer(self, state: CorrectiveState) -> Steps:
        kept = ("question", "query", "recall", "source", "caution")
        given = {key: state.get(key) for key in kept}
        documents = [Document(**document) for document in state["documents"]]
        said = yield _Run(self.answerer, {**given, "documents": documents})
        return {"answer": encodable(_text(said))}


def _step(what: str, given: Any, prompt: Callable[[Any], str] | None) -> Runnable[Any, Any]:
    """Whatever was given as a Runnable; a model behind a prompt of ours."""
    if prompt is not None and isinstance(given, BaseLanguageModel):
        return RunnableLambda(prompt) | given
    if isinstance(given, Runnable):
        return given
    if callable(given):
        return RunnableLambda(given)
    raise ConfigurationError(
        f"{what} must be a Runnable, a model or a function, got {type(given).__name__}"
    )


def _node(steps: Callable[[CorrectiveState], Steps]) -> Runnable[Any, Any]:
    """A node of both kinds: one flow, carried out synchronously or not."""

    def node(state: CorrectiveState, config: RunnableConfig) -> Update:
        return drive(steps(state), lambda request: request.step.invoke(request.value, config))

    async def anode(state: CorrectiveState, config: RunnableConfig) -> Update:
        return await drive_async(
            steps(state), lambda request: request.step.ainvoke(request.value, config)
        )

    return RunnableLambda(node, afunc=anode, name=steps.__name__)


def _decided(state: CorrectiveState) -> str:
    return state["decision"]


def _confidence(state: CorrectiveState) -> RecallConfidence:
    """The signal in a state, which may have come back from a checkpoint."""
    return confidence_in(state.get("recall")) or UNREAD


def _survive(what: str, error: Exception) -> str:
    """The class of an error that must not cost the answer."""
    if must_propagate(error):
        raise error
    log.warning("the %s failed: %s", what, type(error).__name__)
    return type(error).__name__


def _document_item(hit: Any) -> ToolItem | None:
    return (hit.id, hit.page_content, hit.metadata) if isinstance(hit, Document) else None


def _text(said: Any) -> str:
    """The text of what a model or a function gave.

    Raises:
        InvalidResultError: It is neither a text nor a message.
    """
    if isinstance(said, BaseMessage):
        return str(said.text)
    if isinstance(said, str):
        return said
    raise InvalidResultError(f"expected a text or a message, got {type(said).__name__}")


def _answer_prompt(given: Mapping[str, Any]) -> str:
    texts = [document.page_content for document in given["documents"]]
    return answer_prompt(given["question"], texts, given["caution"])


def _rewrite_prompt(given: Mapping[str, Any]) -> str:
    return rewrite_prompt(given["question"])
