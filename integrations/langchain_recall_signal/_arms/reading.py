"""The cosines of a composite's documents, from what its arms found in the one call.

Only a search for the question itself has the question's cosines. Where the composite searched
for other texts alone, the question is embedded once and compared with the stored vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from langchain_core.documents import Document

from langchain_recall_signal._arms.matching import Place, Sources
from langchain_recall_signal._arms.record import ArmSearch, CallRecord
from langchain_recall_signal._encoders import encoder_name
from langchain_recall_signal.stores import Hits
from recall_signal._flow.backend import Flow
from recall_signal.stores import ScoreReading
from recall_signal.stores._vectors import FINAL_REASONS, resolve_cosines

__all__ = ["ArmReading"]


@dataclass(frozen=True, slots=True)
class ArmReading:
    """Reads one call.

    Attributes:
        record: What was seen.
        question: The question.
        documents: What the composite returned.
        nothing_read: The reason where no search had anything to do with the documents.
        keywords_only: Whether only keyword scores count.
        blocks: Whether waiting for a store may block.
    """

    record: CallRecord
    question: str
    documents: Sequence[Document]
    nothing_read: str
    keywords_only: bool = False
    blocks: bool = False

    def read(self) -> Flow[tuple[ScoreReading, str | None]]:
        """Return one cosine or None per document, or keyword scores, or a reason.

        Beside it the name of the encoder of the cosines, None where that is not known.
        """
        searches = [] if self.keywords_only else sorted(self.record.searches, key=_place)
        own = [search for search in searches if search.query == self.question]
        others = [search for search in searches if search.query != self.question]
        reason = None
        for group in _by_encoder(own):
            reading = yield from self._of_own(group)
            if reading.cosines is not None or reading.reason in FINAL_REASONS:
                return reading, _encoder_of(group)
            reason = reason or reading.reason
        for group in _by_encoder(others):
            reading = yield from self._of_others(group, own)
            if reading.cosines is not None:
                return reading, _encoder_of(group)
            reason = reason or reading.reason
        scores = self._keywords()
        if scores is not None:
            return ScoreReading(None, scores=scores), None
        return ScoreReading(None, reason=reason or self._nothing_read(searches)), None

    def _nothing_read(self, searches: Sequence[ArmSearch]) -> str:
        """Return the reason where no document was one of the hits."""
        if any(search.query != self.question for search in self.record.keywords):
            return "rewritten_query"
        strange = searches and not any(search.arm.reader.is_known for search in searches)
        return "store_not_recognised" if strange else self.nothing_read

    def _of_own(self, group: Sequence[ArmSearch]) -> Flow[ScoreReading]:
        """Read searches for the question, by one encoder.

        Where one cannot be read, its documents may have been found by another one as well.
        """
        places = self._places(group)
        readings: dict[int, ScoreReading] = {}
        for number in sorted({place.search for found in places for place in found}):
            reading = yield from self._cosines(group[number])
            if reading.reason in FINAL_REASONS:
                return reading
            readings[number] = reading
        left = [
            search
            for number, search in enumerate(group)
            if number not in readings or readings[number].cosines is not None
        ]
        if len(left) < len(group):
            found = yield from self._of_own(left)
            unread = next(r for r in readings.values() if r.cosines is None)
            return found if found.cosines is not None or found.reason else unread
        cosines: dict[Place, float] = {}
        for number, reading in readings.items():
            cosines.update(_known(number, reading.cosines))
        return self._reading(next(iter(readings.values()), ScoreReading(None)), places, cosines)

    def _cosines(self, search: ArmSearch) -> Flow[ScoreReading]:
        """Return the cosines of a search's hits."""
        reader = search.arm.reader
        hits = Hits(search.documents, search.scores, search.vector)
        if not search.scores:
            reading = ScoreReading(None, reason=reader.missing_score_reason)
        elif reader.waits and not self.blocks:
            reading = yield from reader.read_in_thread(hits)
        else:
            reading = reader.read(hits)
        if not reading.is_complete:
            reading = yield from resolve_cosines(reading, reader.source(hits))
        return reading

    def _of_others(
        self, group: Sequence[ArmSearch], own: Sequence[ArmSearch]
    ) -> Flow[ScoreReading]:
        """Compare the stored vectors of what was found by other texts with the question's."""
        places = self._places(group)
        wanted = sorted({place for found in places for place in found})
        vector = next((o.vector for o in own if o.vector is not None and _alike(o, group[0])), None)
        rewritten = any(search.query is not None for search in group)
        reason = "rewritten_query" if rewritten else self.nothing_read
        result = ScoreReading(None, reason=reason if wanted else None)
        cosines: dict[Place, float] = {}
        for arm in dict.fromkeys(group[place.search].arm for place in wanted):
            here = [place for place in wanted if group[place.search].arm is arm]
            documents = [group[place.search].documents[place.position] for place in here]
            source = arm.reader.source(Hits(documents, (), vector))
            reading = yield from resolve_cosines(ScoreReading(None, reason=reason), source)
            vector = vector if source.query_vector is None else source.query_vector
            result = result if result.cosines is not None else reading
            for place, cosine in zip(here, reading.cosines or (), strict=False):
                if cosine is not None:
                    cosines[place] = cosine
        return self._reading(result, places, cosines)

    def _places(self, group: Sequence[ArmSearch]) -> list[list[Place]]:
        sources = Sources(group, self.record)
        return [sources.of(document) for document in self.documents]

    def _reading(
        self, result: ScoreReading, places: list[list[Place]], cosines: dict[Place, float]
    ) -> ScoreReading:
        """Return the best cosine behind each document, as this reading's result."""
        if not cosines:
            return replace(result, cosines=None)
        best = [max((cosines[p] for p in found if p in cosines), default=None) for found in places]
        return ScoreReading(best, result.source)

    def _keywords(self) -> list[float | None] | None:
        """Return the keyword scores, where one index alone was searched for the question."""
        own = [search for search in self.record.keywords if search.query == self.question]
        if not own or len({id(search.index) for search in own}) > 1:
            return None
        sources = Sources(own, self.record)
        scores = []
        for document in self.documents:
            found = [own[place.search].scores[place.position] for place in sources.of(document)]
            scores.append(max(found, default=None))
        return None if scores and all(score is None for score in scores) else scores


def _place(search: ArmSearch) -> int:
    return search.arm.place


def _encoder_of(group: Sequence[ArmSearch]) -> str | None:
    """Return the name of the encoder of a group's searches."""
    return encoder_name(group[0].arm.reader.encoder)


def _known(number: int, cosines: Sequence[float | None] | None) -> dict[Place, float]:
    return {
        Place(number, position): cosine
        for position, cosine in enumerate(cosines or ())
        if cosine is not None
    }


def _by_encoder(searches: Sequence[ArmSearch]) -> list[list[ArmSearch]]:
    """Group searches by the encoder of their questions, in the order of the stores."""
    groups: list[list[ArmSearch]] = []
    for search in searches:
        for group in groups:
            if _alike(group[0], search):
                group.append(search)
                break
        else:
            groups.append([search])
    return groups


def _alike(one: ArmSearch, other: ArmSearch) -> bool:
    """Return whether two searches surely embedded their texts with the same encoder."""
    if one.arm is other.arm:
        return True
    encoder, second = one.arm.reader.encoder, other.arm.reader.encoder
    if encoder is not None and encoder is second:
        return True
    if one.vector is None or other.vector is None or one.query != other.query:
        return False
    return list(one.vector) == list(other.vector)
