"""Performs the requests of a query in LlamaIndex, synchronously and asynchronously."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeWithScore, QueryBundle
from numpy.typing import ArrayLike

from llama_index_recall_signal._encoders import EncoderEmbedding, unheard
from llama_index_recall_signal._listener import listening
from llama_index_recall_signal._quiet_search import asearch, search
from llama_index_recall_signal._reader import StoreChecks
from llama_index_recall_signal._reranker import Reranker
from llama_index_recall_signal._search import Retrieve
from recall_signal._flow.embedding import Embed, EmbedQuery
from recall_signal._steps.blocking import run_apart
from recall_signal._steps.compute import CallStore, Compute
from recall_signal._steps.timeouts import Workers
from recall_signal._wrapper.model_calls import Model
from recall_signal._wrapper.runtime import Runtime
from recall_signal.reranking import Rerank
from recall_signal.selection import Answer, Select

__all__ = ["AsyncLlamaIndexBackend", "LlamaIndexBackend", "LlamaIndexRuntime"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LlamaIndexRuntime(Runtime[NodeWithScore]):
    """Compiled settings of a wrapper.

    Attributes:
        memory: Facts about stores, learned from queries.
        selector: Serves `Select`.
        reranker: Serves `Rerank`.
    """

    memory: StoreChecks
    selector: Model[Select, None, Answer]
    reranker: Reranker


@dataclass(slots=True)
class _Query:
    """State of a query.

    Attributes:
        bundle: The query, handed to the wrapped retriever as it is.
        embed_model: The wrapper's encoder, for texts that are embedded again.
        workers: Threads of the wrapper or postprocessor.
        runtime: The wrapper's; None for a postprocessor, which has no model.
    """

    bundle: QueryBundle
    embed_model: BaseEmbedding | None
    workers: Workers
    runtime: LlamaIndexRuntime | None = None

    @property
    def _strings(self) -> list[str]:
        """Return the question alone: other texts in its place are for the search."""
        return [self.bundle.query_str]

    @property
    def _encoder(self) -> BaseEmbedding:
        if self.embed_model is None:  # the flow embeds only where there is one
            raise LookupError("the wrapper has no encoder")
        return unheard(self.embed_model)

    @property
    def _models(self) -> LlamaIndexRuntime:
        if self.runtime is None:
            raise LookupError("a postprocessor has no model")
        return self.runtime


class LlamaIndexBackend(_Query):
    """Performs the requests of one query."""

    __slots__ = ()

    def retrieve(self, request: Retrieve) -> object:
        """Call the wrapped retriever."""
        if request.view is not None:
            return search(request.view, self.bundle)
        if request.recorder is None:
            return request.retriever.retrieve(self.bundle, **request.arguments)
        with listening(request.recorder):
            return request.retriever.retrieve(self.bundle, **request.arguments)

    def embed_query(self, request: EmbedQuery) -> ArrayLike:
        """Embed the query with the encoder of the search."""
        encoder: BaseEmbedding = request.encoder
        return encoder.get_agg_embedding_from_queries(self._strings)

    def embed(self, request: Embed) -> tuple[ArrayLike, object]:
        """Embed the query and texts with the wrapper's encoder."""
        return _embed_both(self._encoder, self._strings, request.texts)

    def call_store(self, request: CallStore) -> object:
        """Call the store."""
        return request.call()

    def compute(self, request: Compute) -> object:
        """Compute something."""
        return request.call()

    def rerank(self, request: Rerank) -> object:
        """Score texts within the reranker's time."""
        runtime = self._models
        return runtime.reranker.within(runtime.limits, request.timeout, request, None)

    def select(self, request: Select) -> Answer:
        """Ask the selector within its time."""
        runtime = self._models
        return runtime.selector.within(runtime.limits, request.timeout, request, None)


class AsyncLlamaIndexBackend(_Query):
    """`LlamaIndexBackend`, asynchronously."""

    __slots__ = ()

    async def retrieve(self, request: Retrieve) -> object:
        """Call the wrapped retriever."""
        if request.view is not None:
            return await asearch(request.view, self.bundle)
        if request.recorder is None:
            return await request.retriever.aretrieve(self.bundle, **request.arguments)
        with listening(request.recorder):
            return await request.retriever.aretrieve(self.bundle, **request.arguments)

    async def embed_query(self, request: EmbedQuery) -> ArrayLike:
        """Embed the query with the encoder of the search."""
        return await self._embed_strings(request.encoder)

    async def embed(self, request: Embed) -> tuple[ArrayLike, object]:
        """Embed the query and texts with the wrapper's encoder."""
        encoder, texts = self._encoder, request.texts
        leaf = _leaf_of_texts(encoder)
        if isinstance(encoder, EncoderEmbedding):  # synchronous
            return await self.workers.call(partial(_embed_both, encoder, self._strings, texts))
        vectors: object = []
        if texts:
            embed = partial(encoder.aget_text_embedding_batch, texts)
            vectors = await run_apart(self.workers, embed, leaf)
        return await self._embed_strings(encoder), vectors

    async def _embed_strings(self, encoder: BaseEmbedding) -> ArrayLike:
        """Embed the query where the encoder does not hold the loop."""
        embed = partial(encoder.aget_agg_embedding_from_queries, self._strings)
        return await run_apart(self.workers, embed, encoder._aget_query_embedding)

    async def call_store(self, request: CallStore) -> object:
        """Call the store in a thread of the wrapper's own."""
        return await self.workers.call(request.call)

    async def compute(self, request: Compute) -> object:
        """Compute something in a thread of the wrapper's own."""
        return await self.workers.run(request.call)

    async def rerank(self, request: Rerank) -> object:
        """Score texts within the reranker's time."""
        runtime = self._models
        return await runtime.reranker.within_async(runtime.limits, request.timeout, request, None)

    async def select(self, request: Select) -> Answer:
        """Ask the selector within its time."""
        runtime = self._models
        return await runtime.selector.within_async(runtime.limits, request.timeout, request, None)


def _embed_both(
    encoder: BaseEmbedding, strings: list[str], texts: list[str]
) -> tuple[ArrayLike, object]:
    vectors = encoder.get_text_embedding_batch(texts) if texts else []
    return encoder.get_agg_embedding_from_queries(strings), vectors


def _leaf_of_texts(encoder: BaseEmbedding) -> object:
    """Return the method that embeds texts in the end: `BaseEmbedding` goes on to the single one."""
    own = type(encoder)._aget_text_embeddings is not BaseEmbedding._aget_text_embeddings
    return encoder._aget_text_embeddings if own else encoder._aget_text_embedding
