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

__all__ = ["PageIndex", "PageOnlyError", "PoolHits", "Rest", "UnreadDocument"]


class PageOnlyError(LookupError):
    """A search gave something else than the page of its index: it has to read every hit."""


@dataclass(slots=True)
class Rest:
    """Hits of a search beyond its page.

    Attributes:
        size: How many hits make the page.
        limit: How many the search is to bring.
        read_ids: Returns the store's ids by places in its index; None where it has none now.
        is_certain: Returns whether scores of this order bring the page of a search for it alone.
        ids: These ids, as they were at the search.
        scores: The index's own numbers of all hits; empty where every hit was read.
        places: Their places in the index.
    """

    size: int
    limit: int | None
    read_ids: Callable[[], Mapping[int, str] | None]
    is_certain: Callable[[Sequence[float | None], int], bool]
    ids: Mapping[int, str] = field(default_factory=dict)
    scores: list[float] = field(default_factory=list)
    places: list[int] = field(default_factory=list)

    def is_page(self, documents: Sequence[Document], scores: Sequence[float | None]) -> bool:
        """Return whether a store's hits are the page, with the index's own numbers."""
        return len(documents) == self.size and list(scores) == self.scores[: self.size]


class PageIndex:
    """An index whose search finds the page alone.

    Where the order of its scores does not decide what is on the page, it finds everything.

    Args:
        index: The store's.
        rest: Receives the other hits.
    """

    __slots__ = ("_index", "_rest")

    def __init__(self, index: Any, rest: Rest) -> None:
        object.__setattr__(self, "_index", index)
        object.__setattr__(self, "_rest", rest)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._index, name, value)

    def search(self, vectors: Any, k: int, **options: Any) -> tuple[Any, Any]:
        """Search for one vector.

        Raises:
            PageOnlyError: The index was searched for this page before.
        """
        scores, places = self._index.search(vectors, k, **options)
        rest, size = self._rest, self._rest.size
        if rest.places:
            raise PageOnlyError("the store searched its index twice")
        if k != rest.limit or not hasattr(scores, "shape"):
            return scores, places
        numbers, found = scores[0].tolist(), places[0].tolist()
        if -1 in found:  # the index holds fewer
            found = found[: found.index(-1)]
        if len(found) <= size or not rest.is_certain(numbers, size):
            return scores, places
        ids = rest.read_ids()
        if ids is None:
            return scores, places
        rest.ids, rest.scores, rest.places = ids, numbers[: len(found)], found
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
        unread = len(rest.places) - len(page)
        super().__init__([*page, *[_UNREAD] * unread], rest.scores, query_vector)
        self._page, self._rest = page, rest

    @property
    def identified(self) -> Sequence[Document]:
        """Return the documents of the page, and the ids of the others.

        Documents that do not know the store's ids for them, as those of old stores, have none; nor
        have the others then, as if they had been read.
        """
        ids = [*map(self._rest.ids.get, self._rest.places)]
        if any(document.id != id_ for document, id_ in zip(self._page, ids, strict=False)):
            return self.documents
        others = ids[len(self._page) :]
        return [*self._page, *(cast("Document", UnreadDocument(id_)) for id_ in others)]
