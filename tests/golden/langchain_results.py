"""The signal in every channel of the LangChain integration."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import tool
from langchain_core.vectorstores import InMemoryVectorStore
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from langchain_recall_signal import (
    RecallMiddleware,
    RecallResponse,
    RecallRetriever,
    RecallTelemetryHandler,
    SelectorCompressor,
    corrective_graph,
    create_recall_tool,
    route_on_recall,
)

from .world import (
    PAGE,
    POOL,
    QUESTIONS,
    TEXTS,
    Keeping,
    Trigrams,
    artifact,
    asked_in,
    scenarios,
    shortened,
    unless_as,
)


class TrigramEmbeddings(Trigrams, Embeddings):
    """The encoder for LangChain."""

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        return self.vector(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts."""
        return [self.vector(text) for text in texts]


class Listener(BaseCallbackHandler):
    """Keeps the custom events."""

    run_inline = True

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
        """One of them."""
        self.events.append({"name": name, "data": data})


def documents() -> list[Document]:
    """The collection."""
    return [
        Document(id=id_, page_content=text, metadata={"source": f"{id_}.md"})
        for id_, text in TEXTS.items()
    ]


def wrapped(*, empty: bool = False, **settings: Any) -> RecallRetriever:
    """The collection, or nothing, behind the wrapper."""
    store = InMemoryVectorStore(TrigramEmbeddings())
    if not empty:
        store.add_documents(documents())
    return RecallRetriever.from_vectorstore(store, **{"k": PAGE, "pool_size": POOL, **settings})


def langchain() -> dict[str, Any]:
    """Everything, by scenario and question."""
    # Words came later, and have tests of their own: these are the figures of the cosine line.
    calibration = replace(wrapped().calibrate(), words=None)
    retrievers: dict[str, RecallRetriever] = {
        name: wrapped(**settings) for name, settings in scenarios(calibration).items()
    }
    retrievers["empty store"] = wrapped(empty=True)
    retrievers["empty store, calibrated"] = wrapped(empty=True, calibration=calibration)
    retrievers["declared"] = wrapped(score_kind="cosine")
    retrievers["no scores"] = RecallRetriever(retriever=RunnableLambda(_page))
    retrievers["embedded again"] = RecallRetriever(
        retriever=RunnableLambda(_page), embeddings=TrigramEmbeddings()
    )
    return {
        "channels": {
            name: {short: _asked(retriever, text) for short, text in asked_in(name).items()}
            for name, retriever in retrievers.items()
        },
        "calibration": str(calibration).replace(calibration.created, "CREATED"),
        "failing tool": _failing_tool(),
        "compressor": _page_dump(
            SelectorCompressor(selector=Keeping(0, 2)).compress_documents(
                retrievers["uncalibrated"].invoke(QUESTIONS["stored"]), QUESTIONS["stored"]
            )
        ),
        "middleware": {name: _middleware(QUESTIONS[name]) for name in ("stored", "absent")},
        "graph": {name: _graph(QUESTIONS[name]) for name in ("stored", "absent")},
        "telemetry": {name: _telemetry(QUESTIONS[name]) for name in ("stored", "absent")},
    }


def _page(question: str) -> list[Document]:
    return documents()[: PAGE + 1]


def _asked(retriever: RecallRetriever, question: str) -> dict[str, Any]:
    heard, aheard = Listener(), Listener()
    config: RunnableConfig = {"callbacks": [heard]}
    response = retriever.recall(question)
    later = asyncio.run(retriever.arecall(question, {"callbacks": [aheard]}))
    found = create_recall_tool(retriever, "notes", "What we know.")
    call = {"name": "notes", "args": {"query": question}, "id": "c1", "type": "tool_call"}
    message: ToolMessage = found.invoke(call)
    page = _page_dump(retriever.invoke(question, config), retriever.metadata_key)
    afterwards = asyncio.run(retriever.ainvoke(question))
    passed_on = retriever.as_report_runnable().invoke(question)
    recalled = _response(response)
    return {
        "invoke": page,
        "ainvoke": unless_as("invoke", page, _page_dump(afterwards, retriever.metadata_key)),
        "event": heard.events,
        "recall": recalled,
        "arecall": unless_as("recall", recalled, _response(later)),
        "aevent": unless_as("event", heard.events, aheard.events),
        "tool": {
            "content": message.content,
            "artifact": artifact(message.artifact, retriever.metadata_key),
        },
        "report runnable": unless_as("recall", recalled, _response(passed_on)),
        "route": _routes(response, message),
    }


