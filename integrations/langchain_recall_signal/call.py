"""One call of the wrapped retriever: what to invoke with what, and what came back."""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from operator import eq, is_
from typing import Any, Literal

from langchain_core.documents import Document
from langchain_core.runnables import Runnable

from langchain_recall_signal.reader import Reader
from langchain_recall_signal.stores import Hits
from langchain_recall_signal.tap import Recorder
from recall_signal import ConfigurationError
from recall_signal.flow import Candidates
from recall_signal.items import checked_items
from recall_signal.stores import Reading
from recall_signal.stores.access import EmbedQuery, Wait, completed

__all__ = ["Call", "Method", "Retrieve", "Steps"]

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Retrieve:
    """Invoke this retriever. Answered with what it returns.

    Attributes:
        retriever: Whom to invoke.
        kwargs: With what.
        recorder: Who listens to the store meanwhile.
    """

    retriever: Runnable[Any, Any]
    kwargs: dict[str, Any]
    recorder: Recorder | None = None


Method = Literal["invoke", "ainvoke"]

Steps = Generator[Retrieve | EmbedQuery | Wait, Any, Candidates[Document]]


class Call:
    """One call of the wrapped retriever.

    Args:
        reader: The wrapped retriever, and how its scores are read.
        k: The page size asked for at this call; None for the wrapper's own.
        kwargs: What else the caller passed on.
        method: The method that the wrapped retriever will be called by.

    Raises:
        ConfigurationError: ``k`` is no whole number of at least 1.
    """

    def __init__(
        self, reader: Reader, k: int | None, kwargs: dict[str, Any], method: Method
    ) -> None:
        if k is None:
            k = reader.k
        elif type(k) is not int or k < 1:
            given = k if isinstance(k, int | float) else type(k).__name__
            raise ConfigurationError(f"k must be a whole number of at least 1, got {given}")
        self.reader = reader
        self.is_async = method == "ainvoke"
        self.recorder = Recorder(reader.tap)
        self.target, self.k, limit = reader.plan(k, kwargs)
        self.kwargs = kwargs
        self.passes_k = limit is not None and reader.takes_k[method]
        self.searched_with = {**kwargs, "k": limit} if self.passes_k else kwargs

    @property
    def own_kwargs(self) -> dict[str, Any]:
        """What the retriever gets where it is asked for its own page."""
        return {**self.kwargs, "k": self.k} if self.passes_k else self.kwargs

    @property
    def is_tied(self) -> bool:
        """Whether scores tie around the end of the page, in a store that orders ties by k.

        The page is then taken from the retriever itself, at its own size.
        """
        adapter, hits, k = self.reader.adapter, self.recorder.hits, self.k
        if adapter is None or adapter.ties_keep_order or hits is None or not k:
            return False
        scores = hits.scores[: k + 1]
        return len(scores) > k and any(map(eq, scores, scores[1:]))

    def with_own_page(self, found: Candidates[Document], returned: Any) -> Candidates[Document]:
        """The same candidates, with the page that the retriever returned by itself."""
        items, page = list(found.items), []
        left = dict(enumerate(items))
        for document in checked_items(returned, Document):
            place = _place(document, left)
            if place is None:  # a tie brought it in
                place = len(items)
                items.append(document)
            left.pop(place, None)
            page.append(place)
        return replace(found, items=items, page=page)

    def steps(self) -> Steps:
        """Ask the retriever, and read what came back.

        Looking wider or seeing the scores is our wish: where that fails, the retriever is asked
        as it is, and only what it then raises is raised.

        Raises:
            InvalidResultError: It returned something other than a list of documents.
        """
        try:
            search = Retrieve(self.target, self.searched_with, self.recorder)
            found = checked_items((yield search), Document)
        except Exception as error:
            if self.target is self.reader.retriever:
                raise
            log.warning("searching with scores failed: %s", type(error).__name__)
            self.recorder = Recorder()
            found = checked_items(
                (yield Retrieve(self.reader.retriever, self.own_kwargs)), Document
            )
        hits, page = self.seen(found)
        if page is None:
            page = range(len(found) if self.k is None else min(self.k, len(found)))
            reading = Reading(None, reason=self.reader.why_not)
        elif self.is_async and self.reader.waits:
            reading = yield from self.reader.awaited(hits)
        else:
            reading = self.reader.read(hits)
        if not reading.is_enough:
            reading = yield from completed(reading, self.reader.access(hits))
        candidates = Candidates(
            items=hits.documents,
            page=page,
            cosines=reading.cosines,
            scores=reading.scores,
            source=reading.source,
            reason=reading.reason,
        )
        if self.is_tied:
            own = yield Retrieve(self.reader.retriever, self.own_kwargs)
            candidates = self.with_own_page(candidates, own)
        return candidates

    def seen(self, documents: list[Document]) -> tuple[Hits, Sequence[int] | None]:
        """The hits behind these documents, and the places of the page among them.

        Where none were seen, or something else was returned, the documents alone and None.
        """
        hits = self.recorder.hits
        page = None if hits is None else _positions(documents, hits.documents, self.k)
        return (Hits(documents, ()), None) if hits is None or page is None else (hits, page)


def _place(document: Document, among: dict[int, Document]) -> int | None:
    """Where a document stands: itself, or one that is equal, as most stores make them anew."""
    for same in (is_, eq):
        for place, item in among.items():
            if same(item, document):
                return place
    return None


def _positions(
    returned: Sequence[Document], hits: Sequence[Document], k: int | None
) -> Sequence[int] | None:
    """Where the returned documents stand among the hits, as far as they are on the page.

    A score threshold leaves documents out, so the page is what was returned of the first k
    hits: what the retriever returns when it is asked for k. None where something was returned
    that was not a hit.
    """
    if len(returned) == len(hits) and all(map(is_, returned, hits)):
        return range(len(hits) if k is None else min(k, len(hits)))
    found = []
    remaining = enumerate(hits)
    for document in returned:
        for position, hit in remaining:
            if hit is document:
                found.append(position)
                break
        else:
            return None
    return [position for position in found if k is None or position < k]
