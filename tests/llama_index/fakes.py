"""What the tests of the LlamaIndex integration are made of."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.llms import CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode
from pydantic import PrivateAttr

from recall_signal.testing import SettableEncoder, vectors_with_cosines

QUERY = "where is the key?"
QUERY_VECTOR = [1.0, *[0.0] * 15]


class Embedding(BaseEmbedding):
    """A `SettableEncoder` for LlamaIndex. An error set as `broken` is raised."""

    _encoder: SettableEncoder = PrivateAttr()
    _broken: BaseException | None = PrivateAttr(default=None)

    def __init__(self, vectors: Mapping[str, Any] | None = None, **settings: Any) -> None:
        super().__init__(model_name="settable", embed_batch_size=1000)
        self._encoder = SettableEncoder(vectors, **settings)

    @property
    def encoder(self) -> SettableEncoder:
        return self._encoder

    def break_with(self, error: BaseException) -> None:
        self._broken = error

    def _get_query_embedding(self, query: str) -> list[float]:
        if self._broken is not None:
            raise self._broken
        return self._encoder.embed_query(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        await asyncio.sleep(0)
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._encoder.embed_documents([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._encoder.embed_documents(texts)

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        await asyncio.sleep(0)
        return self._encoder.embed_documents(texts)


def nodes_with_cosines(cosines: Sequence[float], **fields: Any) -> list[TextNode]:
    """Nodes whose vectors have these cosines with `QUERY_VECTOR`."""
    vectors: Any = vectors_with_cosines(QUERY_VECTOR, cosines) if len(cosines) else []
    return [
        TextNode(
            id_=f"n{number}",
            text=f"stored text {number}",
            metadata={"page": number, "nested": {"tags": ["a", "b"]}},
            embedding=vector.tolist(),
            **fields,
        )
        for number, vector in enumerate(vectors)
    ]


def index_of(nodes: Sequence[Any], **settings: Any) -> VectorStoreIndex:
    """An index in a `SimpleVectorStore`, whose encoder knows `QUERY`."""
    embedding = settings.pop("embedding", None) or Embedding({QUERY: QUERY_VECTOR})
    return VectorStoreIndex(list(nodes), embed_model=embedding, **settings)


def index_with_cosines(cosines: Sequence[float], **settings: Any) -> VectorStoreIndex:
    return index_of(nodes_with_cosines(cosines), **settings)


def texts_with_metadata(cosines: list[float]) -> Embedding:
    """Knows the texts of `nodes_with_cosines` as an index embeds them."""
    vectors = vectors_with_cosines(QUERY_VECTOR, cosines, seed=5)
    texts = [n.get_content(MetadataMode.EMBED) for n in nodes_with_cosines(cosines)]
    return Embedding({QUERY: QUERY_VECTOR} | dict(zip(texts, vectors, strict=True)))


class ListRetriever(BaseRetriever):
    """Returns what it was given, the same objects every time, as BM25 retrievers do."""

    def __init__(self, nodes: Sequence[NodeWithScore], seconds: float = 0.0) -> None:
        self.nodes, self.seconds = list(nodes), seconds
        self.bundles: list[QueryBundle] = []
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.bundles.append(query_bundle)
        return list(self.nodes)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        await asyncio.sleep(self.seconds)
        return self._retrieve(query_bundle)


def scored(*scores: float | None) -> list[NodeWithScore]:
    return [
        NodeWithScore(node=TextNode(id_=f"n{number}", text=f"stored text {number}"), score=score)
        for number, score in enumerate(scores)
    ]


class RecordingLLM(CustomLLM):
    """Answers with one word and keeps every prompt."""

    _prompts: list[str] = PrivateAttr(default_factory=list)
    window: int = 4000
    answer: str = "answer"

    @property
    def prompts(self) -> list[str]:
        return self._prompts

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=self.window, num_output=20)

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        self._prompts.append(prompt)
        return CompletionResponse(text=self.answer)

    @llm_completion_callback()
    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseGen:
        self._prompts.append(prompt)

        def tokens() -> CompletionResponseGen:
            for length in range(1, len(self.answer) + 1):
                text = self.answer[:length]
                yield CompletionResponse(text=text, delta=text[-1])

        return tokens()


class Catcher(BaseEventHandler):
    """Keeps every event."""

    events: list[Any] = []  # noqa: RUF012  (pydantic copies it)

    def handle(self, event: Any, **kwargs: Any) -> None:
        self.events.append(event)

    def names(self) -> list[str]:
        return [event.class_name() for event in self.events]

    def of(self, name: str) -> list[Any]:
        return [event for event in self.events if event.class_name() == name]


@contextmanager
def caught_events() -> Iterator[Catcher]:
    """Every event that reaches LlamaIndex's root dispatcher."""
    catcher, root = Catcher(), get_dispatcher()
    root.add_event_handler(catcher)
    try:
        yield catcher
    finally:
        root.event_handlers.remove(catcher)


def numpy_cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return float(np.dot(one, other) / (np.linalg.norm(one) * np.linalg.norm(other)))


def page_of(items: Sequence[NodeWithScore], key: str = "recall") -> list[tuple[Any, ...]]:
    """A page without our key, for comparison with the bare retriever's."""
    page = []
    for item in items:
        metadata = {name: value for name, value in item.node.metadata.items() if name != key}
        text = item.node.get_content()
        page.append((item.node_id, item.score, text, metadata, type(item.node).__name__))
    return page
