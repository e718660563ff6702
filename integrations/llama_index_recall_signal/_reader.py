"""Reads the scores of a search of LlamaIndex."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from weakref import ref

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeWithScore, QueryBundle

from llama_index_recall_signal._internals import DEFAULT_MODE, VectorSearch
from llama_index_recall_signal._question import Question
from llama_index_recall_signal.stores import Hits, StoreAdapter, find_adapter
from llama_index_recall_signal.stores._base import AnyAdapter, Vectors
from llama_index_recall_signal.stores._registry import is_altered, search_methods
from recall_signal import ScoreKind
from recall_signal._flow.values import Candidates, SearchFlow
from recall_signal._steps.failures import contained, original
from recall_signal._wrapper.refusals import Refusals
from recall_signal.stores import ScoreReading
from recall_signal.stores._reader import StoreReader, covers_reading, has_itself
from recall_signal.stores._vectors import NormCheck, VectorSource, resolve_cosines

__all__ = ["Reader", "StoreChecks", "reader_of"]

log = logging.getLogger(__name__)

_WORD_MODES = frozenset({"text_search", "sparse"})
"""Query modes that search by the text of the question, whatever is embedded."""


class StoreChecks:
    """The check of each store's vectors, kept for as long as the store lives.

    Attributes:
        own: The check of the store that the wrapped retriever itself searches.
        refusals: Wider searches of it that were refused.
    """

    def __init__(self) -> None:
        self.own = NormCheck()
        self.refusals = Refusals()
        # By id, since stores cannot be hashed; the reference tells a new store from an old one.
        self._checks: dict[int, tuple[ref[object], NormCheck]] = {}

    def of(self, store: object) -> NormCheck:
        """Return the check of a store."""
        key = id(store)
        known = self._checks.get(key)
        if known is None or known[0]() is not store:
            reference = ref(store, lambda _: self._checks.pop(key, None))
            known = self._checks[key] = (reference, NormCheck())
        return known[1]


class Reader(StoreReader[AnyAdapter]):
    """Reads the scores of one call.

    Args:
        bundle: The query; a search may have left its vector here.
        kind: The declared kind; None to go by the store.
        encoder: What embeds the query where stored vectors need it.
        store: The vector store, where it is known.
        adapter: The store's adapter, where there is one.
        mode: The query mode of the search.
        memory: The wrapper's check of the store.

    Attributes:
        question: The query's, as it was before the search.
        ids: Where the search leaves its store's own ids of the hits.
        find_ids: Looks them up by the ids of the nodes, for a search that was only heard.
    """

    def __init__(
        self,
        bundle: QueryBundle,
        kind: ScoreKind | None = None,
        encoder: BaseEmbedding | None = None,
        store: object = None,
        adapter: AnyAdapter | None = None,
        mode: str = DEFAULT_MODE,
        memory: NormCheck | None = None,
    ) -> None:
        is_search = store is not None and mode == DEFAULT_MODE
        super().__init__(kind, store, adapter, ranked=is_search, memory=memory)
        self.bundle, self.encoder, self.mode = bundle, encoder, mode
        # What embeds the queries of a retriever without a known store is not known either.
        self.question = Question(bundle, None if store is None else encoder, bundle.embedding)
        self.ids: list[str] = []
        self.find_ids: Callable[[Sequence[str]], Sequence[str]] | None = None

    def kind_by_adapter(self, adapter: AnyAdapter) -> ScoreKind | str | None:
        """Return the kind by the store's settings and the query mode."""
        return adapter.score_kind(self.store, self.mode)

    def read_query(
        self,
        items: Sequence[NodeWithScore],
        page: Sequence[int],
        hits: Sequence[NodeWithScore] | None = None,
        *,
        seen: bool = True,
    ) -> SearchFlow[NodeWithScore]:
        """`read_nodes` of a search for the question; else compare the stored vectors with it."""
        reason = None
        if items and not self._is_by_words:
            reason = yield from self.question.doubt()
        if reason is None:
            return (yield from self.read_nodes(items, page, hits, seen=seen))
        source = self.access_to(items if hits is None else hits)
        source.query_vector = self.question.vector
        reading = yield from resolve_cosines(ScoreReading(None, reason=reason), source)
        return Candidates(
            items, page, reading.cosines, source=reading.source, reason=reading.reason
        )

    @property
    def _is_by_words(self) -> bool:
        """Return whether the score is one of the question's text, and of no vector."""
        if self.kind is ScoreKind.BM25 or self.mode in _WORD_MODES:
            return True
        return not getattr(self.store, "is_embedding_query", True)

    def read_nodes(
        self,
        items: Sequence[NodeWithScore],
        page: Sequence[int],
        hits: Sequence[NodeWithScore] | None = None,
        *,
        seen: bool = True,
    ) -> SearchFlow[NodeWithScore]:
        """Return what was found, with its cosines.

        Args:
            items: Every candidate.
            page: Positions in `items`.
            hits: What the store found, item by item from the first on, with the store's own
                scores; None where that is `items`.
            seen: Whether the scores are the store's own.
        """
        found = Hits(items if hits is None else hits, self.mode, self.ids)
        return self.candidates(items, page, found, partial(self.access, found), seen=seen)

    def may_drop(self, found: int, limit: int | None, size: int | None) -> bool:
        """Return whether a wider search's first hits may be others than those of the page's own.

        The store may have left out hits after it had applied its limit; a class of the user's own
        that overrides a part of its search may have done anything.

        Args:
            found: How many hits it brought.
            limit: How many it was asked for.
            size: How many make the page.
        """
        if limit is None or limit == size:
            return False
        if self.adapter is None or self.adapter.may_drop:
            return found < limit
        return is_altered(self.store) or has_itself(self.store, search_methods(self.store))

    @property
    def reads_nodes(self) -> bool:
        """Return whether more of a hit than its score and its ids is read."""
        adapter = self.adapter
        if adapter is None or adapter.reads_nodes:
            return True
        return not covers_reading(type(adapter), "reads_nodes")

    def access(self, hits: Hits) -> VectorSource:
        """Return the source of further vectors: nodes may carry some in any store."""
        vectors = partial(self._vectors, hits)
        own = None if self._is_by_words else self.bundle.embedding
        return self._access(vectors, self.encoder, own, len(hits.nodes))

    def access_to(self, nodes: Sequence[NodeWithScore]) -> VectorSource:
        """Return the source of the vectors of these hits."""
        return self.access(Hits(nodes, self.mode, self.ids))

    def _vectors(self, hits: Hits) -> Vectors | None:
        if self.find_ids is not None:
            hits = replace(hits, ids=self.find_ids(hits.node_ids))
        return (self.adapter or StoreAdapter()).vectors(self.store, hits)


def reader_of(
    search: VectorSearch, bundle: QueryBundle, kind: ScoreKind | None, memory: NormCheck
) -> Reader:
    """Return the reader of a vector retriever's scores, by its store and query mode."""
    adapter, mode = find_adapter(search.store), search.mode
    try:
        if adapter is not None:
            mode = contained(partial(adapter.mode, search.store, mode, search.options))
    except Exception as error:
        log.warning("reading the query mode failed: %s", type(original(error)).__name__)
        adapter = None
    return Reader(bundle, kind, search.encoder, search.store, adapter, mode, memory)
