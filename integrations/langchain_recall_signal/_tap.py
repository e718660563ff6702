"""Record the scores of one search.

A `VectorStoreRetriever` drops the scores of its store. Here a view of it runs on a view of the
same store, which shares the store's attributes, answers `similarity_search` with
`similarity_search_with_score`, and records the numbers for the call that runs in this context.
Neither the retriever nor the store is touched, and there is exactly one search.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from types import NoneType
from typing import Any, TypeAlias

from langchain_core.documents import Document
from langchain_core.runnables import Runnable
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.config import run_in_executor
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever

from langchain_recall_signal._unread import PageIndex, PageOnlyError, PoolHits, Rest
from langchain_recall_signal.stores import Hits
from langchain_recall_signal.stores._base import SCORED_SEARCH, AnyAdapter, StoreAdapter
from langchain_recall_signal.stores._registry import is_altered
from recall_signal import InvalidResultError
from recall_signal._steps.failures import contained, original
from recall_signal._wrapper.views import replaced, view_of
from recall_signal.stores._reader import covers_reading, home_of

__all__ = [
    "Recorder",
    "Tap",
    "current_recorder",
    "declared_search",
    "declared_tap",
    "search_names",
    "tap_of",
    "tapped",
]

log = logging.getLogger(__name__)

ScoredDocuments: TypeAlias = Sequence[tuple[Document, float | None]]
_Search: TypeAlias = Callable[..., object]
_Arguments: TypeAlias = tuple[tuple[object, ...], dict[str, Any]]

PLAIN_SEARCH = "similarity_search"

_INDEX = "index"
"""Attribute of a store that holds the index it searches."""


@dataclass(frozen=True, slots=True)
class Tap:
    """The search whose scores are recorded.

    Attributes:
        search: The scored search that takes the place of the plain one; None where the plain
            one runs, and a scored search inside of it is looked at.
        score_key: Where the plain search puts the scores into the metadata, if it does.
        by_vector: The scored search of a question that is embedded already; None without one.
        is_indexed: Whether these searches find hits in the store's `index` and read each apart.
        may_filter: Whether a class of the user's own may leave out hits of the store's search.
    """

    search: str | None = SCORED_SEARCH
    score_key: str | None = None
    by_vector: str | None = None
    is_indexed: bool = False
    may_filter: bool = False


def tap_of(adapter: AnyAdapter, store: VectorStore) -> Tap:
    """Return the searches of a store by its adapter; the plain one where that fails.

    A class that derives from the store and has a scored search of its own may do anything in it:
    there a search by vector is not known to be the same. So it is with one that overrides a part
    of the store's search.
    """
    scored, by_vector, score_key = search_names(adapter, store)
    if scored is None and score_key is None:
        return Tap(None, may_filter=True)
    if is_altered(store):
        return Tap(scored, score_key, may_filter=True)
    if scored != SCORED_SEARCH or by_vector is None or not _belongs(type(store), by_vector):
        by_vector = None
    is_indexed = by_vector is not None and _is_indexed(adapter, store)
    return Tap(scored, score_key, by_vector, is_indexed)


def _is_indexed(adapter: AnyAdapter, store: VectorStore) -> bool:
    """Return whether a store finds hits in an index of its own, and the adapter knows their ids."""
    if type(adapter).hit_ids is StoreAdapter.hit_ids or hasattr(type(store), _INDEX):
        return False
    return _INDEX in vars(store) and covers_reading(type(adapter), "hit_ids")


def declared_tap(store: object) -> Tap:
    """Return the search of a store that is known by its declared kind alone."""
    search = declared_search(store)
    return Tap(search, may_filter=search is None)


def declared_search(store: object) -> str | None:
    """Return the name of the scored search of a store known by its declared kind alone.

    None where a class overrides the plain search and not the scored one: it may filter there, so
    the plain one runs, and a scored search inside of it is looked at.
    """
    plain, scored = (
        [home for prefix in ("", "a") if (home := home_of(type(store), prefix + name)) is not None]
        for name in (PLAIN_SEARCH, SCORED_SEARCH)
    )
    covers = all(any(issubclass(other, home) for other in scored) for home in plain)
    return SCORED_SEARCH if covers else None


def search_names(adapter: AnyAdapter, store: object) -> tuple[str | None, str | None, str | None]:
    """Return an adapter's `scored_search`, `vector_search` and `score_key`, checked once.

    Where one of them fails or is no text, no scores are seen.
    """
    try:
        return contained(lambda: _search_names(adapter, store))
    except Exception as error:
        failed, what = type(adapter).__name__, type(original(error)).__name__
        log.warning("the store adapter %s failed: %s; no scores are seen", failed, what)
        return None, None, None


def _search_names(adapter: AnyAdapter, store: Any) -> tuple[str | None, str | None, str | None]:
    names = adapter.scored_search(store), adapter.vector_search(store), adapter.score_key(store)
    wrong = [type(name).__name__ for name in names if type(name) not in (str, NoneType)]
    if wrong:
        raise InvalidResultError(f"a search and a key are named by a str or None, got {wrong[0]}")
    return names


def _belongs(store_class: type[VectorStore], by_vector: str) -> bool:
    """Return whether the class with the scored search has the search by vector as well."""
    home = home_of(store_class, SCORED_SEARCH)
    twin = home_of(store_class, f"a{SCORED_SEARCH}")
    return home is home_of(store_class, by_vector) and twin in (home, VectorStore)


@dataclass(slots=True)
class Recorder:
    """The result of one call's search.

    Tasks that a store starts inherit the context, and with it the recorder: what they search for
    comes too late once the call's own search has returned.

    Attributes:
        tap: The store's searches.
        embedded: The call's question and its vector, where it is embedded already.
        rest: Receives the hits beyond the page, where nobody reads them; None where all are read.
        wider: The size of the page and the wider limit, where a search for the page's scores is
            to look further than what calls it; None where the caller asks for all of the hits.
        seen: Hits of a scored search inside of the call's own.
        query_vector: The vector that was searched with.
        is_closed: Whether the call's own search has returned.
    """

    tap: Tap = Tap()
    embedded: tuple[str, Sequence[float]] | None = None
    rest: Rest | None = None
    wider: tuple[int, int] | None = None
    seen: ScoredDocuments | None = None
    query_vector: Sequence[float] | None = None
    is_closed: bool = False
    _hits: Hits | None = None

    def known_vector(self, arguments: tuple[object, ...]) -> Sequence[float] | None:
        """Return the vector to search with; None where the query has to be embedded."""
        if self.embedded is None or self.tap.by_vector is None:
            return None
        question, vector = self.embedded
        if arguments[:1] != (question,):
            return None
        self.query_vector = vector
        return vector

    def widened(self, arguments: _Arguments) -> tuple[_Arguments, int | None]:
        """Return the arguments of a search that looks further, and how many hits are the page.

        None for the page where the search is not one for it, and stays as it is.
        """
        positional, named = arguments
        if self.wider is None or self.is_closed:
            return arguments, None
        size, limit = self.wider
        if positional[1:2] == (size,):
            return ((positional[0], limit, *positional[2:]), named), size
        if named.get("k") == size:
            return (positional, {**named, "k": limit}), size
        return arguments, None

    def record(self, hits: ScoredDocuments, size: int | None) -> ScoredDocuments:
        """Keep the hits of a scored search inside of the call's own, and return the page's."""
        if size is not None:
            hits = list(hits)
        if not self.is_closed:
            self.seen = hits
        return hits if size is None else hits[:size]

    def close(self, hits: ScoredDocuments) -> list[Document]:
        """Keep the hits of the call's own search, and nothing after it."""
        hits = list(hits)
        documents, scores = tuple(zip(*hits, strict=False))[:2] if hits else ((), ())
        if not self.is_closed:
            self.is_closed, self.seen = True, None
            self._hits = self._with_rest(documents, list(scores))
        return list(documents)

    def _with_rest(self, documents: Sequence[Document], scores: list[float | None]) -> Hits:
        """Return the hits that were read, and behind them those that were not."""
        rest = self.rest
        if rest is None or not rest.places:
            return Hits(documents, scores, self.query_vector)
        if not rest.is_page(documents, scores):
            raise PageOnlyError("the store changed what its index had found")
        return PoolHits(documents, rest, self.query_vector)

    def after_own_search(self, documents: list[Document]) -> list[Document]:
        """Take the hits of the plain search; some stores put the score into the metadata."""
        key = self.tap.score_key
        if key is not None:
            return self.close([(document, document.metadata.get(key)) for document in documents])
        self.is_closed = True
        return documents

    @property
    def hits(self) -> Hits | None:
        """Return the hits with the store's own numbers; None where nothing was recorded."""
        if self._hits is None and self.seen is not None:
            documents, scores = zip(*self.seen, strict=True) if self.seen else ((), ())
            self._hits = Hits(documents, scores, self.query_vector)
        return self._hits


