"""Cosines of a composite retriever's page, from the searches of its own arms.

Only a search for the question itself says something about the question, and only the cosines of
one encoder can be compared. Everything here works on what was heard; no search is made again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from llama_index.core.schema import NodeWithScore, QueryBundle

from llama_index_recall_signal._encoders import encoder_name
from llama_index_recall_signal._internals import index_target, parent_id, store_ids
from llama_index_recall_signal._listener import HeardSearch, Recorder
from llama_index_recall_signal._matching import Matcher
from llama_index_recall_signal._question import Question, are_only, note_own_vector
from llama_index_recall_signal._reader import Reader, StoreChecks, reader_of
from recall_signal._flow.backend import Flow
from recall_signal._pydantic import copy_with
from recall_signal._steps.compute import CallStore
from recall_signal.reports import CosineSource
from recall_signal.stores import ScoreReading, Vector
from recall_signal.stores._vectors import FINAL_REASONS, resolve_cosines

__all__ = ["Arms", "StoreChecks"]

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Measured:
    """Hits of one encoder, with the cosines that are known.

    Attributes:
        source: Where they came from.
        reason: Why there are none.
    """

    hits: list[NodeWithScore]
    cosines: list[float]
    source: CosineSource | None = None
    reason: str | None = None

    def add(
        self,
        hits: Sequence[NodeWithScore],
        cosines: Sequence[float | None] | None,
        source: CosineSource | None = None,
        reason: str | None = None,
    ) -> None:
        """Add the hits with a number."""
        for hit, cosine in zip(hits, cosines or (), strict=False):
            if cosine is not None:
                self.hits.append(hit)
                self.cosines.append(cosine)
        self.source = self.source or source
        if reason is not None and self.reason not in FINAL_REASONS:
            self.reason = reason


class Arms:
    """Reads what was heard during one call.

    Args:
        question: The query, before the call: arms leave their vector there.
        checks: The wrapper's checks of its stores.

    Attributes:
        recorder: To hear with.
        encoder: The name of the encoder of the cosines that were read; None where there are none.
    """

    def __init__(self, question: QueryBundle, checks: StoreChecks) -> None:
        self.recorder = Recorder()
        self.question, self.checks = question, checks
        self.given = question.embedding
        self.encoder: str | None = None
        self._questions: dict[int, Question] = {}

    def read(self, returned: Sequence[NodeWithScore]) -> Flow[ScoreReading | None]:
        """Return a cosine or keyword score for each item; None where nothing was heard.

        Args:
            returned: What the composite returned.
        """
        searches = self.recorder.searches()
        dense = [heard for heard in searches if heard.search is not None]
        own = yield from self._own(dense)
        others = [heard for heard in dense if all(heard is not one for one in own)]
        readings = [
            *((group, self._by_scores(group)) for group in _by_encoder(own)),
            *((group, self._by_vectors(group)) for group in _by_encoder(others)),
        ]
        reason: str | None = None
        for group, reading in readings:
            measured = yield from reading
            if measured.reason in FINAL_REASONS:
                return ScoreReading(None, reason=measured.reason)
            cosines = yield from self._placed(returned, measured)
            if any(cosine is not None for cosine in cosines):
                self.encoder = encoder_name(group[0].encoder)
                return ScoreReading(cosines, measured.source)
            reason = reason or measured.reason
        scores = yield from self._by_keywords(searches, returned)
        if dense and (scores is None or scores.scores is None):
            return ScoreReading(None, reason=reason or "no_scores")
        return scores

    @property
    def is_doubted(self) -> bool:
        """Return whether an arm searched with a given vector that is not the question's."""
        return any(question.reason is not None for question in self._questions.values())

    def _own(self, dense: Sequence[HeardSearch]) -> Flow[list[HeardSearch]]:
        """Return the searches that compared their texts with the question, by their own encoder.

        LlamaIndex hands one query from arm to arm, and the first leaves its vector there: the
        next one, with another encoder, then searches with a vector that is none of its own.
        """
        asked = [one for one in dense if one.given is None and self._is_asked(one)]
        own = []
        for heard in dense:
            if heard.given is None:
                is_own = self._is_asked(heard)
                if is_own:
                    note_own_vector(heard.bundle, heard.encoder)
            elif heard.given is self.given:
                is_own = (yield from self._question_of(heard).doubt()) is None
            else:
                is_own = any(_left_vector(first, heard) for first in asked)
            if is_own:
                own.append(heard)
        return own

    def _is_asked(self, heard: HeardSearch) -> bool:
        return are_only(heard.strings, self.question.query_str)

    def _question_of(self, heard: HeardSearch) -> Question:
        """Return the question before the search of an encoder."""
        made = Question(self.question, heard.encoder, self.given)
        return self._questions.setdefault(id(heard.encoder), made)

    def _vector(self, heard: HeardSearch) -> Vector | None:
        """Return the question's vector, where it was computed in this call."""
        question = self._questions.get(id(heard.encoder))
        if question is not None:
            own = self.given if question.reason is None else question.vector
            if own is not None:
                return own
        if heard.encoder is None:
            return None
        return self.recorder.vector_of(heard.encoder, self.question.query_str)

    def _reader(self, heard: HeardSearch, vector: Vector | None) -> Reader:
        if heard.search is None:
            raise LookupError("a keyword search has no store")
        bundle = replace(self.question, embedding=None if vector is None else [*vector])
        memory = self.checks.of(heard.search.store)
        reader = reader_of(heard.search, bundle, None, memory)
        reader.find_ids = partial(store_ids, heard.search.retriever)
        return reader

    def _by_scores(self, group: Sequence[HeardSearch]) -> Flow[_Measured]:
        """Read the scores of searches for the question."""
        measured = _Measured([], [])
        for heard in group:
            reader = self._reader(heard, self._vector(heard))
            found = yield from reader.read_nodes(_as_scored(heard), range(0))
            hits = heard.hits or ()
            measured.add(hits, found.cosines, found.source, found.reason)
        return measured

    def _by_vectors(self, group: Sequence[HeardSearch]) -> Flow[_Measured]:
        """Compare the stored vectors of hits for another question with the question's own."""
        measured = _Measured([], [])
        made = (self._vector(heard) for heard in group)
        vector: Vector | None = next((one for one in made if one is not None), None)
        for heard in _by_store(group):
            hits = heard.hits or ()
            access = self._reader(heard, None).access_to(hits)
            access.query_vector = vector
            question = self._questions.get(id(heard.encoder))
            reason = None if question is None else question.reason
            reading = yield from resolve_cosines(
                ScoreReading(None, reason=reason or "rewritten_query"), access
            )
            vector = access.query_vector
            measured.add(hits, reading.cosines, reading.source, reading.reason)
        return measured

    def _by_keywords(
        self, searches: Sequence[HeardSearch], returned: Sequence[NodeWithScore]
    ) -> Flow[ScoreReading | None]:
        """Return the scores of the one keyword search; two scales cannot be compared."""
        keywords = [heard for heard in searches if heard.search is None]
        own = [heard for heard in keywords if heard.query == self.question.query_str]
        if keywords and not own:
            return ScoreReading(None, reason="rewritten_query")
        if len(own) != 1:
            return None
        found = _Measured([], [])
        found.add(own[0].hits or (), own[0].scores)
        scores = yield from self._placed(returned, found)
        known = not returned or any(score is not None for score in scores)
        return ScoreReading(None, scores=scores) if known else None

    def _placed(
        self, returned: Sequence[NodeWithScore], measured: _Measured
    ) -> Flow[list[float | None]]:
        """Return the number of each item's hit, or of the best one that it stands for."""
        heard = self.recorder.retrievers
        matcher = Matcher(
            measured.hits,
            measured.cosines,
            partial(index_target, heard),
            partial(parent_id, heard),
        )
        find = partial(_places, matcher, returned)
        climbs = any(item.node.child_nodes for item in returned)  # parents are read from a store
        places = (yield CallStore(find)) if climbs else find()
        return [None if place is None else measured.cosines[place] for place in places]


