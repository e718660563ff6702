"""Find the hits behind a returned document: itself, its parts, or the chunk it was cut from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from langchain_core.documents import Document

from langchain_recall_signal._arms.record import AnySearch, CallRecord, Compression

__all__ = ["Place", "Sources"]

_DEEPEST = 4
"""Compressors around each other."""


class Place(NamedTuple):
    """A hit: the search, and the position in it."""

    search: int
    position: int


class Sources:
    """The hits of some searches, to be found again on the page.

    Composites drop duplicates by text, copy documents and shorten them, so a document is a hit's
    where it is the same object, has the same id and text, or the same text.

    Args:
        searches: The searches.
        record: What else happened in the call.
    """

    def __init__(self, searches: Sequence[AnySearch], record: CallRecord) -> None:
        self._searches, self._record = searches, record
        self._objects: dict[int, Place] = {}
        self._keys: dict[tuple[str, str], Place] = {}
        self._texts: dict[str, Place] = {}
        for number, search in enumerate(searches):
            for position, hit in enumerate(search.documents):
                place = Place(number, position)
                self._objects.setdefault(id(hit), place)
                self._texts.setdefault(hit.page_content, place)
                if hit.id is not None:
                    self._keys.setdefault((hit.id, hit.page_content), place)

    def of(self, document: Document, depth: int = 0) -> list[Place]:
        """Return the hits behind a document; empty where it is none of them."""
        place = self._objects.get(id(document))
        if place is not None:
            return [place]
        children = self._children(document)
        if children:
            return children
        place = self._keys.get((document.id or "", document.page_content))
        place = self._texts.get(document.page_content) if place is None else place
        if place is not None:
            return [place]
        if depth < _DEEPEST:
            for compression in self._record.compressions:
                source = _source(document, compression)
                if source is not None and (found := self.of(source, depth + 1)):
                    return found
        return []

    def _children(self, document: Document) -> list[Place]:
        """Return the hits that a looked-up parent was found by."""
        for lookup in self._record.lookups:
            for key, parent in zip(lookup.keys, lookup.parents, strict=False):
                if parent is not None and _is_same(parent, document):
                    found = self._with(lookup.id_key, key)
                    if found:
                        return found
        return []

    def _with(self, id_key: str, key: object) -> list[Place]:
        return [
            Place(number, position)
            for number, search in enumerate(self._searches)
            for position, hit in enumerate(search.documents)
            if _is_equal(hit.metadata.get(id_key), key)
        ]


def _is_same(one: Document, other: Document) -> bool:
    return one is other or (one.page_content == other.page_content and one.id == other.id)


def _source(document: Document, compression: Compression) -> Document | None:
    """Return the one document that a compressor made this one of; None where that is unclear."""
    if not any(_is_same(kept, document) for kept in compression.kept):
        return None
    given, text = compression.given, document.page_content.strip()
    same = [one for one in given if one.page_content == document.page_content]
    whole = [one for one in given if text and text in one.page_content]
    related = [one for one in given if _extends(document.metadata, one.metadata)]
    both = [one for one in whole if any(one is other for other in related)]
    for found in (same[:1], both, whole, related):
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _extends(metadata: Mapping[str, object], given: Mapping[str, object]) -> bool:
    """Return whether metadata holds all that was given, of which there has to be something."""
    return bool(given) and all(
        name in metadata and _is_equal(metadata[name], value) for name, value in given.items()
    )


def _is_equal(one: object, other: object) -> bool:
    try:
        return bool(one == other)
    except Exception:  # such as an array, which is not equal as a whole
        return False
