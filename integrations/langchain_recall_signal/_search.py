"""The search of a wrapped retriever: what is called with which arguments, and how it is read."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import eq, is_
from typing import ClassVar, Literal, TypeAlias

from langchain_core.documents import Document
from langchain_core.runnables import Runnable

from langchain_recall_signal._arms.reading import ArmReading
from langchain_recall_signal._arms.tree import ArmReaders, ArmTree
from langchain_recall_signal._arms.views import EMBEDDING
from langchain_recall_signal._introspection import accepted_arguments
from langchain_recall_signal._reader import Reader
from langchain_recall_signal._tap import Recorder
from langchain_recall_signal._unread import PageOnlyError, PoolHits, Rest
from langchain_recall_signal.stores import Hits
from recall_signal import InvalidResultError, ScoreKind
from recall_signal._flow.backend import Flow
from recall_signal._flow.values import Candidates, SearchFlow, has_settled_page, validate_page
from recall_signal._steps.driver import contained_steps, passed_through
from recall_signal._steps.failures import contained, original, raise_original
from recall_signal._wrapper.batches import has_certain_order
from recall_signal._wrapper.call_arguments import check_arguments
from recall_signal._wrapper.declared_scores import scores_under
from recall_signal._wrapper.refusals import UNSUPPORTED
from recall_signal.stores import ScoreReading

__all__ = ["Call", "Retrieve", "RunMethod"]

log = logging.getLogger(__name__)

RunMethod: TypeAlias = Literal["invoke", "ainvoke"]


@dataclass(slots=True)
class Retrieve:
    """Invoke this retriever. Answered with what it returns.

    Attributes:
        retriever: The retriever to invoke.
        kwargs: Its keyword arguments.
        recorder: Listens to the store meanwhile.
        extra: Whether the search is wider than the caller's own, or with a sight of its scores.
    """

    name: ClassVar[str] = "retrieve"

    retriever: Runnable[str, list[Document]]
    kwargs: dict[str, object]
    recorder: Recorder | None = None
    extra: bool = False


class Call:
    """Call of the wrapped retriever.

    Args:
        reader: The wrapped retriever, and how its scores are read.
        k: The page size of this call; None for the wrapper's own.
        kwargs: What else the caller passed on.
        method: The method by which the wrapped retriever will be called.
        question: The question.
        vector: The question's vector, where it is embedded already.
        is_pool_read: Whether anybody reads more of a hit beyond the page than its score.

    Raises:
        ConfigurationError: An argument is neither an option nor taken by the wrapped retriever.
    """

    def __init__(
        self,
        reader: Reader,
        k: int | None,
        kwargs: dict[str, object],
        method: RunMethod,
        question: str,
        vector: Sequence[float] | None = None,
        *,
        is_pool_read: bool = True,
    ) -> None:
        if kwargs:
            check_arguments(kwargs, accepted_arguments(reader.retriever, method))
        self.reader = reader
        self.is_async = method == "ainvoke"
        self.target, self.k, self.limit = reader.plan(reader.k if k is None else int(k), kwargs)
        is_view = self.target is not reader.retriever
        embedded = (question, vector) if vector is not None and is_view else None
        is_wider_inside = is_view and self.limit != self.k and reader.judges_each_hit
        self.wider = (self.k, self.limit) if is_wider_inside and self.k and self.limit else None
        self.recorder = self._listening(embedded)
        is_whole = is_pool_read or not is_view or self.limit == self.k
        if self.k and not is_whole and reader.finds_places(kwargs):
            is_certain = has_certain_order if embedded else has_settled_page
            self.recorder.rest = Rest(self.k, self.limit, reader.ids_of_hits, is_certain)
        self.kwargs, self.question = kwargs, question
        self.passes_k = self.limit is not None and reader.takes_k[method]

    def steps(self) -> SearchFlow[Document]:
        """Call the retriever and read the result.

        Raises:
            InvalidResultError: It returned something other than a list of documents.
        """
        readers = self.reader.arms
        return self._single() if readers is None else self._rebuilt(readers)

    def _listening(self, embedded: tuple[str, Sequence[float]] | None = None) -> Recorder:
        return Recorder(self.reader.tap_now, embedded, wider=self.wider)

    def _rebuilt(self, readers: ArmReaders) -> SearchFlow[Document]:
        """Call a composite on views of its parts; one that has none as it is."""
        tree = ArmTree(readers)
        target = tree.rebuilt(self.reader.retriever)
        if target is not self.reader.retriever:
            return (yield from self._composite(tree, target))
        return (yield from self._single())

    def _single(self) -> SearchFlow[Document]:
        """Call a retriever of one store, or one that nothing is known of.

        A wider search and the sight of its scores are extra steps: where they fail, the retriever
        is called as it is, and only what it then raises is raised.
        """
        reader, limit = self.reader, self.limit
        try:
            asked = self.limit if self.wider is None else self.k
            returned = yield self._retrieve(self.target, asked, self.recorder)
            documents = validate_page(returned, Document)
        except Exception as error:
            raised = original(error)
            if isinstance(raised, PageOnlyError):
                self.recorder = self._listening(self.recorder.embedded)
                return (yield from self._single())
            if self.recorder.embedded is not None:
                log.warning("searching by a vector failed: %s", type(raised).__name__)
                self.recorder = self._listening()  # the question is embedded once more, alone
                return (yield from self._single())
            if not self._may_work_alone(raised):
                raise_original(error)
            log.warning("searching with scores failed: %s", type(raised).__name__)
            self.recorder, limit = Recorder(), None
            documents = validate_page((yield self._retrieve(reader.retriever, self.k)), Document)
            reader.refusals.add(raised)
        else:
            if self.target is not reader.retriever:
                reader.refusals.clear()
        try:
            candidates, settled = yield from contained_steps(self._read(documents, limit))
        except Exception as error:
            log.warning("reading the search failed: %s", type(original(error)).__name__)
            is_own = limit == self.k and self.recorder.embedded is None
            candidates, settled = unread(documents, self.k), is_own
        if not settled:
            own = validate_page((yield self._retrieve(reader.retriever, self.k)), Document)
            candidates = with_page(candidates, own)
        return candidates

    def _read(
        self, documents: list[Document], limit: int | None
    ) -> Flow[tuple[Candidates[Document], bool]]:
        """Return what was found, and whether its page is surely the retriever's own."""
        reader = self.reader
        hits, page = self.seen(documents)
        seen = page is not None
        if page is None:
            page = self._first(documents)
        if reader.score_key is not None:
            declared = scores_under(reader.score_key, (d.metadata for d in documents))
            hits, seen = Hits(documents, declared), True
        candidates = yield from reader.candidates(
            hits.documents,
            page,
            hits,
            partial(reader.source, hits),
            seen=seen,
            blocks=not self.is_async,
        )
        vector = self.recorder.query_vector
        candidates.dimension = None if vector is None else len(vector)
        if self.recorder.tap.may_filter and limit != self.k:  # a wider search passes other hits
            return candidates, False
        if self.recorder.hits is None:
            return candidates, True
        if self.recorder.embedded is not None and not has_certain_order(hits.scores, self.k):
            return candidates, False
        if not self.k or limit is None:
            return candidates, True
        settled = len(hits.documents) <= limit and self._ties_are_settled(hits)
        if settled and limit != self.k and reader.may_drop(hits, limit):
            settled = not (yield from reader.dropped(hits, limit, self.kwargs))
        return candidates, settled

    def _composite(
        self, tree: ArmTree, target: Runnable[str, list[Document]]
    ) -> SearchFlow[Document]:
        """Call a composite on views of its parts, and read what they have seen."""
        reader = self.reader
        try:
            documents = validate_page((yield self._retrieve(target, self.limit)), Document)
        except Exception as error:
            raised = original(error)
            if not _may_be_the_views(raised):
                raise_original(error)
            tree.finish()
            log.warning("looking into the retriever failed: %s", type(raised).__name__)
            own = yield self._retrieve(reader.retriever, self.limit)
            if tree.readers.fail():
                reader.arms = None
            documents = validate_page(own, Document)
            return Candidates(documents, self._first(documents), reason="no_score_access")
        finally:
            tree.finish()
        tree.readers.succeed()
        arms = ArmReading(
            record=tree.record,
            question=self.question,
            documents=documents,
            nothing_read=reader.missing_score_reason,
            keywords_only=reader.kind is ScoreKind.BM25,
            blocks=not self.is_async,
        )
        encoder = None
        try:
            reading, encoder = yield from contained_steps(arms.read())
        except Exception as error:
            log.warning("reading a composite's arms failed: %s", type(original(error)).__name__)
            reading = ScoreReading(None, reason="adapter_failed")
        return Candidates(
            items=documents,
            page=self._first(documents),
            cosines=reading.cosines,
            scores=reading.scores,
            source=reading.source,
            reason=reading.reason,
            encoder=encoder,
        )

    def _first(self, documents: Sequence[Document]) -> range:
        """Return the places of the page among all that was returned."""
        return range(len(documents) if self.k is None else min(self.k, len(documents)))

    def _retrieve(
        self,
        retriever: Runnable[str, list[Document]],
        k: int | None,
        recorder: Recorder | None = None,
    ) -> Retrieve:
        kwargs = {**self.kwargs, "k": k} if self.passes_k else self.kwargs
        extra = retriever is not self.reader.retriever
        return Retrieve(retriever, kwargs, recorder, extra)

    def _may_work_alone(self, error: BaseException) -> bool:
        """Return whether the retriever as it is may succeed where the search with scores failed."""
        if self.target is self.reader.retriever or passed_through(error, EMBEDDING):
            return False
        is_foreign = not isinstance(error, Exception)  # such as a panic of native code
        return self.limit != self.k or is_foreign or isinstance(error, UNSUPPORTED)

    def _ties_are_settled(self, hits: Hits) -> bool:
        adapter = self.reader.adapter
        if isinstance(hits, PoolHits) or (adapter is not None and adapter.ties_keep_order):
            return True
        return has_settled_page(hits.scores, self.k)

    def seen(self, documents: list[Document]) -> tuple[Hits, Sequence[int] | None]:
        """Return the hits behind these documents, and the places of the page among them.

        Where none were seen, or something else was returned, the documents alone and None.
        """
        hits = self.recorder.hits
        if hits is not None and self.recorder.tap.may_filter:
            hits = _only(documents, hits)
        page = None if hits is None else _positions(documents, hits.documents, self.k)
        return (Hits(documents, ()), None) if hits is None or page is None else (hits, page)


