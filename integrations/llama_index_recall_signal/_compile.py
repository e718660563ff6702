"""Compile the settings of a wrapper into what its calls share."""

from __future__ import annotations

from dataclasses import replace

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.retrievers import VectorIndexRetriever

from llama_index_recall_signal._annotation import RetrieverFields, flow_settings
from llama_index_recall_signal._backend import LlamaIndexRuntime
from llama_index_recall_signal._encoders import encoder_name, identity_of
from llama_index_recall_signal._internals import vector_search
from llama_index_recall_signal._reader import StoreChecks
from llama_index_recall_signal._reranker import as_reranker
from llama_index_recall_signal._selector import as_selector
from llama_index_recall_signal.stores import find_adapter
from recall_signal._wrapper.model_calls import missing_model
from recall_signal._wrapper.runtime import Identity

__all__ = ["compile_runtime", "encoder_of", "searched"]


def encoder_of(fields: RetrieverFields, arm: VectorIndexRetriever | None) -> BaseEmbedding | None:
    """Return what embeds the queries: the encoder of its first arm, else the wrapper's own."""
    search = None if arm is None else vector_search(arm)
    return fields.embed_model if search is None else search.encoder


def searched(fields: RetrieverFields, arm: VectorIndexRetriever | None) -> tuple[object, Identity]:
    """Return the store that is searched and what its encoders say; all may be exchanged."""
    search, own = None if arm is None else vector_search(arm), identity_of(fields.embed_model)
    if search is None:
        return None, (None, own)
    return search.store, (identity_of(search.encoder), own)


def compile_runtime(fields: RetrieverFields, arm: VectorIndexRetriever | None) -> LlamaIndexRuntime:
    """Check the settings against each other and work out what every call shares.

    Args:
        fields: The wrapper's settings.
        arm: The first retriever inside that searches a vector store; None where there is none.

    Raises:
        ConfigurationError: They do not fit each other, or the retriever.
        CalibrationError: The calibration was fitted with another encoder.
    """
    search = vector_search(fields.retriever)
    fields.check_page(fields.k or (None if search is None else search.top_k))
    fields.check_rerank()
    store, identity = searched(fields, arm)
    encoder = encoder_name(encoder_of(fields, arm))
    own_encoder = encoder_name(fields.embed_model)
    adapter = find_adapter(store)
    dimension = None if adapter is None else adapter.dimension(store)
    fields.check_encoder(encoder, own_encoder, dimension)
    flow = replace(
        flow_settings(fields, encodes=fields.embed_model is not None),
        embed_limit=fields.pool_size,
        retriever=type(fields.retriever if store is None else store).__name__,
        encoder=encoder,
        own_encoder=own_encoder,
    )
    reranking = fields.reranking
    return LlamaIndexRuntime(
        values=tuple(vars(fields).values()),
        store=store,
        encoder=encoder,
        identity=identity,
        flow=flow,
        reranking=reranking,
        selection=fields.selection,
        memory=StoreChecks(),
        selector=(
            missing_model("selector") if fields.selector is None else as_selector(fields.selector)
        ),
        reranker=(
            missing_model("reranker") if reranking is None else as_reranker(reranking.options.model)
        ),
    )
