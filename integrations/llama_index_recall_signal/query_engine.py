"""``RecallQueryEngine``: the signal in the metadata of a response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.response.schema import RESPONSE_TYPE
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import BaseSynthesizer
from llama_index.core.schema import NodeWithScore, QueryBundle

from llama_index_recall_signal.reporting import RetrieverFields
from llama_index_recall_signal.response import RecallResponse
from llama_index_recall_signal.retriever import RecallRetriever
from llama_index_recall_signal.watch import tell, watching
from recall_signal import ConfigurationError
from recall_signal.confidence import unknown
from recall_signal.reports import NOT_CONFIGURED, report_dict
from recall_signal.signals import strongest

__all__ = ["RecallQueryEngine"]


class RecallQueryEngine(BaseQueryEngine):
    """A query engine whose responses carry the signal, also where nothing was retrieved.

    ``response.metadata["recall"]`` holds both reports, beside what the engine itself put there,
    for plain, structured, streaming and empty responses. Where one question made several
    retrievals (sub-questions, a router, a retry), the strongest level is reported; where it
    made none that we saw, the level is ``unknown``.

    Chat engines: ``CondenseQuestionChatEngine`` answers through this engine; the reports are in
    ``response.sources[0].raw_output.metadata``, since the framework drops a response's metadata.
    It switches streaming on and off for its own ``RetrieverQueryEngine`` only: for
    ``stream_chat`` build the engine here with a streaming synthesizer. ``ContextChatEngine`` and
    ``CondensePlusContextChatEngine`` take a retriever instead of an engine: give them a
    :class:`RecallRetriever`, whose reports are on ``response.source_nodes``, and for an empty
    page only in the event.

    Args:
        query_engine: The engine to wrap. Where it is a ``RetrieverQueryEngine`` (what
            ``index.as_query_engine()`` gives) around a bare retriever, the signal is put around
            that retriever, in a copy. Any other engine needs a :class:`RecallRetriever` or a
            :class:`RecallPostprocessor` inside. A retriever may stand here as well.
        response_synthesizer: With a retriever: what answers.
        retriever: The retriever to build an engine from, instead of an engine.
        node_postprocessors: With a retriever: what nodes go through before the answer.
        metadata_key: Where the reports are; None takes the retriever's own key.
        **settings: Settings of the :class:`RecallRetriever` that is put around a bare retriever.

    Raises:
        ConfigurationError: Settings that are wrong or do not go together.
    """

    def __init__(
        self,
        query_engine: BaseQueryEngine | BaseRetriever | None = None,
        response_synthesizer: BaseSynthesizer | None = None,
        *,
        retriever: BaseRetriever | None = None,
        node_postprocessors: list[BaseNodePostprocessor] | None = None,
        metadata_key: str | None = None,
        **settings: Any,
    ) -> None:
        if isinstance(query_engine, BaseRetriever) and retriever is None:
            query_engine, retriever = None, query_engine
        if metadata_key is not None:
            settings["metadata_key"] = metadata_key
        if retriever is not None and query_engine is None:
            self._engine: BaseQueryEngine = RetrieverQueryEngine(
                _recalling(retriever, settings), response_synthesizer, node_postprocessors
            )
        elif retriever is None and isinstance(query_engine, BaseQueryEngine):
            if response_synthesizer is not None or node_postprocessors is not None:
                raise _wrong("response_synthesizer and node_postprocessors go with a retriever")
            self._engine = _with_signal(query_engine, settings)
        else:
            given = "both" if query_engine and retriever else type(query_engine).__name__
            raise _wrong(f"expected either a query engine or a retriever, got {given}")
        self._key = metadata_key or _key_of(self._engine)
        super().__init__(callback_manager=self._engine.callback_manager)

    @classmethod
    def from_args(cls, retriever: BaseRetriever, **arguments: Any) -> RecallQueryEngine:
        """Like ``RetrieverQueryEngine.from_args``, with the settings of a wrapper among them.

        Args:
            retriever: Any retriever, wrapped or not.
            **arguments: ``llm``, ``response_mode``, ``streaming`` and so on;
                ``pool_size``, ``embed_model`` and so on.
        """
        settings = {name: arguments.pop(name) for name in _SETTINGS & arguments.keys()}
        recalling = _recalling(retriever, settings)
        return cls(
            RetrieverQueryEngine.from_args(recalling, **arguments),
            metadata_key=settings.get("metadata_key"),
        )

    @property
    def query_engine(self) -> BaseQueryEngine:
        """The engine that answers."""
        return self._engine

    def retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """The nodes that the engine would answer from."""
        return self._engine.retrieve(query_bundle)

    async def aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """:meth:`retrieve`, asynchronously, where the engine can."""
        engine: Any = self._engine
        nodes: list[NodeWithScore] = await engine.aretrieve(query_bundle)
        return nodes

    def synthesize(
        self,
        query_bundle: QueryBundle,
        nodes: list[NodeWithScore],
        additional_source_nodes: Sequence[NodeWithScore] | None = None,
    ) -> RESPONSE_TYPE:
        """The engine's own answer from these nodes: nothing is retrieved here."""
        return self._engine.synthesize(query_bundle, nodes, additional_source_nodes)

    async def asynthesize(
        self,
        query_bundle: QueryBundle,
        nodes: list[NodeWithScore],
        additional_source_nodes: Sequence[NodeWithScore] | None = None,
    ) -> RESPONSE_TYPE:
        """:meth:`synthesize`, asynchronously."""
        return await self._engine.asynthesize(query_bundle, nodes, additional_source_nodes)

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        with watching() as told:
            response = self._engine.query(query_bundle)
        return self._reported(response, told)

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        with watching() as told:
            response = await self._engine.aquery(query_bundle)
        return self._reported(response, told)

    def _reported(self, response: RESPONSE_TYPE, told: list[RecallResponse]) -> RESPONSE_TYPE:
        """The response with the reports, as a copy: an engine may hand out a shared one."""
        tell(told)
        best = strongest(told)
        if best is None:
            confidence = unknown("no_score_access", len(response.source_nodes))
            report = report_dict(confidence, NOT_CONFIGURED, None)
        else:
            report = best.to_dict()
        report = {**report, **_selected_later(response.source_nodes, self._key, report)}
        return replace(response, metadata={**(response.metadata or {}), self._key: report})

    def _get_prompts(self) -> PromptDictType:
        return self._engine._get_prompts()

    def _get_prompt_modules(self) -> PromptMixinType:
        return self._engine._get_prompt_modules()

    def _update_prompts(self, prompts: PromptDictType) -> None:
        self._engine._update_prompts(prompts)


