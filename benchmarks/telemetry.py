"""The events and spans of one run of each framework, as a real exporter sees them.

    python benchmarks/telemetry.py

Needs ``opentelemetry-sdk``. Everything else is offline: fixed vectors, no model.
Prints the two tables of ``docs/telemetry.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import VectorStoreIndex
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.dispatcher import instrument_tags
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.schema import TextNode
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import langchain_recall_signal as in_langchain
import llama_index_recall_signal as in_llama_index
from llama_index_recall_signal.encoders import EncoderEmbedding
from recall_signal.testing import SettableEncoder, vectors_with_cosines

QUESTION = "a question"
COSINES = [0.9, 0.5, 0.45, 0.4]
SOURCE = {"gen_ai.data_source.id": "team-notes"}


class Encoder(SettableEncoder, Embeddings):
    """Vectors that have the wanted cosines with the question's."""

    name = "settable"


def encoder() -> Encoder:
    """The question, and texts ``t0`` to ``t3``."""
    question = [1.0, *[0.0] * 7]
    texts = zip("0123", vectors_with_cosines(question, COSINES), strict=True)
    known = {QUESTION: question} | {f"t{n}": vector for n, vector in texts}
    return Encoder(known, dimension=8)


class Events(BaseCallbackHandler):
    """LangChain's events, in order."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def on_retriever_start(self, *_: Any, name: str, **__: Any) -> None:
        """Begins."""
        self.seen.append(f"`on_retriever_start` ({name})")

    def on_retriever_end(self, *_: Any, **__: Any) -> None:
        """Ends."""
        self.seen.append("`on_retriever_end`")

    def on_custom_event(self, name: str, *_: Any, **__: Any) -> None:
        """Ours."""
        self.seen.append(f"`on_custom_event` ({name})")


class Dispatched(BaseEventHandler):
    """LlamaIndex's events, in order."""

    seen: list[str] = []  # noqa: RUF012  (pydantic copies it)

    def handle(self, event: Any, **_: Any) -> None:
        """Any of them."""
        place = (event.span_id or "").partition("-")[0]
        self.seen.append(f"`{event.class_name()}` ({place})")


def langchain(provider: TracerProvider) -> list[str]:
    """One run in LangChain."""
    store = InMemoryVectorStore.from_texts([f"t{n}" for n in range(4)], encoder())
    retriever = in_langchain.RecallRetriever.from_vectorstore(store, k=2, metadata=SOURCE)
    events = Events()
    handlers = [events, in_langchain.RecallTelemetryHandler(provider)]
    retriever.invoke(QUESTION, {"callbacks": handlers})
    return events.seen


def llama_index(provider: TracerProvider) -> list[str]:
    """One run in LlamaIndex."""
    nodes = [TextNode(text=f"t{n}") for n in range(4)]
    index = VectorStoreIndex(nodes, embed_model=EncoderEmbedding(encoder()))
    retriever = in_llama_index.RecallRetriever(index.as_retriever(similarity_top_k=2))
    events, root = Dispatched(), get_dispatcher()
    handler = in_llama_index.RecallTelemetryHandler(provider)
    root.add_span_handler(handler)
    root.add_event_handler(handler)
    root.add_event_handler(events)
    with instrument_tags(SOURCE):
        retriever.retrieve(QUESTION)
    return events.seen


def table(rows: Sequence[Sequence[Any]], head: Sequence[str]) -> Iterator[str]:
    """Markdown."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"


def main() -> None:
    """Run both, print both tables."""
    spans, events = [], []
    for run in (langchain, llama_index):
        exporter, provider = InMemorySpanExporter(), TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        events.append(run(provider))
        spans.append(exporter.get_finished_spans())
    rows: list[tuple[Any, ...]] = list(zip_longest(*events, fillvalue=""))
    print("\n".join(table(rows, ("events in LangChain", "events in LlamaIndex"))), end="\n\n")
    (one,), (other,) = spans
    assert one.name == other.name
    names = sorted({*one.attributes, *other.attributes})
    rows = [(f"`{name}`", one.attributes.get(name), other.attributes.get(name)) for name in names]
    print("\n".join(table(rows, (f"span `{one.name}`", "LangChain", "LlamaIndex"))))


if __name__ == "__main__":
    main()
