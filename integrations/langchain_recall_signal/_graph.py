"""`corrective_graph`: retrieve, look at the signal, then answer, rewrite or search the web."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict

from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph

from langchain_recall_signal._reporter import reporter
from langchain_recall_signal._steps import (
    GraphSteps,
    Run,
    Step,
    as_runnable,
    as_step,
    attempted,
    said_text,
    survive,
)
from recall_signal._steps.compute import computed_if
from recall_signal._text import encodable
from recall_signal.agents._corrective import CorrectivePolicy, Decision, Source, web_items
from recall_signal.agents._prompts import answer_prompt, rewrite_prompt
from recall_signal.agents._tool import ToolItem, is_large
from recall_signal.report_parsing import level_in

__all__ = ["CorrectiveState", "corrective_graph"]


class CorrectiveState(TypedDict, total=False):
    """The state of a `corrective_graph`, plain JSON throughout.

    Attributes:
        question: The input.
        query: The searched text: the question or its last rewrite.
        documents: Sources of the answer, as `{"id", "page_content", "metadata"}`.
        recall: Both reports of the last search of the store.
        rewrites: Rewritten queries so far.
        decision: The node chosen last.
        source: Origin of the documents.
        web_error: Class name of the web search's error, None where it did not raise.
        caution: Warning for the reader of the answer, None for none.
        answer: The output.
    """

    question: str
    query: str
    documents: list[dict[str, Any]]
    recall: dict[str, Any] | None
    rewrites: int
    decision: str
    source: Source
    web_error: str | None
    caution: str | None
    answer: str


def corrective_graph(
    retriever: Step,
    answer: object,
    web_search: object,
    *,
    rewrite: object = None,
    max_rewrites: int = 1,
    on_unknown: Decision = "answer",
) -> StateGraph[CorrectiveState]:
    """Make a graph that answers from the store, or goes to the web where the signal says so.

    `retrieve -> signal -> answer`, or `-> rewrite -> retrieve` at most `max_rewrites`
    times, or `-> web_search -> answer`. Compile it with or without a checkpointer and invoke it
    with `{"question": ...}`. The decision is in the state, and in the custom stream as
    `{"recall": {"level", "decision", "rewrites"}}`.

    GraphSteps may be Runnables (models and tools are), functions, or coroutine functions; the last
    kind only for `ainvoke`. What `retriever` and `answer` raise passes through. A web search
    or a rewrite that raises costs only itself, and the state says so.

    Args:
        retriever: A `RecallRetriever`, or what it can wrap.
        answer: A model, which gets a built-in prompt, or a step from a dict with `question`,
            `query`, `documents` (as `Document`), `recall`, `source` and `caution` to
            a text or a message.
        web_search: A step from the query to texts, documents, or mappings with a `content`.
        rewrite: A model, or a step from a dict with `question`, `query` and `recall` to
            a new query. None never rewrites.
        max_rewrites: Most rewrites for one question, 0 to 5.
        on_unknown: Step after a search whose match could not be measured; an answer then carries
            a caution.

    Raises:
        ConfigurationError: A setting is wrong.
    """
    policy = CorrectivePolicy(rewrite is not None, max_rewrites, on_unknown)
    wrapper, retrieving = reporter(retriever)
    nodes = _Nodes(
        policy=policy,
        retriever=retrieving,
        id_key=wrapper.id_key,
        answerer=as_step("answer", answer, RunnableLambda(_answer_prompt)),
        searcher=as_step("web_search", web_search),
        rewriter=(
            None
            if rewrite is None
            else as_step("rewrite", rewrite, RunnableLambda(_rewrite_prompt))
        ),
    )
    graph = StateGraph(CorrectiveState)
    for name in ("begin", "retrieve", "signal", "web_search", "answer"):
        graph.add_node(name, as_runnable(getattr(nodes, name), name))
    graph.add_edge(START, "begin")
    graph.add_edge("begin", "retrieve")
    graph.add_edge("retrieve", "signal")
    choices = ["answer", "web_search"]
    if policy.rewrites:
        graph.add_node("rewrite", as_runnable(nodes.rewrite, "rewrite"))
        graph.add_conditional_edges("rewrite", _decided, ["retrieve", "web_search"])
        choices.append("rewrite")
    graph.add_conditional_edges("signal", _decided, choices)
    graph.add_edge("web_search", "answer")
    graph.add_edge("answer", END)
    return graph


@dataclass(frozen=True, slots=True)
class _Nodes:
    """The nodes: each a generator from a state to an update, without any I/O of its own."""

    policy: CorrectivePolicy
    retriever: Step
    id_key: str | None
    answerer: Step
    searcher: Step
    rewriter: Any  # a step, where the policy rewrites

    def begin(self, state: CorrectiveState) -> GraphSteps:
        yield from ()
        return self.policy.begin(state.get("question"))

    def retrieve(self, state: CorrectiveState) -> GraphSteps:
        response = yield Run(self.retriever, state["query"])
        items = response.page_items()
        read = partial(self.policy.retrieved, items, response, self.id_key)
        return (yield from computed_if(read, is_large=is_large(items)))

    def signal(self, state: CorrectiveState) -> GraphSteps:
        yield from ()
        recall, rewrites = state.get("recall"), state["rewrites"]
        update = self.policy.decide(recall, rewrites)
        event = {"level": level_in(recall), "decision": update["decision"], "rewrites": rewrites}
        get_stream_writer()({"recall": event})
        return update

    def rewrite(self, state: CorrectiveState) -> GraphSteps:
        given = {key: state.get(key) for key in ("question", "query", "recall")}
        query = ""
        try:
            query = yield from attempted(self.rewriter, given, said_text)
        except Exception as error:
            survive("rewrite", error)
        return self.policy.rewritten(query, state["query"], state["rewrites"])

    def web_search(self, state: CorrectiveState) -> GraphSteps:
        failed: str | None = None
        items: list[ToolItem] = []
        try:
            read = partial(web_items, own=_document_item)
            items = yield from attempted(self.searcher, state["query"], read)
        except Exception as error:
            failed = survive("web search", error)
        return self.policy.searched_web(items, failed, state.get("recall"))

    def answer(self, state: CorrectiveState) -> GraphSteps:
        kept = ("question", "query", "recall", "source", "caution")
        given = {key: state.get(key) for key in kept}
        documents = [Document(**document) for document in state["documents"]]
        said = yield Run(self.answerer, {**given, "documents": documents})
        return {"answer": encodable(said_text(said))}


def _decided(state: CorrectiveState) -> str:
    return state["decision"]


def _document_item(hit: object) -> ToolItem | None:
    return (hit.id, hit.page_content, hit.metadata) if isinstance(hit, Document) else None


def _answer_prompt(given: Mapping[str, Any]) -> str:
    texts = [document.page_content for document in given["documents"]]
    return answer_prompt(given["question"], texts, given["caution"])


def _rewrite_prompt(given: Mapping[str, Any]) -> str:
    return rewrite_prompt(given["question"])
