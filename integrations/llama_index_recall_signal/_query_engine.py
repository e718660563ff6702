"""`RecallQueryEngine`: the signal in the metadata of a response."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.response.schema import RESPONSE_TYPE
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import BaseSynthesizer
from llama_index.core.schema import NodeWithScore, QueryBundle

from llama_index_recall_signal._annotation import RetrieverFields
from llama_index_recall_signal._collect import (
    NO_OPTIONS,
    call_options,
    collect_responses,
    parse_options,
    publish,
)
from llama_index_recall_signal._engine_options import OptionsQueryEngine
from llama_index_recall_signal._found import Found, afind, asaying, find, saying, with_report
from llama_index_recall_signal._internals import is_streaming
from llama_index_recall_signal._response import RecallResponse
from llama_index_recall_signal._retriever import RecallRetriever
from llama_index_recall_signal._selector_postprocessor import PROMPT_KEY
from llama_index_recall_signal._steps import said_text
from llama_index_recall_signal._two_steps import answers_in_two_steps, own_way
from recall_signal import ConfigurationError, SelectionReport
from recall_signal.agents._absent import REFUSAL, OnAbsent, answer_elsewhere
from recall_signal.selection import collect_selections

__all__ = ["RecallQueryEngine"]


class RecallQueryEngine(OptionsQueryEngine):
    """A query engine whose responses carry the signal, also where nothing was retrieved.

    `response.metadata["recall"]` holds both reports, beside what the engine itself put there,
    for plain, structured, streaming and empty responses. Where one question made several
    retrievals (sub-questions, a router, a retry), the strongest level is reported; where it
    made none that we saw, the level is `unknown`.

    Chat engines: `CondenseQuestionChatEngine` answers through this engine; the reports are in
    `response.sources[0].raw_output.metadata`, since the framework drops a response's metadata.
    It switches streaming on and off for its own `RetrieverQueryEngine` only: for
    `stream_chat` build the engine here with a streaming synthesizer. `ContextChatEngine` and
    `CondensePlusContextChatEngine` take a retriever instead of an engine: give them a
    `RecallRetriever`, whose reports are on `response.source_nodes`, and for an empty
    page only in the event.

    Args:
        query_engine: The engine to wrap. Where it is a `RetrieverQueryEngine` (what
            `index.as_query_engine()` gives) around a bare retriever, the signal is put around
            that retriever, in a copy. Any other engine needs a `RecallRetriever` or a
            `RecallPostprocessor` inside. A retriever may stand here as well.
        response_synthesizer: With a retriever: what answers.
        retriever: The retriever to build an engine from, instead of an engine.
        node_postprocessors: With a retriever: what nodes go through before the answer.
        metadata_key: Where the reports are; None takes the retriever's own key.
        on_absent: After a search whose advice is `fallback`: `"answer"` lets the engine answer,
            `"refuse"` answers with `refusal`, and a function from the question and the
            `RecallResponse` gives the answer itself, synchronously or not. In the last two cases
            no model is called, and an answer has to be one retrieval and one synthesis, as
            that of `index.as_query_engine()` is.
        refusal: Text of a refusal.
        **settings: Settings of the `RecallRetriever` that is put around a bare retriever.

    Raises:
        ConfigurationError: Settings that are wrong or do not go together.
    """

    def __init__(
        self,
        query_engine: BaseQueryEngine | BaseRetriever | None = None,
        response_synthesizer: BaseSynthesizer | None = None,
        *,
        retriever: BaseRetriever | None = None,
        node_postprocessors: Sequence[BaseNodePostprocessor] | None = None,
        metadata_key: str | None = None,
        on_absent: OnAbsent = "answer",
        refusal: str = REFUSAL,
        **settings: Any,
    ) -> None:
        if isinstance(query_engine, BaseRetriever) and retriever is None:
            query_engine, retriever = None, query_engine
        if metadata_key is not None:
            settings["metadata_key"] = metadata_key
        if retriever is not None and query_engine is None:
            self._engine: BaseQueryEngine = RetrieverQueryEngine(
                _recalling(retriever, settings),
                response_synthesizer,
                [*(node_postprocessors or ())],
            )
        elif retriever is None and isinstance(query_engine, BaseQueryEngine):
            if response_synthesizer is not None or node_postprocessors is not None:
                raise _wrong("response_synthesizer and node_postprocessors go with a retriever")
            self._engine = _with_signal(query_engine, settings)
        else:
            given = "both" if query_engine and retriever else type(query_engine).__name__
            raise _wrong(f"expected either a query engine or a retriever, got {given}")
        self.metadata_key = metadata_key or _key_of(self._engine)
        self._elsewhere = answer_elsewhere(on_absent, refusal)
        if self._elsewhere is not None and not answers_in_two_steps(self._engine):
            way = own_way(self._engine, "a RecallQueryEngine with on_absent=")
            raise _wrong(f"on_absent={on_absent!r:.40} {way}")
        super().__init__(callback_manager=self._engine.callback_manager)

    @classmethod
    def from_args(cls, retriever: BaseRetriever, **arguments: Any) -> RecallQueryEngine:
        """Like `RetrieverQueryEngine.from_args`, with the settings of a wrapper among them.

        Args:
            retriever: Any retriever, wrapped or not.
            **arguments: `llm`, `response_mode`, `streaming` and so on; `pool_size`,
                `embed_model` and so on; `on_absent` and `refusal`.
        """
        own = {name: arguments.pop(name) for name in _OWN_SETTINGS & arguments.keys()}
        settings = {name: arguments.pop(name) for name in _SETTINGS & arguments.keys()}
        recalling = _recalling(retriever, settings)
        return cls(
            RetrieverQueryEngine.from_args(recalling, **arguments),
            metadata_key=settings.get("metadata_key"),
            **own,
        )

    @property
    def query_engine(self) -> BaseQueryEngine:
        """The engine that answers."""
        return self._engine

    def retrieve(self, query_bundle: QueryBundle, **options: Any) -> list[NodeWithScore]:
        """Return the nodes that the engine would answer from; options as in `query`."""
        with call_options(parse_options(options)):
            return self._engine.retrieve(query_bundle)

    async def aretrieve(self, query_bundle: QueryBundle, **options: Any) -> list[NodeWithScore]:
        """`retrieve`, asynchronously; in a thread where the engine has no such way."""
        aretrieve = getattr(self._engine, "aretrieve", None)
        with call_options(parse_options(options)):
            if aretrieve is None:
                return await asyncio.to_thread(self._engine.retrieve, query_bundle)
            nodes: list[NodeWithScore] = await aretrieve(query_bundle)
        return nodes

    def synthesize(
        self,
        query_bundle: QueryBundle,
        nodes: list[NodeWithScore],
        additional_source_nodes: Sequence[NodeWithScore] | None = None,
    ) -> RESPONSE_TYPE:
        """Return the engine's own answer from these nodes: nothing is retrieved here."""
        return self._engine.synthesize(query_bundle, nodes, additional_source_nodes)

    async def asynthesize(
        self,
        query_bundle: QueryBundle,
        nodes: list[NodeWithScore],
        additional_source_nodes: Sequence[NodeWithScore] | None = None,
    ) -> RESPONSE_TYPE:
        """`synthesize`, asynchronously."""
        return await self._engine.asynthesize(query_bundle, nodes, additional_source_nodes)

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        elsewhere = self._elsewhere
        if elsewhere is None:
            with collect_responses() as responses, collect_selections() as selections:
                response = self._engine.query(query_bundle)
            publish(responses)
            return self._reported(response, self._found(response, responses, selections))
        found = find(self, query_bundle)
        with call_options(NO_OPTIONS):  # those of the call were for its search
            if found.is_absent:
                text = said_text(elsewhere.call(query_bundle.query_str, found.response))
                response = saying(text, streaming=is_streaming(self._engine))
            else:
                response = self._engine.synthesize(query_bundle, found.nodes)
        return self._reported(response, found)

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        elsewhere = self._elsewhere
        if elsewhere is None:
            with collect_responses() as responses, collect_selections() as selections:
                response = await self._engine.aquery(query_bundle)
            publish(responses)
            return self._reported(response, self._found(response, responses, selections))
        found = await afind(self, query_bundle)
        with call_options(NO_OPTIONS):
            if found.is_absent:
                text = said_text(await elsewhere.acall(query_bundle.query_str, found.response))
                response = asaying(text, streaming=is_streaming(self._engine))
            else:
                response = await self._engine.asynthesize(query_bundle, found.nodes)
        return self._reported(response, found)

    def _found(
        self,
        response: RESPONSE_TYPE,
        responses: Sequence[RecallResponse],
        selections: Sequence[SelectionReport],
    ) -> Found:
        is_page = answers_in_two_steps(self._engine)
        return Found.of(response.source_nodes, responses, selections, is_page=is_page)

    def _reported(self, response: RESPONSE_TYPE, found: Found) -> RESPONSE_TYPE:
        return with_report(response, self.metadata_key, found.report())

    def _get_prompts(self) -> PromptDictType:
        return {**self._engine._get_prompts(), **self._selection_prompt()}

    def _get_prompt_modules(self) -> PromptMixinType:
        return self._engine._get_prompt_modules()

    def _update_prompts(self, prompts: PromptDictType) -> None:
        self._engine._update_prompts(prompts)
        retriever = getattr(self._engine, "retriever", None)
        if isinstance(retriever, RecallRetriever) and PROMPT_KEY in prompts:
            retriever.update_prompts({PROMPT_KEY: prompts[PROMPT_KEY]})

    def _selection_prompt(self) -> PromptDictType:
        """Return the selector's prompt, which the engine's own list of prompts leaves out."""
        retriever = getattr(self._engine, "retriever", None)
        prompts = retriever.get_prompts() if isinstance(retriever, RecallRetriever) else {}
        return {PROMPT_KEY: prompts[PROMPT_KEY]} if PROMPT_KEY in prompts else {}


_OWN_SETTINGS = {"on_absent", "refusal"}

_SETTINGS = RetrieverFields.model_fields.keys() - {"retriever"}


def _recalling(retriever: BaseRetriever, settings: dict[str, Any]) -> RecallRetriever:
    """Return the retriever with the signal around it."""
    unknown_names = sorted(settings.keys() - _SETTINGS)
    if unknown_names:
        hint = "; a model answers in response_synthesizer=" if "llm" in unknown_names else ""
        raise _wrong(f"there is no setting {', '.join(unknown_names)}{hint}")
    if not isinstance(retriever, RecallRetriever):
        return RecallRetriever(retriever, **settings)
    if settings.keys() - {"metadata_key"}:
        raise _wrong(
            f"{', '.join(sorted(settings))} belong to the RecallRetriever, and one was given: "
            "set them there"
        )
    return retriever


def _with_signal(engine: BaseQueryEngine, settings: dict[str, Any]) -> BaseQueryEngine:
    """Return the engine with the signal around its retriever, where it lets that be replaced."""
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
