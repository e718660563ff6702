"""One call of the wrapped retriever: what to ask of it, and what its answer holds.

The steps are a generator without I/O, like the core's flow around them; :mod:`drivers` carries
out what it asks for.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeWithScore, QueryBundle

from llama_index_recall_signal.framework import DEFAULT_MODE, vector_search, widened
from llama_index_recall_signal.stores import Hits, StoreAdapter, find_adapter
from recall_signal import ScoreKind
from recall_signal.flow import Candidates
from recall_signal.reading import (
    EmbedQuery,
    Reads,
    StoreAccess,
    StoreMemory,
    Wait,
    completed,
)
from recall_signal.scores import parse_score_kind
from recall_signal.settings import WrapperFields
from recall_signal.stores import (
    Reading,
    checked,
    checked_items,
    read_scores,
)

__all__ = ["Call", "Reader", "Retrieve", "Steps", "waits"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Retrieve:
    """Ask this retriever. Answered with its nodes."""

    retriever: BaseRetriever


Steps = Generator[Retrieve | EmbedQuery | Wait, Any, Candidates[NodeWithScore]]


@dataclass(frozen=True, slots=True)
class Reader:
    """How the scores of one call are read.

    Attributes:
        bundle: The query; a search may have left its vector here.
        kind: The declared kind; None to go by the store.
        encoder: What embeds the query where stored vectors need it.
        store: The vector store, where it is known.
        adapter: The store's adapter, where there is one.
        mode: The query mode of the search.
        ids: Where the search leaves its store's own ids of the hits.
        memory: What the wrapper knows of the store.
    """

    bundle: QueryBundle
    kind: ScoreKind | None = None
    encoder: BaseEmbedding | None = None
    store: Any = None
    adapter: StoreAdapter | None = None
    mode: str = DEFAULT_MODE
    ids: list[str] = field(default_factory=list)
    memory: StoreMemory = field(default_factory=StoreMemory)

    @property
    def can_widen(self) -> bool:
        """Whether more hits mean more cosines, and leave the scores of the first ones alone.

        A score that no cosine can be had from may be scaled within its own result list.
        """
        try:
            kind = self.kind
            if kind is None and self.adapter is not None:
                kind = parse_score_kind(self.adapter.score_kind(self.store, self.mode))
        except Exception:  # said when the scores are read
            return False
        return kind is not None and kind.convertible

    def candidates(
        self,
        items: Sequence[NodeWithScore],
        page: Sequence[int],
        hits: Sequence[NodeWithScore] | None = None,
    ) -> Steps:
        """What was found, with its cosines.

        Args:
            items: Every candidate.
            page: Positions in ``items``.
            hits: What the store found, item by item from the first on, with the store's own
                scores; None where that is ``items``.
        """
        hits = items if hits is None else hits
        reading = yield from self._read(hits)
        return Candidates(
            items=items,
            page=page,
            cosines=reading.cosines,
            scores=reading.scores,
            source=reading.source,
            reason=reading.reason,
        )

    def _read(self, nodes: Sequence[NodeWithScore]) -> Reads:
        """The cosines behind these hits; a failure here becomes a reason."""
        hits = Hits(nodes, self.mode, self.ids)
        try:
            if self.kind is None and self.adapter is not None and self.adapter.waits(self.store):
                reading: Reading = yield Wait(partial(self._read_scores, hits))
            else:
                reading = self._read_scores(hits)
        except Exception as error:
            log.warning("reading the store's scores failed: %s", type(error).__name__)
            return Reading(None, reason="adapter_failed")
        if not reading.for_unit_vectors and (reading.cosines or reading.scores):
            return reading
        vectors = partial((self.adapter or StoreAdapter()).vectors, self.store, hits)
        name = "the retriever" if self.store is None else type(self.store).__name__
        access = StoreAccess(vectors, self.encoder, self.bundle.embedding, self.memory, name)
        return (yield from completed(reading, access))

    def _read_scores(self, hits: Hits) -> Reading:
        if self.kind is not None:
            is_search = self.store is not None and self.mode == DEFAULT_MODE
            return read_scores(hits.scores, self.kind, "declared", ranked=is_search)
        if self.adapter is not None:
            return checked(self.adapter.read(self.store, hits), len(hits.nodes))
        scored = any(score is not None for score in hits.scores)
        return Reading(None, reason="store_not_recognised" if scored else "no_scores")


def waits(retriever: BaseRetriever) -> bool:
    """Whether what a call needs of the store's settings has to be waited for."""
    search = vector_search(retriever)
    adapter = None if search is None else find_adapter(search.store)
    return search is not None and adapter is not None and adapter.waits(search.store)


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
        self.hits: list[NodeWithScore] | None = None
        self.size, self.target, self.own = fields.k, retriever, retriever
        search = vector_search(retriever)
        if search is None:
            self.reader = Reader(bundle, fields.declared_kind, embed_model)
            return
        adapter, mode = find_adapter(search.store), search.mode
        if adapter is not None:
            mode = adapter.mode(search.store, mode, search.options)
        self.reader = Reader(
            bundle=bundle,
            kind=fields.declared_kind,
            encoder=search.encoder,
            store=search.store,
            adapter=adapter,
            mode=mode,
            memory=memory,
        )
        own = fields.k or search.top_k
        looks_wider = mode == DEFAULT_MODE and self.reader.can_widen
        if own is None or not looks_wider:
            own, limit = fields.k, fields.k  # what it returns is the page, however much that is
        else:
            limit = max(own, fields.pool_size)
        self.size, self.hits = own, []
        self.target = widened(search, limit, own, self.hits, self.reader.ids)
        self.own = widened(search, own, own, [], [])

    def steps(self) -> Steps:
        """Ask the retriever, once, and read what came back.

        Raises:
            InvalidResultError: It returned something other than a list of scored nodes.
        """
        try:
            returned = checked_items((yield Retrieve(self.target)), NodeWithScore)
        except Exception as error:
            if self.hits is None:
                raise
            # Looking wider is our wish: only what the retriever raises by itself is raised.
            log.warning("searching wider failed: %s", type(error).__name__)
            self.hits, self.reader = None, Reader(self.reader.bundle)
            returned = checked_items((yield Retrieve(self.own)), NodeWithScore)
        if self.hits is None:
            size = len(returned[: self.size])
            return (yield from self.reader.candidates(returned, range(size)))
        items, page = _placed(returned, self.hits)
        return (yield from self.reader.candidates(items, page, self.hits))


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
