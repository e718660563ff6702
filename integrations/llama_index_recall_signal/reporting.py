"""What the retriever and the postprocessor do alike: settings in, annotated nodes out."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeWithScore
from pydantic import ConfigDict

from llama_index_recall_signal.events import dispatch_signal
from llama_index_recall_signal.nodes import annotated, encoded_text, id_of, prompt_text
from llama_index_recall_signal.response import RecallResponse
from recall_signal.flow import FlowSettings, Outcome
from recall_signal.settings import RESERVED_KEYS, SignalFields, WrapperFields

__all__ = ["NODE_KEYS", "RetrieverFields", "flow_settings", "respond"]

NODE_KEYS = frozenset({"_node_content", "_node_type", "document_id", "doc_id", "ref_doc_id"})
"""Metadata keys under which vector stores keep a node itself."""


class RetrieverFields(WrapperFields):
    """The settings of a :class:`RecallRetriever`."""

    model_config = ConfigDict(frozen=True, title="RecallRetriever")

    reserved_keys: ClassVar[frozenset[str]] = RESERVED_KEYS | NODE_KEYS

    retriever: BaseRetriever
    embed_model: BaseEmbedding | None = None


def flow_settings(
    fields: SignalFields, embed_model: BaseEmbedding | None, embed_limit: int
) -> FlowSettings[NodeWithScore]:
    """What the core's flow has to know about a wrapper."""
    return fields.flow_settings(
        id_of=partial(id_of, fields.id_key),
        text_of=encoded_text,
        read_text_of=prompt_text,
        encodes=embed_model is not None,
        embed_limit=embed_limit,
    )


def respond(outcome: Outcome[NodeWithScore]) -> RecallResponse:
    """The response with its page of annotated copies; the event is sent."""
    rerank, key = outcome.rerank, outcome.settings.metadata_key
    dispatch_signal(outcome.confidence, outcome.selection, outcome.cosine_source, rerank)
    pairs = zip(outcome.items, outcome.entries, strict=True)
    return RecallResponse(
        nodes=[annotated(item, key, entry) for item, entry in pairs],
        confidence=outcome.confidence,
        selection=outcome.selection,
        pool=outcome.pool,
        cosine_source=outcome.cosine_source,
        rerank=rerank,
    )
