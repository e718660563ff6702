"""The bare search of a wrapper in LangChain, by which a calibration is learned and checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseLanguageModel
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langsmith.run_helpers import tracing_context

from langchain_recall_signal._encoders import embed_question
from langchain_recall_signal._introspection import unwrap
from langchain_recall_signal._response import RecallResponse
from recall_signal import Pool
from recall_signal._steps.timeouts import Workers
from recall_signal._wrapper.auto_models import holds_instance

__all__ = ["LangChainPort"]

_QUIET: RunnableConfig = {"callbacks": []}


class Bare(Protocol):
    """A wrapper, as far as it is searched here."""

    @property
    def retriever(self) -> Runnable[Any, Any]: ...

    def recall(self, query: str, config: RunnableConfig, /) -> RecallResponse: ...

    async def arecall(self, query: str, config: RunnableConfig, /) -> RecallResponse: ...


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
        self._workers = Workers()
        inner = unwrap(bare.retriever)
        self.is_async_only = isinstance(inner, RunnableLambda) and not hasattr(inner, "func")
        self.may_call_a_language_model = holds_instance(
            bare.retriever, (BaseLanguageModel,), _is_document
        )

    @property
    def encoder_name(self) -> str | None:
        """The name of what embeds the queries."""
        return self._name_of()

    def search(self, query: str) -> Pool:
        """Return the pool of a query."""
        with tracing_context(enabled=False):
            return self._bare.recall(query, _QUIET).pool

    async def asearch(self, query: str) -> Pool:
        """`search`, asynchronously."""
        with tracing_context(enabled=False):
            return (await self._bare.arecall(query, _QUIET)).pool

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


def _is_document(part_class: type) -> bool:
    return issubclass(part_class, Document)
