"""A retriever as a calibration sees it: something to search, and perhaps an encoder to reach."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

from recall_signal.calibration._observation import as_pool
from recall_signal.errors import ConfigurationError
from recall_signal.pool import Pool

__all__ = ["RetrieverPort", "SearchPort", "Searchable", "port_of"]

Vectors = Sequence[Sequence[float]]


class RetrieverPort(Protocol):
    """The bare search of a retriever: no reranker, no selector, no callbacks."""

    @property
    def encoder_name(self) -> str | None:
        """The name of what embeds the queries, None where it is not known."""

    @property
    def is_async_only(self) -> bool:
        """True where `search` cannot be used."""

    @property
    def only_on_request(self) -> bool:
        """True where a search is known to call a language model, or to change what is stored."""

    def search(self, query: str, ahead: Sequence[str] = (), /) -> Pool:
        """Return the pool of a query, with ids and texts.

        Args:
            query: The query.
            ahead: This query and those of the searches that follow, to be embedded together.
        """

    async def asearch(self, query: str, ahead: Sequence[str] = (), /) -> Pool:
        """`search`, asynchronously."""

    def embed_texts(self, texts: Sequence[str]) -> Vectors | None:
        """Return the vectors of these queries, None where no encoder can be reached."""

    async def aembed_texts(self, texts: Sequence[str]) -> Vectors | None:
        """`embed_texts`, asynchronously."""


@dataclass(frozen=True, slots=True)
class SearchPort:
    """A plain function as a port; no encoder can be reached through it.

    Attributes:
        function: `function(query)` returns a pool or a sequence of cosines, or an awaitable of
            one where only the asynchronous half is used.
    """

    function: Callable[[str], Any]
    encoder_name: str | None = None
    is_async_only: bool = False
    only_on_request: bool = False

    def search(self, query: str, _ahead: Sequence[str] = (), /) -> Pool:
        """Return the pool that the function returns.

        Raises:
            ConfigurationError: It returns an awaitable.
        """
        found = self.function(query)
        if isinstance(found, Awaitable):
            if isinstance(found, Coroutine):  # else it would warn that nobody awaits it
                found.close()
            raise ConfigurationError(
                "search must be a function search(query) -> Pool, got an asynchronous one; use "
                "await Calibration.afit(...) and await calibration.acheck(...)"
            )
        return as_pool(found)

    async def asearch(self, query: str, _ahead: Sequence[str] = (), /) -> Pool:
        """Return the pool that the function returns once it is awaited."""
        found = self.function(query)
        return as_pool(await found if hasattr(found, "__await__") else found)

    def embed_texts(self, texts: Sequence[str]) -> Vectors | None:
        """Return None: a function has no encoder."""

    async def aembed_texts(self, texts: Sequence[str]) -> Vectors | None:
        """Return None: a function has no encoder."""


class _Wrapper(Protocol):
    """A wrapper around a retriever."""

    @property
    def calibration_port(self) -> RetrieverPort: ...


Searchable: TypeAlias = "RetrieverPort | _Wrapper | Callable[[str], object]"
"""A port, a wrapper that has one, or a function `search(query) -> Pool`."""


def port_of(retriever: Searchable) -> RetrieverPort:
    """Return the port of a wrapper, of a plain search function, or the port itself.

    Raises:
        ConfigurationError: It is none of these.
    """
    port = getattr(retriever, "calibration_port", retriever)
    if hasattr(port, "asearch") and hasattr(port, "embed_texts"):
        return cast("RetrieverPort", port)
    if callable(port):
        return SearchPort(port)
    raise ConfigurationError(
        "a calibration is fitted and checked with a RecallRetriever or a function "
        f"search(query) -> Pool, got {type(retriever).__name__}; wrap the retriever first"
    )
