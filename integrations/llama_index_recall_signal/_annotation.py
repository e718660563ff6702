"""Settings, texts and copies as every part of this package has them."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeWithScore
from pydantic import ConfigDict, Field, InstanceOf

from llama_index_recall_signal._collect import is_collecting
from llama_index_recall_signal._events import DISPATCHER, dispatch_signal
from llama_index_recall_signal._listener import is_heard
from llama_index_recall_signal._nodes import annotated, content, encoded_text, id_of, prompt_text
from llama_index_recall_signal._response import RecallResponse
from recall_signal._flow.values import FlowSettings, Outcome
from recall_signal._wrapper.checked_settings import RESERVED_KEYS
from recall_signal._wrapper.learning import is_learning
from recall_signal._wrapper.settings import RetrieverSettings, SignalSettings

__all__ = [
    "NODE_KEYS",
    "RetrieverFields",
    "annotated_page",
    "flow_settings",
    "is_pool_read",
    "respond",
]

NODE_KEYS = frozenset({"_node_content", "_node_type", "document_id", "doc_id", "ref_doc_id"})
"""Metadata keys under which vector stores keep a node itself."""


class RetrieverFields(RetrieverSettings):
    """The settings of a `RecallRetriever`."""

    model_config = ConfigDict(frozen=True, title="RecallRetriever")

    reserved_keys: ClassVar[frozenset[str]] = RESERVED_KEYS | NODE_KEYS

    wrapped: ClassVar[tuple[type, str]] = (
        BaseRetriever,
        "a LlamaIndex BaseRetriever, such as index.as_retriever()",
    )

    retriever: BaseRetriever = Field(repr=False)
    embed_model: InstanceOf[BaseEmbedding] | None = Field(default=None, repr=False)


def flow_settings(settings: SignalSettings, *, encodes: bool) -> FlowSettings[NodeWithScore]:
    """Build the settings of the core's flow."""
    return settings.flow_settings(
        id_of=partial(id_of, settings.id_key),
        text_of=encoded_text,
        read_text_of=prompt_text,
        content_of=content,
        encodes=encodes,
    )


def is_pool_read(settings: FlowSettings[NodeWithScore]) -> bool:
    """Return whether anybody may read more of a candidate beyond the page than its score.

    A response and an event, which may be written to a log, have the whole pool.
    """
    return is_collecting() or is_heard(DISPATCHER) or settings.reads_pool


def annotated_page(outcome: Outcome[NodeWithScore]) -> list[NodeWithScore]:
    """Return the page of annotated copies."""
    key = outcome.settings.metadata_key
    pairs = zip(outcome.items, outcome.entries, strict=True)
    return [annotated(item, key, entry) for item, entry in pairs]


def respond(outcome: Outcome[NodeWithScore], nodes: list[NodeWithScore]) -> RecallResponse:
    """Make the response with these copies of its page, and send the event where it is heard.

    A search that learns is nobody's query: it has no event.
    """
    response = RecallResponse.of(outcome, nodes=nodes)
    if not is_learning() and is_heard(DISPATCHER):
        dispatch_signal(outcome, response.advice)
    return response
