"""``RecallRetriever``: any LangChain retriever, with the recall signal attached."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Self

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.config import patch_config, run_in_executor
from langchain_core.vectorstores import VectorStore
from pydantic import ConfigDict, PrivateAttr, field_validator

from langchain_recall_signal.call import Call, Reader, Retrieve
from langchain_recall_signal.encoders import aembed, embed, encoder_name
from langchain_recall_signal.reranker import Reranker, arerank, as_reranker, rerank
from langchain_recall_signal.response import RecallResponse
from langchain_recall_signal.selector import RunnableSelector, aask, ask
from langchain_recall_signal.tap import innermost, listening, page_size
from recall_signal import (
    Calibration,
    ConfigurationError,
    Pool,
)
from recall_signal.driver import drive, drive_async
from recall_signal.flow import (
    Embed,
    FlowSettings,
    Outcome,
    Request,
    recall_flow,
)
from recall_signal.reading import EmbedQuery, ReadVectors
from recall_signal.reports import fresh_copy
from recall_signal.reranking import Rerank
from recall_signal.settings import WrapperFields, id_in

__all__ = ["EVENT_NAME", "RecallRetriever"]

log = logging.getLogger(__name__)

EVENT_NAME = "recall_signal"
"""The custom event that carries both reports of every retrieval."""


@dataclass(slots=True)
class _Parts:
    """What is worked out from a wrapper's settings once, and shared by its calls."""

    reader: Reader
    settings: FlowSettings[Document]
    selector: Any  # a RunnableSelector, where the flow asks for one
    reranker: Reranker | None
    encoder: str | None
    trace: LangSmithRetrieverParams  # what tracers are told of the wrapper itself
    traced: BaseRetriever | None  # and who tells them of the store


