"""`RecallPostprocessor`: the signal for pipelines where only nodes are at hand."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from pydantic import ConfigDict, Field, InstanceOf, PrivateAttr

from llama_index_recall_signal._annotation import (
    NODE_KEYS,
    annotated_page,
    flow_settings,
    respond,
)
from llama_index_recall_signal._backend import AsyncLlamaIndexBackend, LlamaIndexBackend
from llama_index_recall_signal._collect import publish
from llama_index_recall_signal._encoders import encoder_name, identity_of
from llama_index_recall_signal._nodes import scored_under
from llama_index_recall_signal._reader import Reader
from recall_signal._flow.backend import Flow
from recall_signal._flow.embedding import EmbeddingCache
from recall_signal._flow.flow import recall_flow, run_flow, run_flow_async
from recall_signal._flow.values import Candidates, FlowSettings, Outcome, SearchFlow
from recall_signal._steps.driver import contained_steps
from recall_signal._steps.failures import original
from recall_signal._steps.timeouts import Workers
from recall_signal._wrapper.checked_settings import RESERVED_KEYS
from recall_signal._wrapper.settings import SignalSettings

__all__ = ["RecallPostprocessor"]

log = logging.getLogger(__name__)


class RecallPostprocessor(SignalSettings, BaseNodePostprocessor):
    """Attaches the signal to nodes that some retriever brought; runs on an empty list too.

    It sees no store, so `score_kind="auto"` finds cosines only in embeddings that nodes carry
    and by `embed_model`, and the pool is the list it is given. With `score_key` the number is that
    in the metadata. Where the retriever can be wrapped, `RecallRetriever` knows more. Put it
    before anything that replaces the scores or drops nodes. Its settings are fixed: make another
    one for other ones.

    Where no query is handed on, the scores and vectors of the nodes are judged without its words,
    and nothing is embedded.

    Attributes:
        embed_model: As in `RecallRetriever`.

    Raises:
        ConfigurationError: A setting is wrong. At construction, or where it is set later on.
    """

    model_config = ConfigDict(title="RecallPostprocessor")

    reserved_keys: ClassVar[frozenset[str]] = RESERVED_KEYS | NODE_KEYS

    embed_model: InstanceOf[BaseEmbedding] | None = Field(default=None, exclude=True, repr=False)

    _settings: FlowSettings[NodeWithScore] = PrivateAttr()
    _identity: str | None = PrivateAttr()
    _workers: Workers = PrivateAttr(default_factory=Workers)
    _has_warned: bool = PrivateAttr(default=False)

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._compile()

    def model_copy(self, *, update: Mapping[str, object] | None = None, deep: bool = False) -> Self:
        """Return a copy with other settings, which are checked."""
        copied = super().model_copy(update=update, deep=deep)
        copied._compile()
        return copied

    def __setattr__(self, name: str, value: object) -> None:
        # LlamaIndex itself sets the callback manager, and nothing is compiled from that.
        if name in type(self).model_fields and name != "callback_manager":
            raise self.configuration_error(
                f"{name} is fixed once it is made; make another one: "
                f"postprocessor.model_copy(update={{{name!r}: ...}})"
            )
        super().__setattr__(name, value)

    def _compile(self) -> None:
        self._identity = identity_of(self.embed_model)
        self.check_encoder(encoder_name(self.embed_model))
        self._settings = flow_settings(self, encodes=self.embed_model is not None)

    @classmethod
    def class_name(cls) -> str:
        """Return the component's name."""
        return "RecallPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        backend = LlamaIndexBackend(*self._query(query_bundle), self._workers)
        return self._finish(run_flow(self._flow(nodes, query_bundle), backend))

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        backend = AsyncLlamaIndexBackend(*self._query(query_bundle), self._workers)
        return self._finish(await run_flow_async(self._flow(nodes, query_bundle), backend))

    def _query(self, bundle: QueryBundle | None) -> tuple[QueryBundle, BaseEmbedding | None]:
        """Return the query and its encoder; without a query there is nothing to embed."""
        return (QueryBundle(""), None) if bundle is None else (bundle, self.embed_model)

    def _flow(
        self, nodes: list[NodeWithScore], bundle: QueryBundle | None
    ) -> Flow[Outcome[NodeWithScore]]:
        query, encoder = self._query(bundle)
        self._forget_other_vectors()
        steps = self._read(Reader(query, self.declared_kind, encoder), nodes)
        return recall_flow(None if bundle is None else bundle.query_str, self._settings, steps)

    def _forget_other_vectors(self) -> None:
        """Begin another cache where the encoder says that another model embeds now."""
        identity = identity_of(self.embed_model)
        if identity != self._identity:
            self._settings = replace(self._settings, cache=EmbeddingCache())
            self._identity = identity

    def _read(self, reader: Reader, nodes: list[NodeWithScore]) -> SearchFlow[NodeWithScore]:
        """Return the nodes with what is known of them; where reading it fails, the nodes alone."""
        page, key = range(len(nodes)), self.score_key

        def read() -> SearchFlow[NodeWithScore]:
            scored = None if key is None else scored_under(key, nodes)
            return (yield from reader.read_query(nodes, page, scored))

        try:
            return (yield from contained_steps(read()))
        except Exception as error:
            log.warning("reading the nodes failed: %s", type(original(error)).__name__)
            return Candidates(nodes, page, reason="adapter_failed")

    def _finish(self, outcome: Outcome[NodeWithScore]) -> list[NodeWithScore]:
        if outcome.confidence.reason == "store_not_recognised" and not self._has_warned:
            self._has_warned = True
            log.warning(
                "a RecallPostprocessor sees no store, so it does not know what the nodes' scores "
                "are: pass score_kind=, or embed_model= to have the texts embedded again"
            )
        response = respond(outcome, annotated_page(outcome))
        publish([response])
        outcome.settings.calibration.observe(outcome, is_plain=True, is_async=False)
        return response.nodes