current_recorder: ContextVar[Recorder | None] = ContextVar("recall_signal_recorder", default=None)
"""Recorder of the call that runs in this context."""


def _recorder() -> Recorder:
    """Return the running call's recorder; one that nobody reads where a store left the context."""
    return current_recorder.get() or Recorder()


def tapped(
    retriever: Runnable[str, list[Document]], *, is_indexed: bool = False
) -> Runnable[str, list[Document]]:
    """Return the same retriever, settings and bindings included, on a view of its store.

    Args:
        retriever: The retriever.
        is_indexed: As in `Tap`.

    Raises:
        TypeError: There is no view of the store, or of what holds it.
    """
    if isinstance(retriever, RunnableBindingBase):
        return replaced(retriever, {"bound": tapped(retriever.bound, is_indexed=is_indexed)})
    if not isinstance(retriever, VectorStoreRetriever):
        raise TypeError("only a VectorStoreRetriever is tapped (see exposes_scores)")
    methods = _indexed_searches if is_indexed else _searches
    view = view_of(retriever.vectorstore, methods, None)
    if type(retriever) is VectorStoreRetriever:  # it keeps nothing, and a copy is read faster
        return retriever.model_copy(update={"vectorstore": view})
    return replaced(retriever, {"vectorstore": view})


def _searches(store_class: type) -> dict[str, _Search]:
    """Make the searches of a view of a store."""
    made = {
        search.__name__: search
        for search in (*_plain_searches(store_class), *_scored_searches(store_class))
    }
    for name in (
        "similarity_search_with_score_by_vector",
        "asimilarity_search_with_score_by_vector",
    ):
        if hasattr(store_class, name):
            made[name] = _seeing_the_vector(getattr(store_class, name))
    return made


