"""The settings of a wrapper around a LangChain retriever, and what every call shares of them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import Runnable
from langchain_core.vectorstores import VectorStoreRetriever
from pydantic import ConfigDict, Field

from langchain_recall_signal._backend import LangChainRuntime
from langchain_recall_signal._documents import id_of, text_of
from langchain_recall_signal._encoders import encoder_name
from langchain_recall_signal._introspection import encoder_of, page_size, searched, unwrap
from langchain_recall_signal._reader import Reader
from langchain_recall_signal._reranker import as_reranker
from langchain_recall_signal._selector import RunnableSelector
from recall_signal._wrapper.model_calls import missing_model
from recall_signal._wrapper.settings import RetrieverSettings

__all__ = ["LangChainSettings", "compile_runtime"]


class LangChainSettings(RetrieverSettings):
    """The settings of a `RecallRetriever`."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", frozen=True)

    wrapped: ClassVar[tuple[type, str]] = (
        Runnable,
        "a Runnable that returns documents, such as store.as_retriever() or "
        "RunnableLambda(function)",
    )

    retriever: Runnable[Any, Any]
    embeddings: Embeddings | None = Field(default=None, repr=False)


def compile_runtime(
    settings: LangChainSettings, trace: LangSmithRetrieverParams
) -> LangChainRuntime:
    """Check the settings against each other and work out what every call shares.

    Args:
        settings: The wrapper's.
        trace: LangSmith parameters of the wrapper itself.

    Raises:
        ConfigurationError: They do not fit each other, or the retriever.
        CalibrationError: The calibration was fitted with another encoder.
    """
    retriever, kind = settings.retriever, settings.declared_kind
    settings.check_page(page_size(retriever, settings.k))
    settings.check_rerank()
    reader = Reader(retriever, kind, settings.pool_size, settings.k, settings.score_key)
    if kind and kind.convertible and not settings.embeddings and not reader.gives_cosines:
        raise settings.configuration_error(
            f"score_kind={str(kind)!r} needs scores, and {type(retriever).__name__} "
            "gives documents without any; pass embeddings= to compute the cosines, or "
            "score_key= where the documents' metadata holds the score"
        )
    store, identity = searched(retriever, settings.embeddings)
    encoder = encoder_name(encoder_of(retriever, settings.embeddings))
    own_encoder = encoder_name(settings.embeddings)
    dimension = None if reader.adapter is None else reader.adapter.dimension(store)
    settings.check_encoder(encoder, own_encoder, dimension)
    flow = settings.flow_settings(
        id_of=partial(id_of, settings.id_key),
        text_of=text_of,
        read_text_of=text_of,
        content_of=text_of,
        encodes=settings.embeddings is not None,
        embed_limit=settings.pool_size,
    )
    inner, traced = unwrap(retriever), None
    if type(inner) is VectorStoreRetriever:  # names classes, the same ones in each call
        trace = {**inner._get_ls_params(), **trace}
    elif isinstance(inner, BaseRetriever):
        traced = inner
    name = type(inner if store is None else store).__name__
    reranking = settings.reranking
    return LangChainRuntime(
        values=tuple(vars(settings).values()),
        store=store,
        encoder=encoder,
        identity=identity,
        flow=replace(flow, retriever=name, encoder=encoder, own_encoder=own_encoder),
        reranking=reranking,
        selection=settings.selection,
        reader=reader,
        embeddings=settings.embeddings,
        selector=(
            missing_model("selector")
            if settings.selector is None
            else RunnableSelector(settings.selector).model
        ),
        reranker=(
            missing_model("reranker") if reranking is None else as_reranker(reranking.options.model)
        ),
        trace=trace,
        traced=traced,
    )
