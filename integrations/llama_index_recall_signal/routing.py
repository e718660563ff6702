"""``RecallRouterQueryEngine``: another engine answers where the signal says so."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import RESPONSE_TYPE, Response
from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
from llama_index.core.schema import QueryBundle

from llama_index_recall_signal.query_engine import RecallQueryEngine
from llama_index_recall_signal.response import RecallResponse
from llama_index_recall_signal.watch import watching
from recall_signal import Advice, ConfigurationError
from recall_signal.signals import advice_in, strongest

__all__ = ["OnUnknown", "RecallRouterQueryEngine", "Route"]

log = logging.getLogger(__name__)

Route = Literal["answer", "fallback"]
OnUnknown = Literal["answer", "fallback"]

_ROUTES: dict[Advice, Route] = {"read": "answer", "fallback": "fallback"}


class RecallRouterQueryEngine(BaseQueryEngine):
    """Answers from the stored nodes, or lets another engine answer after ``none`` or ``low``.

    There is one search. Its nodes are answered from where they are worth reading; otherwise no
    model reads them, and the fallback gets the question. ``response.metadata["recall"]`` holds
    the reports of that search, with the ``route`` taken ("answer" or "fallback"); the fallback's
    own report, where it has one, is in there under ``fallback``. A fallback that raises costs
    only itself: the stored nodes are answered from, and ``fallback_error`` names the class.

    Args:
        query_engine: What to wrap: a :class:`RecallQueryEngine`, or an engine that can stand in
            one and can retrieve by itself, such as ``index.as_query_engine()``.
        fallback: Any engine, such as one that searches the web.
        on_unknown: Where to go when nothing could be measured.

    Raises:
        ConfigurationError: An engine is not one, cannot retrieve, or a setting is wrong.
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
        inner = type(query_engine.query_engine)
        if inner.retrieve is BaseQueryEngine.retrieve:
            raise _wrong(
                f"{inner.__name__} does not retrieve by itself; give the engine around one "
                "retriever, such as index.as_query_engine()"
            )
        self._engine, self._fallback, self._on_unknown = query_engine, fallback, on_unknown
        super().__init__(callback_manager=query_engine.callback_manager)

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        with watching() as told:
            nodes = self._engine.retrieve(query_bundle)
        route, failed = self._route(told), None
        if route == "fallback":
            try:
                response = self._fallback.query(query_bundle)
                return self._reported(response, told, route)
            except Exception as error:
                failed = _survived(error)
        response = self._engine.synthesize(query_bundle, nodes)
        return self._reported(response, told, "answer", failed)

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        with watching() as told:
            nodes = await self._engine.aretrieve(query_bundle)
        route, failed = self._route(told), None
        if route == "fallback":
            try:
                response = await self._fallback.aquery(query_bundle)
                return self._reported(response, told, route)
            except Exception as error:
                failed = _survived(error)
        response = await self._engine.asynthesize(query_bundle, nodes)
        return self._reported(response, told, "answer", failed)

    def _route(self, told: Sequence[RecallResponse]) -> Route:
        """Where to go after the best of the signals that the search gave."""
        todo = advice_in(strongest(told))
        return self._on_unknown if todo == "undecided" else _ROUTES[todo]

    def _reported(
        self,
        response: RESPONSE_TYPE,
        told: list[RecallResponse],
        route: Route,
        failed: str | None = None,
    ) -> RESPONSE_TYPE:
        key = self._engine._key
        # What the fallback's own nodes carry says nothing about the search of the store.
        judged = response if route == "answer" else Response(None)
        metadata = self._engine._reported(judged, told).metadata or {}
        added: dict[str, Any] = {"route": route}
        if route == "fallback" and key in (response.metadata or {}):
            added["fallback"] = (response.metadata or {})[key]
        if failed is not None:
            added["fallback_error"] = failed
        report = {**metadata[key], **added}
        return replace(response, metadata={**(response.metadata or {}), key: report})

    def _get_prompts(self) -> PromptDictType:
        return {}

    def _get_prompt_modules(self) -> PromptMixinType:
        return {"query_engine": self._engine, "fallback": self._fallback}

    def _update_prompts(self, prompts: PromptDictType) -> None:
        """Nothing of its own."""


def _survived(error: Exception) -> str:
    name = type(error).__name__
    log.warning("the fallback engine failed: %s", name)
    return name


def _wrong(message: str) -> ConfigurationError:
    return ConfigurationError(f"RecallRouterQueryEngine: {message}")
