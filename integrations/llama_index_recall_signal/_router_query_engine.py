"""`RecallRouterQueryEngine`: another engine answers where the signal says so."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Literal, get_args

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import RESPONSE_TYPE
from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
from llama_index.core.schema import QueryBundle

from llama_index_recall_signal._collect import NO_OPTIONS, call_options
from llama_index_recall_signal._engine_options import OptionsQueryEngine
from llama_index_recall_signal._found import afind, find, with_report
from llama_index_recall_signal._query_engine import RecallQueryEngine
from llama_index_recall_signal._two_steps import answers_in_two_steps, answers_like, own_way
from recall_signal import Advice, ConfigurationError
from recall_signal.report_parsing import advice_in

__all__ = ["OnUnknown", "RecallRouterQueryEngine", "Route"]

log = logging.getLogger(__name__)

Route = Literal["answer", "fallback"]
OnUnknown = Literal["answer", "fallback"]

_ROUTES: dict[Advice, Route] = {"read": "answer", "fallback": "fallback"}


class RecallRouterQueryEngine(OptionsQueryEngine):
    """Answers from the stored nodes, or lets another engine answer after `none` or `low`.

    One search is made. Where its nodes are worth reading, the engine answers from them; otherwise
    no model reads them, and the fallback gets the question. `response.metadata["recall"]` holds
    the reports of that search, with the `route` taken ("answer" or "fallback"); the fallback's
    own report, if any, is under `fallback`. Where the fallback raises, the engine answers from
    the stored nodes, and `fallback_error` names the error's class. The options of a call (`k`,
    `use_rerank`, `select`) hold for the search alone.

    Args:
        query_engine: The engine to wrap: a `RecallQueryEngine`, or an engine that can be
            wrapped in one and whose answer is one retrieval and one synthesis, such as
            `index.as_query_engine()`.
        fallback: Any engine, such as one that searches the web.
        on_unknown: Route after a search whose match could not be measured.

    Raises:
        ConfigurationError: An engine is not one or answers in a way of its own, or a setting is
            wrong.
    """

    def __init__(
        self,
        query_engine: BaseQueryEngine,
        fallback: BaseQueryEngine,
        *,
        on_unknown: OnUnknown = "answer",
    ) -> None:
        if not isinstance(query_engine, BaseQueryEngine):
            raise _wrong(
                f"query_engine must be a query engine, got {type(query_engine).__name__}; put a "
                "retriever into one first: RecallQueryEngine(retriever=retriever)"
            )
        if not isinstance(fallback, BaseQueryEngine):
            raise _wrong(f"fallback must be a query engine, got {type(fallback).__name__}")
        if on_unknown not in get_args(OnUnknown):
            raise _wrong(f"on_unknown must be 'answer' or 'fallback', got {on_unknown!r}")
        if not isinstance(query_engine, RecallQueryEngine):
            query_engine = RecallQueryEngine(query_engine)
        if not answers_like(query_engine, [RecallQueryEngine]):
            raise _wrong(own_way(query_engine, "the router"))
        if not answers_in_two_steps(query_engine.query_engine):
            raise _wrong(own_way(query_engine.query_engine, "the router"))
        self._engine, self._fallback, self._on_unknown = query_engine, fallback, on_unknown
        super().__init__(callback_manager=query_engine.callback_manager)

    @property
    def metadata_key(self) -> str:
        """Return the key of the reports in the metadata of a response."""
        return self._engine.metadata_key

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        found, failed = find(self._engine, query_bundle), None
        report = found.report()
        with call_options(NO_OPTIONS):  # those of the call were for its search
            if self._route(report) == "fallback":
                try:
                    return self._reported(self._fallback.query(query_bundle), report, "fallback")
                except Exception as error:
                    failed = _survived(error)
            response = self._engine.synthesize(query_bundle, found.nodes)
        return self._reported(response, report, "answer", failed)

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        found, failed = await afind(self._engine, query_bundle), None
        report = found.report()
        with call_options(NO_OPTIONS):
            if self._route(report) == "fallback":
                try:
                    response = await self._fallback.aquery(query_bundle)
                    return self._reported(response, report, "fallback")
                except Exception as error:
                    failed = _survived(error)
            response = await self._engine.asynthesize(query_bundle, found.nodes)
        return self._reported(response, report, "answer", failed)

    def _route(self, report: Mapping[str, Any]) -> Route:
        """Choose the route by the advice on the nodes."""
        todo = advice_in(report)
        return self._on_unknown if todo == "undecided" else _ROUTES[todo]

    def _reported(
        self,
        response: RESPONSE_TYPE,
        report: dict[str, Any],
        route: Route,
        failed: str | None = None,
    ) -> RESPONSE_TYPE:
        key, metadata = self.metadata_key, response.metadata or {}
        added: dict[str, Any] = {"route": route}
        if route == "fallback" and key in metadata:
            added["fallback"] = metadata[key]
        if failed is not None:
            added["fallback_error"] = failed
        return with_report(response, key, {**report, **added})

    def _get_prompts(self) -> PromptDictType:
        return {}

    def _get_prompt_modules(self) -> PromptMixinType:
        return {"query_engine": self._engine, "fallback": self._fallback}

    def _update_prompts(self, prompts: PromptDictType) -> None:
        """Do nothing: the engines keep their own prompts."""


def _survived(error: Exception) -> str:
    name = type(error).__name__
    log.warning("the fallback engine failed: %s", name)
    return name


def _wrong(message: str) -> ConfigurationError:
    return ConfigurationError(f"RecallRouterQueryEngine: {message}")
