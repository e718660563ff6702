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
from recall_signal.reading import StoreAccess, StoreMemory
from recall_signal.scores import parse_score_kind
from recall_signal.stores import Reading, checked, read_scores

__all__ = ["Reader"]

log = logging.getLogger(__name__)


class Reader:
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
        self.retriever, self.pool_size, self.k = retriever, pool_size, k
        self.kind = score_kind
        self.store: Any = searched_store(retriever)
        self.adapter = None if self.store is None else find_adapter(self.store)
        self.memory = StoreMemory()
        is_known = self.adapter is not None or self.kind is not None
        self.taps = is_known and is_tappable(retriever)
        """Whether the scores of the search are seen."""
        self.takes_k = {way: expects_k(retriever, way) for way in ("invoke", "ainvoke")}
        self._tapped: tuple[list[Any], Runnable[Any, Any]] | None = None
        self._widens = False
        self._unlike: frozenset[str] = frozenset()
        self.tap = Tap()
        if self.taps and self.adapter is not None:
            adapter, store = self.adapter, self.store
            self.tap = Tap(adapter.scored_search(store), adapter.score_key(store))
            self._unlike = adapter.unlike

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
        if page and (self._widens or self._keeps_order()):
            return self.tapped(), page, max(page, self.pool_size)
        return self.tapped(), page, k

    def _asks_unlike(self, kwargs: Mapping[str, Any]) -> bool:
        """Whether scores cannot be seen in a search with these arguments."""
        return not self._unlike.isdisjoint(search_arguments(self.retriever, kwargs))

    @property
    def waits(self) -> bool:
        """Whether what is needed of the store's settings has to be waited for."""
        return self.kind is None and self.adapter is not None and self.adapter.waits(self.store)

    def _keeps_order(self) -> bool:
        """Whether more hits mean more cosines, and leave those of the page alone.

        Fused and scaled scores may put other documents first where more are asked for. What is
        not known yet may be known at the next call.
        """
        kind = self.kind
        try:
            if kind is None and self.adapter is not None:
                kind = parse_score_kind(self.adapter.score_kind(self.store))
            self._widens = kind is ScoreKind.BM25 or (kind is not None and kind.convertible)
        except NotImplementedError:  # an adapter that reads in its own way
            self._widens = True
        except Exception:  # said when the scores are read
            self._widens = False
        return self._widens

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_tapped": None}  # the class of a view has no name to be found by

    def tapped(self) -> Runnable[Any, Any]:
        """The retriever on a view of its store, made anew when its settings have changed."""
        retriever = self.retriever
        if not isinstance(retriever, VectorStoreRetriever):
            return tapped(retriever)
        made, settings = self._tapped, vars(retriever)
        if made is None or not all(map(is_, made[0], settings.values())):
            made = self._tapped = list(settings.values()), tapped(retriever)
        return made[1]

    @property
    def why_not(self) -> str:
        """The reason for an unknown level where no scores are seen."""
        if self.kind not in (None, ScoreKind.BM25) and not self.kind.convertible:
            return "score_not_convertible"
        strange = self.store is not None and self.adapter is None and self.kind is None
        return "store_not_recognised" if strange else "no_score_access"

    def read(self, hits: Hits) -> Reading:
        """What the scores of these hits say; a failure here becomes a reason."""
        try:
            if self.kind is not None:
                return read_scores(hits.scores, self.kind, "declared", ranked=True)
            assert self.adapter is not None  # noqa: S101  (see taps)
            return checked(self.adapter.read(self.store, hits), len(hits.documents))
        except Exception as error:
            log.warning("reading the store's scores failed: %s", type(error).__name__)
            return Reading(None, reason="adapter_failed")

    def access(self, hits: Hits) -> StoreAccess:
        """What else the store can tell of these hits."""
        adapter = self.adapter or StoreAdapter()
        vectors = None
        if self.adapter is not None and hits.documents:
            vectors = partial(adapter.vectors, self.store, hits.documents)
        name = "the retriever" if self.store is None else type(self.store).__name__
        encoder = adapter.encoder(self.store)
        return StoreAccess(vectors, encoder, hits.query_vector, self.memory, name)
