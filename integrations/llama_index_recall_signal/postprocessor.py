"""``RecallPostprocessor``: the signal for pipelines where only nodes are at hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from pydantic import ConfigDict, Field, PrivateAttr

from llama_index_recall_signal.call import Reader
from llama_index_recall_signal.drivers import Driver
from llama_index_recall_signal.encoders import encoder_name
from llama_index_recall_signal.reporting import NODE_KEYS, flow_settings, respond
from llama_index_recall_signal.watch import tell
from recall_signal.flow import FlowSettings, Outcome
from recall_signal.pool import DEFAULT_POOL_SIZE
from recall_signal.settings import RESERVED_KEYS, SignalFields

__all__ = ["RecallPostprocessor"]


class RecallPostprocessor(SignalFields, BaseNodePostprocessor):
    """Attaches the signal to nodes that some retriever brought; runs on an empty list too.

    It sees no store, so ``score_kind="auto"`` finds cosines only in embeddings that nodes carry
    and by ``embed_model``, and the pool is the list it is given. Where the retriever can be
    wrapped, :class:`RecallRetriever` knows more. Put it before anything that replaces the
    scores or drops nodes. Its settings are fixed: make another one for other ones.

    Attributes:
        embed_model: As in :class:`RecallRetriever`. Not used where no query is handed on.
        score_kind: What ``NodeWithScore.score`` is.
        thresholds: As in :class:`RecallRetriever`, like the rest.

    Raises:
        ConfigurationError: A setting is wrong. At construction, or where it is set later on.
    """

    model_config = ConfigDict(title="RecallPostprocessor")

    reserved_keys: ClassVar[frozenset[str]] = RESERVED_KEYS | NODE_KEYS

    embed_model: BaseEmbedding | None = Field(default=None, exclude=True)

    _settings: FlowSettings[NodeWithScore] = PrivateAttr()

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._prepare()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy, with what is worked out from the settings worked out anew."""
        copied = super().model_copy(update=update, deep=deep)
        copied._prepare()
        return copied

    def __setattr__(self, name: str, value: Any) -> None:
        # LlamaIndex itself sets the callback manager, and nothing is worked out from that.
        if name in type(self).model_fields and name != "callback_manager":
            raise self._wrong(
                f"{name} is fixed once it is made; make another one: "
                f"postprocessor.model_copy(update={{{name!r}: ...}})"
            )
        super().__setattr__(name, value)

    def _prepare(self) -> None:
        """Make what every call shares."""
        self.check_encoder(encoder_name(self.embed_model))
        self._settings = flow_settings(self, self.embed_model, DEFAULT_POOL_SIZE)

    @classmethod
    def class_name(cls) -> str:
        """The component's name."""
        return "RecallPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self._finish(self._driver(nodes, query_bundle).run())

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self._finish(await self._driver(nodes, query_bundle).arun())

    def _driver(self, nodes: list[NodeWithScore], bundle: QueryBundle | None) -> Driver:
        settings, encoder = self._settings, self.embed_model
        if bundle is None:
            bundle, encoder, settings = QueryBundle(""), None, replace(settings, cache=None)
        reader = Reader(bundle, self.declared_kind, encoder)
        steps = reader.candidates(nodes, range(len(nodes)))
        return Driver(bundle, settings, steps, encoder)

    def _finish(self, outcome: Outcome[NodeWithScore]) -> list[NodeWithScore]:
        response = respond(outcome)
        tell([response])
        return response.nodes
