"""The typed methods by which a framework performs the requests of a flow.

A request names its performer (`request.name`). Each framework implements the seven methods twice,
synchronously and asynchronously.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol, TypeAlias, TypeVar

from numpy.typing import ArrayLike

from recall_signal._flow.embedding import Embed, EmbedQuery
from recall_signal._steps.compute import CallStore, Compute
from recall_signal._steps.driver import Steps
from recall_signal.reranking import Rerank
from recall_signal.selection import Answer, Select

__all__ = [
    "AsyncBackend",
    "Backend",
    "Flow",
    "Request",
]

Result = TypeVar("Result")
Search_contra = TypeVar("Search_contra", contravariant=True)


class Request(Protocol):
    """The part of a request that the dispatch needs."""

    @property
    def name(self) -> str:
        """Return the method of the backend that performs it."""
        ...


Flow: TypeAlias = Steps[Request, Result]
"""Generator of requests that a backend performs."""


class Backend(Protocol[Search_contra]):
    """Performs requests synchronously."""

    def retrieve(self, request: Search_contra, /) -> object:
        """Call the wrapped retriever."""
        ...

    def embed_query(self, request: EmbedQuery, /) -> ArrayLike:
        """Embed the query with the encoder of the search."""
        ...

    def embed(self, request: Embed, /) -> tuple[ArrayLike, object]:
        """Embed the query and texts with the wrapper's encoder."""
        ...

    def call_store(self, request: CallStore, /) -> object:
        """Call what may wait for the store."""
        ...

    def compute(self, request: Compute, /) -> object:
        """Compute something."""
        ...

    def rerank(self, request: Rerank, /) -> object:
        """Score texts with the reranker."""
        ...

    def select(self, request: Select, /) -> Answer:
        """Ask the selector."""
        ...


class AsyncBackend(Protocol[Search_contra]):
    """Performs requests asynchronously."""

    def retrieve(self, request: Search_contra, /) -> Awaitable[object]:
        """Call the wrapped retriever."""
        ...

    def embed_query(self, request: EmbedQuery, /) -> Awaitable[ArrayLike]:
        """Embed the query with the encoder of the search."""
        ...

    def embed(self, request: Embed, /) -> Awaitable[tuple[ArrayLike, object]]:
        """Embed the query and texts with the wrapper's encoder."""
        ...

    def call_store(self, request: CallStore, /) -> Awaitable[object]:
        """Call what may wait for the store, in a thread."""
        ...

    def compute(self, request: Compute, /) -> Awaitable[object]:
        """Compute something, in a thread."""
        ...

    def rerank(self, request: Rerank, /) -> Awaitable[object]:
        """Score texts with the reranker."""
        ...

    def select(self, request: Select, /) -> Awaitable[Answer]:
        """Ask the selector."""
        ...
