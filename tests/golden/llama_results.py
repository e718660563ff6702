"""The signal in every channel of the LlamaIndex integration."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import CustomQueryEngine, RetrieverQueryEngine
from llama_index.core.response_synthesizers import BaseSynthesizer, get_response_synthesizer
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools.types import ToolOutput
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from llama_index_recall_signal import (
    CorrectiveWorkflow,
    RecallPostprocessor,
    RecallQueryEngine,
    RecallResponse,
    RecallRetriever,
    RecallRouterQueryEngine,
    RecallSelectorPostprocessor,
    RecallSignalEvent,
    RecallTelemetryHandler,
    create_recall_tool,
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


class TrigramEmbedding(BaseEmbedding):
    """The encoder for LlamaIndex."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"model_name": Trigrams.name, **settings})

    def _get_query_embedding(self, query: str) -> list[float]:
        return Trigrams().vector(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return Trigrams().vector(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return Trigrams().vector(text)


class Catcher(BaseEventHandler):
    """Keeps the events of ours."""

    caught: list[RecallSignalEvent] = []  # noqa: RUF012  (pydantic copies it)

    @classmethod
    def class_name(cls) -> str:
        """Its name."""
        return "Catcher"

    def handle(self, event: Any, **_: Any) -> None:
        """One event, of whatever kind."""
        if isinstance(event, RecallSignalEvent):
            self.caught.append(event)


@contextmanager
def caught() -> Iterator[Catcher]:
    """Every signal that is sent meanwhile."""
    catcher, root = Catcher(), get_dispatcher()
    root.add_event_handler(catcher)
    try:
        yield catcher
    finally:
        root.event_handlers.remove(catcher)


class Fixed(BaseRetriever):
    """Gives the first nodes to every question, without a score."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=node) for node in nodes()[: PAGE + 1]]


class Broken(BaseRetriever):
    """Fails."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        raise ConnectionError("the store is away")


def nodes() -> list[TextNode]:
    """The collection."""
    return [
        TextNode(id_=id_, text=text, metadata={"source": f"{id_}.md"})
        for id_, text in TEXTS.items()
    ]


def bare(*, empty: bool = False) -> BaseRetriever:
    """The collection, or nothing, behind LlamaIndex' own retriever."""
    # The metadata would be embedded with the text, and the other framework does not do that.
    kept = [] if empty else nodes()
    for node in kept:
        node.excluded_embed_metadata_keys = ["source"]
    index = VectorStoreIndex(kept, embed_model=TrigramEmbedding())
    return index.as_retriever(similarity_top_k=PAGE)


def wrapped(*, empty: bool = False, **settings: Any) -> RecallRetriever:
    """The same within the wrapper."""
    return RecallRetriever(bare(empty=empty), **{"pool_size": POOL, **settings})


def llama_index() -> dict[str, Any]:
    """Everything, by scenario and question."""
    # Words came later, and have tests of their own: these are the figures of the cosine line.
    calibration = replace(wrapped().calibrate(), words=None)
    retrievers = {name: wrapped(**settings) for name, settings in scenarios(calibration).items()}
    retrievers["empty store"] = wrapped(empty=True)
    retrievers["empty store, calibrated"] = wrapped(empty=True, calibration=calibration)
    retrievers["declared"] = wrapped(score_kind="cosine")
    retrievers["no scores"] = RecallRetriever(Fixed())
    retrievers["embedded again"] = RecallRetriever(Fixed(), embed_model=TrigramEmbedding())
    return {
        "channels": {
            name: {short: _asked(retriever, text) for short, text in asked_in(name).items()}
            for name, retriever in retrievers.items()
        },
        "calibration": str(calibration).replace(calibration.created, "CREATED"),
        "failing tool": _tool(
            create_recall_tool(RecallRetriever(Broken()), "notes", "What we know.").call("?")
        ),
        "postprocessor": _postprocessed(),
        "selector postprocessor": _page_dump(
            RecallSelectorPostprocessor(selector=Keeping(0, 2)).postprocess_nodes(
                wrapped().retrieve(QUESTIONS["stored"]), query_str=QUESTIONS["stored"]
            )
        ),
        "router": {name: _routed(QUESTIONS[name]) for name in ("stored", "absent")},
        "workflow": {name: asyncio.run(_worked(QUESTIONS[name])) for name in ("stored", "absent")},
        "telemetry": {name: _telemetry(QUESTIONS[name]) for name in ("stored", "absent")},
    }


def _asked(retriever: RecallRetriever, question: str) -> dict[str, Any]:
    with caught() as catcher:
        page = retriever.retrieve(question)
    with caught() as later:
        response = asyncio.run(retriever.arecall(question))
    tool = create_recall_tool(retriever, "notes", "What we know.")
    dumped = _page_dump(page, retriever.settings.metadata_key)
    again = _page_dump(response.nodes, retriever.settings.metadata_key)
    recalled = _response(retriever.recall(question))
    events, aevents = ([_event(event) for event in one.caught] for one in (catcher, later))
    return {
        "retrieve": dumped,
        "aretrieve": unless_as("retrieve", dumped, again),
        "event": events,
        "recall": recalled,
        "arecall": unless_as("recall", recalled, _response(response)),
        "aevent": unless_as("event", events, aevents),
        "tool": _tool(tool.call(question), retriever.settings.metadata_key),
        "query engine": _answered(retriever, question),
    }


def _page_dump(page: Sequence[NodeWithScore], key: str = "recall") -> list[dict[str, Any]]:
    metadata = shortened([item.node.metadata for item in page], key)
    return [
        {
            "id": item.node_id,
            "score": item.score,
            "text": item.node.get_content(),
            "metadata": one,
            "not embedded": item.node.excluded_embed_metadata_keys,
            "not in prompts": item.node.excluded_llm_metadata_keys,
        }
        for item, one in zip(page, metadata, strict=True)
    ]


def _event(event: RecallSignalEvent) -> dict[str, Any]:
    dumped = event.model_dump(mode="json")
    for key in ("timestamp", "id_", "span_id", "tags"):
        dumped.pop(key, None)
    return {"dump": dumped, "report": unless_as("dump", _runtime(dumped), _runtime(event.report))}


def _runtime(report: dict[str, Any]) -> dict[str, Any]:
    """The reports themselves, without a version or a class name."""
    names = ("confidence", "selection", "cosine_source", "rerank")
    return {name: report[name] for name in names if report.get(name) is not None}


def _response(response: RecallResponse) -> dict[str, Any]:
    pool = response.pool
    return {
        **response.to_dict(),
        "confidence": response.confidence.model_dump(mode="json"),
        "selection": response.selection.model_dump(mode="json"),
        "nodes": [item.node_id for item in response.nodes],
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


def _tool(output: ToolOutput, key: str = "recall") -> dict[str, Any]:
    return {
        "content": output.content,
        "raw_output": artifact(output.raw_output, key),
        "is_error": output.is_error,
    }


def _synthesizer() -> BaseSynthesizer:
    return get_response_synthesizer(llm=MockLLM())


def _answered(retriever: RecallRetriever, question: str) -> dict[str, Any]:
    """What stands in the response's metadata; what MockLLM says is LlamaIndex' own."""
    engine = RecallQueryEngine(retriever=retriever, response_synthesizer=_synthesizer())
    response = engine.query(question)
    later = asyncio.run(engine.aquery(question))
    metadata = response.metadata or {}
    return {
        "keys": sorted(metadata),
        "reports": {key: metadata[key] for key in metadata if key not in TEXTS},
        "later": unless_as("metadata", metadata, later.metadata),
    }


def _postprocessed() -> dict[str, Any]:
    question = QUESTIONS["stored"]
    page = bare().retrieve(question)
    settings: dict[str, dict[str, Any]] = {
        "auto": {},
        "declared": {"score_kind": "cosine"},
        "embedded": {"embed_model": TrigramEmbedding()},
    }
    found: dict[str, Any] = {}
    for name, given in settings.items():
        postprocessor = RecallPostprocessor(**given)
        with caught() as catcher:
            found[name] = _page_dump(postprocessor.postprocess_nodes(page, query_str=question))
            postprocessor.postprocess_nodes([], query_str=question)
        found[f"{name}, events"] = [_event(event) for event in catcher.caught]
    return found


class Elsewhere(CustomQueryEngine):
    """A fallback that always answers the same."""

    def custom_query(self, query_str: str) -> str:
        """The answer."""
        return "from the web"


def _routed(question: str) -> dict[str, Any]:
    engine = RetrieverQueryEngine(wrapped(), response_synthesizer=_synthesizer())
    response = RecallRouterQueryEngine(engine, Elsewhere()).query(question)
    return {"metadata": response.metadata}


async def _worked(question: str) -> dict[str, Any]:
    workflow = CorrectiveWorkflow(
        wrapped(),
        answer=lambda given: f"from {given['source']}",
        web_search=lambda query: [f"found on the web: {query}"],
        rewrite=lambda given: f"{given['query']} now",
    )
    handler = workflow.run(question=question)
    stream = [
        event.model_dump(mode="json")
        async for event in handler.stream_events()
        if type(event).__name__ == "RecallDecision"
    ]
    result: Any = await handler
    return {"stream": stream, "result": result.model_dump(mode="json")}


def _telemetry(question: str) -> list[dict[str, Any]]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    handler, root = RecallTelemetryHandler(), get_dispatcher()
    root.add_event_handler(handler)
    try:
        with provider.get_tracer("an application").start_as_current_span("retrieval"):
            wrapped(selector=Keeping(0, 2)).retrieve(question)
    finally:
        root.event_handlers.remove(handler)
    return [
        {"name": span.name, "kind": str(span.kind), "attributes": dict(span.attributes or {})}
        for span in exporter.get_finished_spans()
    ]