def _left_vector(first: HeardSearch, heard: HeardSearch) -> bool:
    """Return whether a search was made with the vector that an earlier one left in the query."""
    return first.bundle.embedding is heard.given and first.encoder is heard.encoder


def _places(matcher: Matcher, items: Sequence[NodeWithScore]) -> list[int | None]:
    return [matcher.place_of(item) for item in items]


def _as_scored(heard: HeardSearch) -> list[NodeWithScore]:
    """Return the hits with the scores that the store gave: composites write others over them."""
    pairs = zip(heard.hits or (), heard.scores, strict=True)
    return [hit if hit.score is score else copy_with(hit, {"score": score}) for hit, score in pairs]


def _by_encoder(searches: Sequence[HeardSearch]) -> Iterable[list[HeardSearch]]:
    """Return the searches of each encoder, the first one's first."""
    groups: dict[int, list[HeardSearch]] = {}
    for heard in searches:
        groups.setdefault(id(heard.encoder), []).append(heard)
    return groups.values()


def _by_store(searches: Sequence[HeardSearch]) -> Iterable[HeardSearch]:
    """Return one search for each store, with every hit of it once."""
    merged: dict[int, HeardSearch] = {}
    for heard in searches:
        key = id(heard.search and heard.search.store)
        first = merged.setdefault(key, replace(heard, hits=[], scores=()))
        known = {hit.node_id for hit in first.hits or ()}
        fresh = [hit for hit in heard.hits or () if hit.node_id not in known]
        first.hits = [*(first.hits or ()), *fresh]
    return merged.values()
