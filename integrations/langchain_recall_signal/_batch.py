"""Many questions in one call: embedded together, searched one by one.

A question whose vector is known is searched with it, where the store has a public search with
scores by a vector (see `StoreAdapter.vector_search`). Everything else is the way of `invoke`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias, cast

from langchain_core.callbacks import CallbackManager, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import (
    get_config_list,
    get_executor_for_config,
)
from langchain_core.runnables.utils import gather_with_concurrency

from langchain_recall_signal._backend import LangChainRuntime
from recall_signal._steps.timeouts import Workers
from recall_signal._wrapper.batches import EmbedQueries, embed_questions, embedder_of, parts_of

__all__ = ["Batch", "batch_of"]

Configs: TypeAlias = RunnableConfig | list[RunnableConfig] | None
QueryVector: TypeAlias = list[float] | None
Page: TypeAlias = list[Document]
RetrieveOne: TypeAlias = Callable[[str, RunnableConfig, QueryVector], Page]
RetrieveOneAsync: TypeAlias = Callable[
    [str, RunnableConfig, QueryVector], Coroutine[Any, Any, Page]
]
BatchPart: TypeAlias = tuple[list[str], list[RunnableConfig], list[QueryVector]]


class _Retriever(Protocol):
    """A wrapper, whose calls take the question's vector."""

    def invoke(
        self,
        input: str,  # noqa: A002  (its name in LangChain)
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Page: ...

    async def ainvoke(
        self,
        input: str,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Page: ...

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> Page: ...


def batch_of(
    retriever: _Retriever,
    runtime: LangChainRuntime,
    questions: Sequence[object],
    kwargs: dict[str, Any],
) -> Batch | None:
    """Return how these questions are embedded together; None where each embeds its own.

    Args:
        retriever: The wrapper.
        runtime: Its compiled settings.
        questions: As they were given.
        kwargs: The arguments of the call.
    """
    reader, flow = runtime.reader, runtime.flow
    if reader.tap.by_vector is None or len(questions) < 2:
        return None
    embed = embedder_of(reader.encoder)
    if embed is None or not all(isinstance(question, str) for question in questions):
        return None
    starts_models = flow.reranking or flow.selection or not kwargs.keys() <= _SEARCH_ONLY
    is_local = reader.adapter is not None and reader.adapter.is_local
    return Batch(retriever, runtime.workers, kwargs, embed, is_local and not starts_models)


_SEARCH_ONLY = frozenset({"k", "filter", "fetch_k", "score_threshold"})
"""Arguments of a search, which start no model and show in no run."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The way of several questions.

    Attributes:
        retriever: The wrapper.
        workers: Its threads.
        kwargs: The arguments of each call.
        embed: Embeds several questions.
        is_local: Whether a call waits for nothing and nobody, so that threads make it slower.
    """

    retriever: _Retriever
    workers: Workers
    kwargs: dict[str, Any]
    embed: EmbedQueries
    is_local: bool

    def run(self, questions: list[str], config: Configs, *, return_exceptions: bool) -> list[Page]:
        """Return the page of each question, in their order, or raise the first error.

        Args:
            questions: Two or more.
            config: As in `batch`.
            return_exceptions: Whether an error stands in the place of a page.
        """
        configs = get_config_list(config, len(questions))
        ask: RetrieveOne = self._invoke
        if self.is_local and not isinstance(config, list) and _is_unseen(configs[0]):
            ask = partial(self._search, CallbackManagerForRetrieverRun.get_noop_manager())
        if return_exceptions:
            ask = partial(_caught, ask)
        parts = self._parts(questions, configs)
        if self.is_local:
            return [page for part in parts for page in map(ask, *part)]
        with get_executor_for_config(configs[0]) as executor:
            return [page for part in parts for page in executor.map(ask, *part)]

    async def run_async(
        self, questions: list[str], config: Configs, *, return_exceptions: bool
    ) -> list[Page]:
        """`run`, asynchronously."""
        configs = get_config_list(config, len(questions))
        ask: RetrieveOneAsync = self._ainvoke
        if return_exceptions:
            ask = partial(_caught_async, ask)
        parts, limit = self._parts(questions, configs), configs[0].get("max_concurrency")
        pages: list[Page] = []
        while part := await self.workers.call(partial(next, parts, None)):
            pages += await gather_with_concurrency(limit, *map(ask, *part))
        return pages

    def _parts(self, questions: list[str], configs: list[RunnableConfig]) -> Iterator[BatchPart]:
        """Yield the questions in parts, with their configurations and vectors."""
        for part in parts_of(len(questions)):
            yield questions[part], configs[part], embed_questions(self.embed, questions[part])

    def _invoke(self, question: str, config: RunnableConfig, vector: QueryVector) -> Page:
        return self.retriever.invoke(question, config, _vector=vector, **self.kwargs)

    def _search(
        self,
        run_manager: CallbackManagerForRetrieverRun,
        question: str,
        config: RunnableConfig,
        vector: QueryVector,
    ) -> Page:
        """Do what `invoke` does, without starting a run that nobody sees."""
        return self.retriever._get_relevant_documents(
            question, run_manager=run_manager, _config=config, _vector=vector, **self.kwargs
        )

    async def _ainvoke(self, question: str, config: RunnableConfig, vector: QueryVector) -> Page:
        return await self.retriever.ainvoke(question, config, _vector=vector, **self.kwargs)


def _is_unseen(config: RunnableConfig) -> bool:
    """Return whether no handler would see a run: none is given, and no tracer is switched on."""
    manager = CallbackManager.configure(config.get("callbacks"))
    return not (manager.handlers or manager.inheritable_handlers)


def _caught(ask: RetrieveOne, question: str, config: RunnableConfig, vector: QueryVector) -> Page:
    """Return an error in place of the page, as LangChain's own `batch` does."""
    try:
        return ask(question, config, vector)
    except Exception as error:
        return cast("Page", error)


async def _caught_async(
    ask: RetrieveOneAsync, question: str, config: RunnableConfig, vector: QueryVector
) -> Page:
    try:
        return await ask(question, config, vector)
    except Exception as error:
        return cast("Page", error)
