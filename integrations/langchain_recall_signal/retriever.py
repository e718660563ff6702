"""``RecallRetriever``: any LangChain retriever, with the recall signal attached."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any, Self

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.config import run_in_executor
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever
from pydantic import ConfigDict, field_validator

from langchain_recall_signal.call import Call
from langchain_recall_signal.documents import id_of, page_of, respond, text_of
from langchain_recall_signal.drivers import Driver, Parts
from langchain_recall_signal.encoders import encoder_name
from langchain_recall_signal.events import asend, send
from langchain_recall_signal.inner import innermost, page_size, retriever_of
from langchain_recall_signal.reader import Reader
from langchain_recall_signal.reranker import as_reranker
from langchain_recall_signal.response import RecallResponse
from langchain_recall_signal.selector import RunnableSelector
from recall_signal import CalibrationError, ConfigurationError
from recall_signal.calibration.through import SelfCalibrating
from recall_signal.driver import drive, drive_async
from recall_signal.flow import OUR_STEPS, Outcome, recall_flow
from recall_signal.settings import WrapperFields

__all__ = ["RecallRetriever"]

log = logging.getLogger(__name__)


class RecallRetriever(SelfCalibrating, WrapperFields, BaseRetriever):
    """Wraps a retriever and says whether what it returned is worth reading.

    The page is the wrapped retriever's own: same documents, order, ids, texts and other
    metadata. Every document is a copy that carries the reports under one metadata key; an
    empty page has them in :meth:`recall` and in the custom event ``recall_signal``.

    Attributes:
        retriever: Any ``Runnable[str, list[Document]]``.
        embeddings: Encoder for the texts of candidates whose cosine cannot be had otherwise.
            One call for the query, one for the texts not seen lately.
        score_kind: What the store's number is, or ``"auto"`` to go by the store. Declaring it
            says that ``similarity_search_with_score`` ranks as ``similarity_search`` does.
        k: Page size; None leaves it to the wrapped retriever.
        pool_size: Candidates looked at in the one search of a vector store. An approximate
            index may search wider for them than for ``k``; ``pool_size=k`` leaves it alone.
            Where scores tie around the end of the page and the store orders ties by how many
            are asked for (FAISS), the retriever is asked for its own page as well.
        thresholds: Other cuts than the default ones.
        metadata_key: Where each document carries the reports.
        annotate: Which documents carry them: ``"all"``, the ``"first"``, or ``"none"``.
        id_key: Metadata key of a document's id; None takes ``Document.id``.
        selector: Trims the page: a chat model, a ``BaseDecisionModel``, or any
            :class:`~recall_signal.selection.Selector`. Only ever removes documents, and leaves
            the page alone where it cannot surely do that.
        selector_timeout: Seconds for the selector; None waits for as long as it takes.
        selector_options: Everything else about the selection.
        reranker: Scores the page's texts: a cross-encoder, a document compressor that writes a
            relevance score, a model of sentence-transformers, or a function ``(query, texts) ->
            scores``; within :class:`~recall_signal.reranking.RerankerOptions` to declare what
            its scores are. Used only with ``use_rerank``.
        use_rerank: Puts the page in the reranker's order, and its best score and what that
            says (``rerank_score``, ``match``) into the signal. Never the level.
        reorder: False leaves the page alone, so that the reranker serves the signal only.
        calibration: The scale of this retriever, learnt once (see :meth:`calibrate`); the level
            then follows a probability.
        baseline: The same from the stream of queries, without a set-up. With both, the
            calibration decides and the baseline goes on listening.

    Raises:
        ConfigurationError: A setting is wrong. At construction, or for ``k`` at the call.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", frozen=True)

    retriever: Runnable[Any, Any]
    embeddings: Embeddings | None = None

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._prepare()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy, with what is worked out from the settings worked out anew."""
        copied = super().model_copy(update=update, deep=deep)
        copied._prepare()
        return copied

    def copy(self, **changes: Any) -> Self:
        """:meth:`model_copy` as pydantic called it once."""
        copied: Self = super().copy(**changes)
        copied._prepare()
        return copied

    def _with(self, **changed: Any) -> Self:
        return self.model_copy(update=changed)

    def __getstate__(self) -> dict[Any, Any]:
        state = super().__getstate__()
        settings = {name: value for name, value in state["__dict__"].items() if name != "_parts"}
        return {**state, "__dict__": settings}  # the rest is worked out anew where it arrives

    def __setstate__(self, state: dict[Any, Any]) -> None:
        super().__setstate__(state)
        self._prepare()

    @field_validator("retriever", mode="before")
    @classmethod
    def _runnable(cls, value: Any) -> Any:
        if isinstance(value, Runnable):
            return value
        raise ConfigurationError(
            "retriever must be a Runnable that returns documents, such as store.as_retriever() "
            f"or RunnableLambda(function), got {type(value).__name__}"
        )

    def _prepare(self) -> Parts:
        """Work out anew what every call shares."""
        self.__dict__.pop("_parts", None)
        return self._parts

    @cached_property
    def _parts(self) -> Parts:
        """What every call shares, in the instance's own dict, where a call finds it fastest."""
        self.check_page(page_size(self.retriever, self.k))
        kind = self.declared_kind
        reader = Reader(self.retriever, kind, self.pool_size, self.k)
        if kind and kind.convertible and not reader.taps and not self.embeddings:
            raise self._wrong(
                f"score_kind={str(kind)!r} needs scores, and {type(self.retriever).__name__} "
                "gives documents without any; pass embeddings= to compute the cosines"
            )
        encoder = encoder_name(self.embeddings or getattr(reader.store, "embeddings", None))
        self.check_encoder(encoder)
        settings = self.flow_settings(
            id_of=partial(id_of, self.id_key),
            text_of=text_of,
            read_text_of=text_of,
            encodes=self.embeddings is not None,
            embed_limit=self.pool_size,
        )
        used = settings.reranking
        inner: Any = innermost(self.retriever)
        trace, traced = super()._get_ls_params(), None
        if type(inner) is VectorStoreRetriever:  # names classes, the same ones in each call
            trace = {**inner._get_ls_params(), **trace}
        elif isinstance(inner, BaseRetriever):
            traced = inner
        return Parts(
            settings=settings,
            encoder=encoder,
            reader=reader,
            embeddings=self.embeddings,
            selector=None if self.selector is None else RunnableSelector(self.selector),
            reranker=None if used is None else as_reranker(used.options.model),
            trace=trace,
            traced=traced,
        )

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
        """The short way: wrap ``store.as_retriever(...)``.

        Args:
            store: Any LangChain vector store.
            k: Page size; a ``k`` in ``search_kwargs`` goes before it.
            search_type: As in ``as_retriever``.
            search_kwargs: As in ``as_retriever`` (a filter, a score threshold).
            **settings: Further fields of this class.

        Raises:
            ConfigurationError: It is no store, or makes a kind of retriever of its own (Azure AI
                Search).
        """
        search_kwargs = dict(search_kwargs or {})
        k = search_kwargs.get("k", k)
        retriever = retriever_of(store, search_type, {**search_kwargs, "k": k})
        return cls(retriever=retriever, k=k, **settings)

    def invoke(
        self,
        input: str,  # noqa: A002  (its name in LangChain)
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """As in ``BaseRetriever``; what is configured reaches the wrapped retriever as well."""
        return super().invoke(input, config, _config=config, **kwargs)

    async def ainvoke(
        self,
        input: str,  # noqa: A002  (its name in LangChain)
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """:meth:`invoke`, asynchronously."""
        return await super().ainvoke(input, config, _config=config, **kwargs)

    def recall(
        self, query: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> RecallResponse:
        """Like ``invoke``, but returns the reports beside the documents.

        Args:
            query: The question.
            config: As in ``invoke``.
            **kwargs: ``k``, and whatever the wrapped retriever takes.
        """
        seen: list[RecallResponse] = []
        self.invoke(query, config, _seen=seen, **kwargs)
        return seen[0]

    async def arecall(
        self, query: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> RecallResponse:
        """:meth:`recall`, asynchronously."""
        seen: list[RecallResponse] = []
        await self.ainvoke(query, config, _seen=seen, **kwargs)
        return seen[0]

    def as_report_runnable(self) -> Runnable[str, RecallResponse]:
        """This retriever as a step of a chain that passes the whole :class:`RecallResponse` on."""

        def recall(query: str, config: RunnableConfig, **kwargs: Any) -> RecallResponse:
            return self.recall(query, config, **kwargs)

        async def arecall(query: str, config: RunnableConfig, **kwargs: Any) -> RecallResponse:
            return await self.arecall(query, config, **kwargs)

        return RunnableLambda(recall, afunc=arecall, name="recall")

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        parts = self._current_parts()
        if parts.traced is None:
            return parts.trace.copy()
        # langchain-core has no public name for these
        return {**parts.traced._get_ls_params(**kwargs), **parts.trace}

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        _seen: list[RecallResponse] | None = None,
        _config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        parts = self._current_parts()
        call = Call(parts.reader, k, kwargs, "invoke")
        driver = Driver(query, parts, _config, run_manager)
        outcome = drive(recall_flow(query, parts.settings, call.steps()), driver.perform)
        page = self._page(outcome, _seen)
        if run_manager.handlers:
            send(outcome.report, run_manager.get_child())
        return page

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        _seen: list[RecallResponse] | None = None,
        _config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        parts = self._current_parts()
        if parts.reader.waits:  # what a store has to tell must not block the loop
            call = await run_in_executor(None, Call, parts.reader, k, kwargs, "ainvoke")
        else:
            call = Call(parts.reader, k, kwargs, "ainvoke")
        driver = Driver(query, parts, _config, run_manager)
        flow = recall_flow(query, parts.settings, call.steps())
        outcome = await drive_async(flow, driver.aperform, OUR_STEPS)
        page = self._page(outcome, _seen)
        if run_manager.handlers:
            await asend(outcome.report, run_manager.get_child())
        return page

    def _current_parts(self) -> Parts:
        """What every call shares, made anew where a store was exchanged under the retriever.

        A calibration or thresholds of another encoder than the new store's are left out.
        """
        try:
            parts = self._parts
            return parts if parts.reader.fits() else self._prepare()
        except (CalibrationError, ConfigurationError) as error:
            log.warning("the store was exchanged, and its encoder is another one: %s", error)
            bare = self.model_copy(update={"calibration": None, "thresholds": None})
            self.__dict__["_parts"] = bare._parts
            return bare._parts

    @staticmethod
    def _page(outcome: Outcome[Document], seen: list[RecallResponse] | None) -> list[Document]:
        """The page as it leaves us; ``seen`` gets the whole response."""
        page = page_of(outcome)
        if seen is not None:
            seen.append(respond(outcome, page))
        return page