def _selected_later(
    nodes: Sequence[NodeWithScore], key: str, report: dict[str, Any]
) -> dict[str, Any]:
    """The selection that a postprocessor made after the retriever had reported."""
    entry = nodes[0].node.metadata.get(key) if nodes else None
    selection = entry.get("selection") if isinstance(entry, dict) else None
    if not isinstance(selection, dict) or selection == report["selection"]:
        return {}
    return {"selection": selection}


_SETTINGS = RetrieverFields.model_fields.keys() - {"retriever"}


def _recalling(retriever: BaseRetriever, settings: dict[str, Any]) -> RecallRetriever:
    """The retriever with the signal around it."""
    unknown_names = sorted(settings.keys() - _SETTINGS)
    if unknown_names:
        raise _wrong(f"there is no setting {', '.join(unknown_names)}")
    if not isinstance(retriever, RecallRetriever):
        return RecallRetriever(retriever, **settings)
    if settings.keys() - {"metadata_key"}:
        raise _wrong(
            f"{', '.join(sorted(settings))} belong to the RecallRetriever, and one was given: "
            "set them there"
        )
    return retriever


def _with_signal(engine: BaseQueryEngine, settings: dict[str, Any]) -> BaseQueryEngine:
    """The engine with the signal around its retriever, where it lets that be replaced."""
    if type(engine) is RetrieverQueryEngine:
        recalling = _recalling(engine.retriever, settings)
        return engine if recalling is engine.retriever else engine.with_retriever(recalling)
    if settings.keys() - {"metadata_key"}:
        raise _wrong(
            f"{', '.join(sorted(settings))} belong to a RecallRetriever, and the retriever of "
            f"{type(engine).__name__} cannot be replaced: build that engine on a RecallRetriever"
        )
    return engine


def _key_of(engine: BaseQueryEngine) -> str:
    retriever = getattr(engine, "retriever", None)
    return retriever.settings.metadata_key if isinstance(retriever, RecallRetriever) else "recall"


def _wrong(message: str) -> ConfigurationError:
    return ConfigurationError(f"RecallQueryEngine: {message}")
