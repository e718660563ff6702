"""`RecallRetriever`: any LangChain retriever, with the recall signal attached."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace as replace_fields
from functools import partial
from typing import Any, Self

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.vectorstores import VectorStore
from pydantic import ConfigDict, PrivateAttr

from langchain_recall_signal._backend import (
    AsyncLangChainBackend,
    LangChainBackend,
    LangChainRuntime,
)
from langchain_recall_signal._batch import Batch, batch_of
from langchain_recall_signal._compile import LangChainSettings, compile_runtime
from langchain_recall_signal._configuration import is_plain
from langchain_recall_signal._documents import page_of
from langchain_recall_signal._events import SignalData, asend, send
from langchain_recall_signal._introspection import (
    encoder_of,
    keeps_search,
    retriever_of,
    searched,
    store_of,
)
from langchain_recall_signal._port import LangChainPort
from langchain_recall_signal._response import RecallResponse
from langchain_recall_signal._search import Call
from recall_signal._auto.source import Watcher, watcher_of
from recall_signal._flow.flow import recall_flow, run_flow, run_flow_async
from recall_signal._flow.values import Outcome
from recall_signal._numbers import as_whole
from recall_signal._pydantic import private_value
from recall_signal._wrapper.calibration import CalibrationMixin
from recall_signal._wrapper.call_options import resolve_options
from recall_signal._wrapper.measurability import warn_unmeasurable
from recall_signal._wrapper.runtime import recompiled, watched
from recall_signal.errors import ConfigurationError
from recall_signal.reports import are_large

__all__ = ["RecallRetriever"]

log = logging.getLogger(__name__)


class RecallRetriever(CalibrationMixin, LangChainSettings, BaseRetriever):
    """Wraps a retriever and reports whether what it returned is worth reading.

    The page is the wrapped retriever's own: same documents, order, ids, texts and other
    metadata. Every document is a copy that carries the reports under one metadata key; an
    empty page has them in `recall` and in the custom event `recall_signal`.

    A call takes `k`, `use_rerank` and `select` beside the arguments of the wrapped
    retriever, as in `invoke(question, k=3, use_rerank=True)`.

    Attributes:
        retriever: Any `Runnable[str, list[Document]]`.
        embeddings: Encoder for the texts of candidates whose cosine cannot be had otherwise.
            One call for the query, one for the texts not seen lately.

    Every other setting is described at `RetrieverSettings`.

    Raises:
        ConfigurationError: A setting is wrong, at construction; an argument, at the call.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", frozen=True)

    _compiled: LangChainRuntime | None = PrivateAttr(default=None)
    _watcher: Watcher | None = PrivateAttr(default=None)

    def __init__(self, *unnamed: object, **settings: Any) -> None:
        if unnamed:
            raise ConfigurationError(
                "settings are given by name, as in RecallRetriever(retriever=...); got "
                f"{type(unnamed[0]).__name__} without one"
            )
        super().__init__(**settings)
        self._compiled = self._compile()
        if (reason := self._never_measures) is not None:
            warn_unmeasurable(log, self.retriever, reason, "embeddings")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with other settings, which are checked."""
        copied = super().model_copy(update=update, deep=deep)
        if any(
            getattr(self, name) is not getattr(copied, name) for name in _SCALE & {*(update or ())}
        ):
            copied._watcher = None
        copied._compiled = copied._compile()
        return copied

    @property
    def _never_measures(self) -> str | None:
        """The reason that every report will carry, where that is certain."""
        runtime = self._compiled
        if runtime is None or self.embeddings is not None:
            return None
        return runtime.reader.never_measures

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        yield from super().__repr_args__()
        reason = self._never_measures
        if reason is not None:
            yield "never_measures", reason

    def _replace(self, **changed: Any) -> Self:
        return self.model_copy(update=changed)

    @property
    def _runtime(self) -> LangChainRuntime:
        """The compiled settings, compiled again where a store was exchanged under the retriever."""
        runtime: LangChainRuntime | None = private_value(self, "_compiled")
        if runtime is not None and runtime.fits(self, *searched(self.retriever, self.embeddings)):
            return runtime
        if runtime is not None:  # another store: the calibration of the old one is not shared
            self._watcher = None
        self._compiled = runtime = recompiled(runtime, self._compile, self._compile_bare)
        return runtime

    def _compile(self) -> LangChainRuntime:
        runtime = compile_runtime(self, super()._get_ls_params())
        self._watcher = watcher_of(
            self.calibration,
            self.baseline,
            self._watcher,
            lambda: self.calibration_port,
            runtime.encoder,
        )
        return watched(runtime, self._watcher)

    def _compile_bare(self) -> LangChainRuntime:
        """Compile without what belongs to another encoder."""
        fixed = {"calibration": None} if self.fitted_calibration is not None else {}
        bare = self.model_copy(update={**fixed, "thresholds": None})
        self._watcher = bare._watcher
        return replace_fields(bare._runtime, values=tuple(vars(self).values()))

    @classmethod
    def from_vectorstore(
        cls,
        store: VectorStore,
        k: int = 5,
        *,
        search_type: str = "similarity",
        search_kwargs: dict[str, Any] | None = None,
        **settings: Any,
    ) -> Self:
        """Wrap `store.as_retriever(...)`, the short way.

        Args:
            store: Any LangChain vector store.
            k: Page size; a `k` in `search_kwargs` goes before it.
            search_type: As in `as_retriever`.
            search_kwargs: As in `as_retriever` (a filter, a score threshold).
            **settings: Further fields of this class.

        Raises:
            ConfigurationError: It is no store, or makes a kind of retriever of its own (Azure AI
                Search).
        """
        search_kwargs = dict(search_kwargs or {})
        k = as_whole(search_kwargs.get("k", k))
        retriever = retriever_of(store, search_type, {**search_kwargs, "k": k})
        return cls(retriever=retriever, k=k, **settings)

    def invoke(
        self,
        input: str,  # noqa: A002  (its name in LangChain)
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """As in `BaseRetriever`; what is configured reaches the wrapped retriever as well."""
        return super().invoke(input, config, _config=config, **kwargs)

    async def ainvoke(
        self,
        input: str,  # noqa: A002  (its name in LangChain)
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """`invoke`, asynchronously."""
        return await super().ainvoke(input, config, _config=config, **kwargs)

    def batch(
        self,
        inputs: list[str],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[list[Document]]:
        """`invoke` for each question; all of them are embedded together where that is possible.

        It is where the store's encoder has an `embed_queries`, and the store a search by vector
        with scores; not in a subclass with an `invoke` or a search of its own. The pages and
        reports are those of `invoke`, in the order of the questions.
        """
        together = self._together(inputs, kwargs)
        if together is None:
            return super().batch(inputs, config, return_exceptions=return_exceptions, **kwargs)
        return together.run(inputs, config, return_exceptions=return_exceptions)

    async def abatch(
        self,
        inputs: list[str],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[list[Document]]:
        """`batch`, asynchronously."""
        together = self._together(inputs, kwargs)
        if together is None:
            answers = super().abatch(inputs, config, return_exceptions=return_exceptions, **kwargs)
        else:
            answers = together.run_async(inputs, config, return_exceptions=return_exceptions)
        return await answers

    def _together(self, inputs: list[str], kwargs: dict[str, Any]) -> Batch | None:
        """Return how questions are embedded together; None where each has to go its own way."""
        if not keeps_search(type(self), RecallRetriever):
            return None
        return batch_of(self, self._runtime, inputs, kwargs)

    def recall(
        self, query: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> RecallResponse:
        """Like `invoke`, but return the reports beside the documents.

        Args:
            query: The question.
            config: As in `invoke`.
            **kwargs: `k`, `use_rerank`, `select`, and arguments of the wrapped retriever.
        """
        responses: list[RecallResponse] = []
        self.invoke(query, config, _responses=responses, **kwargs)
        return responses[0]

    async def arecall(
        self, query: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> RecallResponse:
        """`recall`, asynchronously."""
        responses: list[RecallResponse] = []
        await self.ainvoke(query, config, _responses=responses, **kwargs)
        return responses[0]

    def as_report_runnable(self) -> Runnable[str, RecallResponse]:
        """Return this retriever as a step of a chain that passes the `RecallResponse` on."""

        def recall(query: str, config: RunnableConfig, **kwargs: Any) -> RecallResponse:
            return self.recall(query, config, **kwargs)

        async def arecall(query: str, config: RunnableConfig, **kwargs: Any) -> RecallResponse:
            return await self.arecall(query, config, **kwargs)

        return RunnableLambda(recall, afunc=arecall, name="recall")

    def _port(self, *, reranked: bool) -> LangChainPort:
        bare = self._replace(
            calibration=None,
            baseline=None,
            selector=None,
            use_rerank=reranked and self.use_rerank,
            annotate="none",
        )
        return LangChainPort(
            bare, encoder_of(self.retriever, self.embeddings), lambda: bare._runtime.encoder
        )

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        runtime: LangChainRuntime | None = private_value(self, "_compiled")
        if runtime is None or runtime.store is not store_of(self.retriever):
            runtime = self._runtime
        if runtime.traced is None:
            return runtime.trace.copy()
        # langchain-core has no public name for these
        return {**runtime.traced._get_ls_params(**kwargs), **runtime.trace}

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        use_rerank: bool | None = None,
        select: bool | None = None,
        _responses: list[RecallResponse] | None = None,
        _config: RunnableConfig | None = None,
        _vector: list[float] | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        runtime = self._runtime
        settings = resolve_options(runtime, k, use_rerank, select)
        whole = _responses is not None or bool(run_manager.handlers) or settings.reads_pool
        search = Call(
            runtime.reader, k, kwargs, "invoke", query, _vector, is_pool_read=whole
        ).steps()
        backend = LangChainBackend(query, runtime, _config, run_manager)
        with settings.calibration.running():
            outcome = run_flow(recall_flow(query, settings, search), backend)
        page = _finish(outcome, _responses)
        plain = is_plain(kwargs, _config)
        settings.calibration.observe(outcome, is_plain=plain, is_async=False)
        if run_manager.handlers:
            send(SignalData(outcome), run_manager.get_child())
        return page

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        use_rerank: bool | None = None,
        select: bool | None = None,
        _responses: list[RecallResponse] | None = None,
        _config: RunnableConfig | None = None,
        _vector: list[float] | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        runtime = self._runtime
        settings = resolve_options(runtime, k, use_rerank, select)
        whole = _responses is not None or bool(run_manager.handlers) or settings.reads_pool
        prepared = partial(
            Call, runtime.reader, k, kwargs, "ainvoke", query, _vector, is_pool_read=whole
        )
        # a request to the store must not block the loop
        waits = runtime.reader.waits
        search = (await runtime.workers.call(prepared) if waits else prepared()).steps()
        backend = AsyncLangChainBackend(query, runtime, _config, run_manager)
        with settings.calibration.running():
            outcome = await run_flow_async(recall_flow(query, settings, search), backend)
        finish = partial(_finish, outcome, _responses)
        is_large = are_large([document.metadata for document in outcome.items])
        page = await runtime.workers.run_if(finish, is_large=is_large)
        plain = is_plain(kwargs, _config)
        settings.calibration.observe(outcome, is_plain=plain, is_async=True)
        if run_manager.handlers:
            await asend(SignalData(outcome), run_manager.get_child(), runtime.events)
        return page


_SCALE = frozenset({"retriever", "embeddings", "score_kind", "score_key"})
"""Settings that make the scale: a copy with others does not share a calibration."""


def _finish(outcome: Outcome[Document], responses: list[RecallResponse] | None) -> list[Document]:
    """Return the page of copies; `responses` gets the whole response."""
    page = page_of(outcome)
    if responses is not None:
        responses.append(RecallResponse.of(outcome, documents=page))
    return page