def _indexed_searches(store_class: type) -> dict[str, object]:
    """Make the searches of a view of a store that reads what its index finds."""
    return {**_searches(store_class), _INDEX: property(_index, _assign_index)}


def _index(view: Any) -> object:
    """Return the store's index; in a search that has no use for the rest, one of its page."""
    index = vars(view)[_INDEX]  # the original's: a view shares its attributes
    recorder = current_recorder.get()
    if recorder is None or recorder.rest is None or recorder.is_closed:
        return index
    if recorder.query_vector is None:  # not yet: whoever embeds may search the index as well
        return index
    return PageIndex(index, recorder.rest)


def _assign_index(view: Any, index: object) -> None:
    vars(view)[_INDEX] = index


def _plain_searches(store_class: Any) -> tuple[_Search, _Search]:
    """Make the searches that a retriever calls, answered by the scored ones if there are any.

    The store's methods are looked up at the call: a tracer may replace them at any time.
    """

    def similarity_search(
        self: VectorStore, query: str, *args: object, **kwargs: object
    ) -> list[Document]:
        recorder = _recorder()
        search = recorder.tap.search
        if search is not None:
            try:
                return recorder.close(getattr(self, search)(query, *args, **kwargs))
            except NotImplementedError:
                pass  # the plain one may be there all the same
        found = store_class.similarity_search(self, query, *args, **kwargs)
        return recorder.after_own_search(found)

    async def asimilarity_search(
        self: VectorStore, query: str, *args: object, **kwargs: object
    ) -> list[Document]:
        recorder = _recorder()
        search = recorder.tap.search
        if search is not None:
            try:
                return recorder.close(await getattr(self, f"a{search}")(query, *args, **kwargs))
            except NotImplementedError:
                pass
        found = await store_class.asimilarity_search(self, query, *args, **kwargs)
        return recorder.after_own_search(found)

    return similarity_search, asimilarity_search


def _scored_searches(store_class: Any) -> tuple[_Search, _Search]:
    """Make the searches with scores, whose hits are seen."""

    def similarity_search_with_score(
        self: VectorStore, *args: object, **kwargs: object
    ) -> ScoredDocuments:
        recorder = _recorder()
        (args, kwargs), size = recorder.widened((args, kwargs))
        vector = recorder.known_vector(args)
        hits: ScoredDocuments
        if vector is None:
            hits = store_class.similarity_search_with_score(self, *args, **kwargs)
        else:
            hits = _by_vector(self, recorder)(vector, *args[1:], **kwargs)
        return recorder.record(hits, size)

    async def asimilarity_search_with_score(
        self: VectorStore, *args: object, **kwargs: object
    ) -> ScoredDocuments:
        recorder = _recorder()
        (args, kwargs), size = recorder.widened((args, kwargs))
        vector = recorder.known_vector(args)
        hits: ScoredDocuments
        if vector is None:
            hits = await store_class.asimilarity_search_with_score(self, *args, **kwargs)
        else:
            hits = await _aby_vector(self, recorder)(vector, *args[1:], **kwargs)
        return recorder.record(hits, size)

    return similarity_search_with_score, asimilarity_search_with_score


def _by_vector(store: VectorStore, recorder: Recorder) -> Callable[..., ScoredDocuments]:
    search: Callable[..., ScoredDocuments] = getattr(store, str(recorder.tap.by_vector))
    return search


def _aby_vector(store: VectorStore, recorder: Recorder) -> Callable[..., Awaitable[Any]]:
    """Return the asynchronous twin, or the synchronous search in a thread."""
    twin: Callable[..., Awaitable[Any]] | None
    twin = getattr(store, f"a{recorder.tap.by_vector}", None)
    return twin or partial(run_in_executor, None, _by_vector(store, recorder))


def _seeing_the_vector(search: _Search) -> _Search:
    """Make a search by vector (sync or async) that keeps the vector it was called with."""

    def search_by_vector(
        self: VectorStore, embedding: Sequence[float], *args: object, **kwargs: object
    ) -> object:
        _recorder().query_vector = embedding
        return search(self, embedding, *args, **kwargs)

    return search_by_vector
