"""One call of the wrapped retriever: what to ask of it, and what its answer holds.

The steps are a generator without I/O, like the core's flow around them; :mod:`drivers` carries
out what it asks for.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeWithScore, QueryBundle

from llama_index_recall_signal.framework import DEFAULT_MODE, VectorSearch, vector_search, widened
from llama_index_recall_signal.stores import Hits, StoreAdapter, find_adapter
from recall_signal import ScoreKind
from recall_signal.flow import Candidates
from recall_signal.items import checked_items
from recall_signal.settings import WrapperFields
from recall_signal.stores import Reading
from recall_signal.stores.access import EmbedQuery, StoreAccess, StoreMemory, Wait, completed
from recall_signal.stores.reader import StoreReader

__all__ = ["Call", "Reader", "Retrieve", "Steps"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Retrieve:
    """Ask this retriever. Answered with its nodes."""

    retriever: BaseRetriever


Steps = Generator[Retrieve | EmbedQuery | Wait, Any, Candidates[NodeWithScore]]


class Reader(StoreReader[StoreAdapter]):
    """How the scores of one call are read.

    Args:
        bundle: The query; a search may have left its vector here.
        kind: The declared kind; None to go by the store.
        encoder: What embeds the query where stored vectors need it.
        store: The vector store, where it is known.
        adapter: The store's adapter, where there is one.
        mode: The query mode of the search.
        memory: What the wrapper knows of the store.

    Attributes:
        ids: Where the search leaves its store's own ids of the hits.
    """

    def __init__(
        self,
        bundle: QueryBundle,
        kind: ScoreKind | None = None,
        encoder: BaseEmbedding | None = None,
        store: Any = None,
        adapter: StoreAdapter | None = None,
        mode: str = DEFAULT_MODE,
        memory: StoreMemory | None = None,
    ) -> None:
        is_search = store is not None and mode == DEFAULT_MODE
        super().__init__(kind, store, adapter, kind_by=(mode,), ranked=is_search, memory=memory)
        self.bundle, self.encoder, self.mode = bundle, encoder, mode
        self.ids: list[str] = []

    def candidates(
        self,
        items: Sequence[NodeWithScore],
        page: Sequence[int],
        hits: Sequence[NodeWithScore] | None = None,
        *,
        seen: bool = True,
    ) -> Steps:
        """What was found, with its cosines.

        Args:
            items: Every candidate.
            page: Positions in ``items``.
            hits: What the store found, item by item from the first on, with the store's own
                scores; None where that is ``items``.
            seen: Whether the scores are the store's own.
        """
        found = Hits(items if hits is None else hits, self.mode, self.ids)
        if not seen:
            reading = Reading(None, reason=self.why_not)
        elif self.waits:
            reading = yield from self.awaited(found)
        else:
            reading = self.read(found)
        if not reading.is_enough:
            reading = yield from completed(reading, self.access(found))
        return Candidates(
            items=items,
            page=page,
            cosines=reading.cosines,
            scores=reading.scores,
            source=reading.source,
            reason=reading.reason,
        )

    def access(self, hits: Hits) -> StoreAccess:
        """What else can be had of these hits: nodes may carry vectors in any store."""
        vectors = partial((self.adapter or StoreAdapter()).vectors, self.store, hits)
        return self._access(vectors, self.encoder, self.bundle.embedding)


class Call:
    """One call of the wrapped retriever.

    Args:
        retriever: The wrapped retriever.
        bundle: The query.
        fields: The wrapper's settings.
        embed_model: The wrapper's encoder.
        memory: What the wrapper knows of the store.
    """

    def __init__(
        self,
        retriever: BaseRetriever,
        bundle: QueryBundle,
        fields: WrapperFields,
        embed_model: BaseEmbedding | None,
        memory: StoreMemory,
    ) -> None:
        self.retriever, self.k, self.pool_size = retriever, fields.k, fields.pool_size
        kind = fields.declared_kind
        self.search = search = vector_search(retriever)
        if search is None:
            self.reader = Reader(bundle, kind, embed_model, memory=memory)
            return
        adapter, mode = find_adapter(search.store), search.mode
        try:
            if adapter is not None:
                mode = adapter.mode(search.store, mode, search.options)
        except Exception as error:
            log.warning("reading the query mode failed: %s", type(error).__name__)
            adapter = None
        self.reader = Reader(bundle, kind, search.encoder, search.store, adapter, mode, memory)

    def steps(self) -> Steps:
        """Ask the retriever, once, and read what came back.

        Raises:
            InvalidResultError: It returned something other than a list of scored nodes.
        """
        if self.search is not None:
            return (yield from self._searched(self.search))
        returned = checked_items((yield Retrieve(self.retriever)), NodeWithScore)
        size = len(returned[: self.k])
        return (yield from self.reader.candidates(returned, range(size)))

    def _searched(self, search: VectorSearch) -> Steps:
        """Looking wider is our wish: only what the retriever raises by itself is raised."""
        reader, hits = self.reader, list[NodeWithScore]()
        try:
            size, limit = yield from self._plan(search)
            view = widened(search, limit, size, hits, reader.ids)
            returned = checked_items((yield Retrieve(view)), NodeWithScore)
        except Exception as error:
            log.warning("searching wider failed: %s", type(error).__name__)
            reader.ids.clear()
            own = widened(search, self.k, self.k, [], [])
            returned = checked_items((yield Retrieve(own)), NodeWithScore)
            return (yield from reader.candidates(returned, range(len(returned)), seen=False))
        items, page = _placed(returned, hits)
        return (yield from reader.candidates(items, page, hits))

    def _plan(self, search: VectorSearch) -> Generator[Wait, Any, tuple[int | None, int | None]]:
        """The size of the page, and how many hits to ask for; None leaves it to the retriever.

        Where not to look wider, what it returns is the page, however much that is.
        """
        reader, size = self.reader, self.k or search.top_k
        if size is None or reader.mode != DEFAULT_MODE:
            return self.k, self.k
        widens = (yield Wait(reader.keeps_order)) if reader.waits else reader.keeps_order()
        return (size, max(size, self.pool_size)) if widens else (self.k, self.k)


def _placed(
    page: Sequence[NodeWithScore], hits: Sequence[NodeWithScore]
) -> tuple[list[NodeWithScore], list[int]]:
    """Every candidate, and where the page stands among them.

    What is on the page without having been a hit comes behind the hits: the objects that
    ``IndexNode`` hits stood for. They have no cosine of their own; their hits keep theirs.
    """
    items = list(hits)
    places: dict[str, int] = {}
    for place, hit in enumerate(hits):
        places.setdefault(hit.node_id, place)
    positions = []
    for item in page:
        place = places.pop(item.node_id, len(items))
        items[place : place + 1] = [item]  # at the end, this appends
        positions.append(place)
    return items, positions
