"""The requests of a fit and of a check to a retriever, and what carries them out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from recall_signal._steps.driver import Steps
from recall_signal.calibration._port import RetrieverPort

__all__ = [
    "EmbedTexts",
    "Performer",
    "Request",
    "RequestSteps",
    "Search",
    "direct",
    "direct_async",
]

Done = TypeVar("Done")
Done_co = TypeVar("Done_co", covariant=True)
Result = TypeVar("Result")


class Performer(Protocol[Done_co]):
    """Carries requests out: returns the answers, or awaitables of them."""

    def search(self, query: str, ahead: Sequence[str]) -> Done_co:
        """Search for a query; `ahead` as in `RetrieverPort.search`."""
        ...

    def embed_texts(self, texts: Sequence[str]) -> Done_co:
        """Embed texts as queries."""
        ...


@dataclass(frozen=True, slots=True)
class Search:
    """Search for one query; answered with a pool, or a sequence of cosines.

    Attributes:
        query: The query.
        ahead: This query and those that follow it, where they have not been named before.
    """

    query: str
    ahead: Sequence[str] = ()

    def by(self, performer: Performer[Done]) -> Done:
        """Have it carried out."""
        return performer.search(self.query, self.ahead)


@dataclass(frozen=True, slots=True)
class EmbedTexts:
    """Embed these texts; answered with vectors, None where no encoder can be reached."""

    texts: Sequence[str]

    def by(self, performer: Performer[Done]) -> Done:
        """Have it carried out."""
        return performer.embed_texts(self.texts)


Request: TypeAlias = Search | EmbedTexts
RequestSteps: TypeAlias = Steps[Request, Result]
"""Generator of requests to a retriever that returns a result."""


def direct(port: RetrieverPort) -> Callable[[Request], object]:
    """Return what carries requests out at once."""
    performer = _Direct(port)
    return lambda request: request.by(performer)


def direct_async(port: RetrieverPort) -> Callable[[Request], Awaitable[object]]:
    """`direct`, asynchronously."""
    performer = _DirectAsync(port)
    return lambda request: request.by(performer)


@dataclass(frozen=True, slots=True)
class _Direct:
    port: RetrieverPort

    def search(self, query: str, ahead: Sequence[str]) -> object:
        return self.port.search(query, ahead)

    def embed_texts(self, texts: Sequence[str]) -> object:
        return self.port.embed_texts(texts)


@dataclass(frozen=True, slots=True)
class _DirectAsync:
    port: RetrieverPort

    def search(self, query: str, ahead: Sequence[str]) -> Awaitable[object]:
        return self.port.asearch(query, ahead)

    def embed_texts(self, texts: Sequence[str]) -> Awaitable[object]:
        return self.port.aembed_texts(texts)
