"""Hear the searches inside a composite retriever, through LlamaIndex's public instrumentation.

A span leads to the retriever that searched, to the query it was given and to what it found, before
anybody changes the scores of these very objects. One handler on the root dispatcher serves the
whole process; it writes into the recorders of the running context, and costs a look at a context
variable where there is none. Where spans do not arrive (a thread without the context, a dispatcher
that does not propagate), nothing is heard, and nothing is made up.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from inspect import BoundArguments
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.dispatcher import (
    Dispatcher,
)
from llama_index.core.instrumentation.event_handlers import NullEventHandler
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler, NullSpanHandler
from llama_index.core.schema import NodeWithScore, QueryBundle

from llama_index_recall_signal._internals import VectorSearch, vector_search
from llama_index_recall_signal._keywords import is_keyword_retriever
from recall_signal._fork_safe import ForkSafeLock

__all__ = ["HeardSearch", "Recorder", "is_heard", "is_recorded", "listening"]

log = logging.getLogger(__name__)


@dataclass(slots=True)
class HeardSearch:
    """One search of a retriever inside of another.

    Attributes:
        search: How it searches; None for a keyword retriever.
        query: The text it was given.
        strings: The texts whose vectors stand for the query.
        given: The vector that came with the query.
        bundle: The query itself, where the search may leave its vector.
        hits: What was found, the very objects; None while it runs, and where it failed.
        scores: Their scores at that moment.
    """

    search: VectorSearch | None
    query: str
    strings: list[str]
    given: list[float] | None
    bundle: QueryBundle
    hits: Sequence[NodeWithScore] | None = None
    scores: Sequence[float | None] = ()

    @property
    def encoder(self) -> BaseEmbedding | None:
        """Return the encoder of its queries."""
        return None if self.search is None else self.search.encoder


@dataclass(slots=True)
class Recorder:
    """Searches heard during one call of a composite retriever.

    Attributes:
        outer: The recorder of a call around this one, which hears the same.
        retrievers: Every retriever that was called.
    """

    outer: Recorder | None = None
    retrievers: list[BaseRetriever] = field(default_factory=list)
    _searches: dict[str, HeardSearch] = field(default_factory=dict)
    _vectors: list[tuple[BaseEmbedding, str, list[float]]] = field(default_factory=list)
    _is_open: bool = True

    def searches(self) -> list[HeardSearch]:
        """Return the finished searches in the order of their beginning, and hear no more."""
        self._is_open = False  # tasks that were left running may still search
        return [heard for heard in list(self._searches.values()) if heard.hits is not None]

    def vector_of(self, encoder: BaseEmbedding, text: str) -> list[float] | None:
        """Return the vector that an encoder computed for a query; None where it did not."""
        for made_by, query, vector in self._vectors:
            if made_by is encoder and query == text:
                return vector
        return None

    def enter(self, id_: str, instance: object, arguments: Mapping[str, Any]) -> None:
        """Hear that a method was called."""
        bundle = arguments.get("query_bundle")
        if not (self._is_open and isinstance(instance, BaseRetriever) and bundle is not None):
            return
        if all(instance is not known for known in self.retrievers):
            self.retrievers.append(instance)
        search = vector_search(instance)
        if search is None and not is_keyword_retriever(instance):
            return
        strings = [*bundle.embedding_strs]
        self._searches[id_] = HeardSearch(
            search, bundle.query_str, strings, bundle.embedding, bundle
        )

    def leave(self, id_: str, instance: object, arguments: Mapping[str, Any], result: Any) -> None:
        """Hear what a method returned."""
        if not self._is_open:
            return
        heard = self._searches.get(id_)
        if heard is not None:
            heard.scores = [hit.score for hit in result]
            heard.hits = list(result)
        elif isinstance(instance, BaseEmbedding) and "query" in arguments:
            self._vectors.append((instance, arguments["query"], result))


_recorder: ContextVar[Recorder | None] = ContextVar("recall_signal_recorder", default=None)


class _Listener(BaseSpanHandler[Any]):
    """Tells the recorders of the running context what is called; keeps no span."""

    @classmethod
    def class_name(cls) -> str:
        """Return the component's name."""
        return "RecallSignalListener"

    def new_span(
        self,
        id_: str,
        bound_args: BoundArguments,
        instance: object = None,
        parent_span_id: str | None = None,  # noqa: ARG002
        tags: dict[str, object] | None = None,  # noqa: ARG002
        **_: object,
    ) -> None:
        """Tell that a method is called."""
        recorder = _recorder.get()
        while recorder is not None:
            recorder.enter(id_, instance, bound_args.arguments)
            recorder = recorder.outer

    def prepare_to_exit_span(
        self,
        id_: str,
        bound_args: BoundArguments,
        instance: object = None,
        result: object = None,
        **_: object,
    ) -> None:
        """Tell what it returned."""
        recorder = _recorder.get()
        while recorder is not None:
            recorder.leave(id_, instance, bound_args.arguments, result)
            recorder = recorder.outer

    def prepare_to_drop_span(self, *_: object, **__: object) -> None:
        """Do nothing: a search that failed has found nothing."""


def is_recorded() -> bool:
    """Return whether a wrapper around the running call hears what is searched in it."""
    return _recorder.get() is not None


_SILENT = frozenset({NullEventHandler, NullSpanHandler})


def is_heard(dispatcher: Dispatcher) -> bool:
    """Return whether anybody hears this dispatcher's events and spans.

    Where nobody does, none need be made: LlamaIndex makes its own all the same, and each takes as
    long as judging a pool does. Our own handler hears only where a recorder is.
    """
    listener = None if is_recorded() else _listener
    while True:
        for handler in (*dispatcher.event_handlers, *dispatcher.span_handlers):
            if type(handler) not in _SILENT and handler is not listener:
                return True
        if not dispatcher.propagate:
            return False
        dispatcher = dispatcher.parent


_listener = _Listener()
_registering = ForkSafeLock()


@contextmanager
def listening(recorder: Recorder) -> Iterator[None]:
    """Let a recorder hear what is searched inside the block, and nothing outside of it.

    Args:
        recorder: Hears.
    """
    _register()
    recorder.outer = _recorder.get()
    token = _recorder.set(recorder)
    try:
        yield
    finally:
        _recorder.reset(token)


def _register() -> None:
    """Put the handler on the root dispatcher, once; again where somebody has replaced them all."""
    try:
        root = get_dispatcher()
        if any(handler is _listener for handler in root.span_handlers):
            return
        with _registering:
            if not any(handler is _listener for handler in root.span_handlers):
                root.add_span_handler(_listener)
    except Exception as error:  # nothing is heard then
        log.warning("registering a span handler failed: %s", type(error).__name__)
