"""Parts of LangChain's own composites that are no stores: keyword indexes, compressors, parents.

The classes are known by name, and nothing of their packages is imported.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np
from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.stores import BaseStore
from numpy.typing import ArrayLike

from langchain_recall_signal._arms.record import CallRecord, Compression, KeywordSearch
from langchain_recall_signal._arms.views import SearchMethod, docstore_view
from recall_signal._wrapper.views import seen_by, view_of

__all__ = ["asks_several_indexes", "seen_parts"]

log = logging.getLogger(__name__)

Fields: TypeAlias = dict[str, object]
Entry = TypeVar("Entry")


def seen_parts(retriever: object, record: CallRecord) -> Fields:
    """Return the fields of a retriever that are exchanged for recording ones; most have none."""
    retriever_class: type = type(retriever)
    makes = _maker(retriever_class)
    return {} if makes is None else makes(vars(retriever), record)


def asks_several_indexes(retriever: object) -> bool:
    """Return whether every call searches several keyword indexes, whose scores do not compare."""
    waiting, seen, indexes = [retriever], set[int](), set[int]()
    while waiting:
        part = waiting.pop()
        part_class, fields = cast("type", type(part)), getattr(part, "__dict__", {})
        if id(part) in seen:
            continue
        seen.add(id(part))
        if _known(part_class, _KNOWN) is _keywords:
            indexes.add(id(fields["vectorizer"]))
        inside = fields.get(_known(part_class, _ASKING_ALL), ())
        waiting += inside if isinstance(inside, list | tuple) else [inside]
    return len(indexes) > 1


@cache
def _maker(retriever_class: type) -> Callable[[Fields, CallRecord], Fields] | None:
    return _known(retriever_class, _KNOWN)


def _known(retriever_class: type, table: Mapping[str, Entry]) -> Entry | None:
    """Return the entry of the first known class that a retriever is derived from."""
    names = (f"{known.__module__}.{known.__qualname__}" for known in retriever_class.__mro__)
    return next((table[name] for name in names if name in table), None)


def _compressor(fields: Fields, record: CallRecord) -> Fields:
    made = _RecordingCompressor.model_construct(inner=fields["base_compressor"], record=record)
    return {"base_compressor": made}


class _RecordingCompressor(BaseDocumentCompressor):
    """A compressor that records what goes in and what comes out."""

    inner: Any
    record: Any

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Compress, and record it."""
        given = list(documents)
        kept = self.inner.compress_documents(documents, query, callbacks=callbacks)
        return self._seen(given, kept)

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """`compress_documents`, asynchronously."""
        given = list(documents)
        kept = await self.inner.acompress_documents(documents, query, callbacks=callbacks)
        return self._seen(given, kept)

    def _seen(self, given: list[Document], kept: Sequence[Document]) -> list[Document]:
        page = list(kept)
        self.record.add(self.record.compressions, Compression(given, page))
        return page


def _parents(fields: Fields, record: CallRecord) -> Fields:
    docstore = cast("BaseStore[str, Document]", fields["docstore"])
    return {"docstore": docstore_view(docstore, str(fields["id_key"]), record)}


class _Words(NamedTuple):
    """The call and its questions, with which a view of a keyword index is made.

    Attributes:
        record: The call's record.
        texts: The words that were made in this call, and the text of each.
        searched: The index itself.
    """

    record: CallRecord
    texts: list[tuple[object, str]]
    searched: object


_scores: ContextVar[list[ArrayLike] | None] = ContextVar("recall_signal_keywords", default=None)
"""Scores of the keyword index that searches in this context."""


def _keywords(fields: Fields, record: CallRecord) -> Fields:
    """Exchange the index of a `BM25Retriever`, and what makes the words of its queries."""
    index = fields["vectorizer"]
    preprocess = cast("Callable[[str], list[str]]", fields["preprocess_func"])
    ranks = getattr(type(index), "get_top_n", None)
    if getattr(ranks, "__module__", None) != "rank_bm25":
        return {}  # the order of another one's result is not known
    words = _Words(record, [], index)

    def words_of(text: str) -> list[str]:
        made = preprocess(text)
        record.add(words.texts, (made, text))
        return made

    return {
        "vectorizer": view_of(index, _keyword_methods, words),
        "preprocess_func": words_of,
    }


def _keyword_methods(index_class: type) -> dict[str, SearchMethod]:
    def get_scores(self: object, query: object) -> ArrayLike:
        scores: ArrayLike = getattr(index_class, "get_scores")(self, query)  # noqa: B009
        seen = _scores.get()
        if seen is not None:
            seen.append(scores)
        return scores

    def get_top_n(
        self: object, query: object, documents: Sequence[Document], n: int = 5
    ) -> Sequence[Document]:
        seen: list[ArrayLike] = []
        token = _scores.set(seen)
        try:
            found: Sequence[Document] = getattr(index_class, "get_top_n")(  # noqa: B009
                self, query, documents, n
            )
        finally:
            _scores.reset(token)
        _found(seen_by(self, _Words), query, found, seen)
        return found

    return {"get_scores": get_scores, "get_top_n": get_top_n}


def _found(
    words: _Words, query: object, found: Sequence[Document], seen: Sequence[ArrayLike]
) -> None:
    """Record a keyword search. Its hits are those with the best scores, in descending order."""
    try:
        text = next((text for made, text in reversed(words.texts) if made is query), None)
        scores, count = np.asarray(seen[-1], dtype=np.float64), len(found)
        rest = len(scores) - count
        best = np.partition(scores, rest)[rest:] if count else scores[:0]
        ranked = np.sort(best)[::-1].tolist()
        search = KeywordSearch(words.searched, text, list(found), ranked)
        words.record.add(words.record.keywords, search)
    except Exception as error:
        log.warning("the scores of a keyword search are not readable: %s", type(error).__name__)


_RETRIEVERS = "langchain_classic.retrievers"
_COMPRESSION = f"{_RETRIEVERS}.contextual_compression.ContextualCompressionRetriever"
_KNOWN = {
    _COMPRESSION: _compressor,
    f"{_RETRIEVERS}.multi_vector.MultiVectorRetriever": _parents,
    "langchain_community.retrievers.bm25.BM25Retriever": _keywords,
}
_ASKING_ALL = {
    _COMPRESSION: "base_retriever",
    f"{_RETRIEVERS}.ensemble.EnsembleRetriever": "retrievers",
    f"{_RETRIEVERS}.merger_retriever.MergerRetriever": "retrievers",
}
"""Fields of the retrievers that ask each of their parts the question itself, every time."""
