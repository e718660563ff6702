"""The search of a wrapped retriever: how it is called, and how its scores are read.

The steps are a generator without I/O, like the core's flow around them; a backend performs the
requests.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import is_
from typing import ClassVar

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.retrievers import VectorIndexRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from llama_index_recall_signal._annotation import RetrieverFields
from llama_index_recall_signal._arms import Arms
from llama_index_recall_signal._collect import NO_OPTIONS, Options
from llama_index_recall_signal._internals import (
    DEFAULT_MODE,
    VectorSearch,
    vector_search,
    with_larger_top_k,
)
from llama_index_recall_signal._keywords import is_keyword_retriever
from llama_index_recall_signal._listener import Recorder
from llama_index_recall_signal._nodes import scored_under
from llama_index_recall_signal._question import EmbeddedTogether, is_reworded
from llama_index_recall_signal._reader import Reader, StoreChecks, reader_of
from recall_signal import ScoreKind
from recall_signal._flow.backend import Flow
from recall_signal._flow.values import Candidates, SearchFlow, validate_page
from recall_signal._steps.compute import CallStore
from recall_signal._steps.driver import contained_steps, passed_through
from recall_signal._steps.failures import original, raise_original
from recall_signal._text import is_blank
from recall_signal.stores import ScoreReading

__all__ = ["Call", "Retrieve"]

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Retrieve:
    """Call this retriever. Answered with its nodes.

    Attributes:
        retriever: The retriever.
        recorder: Hears the searches inside; None hears nothing.
        extra: Whether the search is wider than the caller's own.
        view: The retriever, where it is a view of LlamaIndex' own for this one call.
        arguments: What the retriever's own method takes beside the question.
    """

    name: ClassVar[str] = "retrieve"

    retriever: BaseRetriever
    recorder: Recorder | None = None
    extra: bool = False
    view: VectorIndexRetriever | None = None
    arguments: Mapping[str, object] = field(default_factory=dict)


_EMBEDDING = frozenset(
    {
        "get_query_embedding",
        "aget_query_embedding",
        "get_agg_embedding_from_queries",
        "aget_agg_embedding_from_queries",
    }
)
"""Functions of an encoder: where one fails in a search, it fails in the same search again."""


class Call:
    """Call of the wrapped retriever.

    Args:
        bundle: The query.
        fields: The wrapper's settings.
        memory: The wrapper's checks of its stores.
        options: Those of this call.
        is_pool_read: Whether anybody reads more of a candidate beyond the page than its score.
    """

    def __init__(
        self,
        bundle: QueryBundle,
        fields: RetrieverFields,
        memory: StoreChecks,
        options: Options = NO_OPTIONS,
        *,
        is_pool_read: bool = True,
    ) -> None:
        retriever, self.memory = fields.retriever, memory
        self.retriever, self.bundle, self.pool_size = retriever, bundle, fields.pool_size
        self.k = fields.k if options.k is None else options.k
        self.arguments, self.is_pool_read = options.arguments, is_pool_read
        self.is_together = isinstance(bundle, EmbeddedTogether) and bundle.embedding is not None
        kind = fields.declared_kind
        self.score_key = fields.score_key
        self.search = search = None if self.score_key else vector_search(retriever)
        self.arms: Arms | None = None
        if search is not None:
            self.reader = reader_of(search, bundle, kind, memory.own)
            return
        if kind is None:
            self.arms = Arms(bundle, memory)
            kind = ScoreKind.BM25 if is_keyword_retriever(retriever) else None
        # An arm leaves its vector in the query, which is not for the vectors that nodes carry.
        self.reader = Reader(replace(bundle), kind, fields.embed_model, memory=memory.own)

    @property
    def is_plain(self) -> bool:
        """Return whether the question was searched by its own words alone, once it was searched."""
        if self.arguments or is_reworded(self.bundle) or self.reader.question.reason is not None:
            return False
        return self.arms is None or not self.arms.is_doubted

    def steps(self) -> SearchFlow[NodeWithScore]:
        """Call the retriever, once, and read the result.

        Raises:
            InvalidResultError: It returned something other than a list of scored nodes.
        """
        if self.search is not None:
            return (yield from self._searched(self.search))
        recorder = None if self.arms is None else self.arms.recorder
        request = Retrieve(self.retriever, recorder, arguments=self.arguments)
        returned = validate_page((yield request), NodeWithScore)
        if self.arms is not None:
            reading = yield from self._heard(self.arms, returned)
            if reading is not None:
                return Candidates(
                    items=returned,
                    page=range(len(returned[: self.k])),
                    cosines=reading.cosines,
                    scores=reading.scores,
                    source=reading.source,
                    reason=reading.reason,
                    encoder=self.arms.encoder,
                )
        return (yield from self._read(returned))

    def _heard(self, arms: Arms, returned: Sequence[NodeWithScore]) -> Flow[ScoreReading | None]:
        """Read what the arms found, as an extra step: no failure of it loses the page."""
        try:
            return (yield from contained_steps(arms.read(returned)))
        except Exception as error:
            log.warning("reading the arms failed: %s", type(original(error)).__name__)
            return None

    def _searched(self, search: VectorSearch) -> SearchFlow[NodeWithScore]:
        """Search wider, as an extra step: only what the retriever raises itself is raised."""
        reader, hits = self.reader, list[NodeWithScore]()
        try:
            size, limit = yield from contained_steps(self._plan(search))
            is_whole = self.is_pool_read or reader.reads_nodes
            view = with_larger_top_k(
                search,
                limit,
                size,
                hits,
                reader.ids,
                may_drop=partial(reader.may_drop, limit=limit, size=size),
                is_together=self.is_together,
                fetched=None if is_whole or limit == size else size,
            )
        except Exception as error:
            log.warning("preparing a wider search failed: %s", type(original(error)).__name__)
            return (yield from self._unseen(search))
        is_extra = limit != size or self.is_together
        try:
            returned = validate_page(
                (yield Retrieve(view, extra=is_extra, view=view)), NodeWithScore
            )
        except Exception as error:
            raised = original(error)
            if self.is_together:
                log.warning("searching by a vector failed: %s", type(raised).__name__)
                self._embed_alone()
                return (yield from self._searched(search))
            if limit == size or passed_through(raised, _EMBEDDING):
                raise_original(error)
            level = logging.INFO if is_blank(self.bundle.query_str) else logging.WARNING
            log.log(level, "searching wider failed: %s", type(raised).__name__)
            found = yield from self._unseen(search)
            self.memory.refusals.add(raised)
            return found
        if is_extra:
            self.memory.refusals.clear()
        return (yield from self._read(returned, hits))

    def _read(
        self, returned: list[NodeWithScore], hits: list[NodeWithScore] | None = None
    ) -> SearchFlow[NodeWithScore]:
        """Return what was found; where reading it fails, the page alone."""

        def read() -> SearchFlow[NodeWithScore]:
            if hits is None:
                page: Sequence[int] = range(len(returned[: self.k]))
                scored = None if self.score_key is None else scored_under(self.score_key, returned)
                return (yield from self.reader.read_query(returned, page, scored))
            items, page = _placed(returned, hits)
            found = yield from self.reader.read_query(items, page, hits)
            vector = self.bundle.embedding
            found.dimension = None if vector is None else len(vector)
            return found

        try:
            return (yield from contained_steps(read()))
        except Exception as error:
            log.warning("reading the search failed: %s", type(original(error)).__name__)
            page = range(len(returned[: self.k if hits is None else None]))
            return Candidates(returned, page, reason="adapter_failed")

    def _unseen(self, search: VectorSearch) -> SearchFlow[NodeWithScore]:
        """Call the retriever for the page alone; its scores are not read."""
        self._embed_alone()
        self.reader.ids.clear()
        own = self._narrow(search)
        returned = validate_page((yield Retrieve(own or search.retriever, view=own)), NodeWithScore)
        page = range(len(returned[: self.k]))
        return (yield from self.reader.read_query(returned, page, seen=False))

    def _embed_alone(self) -> None:
        """Let the retriever embed a question again that a batch has embedded."""
        if self.is_together:
            self.is_together, self.bundle.embedding = False, None

    def _narrow(self, search: VectorSearch) -> VectorIndexRetriever | None:
        """Return the retriever on this call's page size; None where it keeps its own."""
        try:
            return with_larger_top_k(search, self.k, self.k, [], [])
        except Exception as error:
            log.warning("the retriever keeps its own page size: %s", type(error).__name__)
            return None

    def _plan(self, search: VectorSearch) -> Flow[tuple[int | None, int | None]]:
        """Return the page size and the number of hits to ask for; None leaves it to the retriever.

        Where not to look wider, what it returns is the page, however much that is.
        """
        reader, size = self.reader, self.k or search.top_k
        if size is None or reader.mode != DEFAULT_MODE or self.memory.refusals.pauses:
            return self.k, self.k
        widens = (
            (yield CallStore(reader.is_prefix_stable))
            if reader.waits
            else reader.is_prefix_stable()
        )
        return (size, max(size, self.pool_size)) if widens else (self.k, self.k)


def _placed(
    page: Sequence[NodeWithScore], hits: Sequence[NodeWithScore]
) -> tuple[list[NodeWithScore], Sequence[int]]:
    """Return every candidate, and where the page stands among them.

    What is on the page without having been a hit comes behind the hits: the objects that
    `IndexNode` hits stood for. They have no cosine of their own; their hits keep theirs.
    """
    if len(page) <= len(hits) and all(map(is_, page, hits)):
        return list(hits), range(len(page))
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
