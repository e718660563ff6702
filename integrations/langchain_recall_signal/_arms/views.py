"""Views of the parts of a retriever, which record what passes through them in one call.

A view knows its call by itself, so that threads which a retriever starts are seen as well. One that
is left behind when its call is over searches as the original does.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeAlias, cast

from langchain_core.documents import Document
from langchain_core.stores import BaseStore
from langchain_core.vectorstores import VectorStore

from langchain_recall_signal._arms.record import Arm, ArmSearch, CallRecord, Lookup, ScoredHits
from recall_signal._steps.driver import passed_through
from recall_signal._wrapper.refusals import UNSUPPORTED
from recall_signal._wrapper.views import seen_by, view_of

__all__ = [
    "EMBEDDING",
    "REPLACEABLE",
    "RETRIEVING",
    "SearchMethod",
    "docstore_view",
    "store_view",
]

log = logging.getLogger(__name__)

EMBEDDING = frozenset({"embed_query", "aembed_query", "embed_documents", "aembed_documents"})
"""Functions of an encoder: where one fails in a search, it fails in the same search again."""

RETRIEVING = frozenset({"_get_relevant_documents", "_aget_relevant_documents", "invoke", "ainvoke"})
"""Methods of a retriever that decide what it returns."""

REPLACEABLE = RETRIEVING | {"similarity_search", "asimilarity_search"}
"""Methods of a retriever or a store for which it is called: one that has them itself, and not by
its class, is called as it is."""

SearchMethod: TypeAlias = Callable[..., object]
_running: ContextVar[ArmSearch | None] = ContextVar("recall_signal_arm_search", default=None)
"""The search that runs in this context, of which others may be a part."""


@contextmanager
def _searching(
    view: object, args: Sequence[object], kwargs: Mapping[str, object], *, by_vector: bool
) -> Iterator[ArmSearch]:
    """Record a search that ends well; one inside of another search of its store is a part of it."""
    arm = seen_by(view, Arm)
    asked = args[0] if args else kwargs.get("embedding" if by_vector else "query")
    running = _running.get()
    if running is not None and running.arm is arm:
        if by_vector:
            running.saw_vector(asked)
        yield running
        return
    search = ArmSearch(arm, None if by_vector else asked)
    if by_vector:
        search.saw_vector(asked)
    token = _running.set(search)
    try:
        yield search
    finally:
        _running.reset(token)
    arm.record.add(arm.record.searches, search)


def store_view(store: VectorStore, arm: Arm) -> VectorStore:
    """Return a view of a store that records its searches."""
    return view_of(store, _store_methods, arm)


def _store_methods(store_class: type) -> dict[str, SearchMethod]:
    """Make the searches of a view, as far as the store has them."""
    made: dict[str, SearchMethod] = {}
    for name, kind in _SEARCHES.items():
        if hasattr(store_class, name):
            made[name] = _search(store_class, name, kind)
        if hasattr(store_class, f"a{name}"):
            made[f"a{name}"] = _asearch(store_class, f"a{name}", kind)
    made["similarity_search"] = _plain_search(store_class)
    made["asimilarity_search"] = _plain_asearch(store_class)
    return made


class _Kind(NamedTuple):
    """A search of LangChain's stores.

    Attributes:
        by_vector: Whether it is given a vector.
        pairs: Whether its hits are pairs of a document and a number.
        scored: Whether that is the store's own number.
    """

    by_vector: bool
    pairs: bool = False
    scored: bool = False


_SEARCHES = {
    "similarity_search_with_score": _Kind(by_vector=False, pairs=True, scored=True),
    "similarity_search_with_relevance_scores": _Kind(by_vector=False, pairs=True),
    "max_marginal_relevance_search": _Kind(by_vector=False),
    "similarity_search_by_vector": _Kind(by_vector=True),
    "similarity_search_with_score_by_vector": _Kind(by_vector=True, pairs=True, scored=True),
    "similarity_search_by_vector_with_relevance_scores": _Kind(by_vector=True, pairs=True),
    "max_marginal_relevance_search_by_vector": _Kind(by_vector=True),
    "max_marginal_relevance_search_with_score_by_vector": _Kind(by_vector=True, pairs=True),
}
"""The searches of LangChain's stores beside the plain one, whose hits are only looked at.