def _page_dump(page: Sequence[Document], key: str = "recall") -> list[dict[str, Any]]:
    metadata = shortened([document.metadata for document in page], key)
    return [
        {"id": document.id, "text": document.page_content, "metadata": one}
        for document, one in zip(page, metadata, strict=True)
    ]


def _response(response: RecallResponse) -> dict[str, Any]:
    pool = response.pool
    return {
        **response.to_dict(),
        "confidence": response.confidence.model_dump(mode="json"),
        "selection": response.selection.model_dump(mode="json"),
        "documents": [d.id for d in response.documents],
        "pool": {
            name: None if column is None else [*column]
            for name, column in (
                ("cosines", pool.cosines),
                ("ids", pool.ids),
                ("scores", pool.scores),
                ("rerank_scores", pool.rerank_scores),
            )
        },
    }


def _routes(response: RecallResponse, message: ToolMessage) -> dict[str, str]:
    route = route_on_recall(relevant="answer", absent="web", unknown="ask")
    messages: list[BaseMessage] = [HumanMessage("?"), message]
    states: dict[str, Any] = {
        "response": {"recall": response},
        "dict": {"recall": response.to_dict()},
        "confidence": {"recall": response.confidence},
        "documents": {"documents": response.documents},
        "messages": {"messages": messages},
        "nothing": {},
    }
    return {name: route(state) for name, state in states.items()}


def _raise(question: str) -> list[Document]:
    raise ConnectionError("the store is away")


def _failing_tool() -> dict[str, Any]:
    retriever = RecallRetriever(retriever=RunnableLambda(_raise))
    found = create_recall_tool(retriever, "notes", "What we know.")
    call = {"name": "notes", "args": {"query": "?"}, "id": "c1", "type": "tool_call"}
    message: ToolMessage = found.invoke(call)
    return {"content": message.content, "artifact": message.artifact}


class ScriptedModel(BaseChatModel):
    """Looks into the notes, then on the web where that is offered, then answers."""

    offers: list[list[str]]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        """The same, which knows the names of its tools."""
        return self.bind(offered=[one.name for one in tools])

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        offered: list[str] = kwargs.get("offered", [])
        self.offers.append(offered)
        used = [m.name for m in messages if isinstance(m, ToolMessage)]
        wanted = next((n for n in ("notes", "web") if n in offered and n not in used), None)
        step = f"step-{len(used)}"
        args = {"query": str(messages[0].content)}
        calls = [] if wanted is None else [{"name": wanted, "args": args, "id": f"call-{step}"}]
        message = AIMessage("" if calls else f"from {used[-1]}", id=step, tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


@tool
def web(query: str) -> str:
    """Search the web."""
    return f"web: {query}"


def _middleware(question: str) -> dict[str, Any]:
    model = ScriptedModel(offers=[])
    middleware = RecallMiddleware(retriever_tools=["notes"], fallback_tools=["web"])
    notes = create_recall_tool(wrapped(), "notes", "What we know.")
    agent = create_agent(model, [notes, web], middleware=[middleware])
    state = agent.invoke({"messages": [HumanMessage(question)]})
    return {
        "offers": model.offers,
        "state": {key: value for key, value in state.items() if key != "messages"},
        "messages": [message.content for message in state["messages"]],
    }


def _search_web(query: str) -> list[str]:
    return [f"found on the web: {query}"]


def _graph(question: str) -> dict[str, Any]:
    answer: Callable[[dict[str, Any]], str] = lambda given: f"from {given['source']}"  # noqa: E731
    rewrite: Callable[[dict[str, Any]], str] = lambda given: f"{given['query']} now"  # noqa: E731
    graph = corrective_graph(wrapped(), answer, _search_web, rewrite=rewrite).compile()
    stream = list(graph.stream({"question": question}, stream_mode="custom"))
    state = dict(graph.invoke({"question": question}))
    return {"stream": stream, "state": state}


def _telemetry(question: str) -> list[dict[str, Any]]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    retriever = wrapped(selector=Keeping(0, 2))
    with provider.get_tracer("an application").start_as_current_span("retrieval"):
        retriever.invoke(question, {"callbacks": [RecallTelemetryHandler()]})
    return [
        {"name": span.name, "kind": str(span.kind), "attributes": dict(span.attributes or {})}
        for span in exporter.get_finished_spans()
    ]
