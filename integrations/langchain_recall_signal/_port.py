"""The bare search of a wrapper in LangChain, by which a calibration is learned and checked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseLanguageModel
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langsmith.run_helpers import tracing_context

from langchain_recall_signal._batch import Batch
from langchain_recall_signal._encoders import embed_question
from langchain_recall_signal._introspection import unwrap
from langchain_recall_signal._response import RecallResponse
from recall_signal import Pool
from recall_signal._steps.timeouts import Workers
from recall_signal._wrapper.batches import embed_questions
from recall_signal._wrapper.instances import holds_instance
from recall_signal._wrapper.learning import EncodersSeen

__all__ = ["LangChainPort"]

_QUIET: RunnableConfig = {"callbacks": []}


class Bare(Protocol):
    """A wrapper, as far as it is searched here."""

    @property
    def retriever(self) -> Runnable[Any, Any]: ...

    def recall(
        self, query: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> RecallResponse: ...

    async def arecall(
        self, query: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> RecallResponse: ...

    def _together(self, inputs: list[str], kwargs: dict[str, Any]) -> Batch | None: ...


class LangChainPort:
    """Searches without reranker, selector, callbacks and tracing.

    Args:
        bare: A wrapper with neither of them.
        encoder: Embeds the queries, None where it is not known.
        name_of: Returns its name now; None where it has none.
    """

    def __init__(
        self, bare: Bare, encoder: Embeddings | None, name_of: Callable[[], str | None]
    ) -> None:
        self._bare = bare
        self._encoder = encoder
        self._name_of = name_of
        self._seen = EncodersSeen()
        self._workers = Workers()
        self._vectors: dict[str, list[float] | None] = {}
        inner = unwrap(bare.retriever)
        self.is_async_only = isinstance(inner, RunnableLambda) and not hasattr(inner, "func")
        kinds = (BaseLanguageModel, *_remembering())
        self.only_on_request = holds_instance(bare.retriever, kinds, _is_document)

    @property
    def encoder_name(self) -> str | None:
        """The name of the encoder of the cosines; before any search, of what embeds the queries."""
        return self._seen.name(self._name_of())

    def search(self, query: str, ahead: Sequence[str] = (), /) -> Pool:
        """Return the pool of a query; those ahead are embedded with it where that is possible."""
        if ahead:
            self._embed_ahead(ahead)
        with tracing_context(enabled=False):
            response = self._bare.recall(query, _QUIET, _vector=self._vectors.pop(query, None))
        return self._seen.pool(response)

    async def asearch(self, query: str, ahead: Sequence[str] = (), /) -> Pool:
        """`search`, asynchronously."""
        if ahead:
            await self._workers.call(partial(self._embed_ahead, ahead))
        vector = self._vectors.pop(query, None)
        with tracing_context(enabled=False):
            response = await self._bare.arecall(query, _QUIET, _vector=vector)
        return self._seen.pool(response)

    def _embed_ahead(self, queries: Sequence[str]) -> None:
        together = self._bare._together([*queries], {})
        vectors = [] if together is None else embed_questions(together.embed, queries)
        self._vectors = dict(zip(queries, vectors, strict=False))

    def embed_texts(self, texts: Sequence[str]) -> list[list[float]] | None:
        """Embed texts as queries; None without an encoder."""
        encoder = self._encoder
        return None if encoder is None else [encoder.embed_query(text) for text in texts]

    async def aembed_texts(self, texts: Sequence[str]) -> list[list[float]] | None:
        """`embed_texts`, asynchronously."""
        encoder, workers = self._encoder, self._workers
        if encoder is None:
            return None
        return [await embed_question(workers, encoder, text) for text in texts]


def _remembering() -> Iterator[type]:
    """Yield the retrievers that note what they have found, where their module is loaded."""
    module = sys.modules.get("langchain_classic.retrievers.time_weighted_retriever")
    found = getattr(module, "TimeWeightedVectorStoreRetriever", None)
    if found is not None:
        yield found


def _is_document(part_class: type) -> bool:
    return issubclass(part_class, Document)