Where diversity chose the hits, few stores give a number; all are read by the stored vectors.
"""


def _search(store_class: type, name: str, kind: _Kind) -> SearchMethod:
    """Make a search whose hits are seen; looked up at the call, since tracers replace methods."""

    def search(self: VectorStore, *args: object, **kwargs: object) -> object:
        with _searching(self, args, kwargs, by_vector=kind.by_vector) as seen:
            found: object = getattr(store_class, name)(self, *args, **kwargs)
            _note(seen, kind, found, kwargs)
            return found

    search.__name__ = name
    return search


def _asearch(store_class: type, name: str, kind: _Kind) -> SearchMethod:
    """`_search`, asynchronously."""

    async def search(self: VectorStore, *args: object, **kwargs: object) -> object:
        with _searching(self, args, kwargs, by_vector=kind.by_vector) as seen:
            found: object = await getattr(store_class, name)(self, *args, **kwargs)
            _note(seen, kind, found, kwargs)
            return found

    search.__name__ = name
    return search


def _note(search: ArmSearch, kind: _Kind, found: object, kwargs: dict[str, object]) -> None:
    """Keep the hits of a search; one whose result has another form is not read."""
    try:
        if kind.scored and search.arm.has_scores(kwargs):
            search.note_scored(cast("ScoredHits", found))
        elif kind.pairs:
            search.note([document for document, _ in cast("ScoredHits", found)])
        else:
            search.note(cast("Sequence[Document]", found))
    except Exception as error:
        _log_unreadable(error)


def _log_unreadable(error: Exception) -> None:
    log.warning("what was found inside the retriever is not readable: %s", type(error).__name__)


def _plain_search(store_class: type) -> SearchMethod:
    """Make the plain search, answered by the one with scores where there is one."""

    def similarity_search(self: VectorStore, *args: object, **kwargs: object) -> Sequence[Document]:
        with _searching(self, args, kwargs, by_vector=False) as seen:
            scored = _scored_search(seen.arm, kwargs)
            if scored is not None:
                try:
                    return seen.note_scored(getattr(self, scored)(*args, **kwargs))
                except UNSUPPORTED as error:
                    _raise_if_final(error)
            plain = getattr(store_class, "similarity_search")  # noqa: B009 (any store has one)
            return _from_metadata(seen, plain(self, *args, **kwargs))

    return similarity_search


def _plain_asearch(store_class: type) -> SearchMethod:
    """`_plain_search`, asynchronously."""

    async def asimilarity_search(
        self: VectorStore, *args: object, **kwargs: object
    ) -> Sequence[Document]:
        with _searching(self, args, kwargs, by_vector=False) as seen:
            scored = _scored_search(seen.arm, kwargs)
            if scored is not None:
                try:
                    return seen.note_scored(await getattr(self, f"a{scored}")(*args, **kwargs))
                except UNSUPPORTED as error:
                    _raise_if_final(error)
            plain = getattr(store_class, "asimilarity_search")  # noqa: B009
            return _from_metadata(seen, await plain(self, *args, **kwargs))

    return asimilarity_search


def _scored_search(arm: Arm, kwargs: dict[str, object]) -> str | None:
    return arm.reader.scored_search if arm.has_scores(kwargs) else None


def _raise_if_final(error: Exception) -> None:
    """Raise what the plain search would raise as well."""
    if passed_through(error, EMBEDDING):
        raise error
    log.warning("searching with scores failed: %s", type(error).__name__)


def _from_metadata(search: ArmSearch, found: Sequence[Document]) -> Sequence[Document]:
    """Keep the hits of a plain search; some stores put the score into the metadata."""
    key = search.arm.reader.score_key
    try:
        if key is None:
            search.note(found)
        else:
            search.note_scored([(document, document.metadata.get(key)) for document in found])
    except Exception as error:
        _log_unreadable(error)
    return found


class _Parents(NamedTuple):
    """The children's key and the call, with which a view of a store of parents is made."""

    id_key: str
    record: CallRecord


def docstore_view(
    docstore: BaseStore[str, Document], id_key: str, record: CallRecord
) -> BaseStore[str, Document]:
    """Return a view of a store of parents that records which parent has which key."""
    return view_of(docstore, _docstore_methods, _Parents(id_key, record))


def _docstore_methods(docstore_class: type) -> dict[str, SearchMethod]:
    def mget(self: object, keys: Sequence[str]) -> object:
        return _looked_up(self, keys, getattr(docstore_class, "mget")(self, keys))  # noqa: B009

    async def amget(self: object, keys: Sequence[str]) -> object:
        found = await getattr(docstore_class, "amget")(self, keys)  # noqa: B009
        return _looked_up(self, keys, found)

    return {"mget": mget, "amget": amget}


def _looked_up(
    view: object, keys: Sequence[str], parents: Sequence[Document | None]
) -> Sequence[Document | None]:
    made_with = seen_by(view, _Parents)
    record = made_with.record
    record.add(record.lookups, Lookup(made_with.id_key, keys, parents))
    return parents