class RecallRetriever(WrapperFields, BaseRetriever):
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

    _parts: _Parts = PrivateAttr()

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._prepare()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy, with what is worked out from the settings worked out anew."""
        copied = super().model_copy(update=update, deep=deep)
        copied._prepare()
        return copied

    @field_validator("retriever", mode="before")
    @classmethod
    def _runnable(cls, value: Any) -> Any:
        if isinstance(value, Runnable):
            return value
        raise ConfigurationError(
            "retriever must be a Runnable that returns documents, such as store.as_retriever() "
            f"or RunnableLambda(function), got {type(value).__name__}"
        )

    def _prepare(self) -> None:
        """Check the settings against each other, once, and make what every call shares."""
        self.check_page(page_size(self.retriever, self.k))
        kind = self.declared_kind
        reader = Reader(self.retriever, kind)
        if kind and kind.convertible and not reader.taps and not self.embeddings:
            raise self._wrong(
                f"score_kind={str(kind)!r} needs scores, and {type(self.retriever).__name__} "
                "gives documents without any; pass embeddings= to compute the cosines"
            )
        encoder = encoder_name(self.embeddings or getattr(reader.store, "embeddings", None))
        if self.calibration is not None:
            self.calibration.require_encoder(encoder)
        settings = self.flow_settings(
            id_of=partial(_id_of, self.id_key),
            text_of=_text_of,
            read_text_of=_text_of,
            encodes=self.embeddings is not None,
            embed_limit=self.pool_size,
        )
        selector = None if self.selector is None else RunnableSelector(self.selector)
        used = settings.reranking
        inner = innermost(self.retriever)
        self._parts = _Parts(
            reader=reader,
            settings=settings,
            selector=selector,
            reranker=None if used is None else as_reranker(used.options.model),
            encoder=encoder,
            trace=super()._get_ls_params(),
            traced=inner if isinstance(inner, BaseRetriever) else None,
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
        """
        search_kwargs = dict(search_kwargs or {})
        k = search_kwargs.get("k", k)
        retriever = store.as_retriever(
            search_type=search_type, search_kwargs={**search_kwargs, "k": k}
        )
        return cls(retriever=retriever, k=k, **settings)

    def calibrate(self, **given: Any) -> Calibration:
        """Learn the scale of this retriever through its own search, in about 180 searches.

        With ``use_rerank`` each search is reranked too, so that the reranker's own scale is
        learnt beside that of the cosines.

        Args:
            **given: As in :meth:`recall_signal.Calibration.fit`; all of it is optional.

        Raises:
            CalibrationError: The retriever gives no cosines, or too few labels for a bound.
        """
        bare = self._bare()
        return Calibration.fit(lambda query: bare.recall(query).pool, **self._named(given))

    async def acalibrate(self, **given: Any) -> Calibration:
        """:meth:`calibrate`, asynchronously."""
        bare = self._bare()

        async def search(query: str) -> Pool:
            return (await bare.arecall(query)).pool

        return await Calibration.afit(search, **self._named(given))

    def with_calibration(self, calibration: Calibration | None) -> Self:
        """This retriever with that calibration.

        Raises:
            CalibrationError: It was fitted with another encoder.
        """
        return self.model_copy(update={"calibration": calibration})

    def _bare(self) -> Self:
        """This retriever as a calibration has to see it: the search and what scores it."""
        extras = ("calibration", "baseline", "selector")
        bare = self.model_copy(update={**dict.fromkeys(extras), "annotate": "none"})
        bare._parts.settings = replace(bare._parts.settings, keep_texts=True)
        return bare

    def _named(self, given: dict[str, Any]) -> dict[str, Any]:
        used = self._parts.settings.reranking
        scale = {} if used is None else {"rerank_scale": used.options.scale}
        return {"encoder": self._parts.encoder, **scale, **given}

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
        parts = self._parts
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
        parts = self._parts
        call = self._call(parts.reader, k, kwargs, "invoke")

        def perform(request: Request | Retrieve | EmbedQuery | ReadVectors) -> Any:
            if isinstance(request, Retrieve):
                child = _child_of(_config, run_manager.get_child())
                token = listening.set(request.recorder)
                try:
                    return request.retriever.invoke(query, child, **request.kwargs)
                finally:
                    listening.reset(token)
            if isinstance(request, EmbedQuery):
                return request.encoder.embed_query(query)
            if isinstance(request, ReadVectors):
                return request.read()
            if isinstance(request, Embed):
                return embed(self.embeddings, request)
            if isinstance(request, Rerank):
                assert parts.reranker is not None  # noqa: S101  (the flow asks only then)
                return rerank(parts.reranker, request, run_manager.get_child())
            return ask(parts.selector, request, run_manager.get_child())

        outcome = drive(recall_flow(query, parts.settings, call.steps()), perform)
        response = self._finish(outcome, _seen)
        if run_manager.handlers:
            config: RunnableConfig = {"callbacks": run_manager.get_child()}
            try:
                dispatch_custom_event(EVENT_NAME, outcome.report, config=config)
            except Exception as error:  # an event must not cost the page
                log.warning("the event %s was not sent: %s", EVENT_NAME, type(error).__name__)
        return response

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
        parts = self._parts
        if parts.reader.is_new:  # what a store's server has to tell must not block the loop
            await run_in_executor(None, lambda: parts.reader.widens)
        call = self._call(parts.reader, k, kwargs, "ainvoke")

        async def perform(request: Request | Retrieve | EmbedQuery | ReadVectors) -> Any:
            if isinstance(request, Retrieve):
                child = _child_of(_config, run_manager.get_child())
                token = listening.set(request.recorder)
                try:
                    return await request.retriever.ainvoke(query, child, **request.kwargs)
                finally:
                    listening.reset(token)
            if isinstance(request, EmbedQuery):
                return await request.encoder.aembed_query(query)
            if isinstance(request, ReadVectors):
                return await run_in_executor(None, request.read)
            if isinstance(request, Embed):
                return await aembed(self.embeddings, request)
            if isinstance(request, Rerank):
                assert parts.reranker is not None  # noqa: S101  (the flow asks only then)
                return await arerank(parts.reranker, request, run_manager.get_child())
            return await aask(parts.selector, request, run_manager.get_child())

        outcome = await drive_async(recall_flow(query, parts.settings, call.steps()), perform)
        response = self._finish(outcome, _seen)
        if run_manager.handlers:
            config: RunnableConfig = {"callbacks": run_manager.get_child()}
            try:
                await adispatch_custom_event(EVENT_NAME, outcome.report, config=config)
            except Exception as error:
                log.warning("the event %s was not sent: %s", EVENT_NAME, type(error).__name__)
        return response

    def _call(
        self,
        reader: Reader,
        k: int | None,
        kwargs: dict[str, Any],
        method: Literal["invoke", "ainvoke"],
    ) -> Call:
        if not reader.fits(self.retriever):  # a store can be exchanged under a running retriever
            reader = Reader(self.retriever, self.declared_kind)
        k = self.k if k is None else k
        return Call(self.retriever, reader, self.pool_size, k, kwargs, method)

    def _finish(
        self, outcome: Outcome[Document], seen: list[RecallResponse] | None
    ) -> list[Document]:
        """The annotated copies of the page; ``seen`` gets the whole response."""
        documents = []
        for document, entry in zip(outcome.items, outcome.entries, strict=True):
            documents.append(_annotated(document, self.metadata_key, entry))
        if seen is not None:
            seen.append(
                RecallResponse(
                    documents=documents,
                    confidence=outcome.confidence,
                    selection=outcome.selection,
                    pool=outcome.pool,
                    cosine_source=outcome.cosine_source,
                    rerank=outcome.rerank,
                )
            )
        return documents


def _child_of(config: RunnableConfig | None, callbacks: Any) -> RunnableConfig:
    """The configuration of a run inside ours; what the context holds is merged in there."""
    if config is None:
        return {"callbacks": callbacks}
    return patch_config(config, callbacks=callbacks)


def _annotated(document: Document, key: str, entry: dict[str, Any] | None) -> Document:
    """A copy with metadata of its own; a document that cannot be copied goes out as it is."""
    try:
        metadata = fresh_copy(document.metadata)
        if entry is not None:
            metadata[key] = entry
        copied = document.__copy__()
        vars(copied)["metadata"] = metadata  # what model_copy(update=) does, at half its cost
        copied.model_fields_set.add("metadata")
        return copied
    except Exception as error:
        log.warning("a document could not be copied: %s", type(error).__name__)
        return document


def _text_of(document: Document) -> str:
    return document.page_content


def _id_of(key: str | None, document: Document) -> str | None:
    return id_in(document.metadata, key, document.id)
