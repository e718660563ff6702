"""The bare search of a wrapper in LlamaIndex, by which a calibration is learned and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Protocol

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import QueryType

from llama_index_recall_signal._nodes import is_data
from llama_index_recall_signal._response import RecallResponse
from recall_signal import Pool
from recall_signal._steps.blocking import run_apart
from recall_signal._steps.timeouts import Workers
from recall_signal._wrapper.instances import holds_instance
from recall_signal._wrapper.learning import EncodersSeen, learning

__all__ = ["LlamaIndexPort"]


class Bare(Protocol):
    """A wrapper, as far as it is searched here."""

    @property
    def retriever(self) -> BaseRetriever: ...

    def recall(self, query: QueryType, /) -> RecallResponse: ...

    async def arecall(self, query: QueryType, /) -> RecallResponse: ...

    def _embedded(self, queries: Sequence[QueryType]) -> Iterator[Sequence[QueryType]]: ...


class LlamaIndexPort:
    """Searches without reranker, selector and callbacks.

    Args:
        bare: A wrapper with neither of them.
        encoder: Embeds the queries, None where it is not known.
        name_of: Returns its name now; None where it has none.
    """

    is_async_only = False

    def __init__(
        self, bare: Bare, encoder: BaseEmbedding | None, name_of: Callable[[], str | None]
    ) -> None:
        self._bare = bare
        self._encoder = encoder
        self._name_of = name_of
        self._seen = EncodersSeen()
        self._workers = Workers()
        self._ready: dict[str, QueryType] = {}
        self.only_on_request = _may_call_a_model(bare.retriever)

    @property
    def encoder_name(self) -> str | None:
        """The name of the encoder of the cosines; before any search, of what embeds the queries."""
        return self._seen.name(self._name_of())

    def search(self, query: str, ahead: Sequence[str] = (), /) -> Pool:
        """Return the pool of a query; those ahead are embedded with it where that is possible."""
        if ahead:
            self._embed_ahead(ahead)
        with learning():
            return self._seen.pool(self._bare.recall(self._ready.pop(query, query)))

    async def asearch(self, query: str, ahead: Sequence[str] = (), /) -> Pool:
        """`search`, asynchronously."""
        if ahead:
            await self._workers.call(partial(self._embed_ahead, ahead))
        with learning():
            return self._seen.pool(await self._bare.arecall(self._ready.pop(query, query)))

    def _embed_ahead(self, queries: Sequence[str]) -> None:
        ready = [query for part in self._bare._embedded(queries) for query in part]
        self._ready = dict(zip(queries, ready, strict=True))

    def embed_texts(self, texts: Sequence[str]) -> list[list[float]] | None:
        """Embed texts as queries; None without an encoder."""
        encoder = self._encoder
        return None if encoder is None else [encoder.get_query_embedding(text) for text in texts]

    async def aembed_texts(self, texts: Sequence[str]) -> list[list[float]] | None:
        """`embed_texts`, asynchronously."""
        encoder, workers = self._encoder, self._workers
        if encoder is None:
            return None
        leaf = encoder._aget_query_embedding
        return [
            await run_apart(workers, partial(encoder.aget_query_embedding, text), leaf)
            for text in texts
        ]


def _may_call_a_model(retriever: object) -> bool:
    """Return whether a model may be called; a fusion calls its own for further queries."""
    if type(retriever) is QueryFusionRetriever and retriever.num_queries <= 1:
        return holds_instance(retriever._retrievers, (BaseLLM,), is_data)
    return holds_instance(retriever, (BaseLLM,), is_data)
