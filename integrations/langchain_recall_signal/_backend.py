"""Performs the requests of a query in LangChain, synchronously and asynchronously."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
    Callbacks,
)
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import patch_config
from langchain_core.vectorstores import VectorStoreRetriever
from numpy.typing import ArrayLike

from langchain_recall_signal._encoders import embed_both, embed_question
from langchain_recall_signal._reader import Reader
from langchain_recall_signal._reranker import Reranker
from langchain_recall_signal._search import Retrieve
from langchain_recall_signal._tap import current_recorder
from recall_signal._flow.embedding import Embed, EmbedQuery
from recall_signal._steps.compute import CallStore, Compute
from recall_signal._wrapper.model_calls import Model
from recall_signal._wrapper.runtime import Runtime
from recall_signal.reranking import Rerank
from recall_signal.selection import Answer, Select

__all__ = ["AsyncLangChainBackend", "LangChainBackend", "LangChainRuntime"]

Manager = TypeVar("Manager", CallbackManagerForRetrieverRun, AsyncCallbackManagerForRetrieverRun)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LangChainRuntime(Runtime[Document]):
    """Compiled settings of a wrapper.

    Attributes:
        reader: Reads the scores of the wrapped retriever.
        embeddings: The wrapper's encoder, for texts that are embedded again.
        selector: Serves `Select`.
        reranker: Serves `Rerank`.
        trace: LangSmith parameters of the wrapper, and of a plain retriever's store.
        traced: The retriever that has further ones at each call.
    """

    reader: Reader
    embeddings: Embeddings | None
    selector: Model[Select, Callbacks, Answer]
    reranker: Reranker
    trace: LangSmithRetrieverParams
    traced: BaseRetriever | None


@dataclass(slots=True)
class _Query(Generic[Manager]):
    """State of a query.

    Attributes:
        query: The question.
        runtime: The wrapper's.
        config: The configuration of the call.
        manager: The run that everything here is a child of.
    """

    query: str
    runtime: LangChainRuntime
    config: RunnableConfig | None
    manager: Manager

    def _is_unobserved(self, retriever: object) -> bool:
        """Return whether nobody can see a run of this retriever, so that it need not be started."""
        manager = self.manager
        return type(retriever) is VectorStoreRetriever and not (
            manager.handlers or manager.inheritable_handlers
        )

    def _child(self) -> RunnableConfig:
        """Return the configuration of a child run; LangChain merges what the context holds."""
        callbacks = self.manager.get_child()
        if self.config is None:
            return {"callbacks": callbacks}
        return patch_config(self.config, callbacks=callbacks)


class LangChainBackend(_Query[CallbackManagerForRetrieverRun]):
    """Performs the requests of one query."""

    __slots__ = ()

    def retrieve(self, request: Retrieve) -> object:
        """Invoke the wrapped retriever while its recorder listens to the store."""
        token = current_recorder.set(request.recorder)
        try:
            retriever, manager = request.retriever, self.manager
            if isinstance(retriever, VectorStoreRetriever) and self._is_unobserved(retriever):
                search = retriever._get_relevant_documents
                return search(self.query, run_manager=manager, **request.kwargs)
            return retriever.invoke(self.query, self._child(), **request.kwargs)
        finally:
            current_recorder.reset(token)

    def embed_query(self, request: EmbedQuery) -> ArrayLike:
        """Embed the question with the store's encoder."""
        encoder: Embeddings = request.encoder
        return encoder.embed_query(self.query)

    def embed(self, request: Embed) -> tuple[ArrayLike, object]:
        """Embed the question and texts with the wrapper's encoder."""
        encoder = _required(self.runtime.embeddings)
        vectors = encoder.embed_documents(request.texts) if request.texts else []
        return encoder.embed_query(request.query), vectors

    def call_store(self, request: CallStore) -> object:
        """Call the store."""
        return request.call()

    def compute(self, request: Compute) -> object:
        """Compute something."""
        return request.call()

    def rerank(self, request: Rerank) -> object:
        """Score texts within the reranker's time."""
        runtime, child = self.runtime, self.manager.get_child()
        return runtime.reranker.within(runtime.limits, request.timeout, request, child)

    def select(self, request: Select) -> Answer:
        """Ask the selector within its time."""
        runtime, child = self.runtime, self.manager.get_child()
        return runtime.selector.within(runtime.limits, request.timeout, request, child)


class AsyncLangChainBackend(_Query[AsyncCallbackManagerForRetrieverRun]):
    """`LangChainBackend`, asynchronously."""

    __slots__ = ()

    async def retrieve(self, request: Retrieve) -> object:
        """Invoke the wrapped retriever while its recorder listens to the store."""
        token = current_recorder.set(request.recorder)
        try:
            retriever, manager = request.retriever, self.manager
            if isinstance(retriever, VectorStoreRetriever) and self._is_unobserved(retriever):
                search = retriever._aget_relevant_documents
                return await search(self.query, run_manager=manager, **request.kwargs)
            return await retriever.ainvoke(self.query, self._child(), **request.kwargs)
        finally:
            current_recorder.reset(token)

    async def embed_query(self, request: EmbedQuery) -> ArrayLike:
        """Embed the question with the store's encoder."""
        return await embed_question(self.runtime.workers, request.encoder, self.query)

    async def embed(self, request: Embed) -> tuple[ArrayLike, object]:
        """Embed the question and texts with the wrapper's encoder."""
        encoder, workers = _required(self.runtime.embeddings), self.runtime.workers
        return await embed_both(workers, encoder, request.query, request.texts)

    async def call_store(self, request: CallStore) -> object:
        """Call the store in a thread of the wrapper's own."""
        return await self.runtime.workers.call(request.call)

    async def compute(self, request: Compute) -> object:
        """Compute something in a thread of the wrapper's own."""
        return await self.runtime.workers.run(request.call)

    async def rerank(self, request: Rerank) -> object:
        """Score texts within the reranker's time."""
        runtime, child = self.runtime, self.manager.get_child()
        return await runtime.reranker.within_async(runtime.limits, request.timeout, request, child)

    async def select(self, request: Select) -> Answer:
        """Ask the selector within its time."""
        runtime, child = self.runtime, self.manager.get_child()
        return await runtime.selector.within_async(runtime.limits, request.timeout, request, child)


def _required(encoder: Embeddings | None) -> Embeddings:
    if encoder is None:
        raise LookupError("the wrapper has no encoder")  # the flow embeds only where it has one
    return encoder
