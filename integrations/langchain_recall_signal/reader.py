"""How the scores of a wrapped retriever are read: what is known before any call."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from operator import is_
from typing import Any

from langchain_core.runnables import Runnable
from langchain_core.vectorstores import VectorStoreRetriever

from langchain_recall_signal.inner import (
    expects_k,
    innermost,
    is_tappable,
    page_size,
    search_arguments,
    searched_store,
)
from langchain_recall_signal.stores import Hits, StoreAdapter, find_adapter
from langchain_recall_signal.tap import Tap, tapped
from recall_signal import ScoreKind
from recall_signal.stores.access import StoreAccess
from recall_signal.stores.reader import StoreReader

__all__ = ["Reader"]

log = logging.getLogger(__name__)


class Reader(StoreReader[StoreAdapter]):
    """How the scores of a wrapped retriever are read; fixed when the wrapper is built.

    Args:
        retriever: The wrapped retriever.
        score_kind: The declared kind; None to go by the store.
        pool_size: Candidates to look at where one search can bring them.
        k: The wrapper's page size; None leaves it to the retriever.
    """

    def __init__(
        self,
        retriever: Runnable[Any, Any],
        score_kind: ScoreKind | None,
        pool_size: int,
        k: int | None,
    ) -> None:
        store: Any = searched_store(retriever)
        super().__init__(score_kind, store, None if store is None else find_adapter(store))
        self.retriever, self.pool_size, self.k = retriever, pool_size, k
        is_known = self.adapter is not None or self.kind is not None
        self.taps = is_known and is_tappable(retriever)
        """Whether the scores of the search are seen."""
        self.takes_k = {way: expects_k(retriever, way) for way in ("invoke", "ainvoke")}
        self._tapped: tuple[list[Any], Runnable[Any, Any]] | None = None
        self._widens = False
        self._unlike: frozenset[str] = frozenset()
        self.tap = Tap()
        if self.taps and self.adapter is not None:
            self.tap = Tap(self.adapter.scored_search(store), self.adapter.score_key(store))
            self._unlike = self.adapter.unlike

    def fits(self) -> bool:
        """Whether the retriever still searches the store that this was made for."""
        return self.store is getattr(innermost(self.retriever), "vectorstore", self.store)

    def plan(
        self, k: int | None, kwargs: Mapping[str, Any]
    ) -> tuple[Runnable[Any, Any], int | None, int | None]:
        """Whom to invoke, the size of the page, and how many to ask for.

        Only where scores are seen, the page is cut from a longer list.
        """
        retriever = self.retriever
        if not self.taps or (self._unlike and self._asks_unlike(kwargs)):
            return retriever, k, k
        page = page_size(retriever, k)
        if page and not self._widens:
            self._widens = self.keeps_order()
        if page and self._widens:
            return self.tapped(), page, max(page, self.pool_size)
        return self.tapped(), page, k

    def _asks_unlike(self, kwargs: Mapping[str, Any]) -> bool:
        """Whether scores cannot be seen in a search with these arguments."""
        return not self._unlike.isdisjoint(search_arguments(self.retriever, kwargs))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_tapped": None}  # the class of a view has no name to be found by

    def tapped(self) -> Runnable[Any, Any]:
        """The retriever on a view of its store, made anew when its settings have changed."""
        retriever, made, settings = self.retriever, self._tapped, vars(self.retriever)
        if made is not None and all(map(is_, made[0], settings.values())):
            return made[1]
        if searched_store(retriever) is not self.store:  # exchanged since this call began
            return retriever
        view, self._tapped = tapped(retriever), None
        if isinstance(retriever, VectorStoreRetriever):
            self._tapped = list(settings.values()), view
        return view

    def access(self, hits: Hits) -> StoreAccess:
        """What else the store can tell of these hits."""
        adapter = self.adapter or StoreAdapter()
        vectors = encoder = None
        if self.adapter is not None and hits.documents:
            vectors = partial(adapter.vectors, self.store, hits.documents)
        try:
            encoder = adapter.encoder(self.store)
        except Exception as error:
            log.warning("looking for the store's encoder failed: %s", type(error).__name__)
        return self._access(vectors, encoder, hits.query_vector)
