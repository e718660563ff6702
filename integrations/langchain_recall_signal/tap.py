"""One search, with its scores seen.

A ``VectorStoreRetriever`` drops the scores of its store. Here it runs on a second view of the
same store: an object that shares the store's attributes and answers ``similarity_search`` with
``similarity_search_with_score``, telling the numbers to the call that runs in this context.
Neither the retriever nor the store is touched, and there is exactly one search.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from types import new_class
from typing import Any

from langchain_core.documents import Document
from langchain_core.runnables import Runnable
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever

from langchain_recall_signal.stores import Hits
from langchain_recall_signal.stores.base import SCORED_SEARCH

__all__ = ["Recorder", "Tap", "listening", "tapped"]


@dataclass(frozen=True, slots=True)
class Tap:
    """How the scores of one store's searches are seen.

    Attributes:
        search: The scored search that takes the place of the plain one; None where the plain
            one runs, and a scored search inside of it is looked at.
        score_key: Where the plain search puts the scores into the metadata, if it does.
    """

    search: str | None = SCORED_SEARCH
    score_key: str | None = None


@dataclass(slots=True)
class Recorder:
    """What the search of one call showed.

    Tasks that a store starts inherit the context, and with it the recorder: what they search for
    comes too late once the call's own search has returned.

    Attributes:
        tap: What is looked at.
        seen: What a scored search inside of the call's own found.
        query_vector: What was searched with.
        is_closed: Whether the call's own search has returned.
    """

    tap: Tap = Tap()
    seen: Sequence[tuple[Document, Any]] | None = None
    query_vector: Sequence[float] | None = None
    is_closed: bool = False
    _hits: Hits | None = None

    def see(self, hits: Sequence[tuple[Document, Any]]) -> None:
        """Keep what a scored search inside of the call's own found."""
        if not self.is_closed:
            self.seen = hits

    def close(self, hits: Sequence[tuple[Document, Any]]) -> list[Document]:
        """Keep what the call's own search found, and nothing after it."""
        hits = list(hits)
        documents = [hit[0] for hit in hits]
        if not self.is_closed:
            self.is_closed = True
            self._hits = Hits(tuple(documents), [hit[1] for hit in hits], self.query_vector)
        return documents

    def after_own_search(self, documents: list[Document]) -> list[Document]:
        """What the plain search found; some stores put the score into the metadata."""
        key = self.tap.score_key
        if key is not None:
            return self.close([(document, document.metadata.get(key)) for document in documents])
        self.is_closed = True
        return documents

    @property
    def hits(self) -> Hits | None:
        """What was found, with the store's own numbers; None where nothing was seen."""
        if self._hits is None and self.seen is not None:
            documents, scores = zip(*self.seen, strict=True) if self.seen else ((), ())
            self._hits = Hits(documents, scores, self.query_vector)
        return self._hits


listening: ContextVar[Recorder | None] = ContextVar("recall_signal_recorder", default=None)
"""Whom a view tells what it saw: the call that runs in this context."""


def _listener() -> Recorder:
    """The running call's recorder; one that nobody reads where a store left the context."""
    return listening.get() or Recorder()


def tapped(retriever: Runnable[Any, Any]) -> Runnable[Any, Any]:
    """The same retriever, settings and bindings included, on a view of its store."""
    if isinstance(retriever, RunnableBindingBase):
        return retriever.model_copy(update={"bound": tapped(retriever.bound)})
    assert isinstance(retriever, VectorStoreRetriever)  # noqa: S101  (see is_tappable)
    return retriever.model_copy(update={"vectorstore": _view(retriever.vectorstore)})


def _view(store: VectorStore) -> VectorStore:
    view: Any = object.__new__(_view_class(type(store)))
    view.__dict__ = store.__dict__
    return view  # type: ignore[no-any-return]


@cache
def _view_class(store_class: type[VectorStore]) -> type[VectorStore]:
    """A subclass under the same name, so that traces go on naming the store's class."""
    plain, scored = _plain_searches(store_class), _scored_searches(store_class)
    namespace: dict[str, Any] = {
        "__slots__": (),
        "__module__": store_class.__module__,
        "__qualname__": store_class.__qualname__,
        "__del__": _leave_open,
        **{search.__name__: search for search in (*plain, *scored)},
    }
    for name in (
        "similarity_search_with_score_by_vector",
        "asimilarity_search_with_score_by_vector",
    ):
        if hasattr(store_class, name):
            namespace[name] = _seeing_the_vector(getattr(store_class, name))
    view_class: type[VectorStore] = new_class(
        store_class.__name__, (store_class,), exec_body=lambda body: body.update(namespace)
    )
    return view_class


def _plain_searches(store_class: type[VectorStore]) -> tuple[Any, Any]:
    """The searches that a retriever calls, answered by the scored one where there is one."""

    def similarity_search(self: Any, query: str, *args: Any, **kwargs: Any) -> list[Document]:
        recorder = _listener()
        search = recorder.tap.search
        if search is not None:
            try:
                return recorder.close(getattr(self, search)(query, *args, **kwargs))
            except NotImplementedError:
                pass  # the plain one may be there all the same
        found = store_class.similarity_search(self, query, *args, **kwargs)
        return recorder.after_own_search(found)

    async def asimilarity_search(
        self: Any, query: str, *args: Any, **kwargs: Any
    ) -> list[Document]:
        recorder = _listener()
        search = recorder.tap.search
        if search is not None:
            try:
                return recorder.close(await getattr(self, f"a{search}")(query, *args, **kwargs))
            except NotImplementedError:
                pass
        found = await store_class.asimilarity_search(self, query, *args, **kwargs)
        return recorder.after_own_search(found)

    return similarity_search, asimilarity_search


def _scored_searches(store_class: type[VectorStore]) -> tuple[Any, Any]:
    """The searches with scores, whose hits are seen."""

    def similarity_search_with_score(self: Any, *args: Any, **kwargs: Any) -> Any:
        hits = store_class.similarity_search_with_score(self, *args, **kwargs)
        _listener().see(hits)
        return hits

    async def asimilarity_search_with_score(self: Any, *args: Any, **kwargs: Any) -> Any:
        hits = await store_class.asimilarity_search_with_score(self, *args, **kwargs)
        _listener().see(hits)
        return hits

    return similarity_search_with_score, asimilarity_search_with_score


def _leave_open(_view: Any) -> None:
    """A view closes nothing when it goes: the store does that for what it opened."""


def _seeing_the_vector(search: Any) -> Any:
    """A search by vector (sync or async) that keeps the vector it was called with."""

    def search_by_vector(self: Any, embedding: Any, *args: Any, **kwargs: Any) -> Any:
        _listener().query_vector = embedding
        return search(self, embedding, *args, **kwargs)

    return search_by_vector