def unread(documents: Sequence[Document], k: int | None) -> Candidates[Document]:
    """Return documents of which nothing else could be read."""
    return Candidates(documents, range(len(documents[:k])), reason="adapter_failed")


_PARSING = frozenset({"generate_prompt", "agenerate_prompt", "parse_result", "aparse_result"})
"""Functions of a language model and its parser: what fails there does not know of any view."""


def _may_be_the_views(error: BaseException) -> bool:
    """Return whether a composite may work on its own stores where it failed on their views."""
    if isinstance(error, InvalidResultError):
        return False
    if isinstance(error, Exception) and not isinstance(error, UNSUPPORTED):
        return False  # a panic of native code is none of the retriever's own
    return not passed_through(error, EMBEDDING | _PARSING)


def with_page(found: Candidates[Document], returned: Sequence[Document]) -> Candidates[Document]:
    """Return the same candidates with the page that the retriever returned by itself."""
    try:
        return contained(lambda: _placed(found, returned))
    except Exception as error:
        log.warning("comparing documents failed: %s", type(original(error)).__name__)
        return unread(returned, None)


def _placed(found: Candidates[Document], returned: Sequence[Document]) -> Candidates[Document]:
    items, page = list(found.items), []
    left = dict(enumerate(items))
    for document in returned:
        place = _place(document, left)
        if place is None:  # a tie brought it in
            place = len(items)
            items.append(document)
        left.pop(place, None)
        page.append(place)
    return replace(found, items=items, page=page)


def _place(document: Document, among: dict[int, Document]) -> int | None:
    """Find a document: itself, or one that is equal, since most stores make new objects."""
    for same in (is_, eq):
        for place, item in among.items():
            if same(item, document):
                return place
    return None


def _only(returned: Sequence[Document], hits: Hits) -> Hits | None:
    """Return the hits that a plain search let through; None where it returned something else.

    What it left out, by a filter of its own, is no candidate: nobody may see or judge by it.
    """
    scores = {id(hit): score for hit, score in zip(hits.documents, hits.scores, strict=True)}
    if not all(id(document) in scores for document in returned):
        return None
    return Hits(returned, [scores[id(document)] for document in returned], hits.query_vector)


def _positions(
    returned: Sequence[Document], hits: Sequence[Document], k: int | None
) -> Sequence[int] | None:
    """Find the returned documents among the hits, as far as they are on the page.

    A score threshold leaves documents out, so the page is what was returned of the first k
    hits: what the retriever returns for k. None where something was returned
    that was not a hit.
    """
    count = len(returned)
    if count <= len(hits) and all(map(is_, returned, hits)):
        return range(count if k is None else min(k, count))
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
