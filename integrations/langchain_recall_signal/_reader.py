"""Reads the scores of a wrapped retriever; compiled with the wrapper."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from operator import is_

from langchain_core.documents import Document
from langchain_core.runnables import Runnable
from langchain_core.vectorstores import VectorStoreRetriever

from langchain_recall_signal._arms.parts import asks_several_indexes
from langchain_recall_signal._arms.tree import ArmReaders, ArmTree
from langchain_recall_signal._arms.views import REPLACEABLE
from langchain_recall_signal._hits import HitsReader
from langchain_recall_signal._introspection import (
    expects_k,
    exposes_scores,
    page_size,
    search_arguments,
    searched_store,
    unwrap,
)
from langchain_recall_signal._tap import Tap, declared_tap, tap_of, tapped
from langchain_recall_signal.stores import Hits, StoreAdapter, find_adapter
from langchain_recall_signal.stores._registry import search_methods
from recall_signal import ScoreKind
from recall_signal._flow.backend import Flow
from recall_signal._steps.compute import CallStore
from recall_signal._steps.failures import contained, original
from recall_signal._wrapper.refusals import Refusals
from recall_signal.stores._reader import has_itself

__all__ = ["Reader"]

log = logging.getLogger(__name__)

_PAGE_SIZE = {"k"}


class Reader(HitsReader):
    """Reads the scores of a wrapped retriever; fixed when the wrapper is compiled.

    Args:
        retriever: The wrapped retriever.
        score_kind: The declared kind; None to go by the store.
        pool_size: Candidates to look at where one search can bring them.
        k: The wrapper's page size; None leaves it to the retriever.
        score_key: Metadata key of a declared number in what the retriever returns.
    """

    def __init__(
        self,
        retriever: Runnable[str, list[Document]],
        score_kind: ScoreKind | None,
        pool_size: int,
        k: int | None,
        score_key: str | None = None,
    ) -> None:
        store = searched_store(retriever)
        adapter = None if store is None else find_adapter(store)
        super().__init__(score_kind, store, adapter, ranked=score_key is None)
        self.retriever, self.pool_size, self.k = retriever, pool_size, k
        self.score_key = score_key
        is_known = score_key is None and (adapter is not None or self.kind is not None)
        self.taps = is_known and exposes_scores(retriever)
        """True if the scores of the search are seen."""
        self.arms: ArmReaders | None = None
        """Readers of the stores inside of a composite; None where nothing inside is looked at."""
        if score_key is None and not self.taps and (store is None or is_known):
            readable = self.kind is None or self.kind.convertible or self.kind is ScoreKind.BM25
            self.arms = ArmReaders(self.kind) if readable else None
        self.takes_k = {way: expects_k(retriever, way) for way in ("invoke", "ainvoke")}
        self._tapped: tuple[list[object], Runnable[str, list[Document]]] | None = None
        self._widens = False
        self.refusals = Refusals()
        self._inner = unwrap(retriever)
        self._methods = search_methods(store)
        self._unsupported: frozenset[str] = frozenset()
        self.tap = Tap()
        if self.taps and self.adapter is not None and store is not None:
            self.tap = tap_of(self.adapter, store)
            self._unsupported = self.adapter.unsupported_kwargs
        elif self.taps:
            self.tap = declared_tap(store)

    def plan(
        self, k: int | None, kwargs: Mapping[str, object]
    ) -> tuple[Runnable[str, list[Document]], int | None, int | None]:
        """Return the retriever to call, the page size and the number of hits to ask for.

        Only where scores are seen, the page is taken from a longer list.
        """
        retriever = self.retriever
        if not self.taps or (self._unsupported and self._is_unsupported(kwargs)):
            return retriever, k, k
        replaced = has_itself(self.store, REPLACEABLE) or has_itself(self._inner, REPLACEABLE)
        if replaced or self.refusals.pauses:
            return retriever, k, k
        view = self.tapped()
        if view is retriever:
            return retriever, k, k
        page = page_size(retriever, k)
        if page and not self._widens:
            self._widens = self.is_prefix_stable()
        return view, page, max(page, self.pool_size) if page and self._widens else k

    def _is_unsupported(self, kwargs: Mapping[str, object]) -> bool:
        """Return whether scores cannot be seen in a search with these arguments."""
        return not self._unsupported.isdisjoint(search_arguments(self.retriever, kwargs))

    @property
    def tap_now(self) -> Tap:
        """The search to record, of a store in which a part of it may have been replaced since."""
        is_patched = has_itself(self.store, self._methods)
        return replace(self.tap, may_filter=True) if is_patched else self.tap

    @property
    def gives_cosines(self) -> bool:
        """Return whether a declared kind has numbers that it can be applied to."""
        if self.taps or self.score_key is not None:
            return True
        return self.store is None and self.arms is not None and self._inside() is None

    @property
    def never_measures(self) -> str | None:
        """Return the reason of every report where it is certain that nothing can be read."""
        if self.score_key is not None:
            return self._without_vectors()
        if self.store is not None:
            unread = self.adapter is None and self.kind is None
            return "store_not_recognised" if unread else self._without_vectors()
        return self.missing_score_reason if self.arms is None else self._inside()

    def _without_vectors(self) -> str | None:
        """Return the reason where a kind without a formula is all that there is."""
        kind, adapter = self.kind, self.adapter or StoreAdapter()
        if kind is None or kind.convertible or kind is ScoreKind.BM25:
            return None
        reads_vectors = type(adapter).vectors is not StoreAdapter.vectors
        return None if reads_vectors else "score_not_convertible"

    def _inside(self) -> str | None:
        """Return the reason where nothing inside of the retriever can be read."""
        tree = ArmTree(ArmReaders(self.kind))
        tree.rebuilt(self.retriever)
        is_declared = self.kind is not None and self.kind.convertible
        has_keywords = tree.has_keywords and not asks_several_indexes(self.retriever)
        if tree.is_open or (has_keywords and not is_declared):
            return None
        if self.kind is not ScoreKind.BM25 and any(arm.reader.is_known for arm in tree.arms):
            return None
        return "store_not_recognised" if tree.arms else "no_score_access"

    def tapped(self) -> Runnable[str, list[Document]]:
        """Return the retriever on a view of its store, made again when its settings change.

        Where there is no view of them, or the store was exchanged, the retriever itself.
        """
        retriever, made, settings = self.retriever, self._tapped, vars(self.retriever)
        if made is not None and all(map(is_, made[0], settings.values())):
            return made[1]
        if searched_store(retriever) is not self.store:  # exchanged since this call began
            return retriever
        try:
            view, self._tapped = tapped(retriever, is_indexed=self.tap.is_indexed), None
        except Exception as error:
            log.warning("a store could not be looked into: %s", type(error).__name__)
            return retriever
        if isinstance(retriever, VectorStoreRetriever):
            self._tapped = list(settings.values()), view
        return view

    @property
    def judges_each_hit(self) -> bool:
        """Return whether the retriever keeps hits by their relevance, one by one.

        LangChain warns of relevances outside of its range with all of the hits and their texts:
        it is to look at those of the page alone.
        """
        return getattr(self._inner, "search_type", None) == "similarity_score_threshold"

    def finds_places(self, kwargs: Mapping[str, object]) -> bool:
        """Return whether a search finds places in an index, and reads nothing to decide on them.

        Args:
            kwargs: The arguments of the call.
        """
        retriever = self.retriever
        return (
            self.tap.is_indexed
            and not kwargs
            and type(retriever) is VectorStoreRetriever
            and retriever.search_type == "similarity"
            and retriever.search_kwargs.keys() <= _PAGE_SIZE  # a filter reads documents
        )

    def ids_of_hits(self) -> Mapping[int, str] | None:
        """Return the store's ids by places in its index; None where they cannot be read."""
        adapter = self.adapter
        if adapter is None:
            return None
        try:
            return contained(partial(adapter.hit_ids, self.store))
        except Exception as error:
            log.warning("a store's ids could not be read: %s", type(original(error)).__name__)
            return None

    def may_drop(self, hits: Hits, limit: int) -> bool:
        """Return whether the store may have left out hits after it had applied its limit.

        A store without an adapter may do anything.
        """
        adapter = self.adapter
        counts = adapter is None or type(adapter).item_count is not StoreAdapter.item_count
        return counts and len(hits.documents) < limit

    def dropped(self, hits: Hits, limit: int, kwargs: Mapping[str, object]) -> Flow[bool]:
        """Return whether the store left out hits after it had applied its limit.

        The first hits of a wider search then reach further than a search for the page alone.

        Args:
            hits: What the search brought.
            limit: How many it asked for.
            kwargs: The arguments of the call.
        """
        adapter = self.adapter
        if adapter is None:
            return True
        try:
            arguments = search_arguments(self.retriever, kwargs)
            counted = partial(adapter.item_count, self.store, arguments, limit)
            count = counted() if adapter.is_local else (yield CallStore(counted))
        except Exception as error:
            log.warning("counting the store's records failed: %s", type(error).__name__)
            return True
        return count is not None and len(hits.documents) < count
