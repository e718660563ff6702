"""Hits beyond the page that nobody reads: their scores and ids are enough.

A store that searches an index and reads each hit from elsewhere reads ten times as many as the page
has, where a search looks at a pool. For one call, the store's own search then sees an index that
finds the page alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.documents import Document

from langchain_recall_signal.stores import Hits
from recall_signal.stores import Vector

__all__ = ["PageIndex", "PoolHits", "Rest", "UnreadDocument"]


@dataclass(slots=True)
class Rest:
    """Hits of a search beyond its page.

    Attributes:
        size: How many hits make the page.
        ids: The store's ids by places in its index.
        is_certain: Returns whether scores of this order bring the page of a search for it alone.
        scores: The index's own numbers, those of the page among them; empty where every hit
            was read.
        places: Places in the index of the hits beyond the page.
    """

    size: int
    ids: Mapping[int, str]
    is_certain: Callable[[Sequence[float | None], int], bool]
    scores: list[float] = field(default_factory=list)
    places: list[int] = field(default_factory=list)


class PageIndex:
    """An index whose search finds the page alone.

    Where the order of its scores does not decide what is on the page, it finds everything.

    Args:
        index: The store's.
        rest: Receives the other hits.
    """

    __slots__ = ("_index", "_rest")

    def __init__(self, index: Any, rest: Rest) -> None:
        self._index, self._rest = index, rest

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    def search(self, vectors: Any, k: int, **options: Any) -> tuple[Any, Any]:
        """Search for one vector."""
        scores, places = self._index.search(vectors, k, **options)
        rest, size = self._rest, self._rest.size
        numbers, found = scores[0].tolist(), places[0].tolist()
        if -1 in found:  # the index holds fewer
            found = found[: found.index(-1)]
        if len(found) <= size or not rest.is_certain(numbers, size):
            return scores, places
        rest.scores, rest.places = numbers[: len(found)], found[size:]
        return scores[:, :size], places[:, :size]


@dataclass(frozen=True, slots=True)
class UnreadDocument:
    """A hit whose document was not read.

    Attributes:
        id: The document's id in its store, where it was looked up.
    """

    id: str | None = None


_UNREAD = cast("Document", UnreadDocument())


class PoolHits(Hits):
    """Hits of which only the page was read.

    Args:
        page: The documents of the page.
        rest: The others.
        query_vector: The vector of the search.
    """

    __slots__ = ("_page", "_rest")

    def __init__(self, page: Sequence[Document], rest: Rest, query_vector: Vector | None) -> None:
        super().__init__([*page, *[_UNREAD] * len(rest.places)], rest.scores, query_vector)
        self._page, self._rest = page, rest

    @property
    def identified(self) -> Sequence[Document]:
        """Return the documents of the page, and the ids of the others."""
        ids = map(self._rest.ids.get, self._rest.places)
        return [*self._page, *(cast("Document", UnreadDocument(id_)) for id_ in ids)]
