"""The figures of one search: its top cosine, with and without its own document, and its words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from sys import intern
from typing import TypeAlias

from recall_signal._numbers import Numbers, finite_column
from recall_signal._words import MAX_CHARACTERS, Vocabulary, coverage_front, query_terms
from recall_signal.calibration._pseudo_queries import PseudoQuery
from recall_signal.calibration._word_scale import WitnessPair
from recall_signal.errors import InvalidInputError
from recall_signal.pool import Pool
from recall_signal.thresholds import RANGE_TOLERANCE

__all__ = [
    "Observation",
    "SearchResult",
    "as_pool",
    "observe",
    "top_of",
]

SearchResult: TypeAlias = "Pool | Numbers"
"""Accepted return values of a search: a pool, or one cosine or None per candidate."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The texts of a pool, kept until a fit knows the words of the corpus.

    Attributes:
        query: The query.
        cosines: Of all candidates, finite or None.
        texts: Beginnings of their texts, as far as coverage reads them.
        left_out: Candidates that are a pseudo-query's own document.
    """

    query: str
    cosines: tuple[float | None, ...]
    texts: tuple[str | None, ...]
    left_out: tuple[bool, ...] | None


@dataclass(frozen=True, slots=True)
class Observation:
    """The figures of one search.

    Attributes:
        top: The top cosine; None where there is none.
        top_excluding_source: The top cosine without the document that a pseudo-query was cut
            from; None for other queries.
        reranked: The best score of a reranker, where there was one.
        reading: What term coverage is measured on, where the pool had texts.
        keys: Ids of the candidates, or their texts, to estimate the size of the corpus.
    """

    top: float | None
    top_excluding_source: float | None = None
    reranked: float | None = None
    reading: Reading | None = None
    keys: tuple[str, ...] = ()

    def seen(self, vocabulary: Vocabulary) -> WitnessPair | None:
        """Return the figures on both witnesses; a pseudo-query's without its own document."""
        reading = self.reading
        own = reading is not None and reading.left_out is not None
        top = self.top_excluding_source if own else self.top
        if reading is None or top is None:
            return None if top is None else WitnessPair(top)
        terms = query_terms(reading.query, vocabulary)
        if terms is None:
            return WitnessPair(top)
        front = coverage_front(
            terms,
            reading.texts,
            reading.cosines,
            vocabulary=vocabulary,
            left_out=reading.left_out,
        )
        return WitnessPair(top, front, terms.foreign)


def as_pool(found: object) -> Pool:
    """Return the result of a search as a pool.

    Raises:
        InvalidInputError: It is neither a pool nor a sequence of cosines.
    """
    if isinstance(found, Pool):
        return found
    cosines = found.tolist() if hasattr(found, "tolist") else found
    if not isinstance(cosines, list | tuple):
        raise InvalidInputError(
            f"search must return a Pool or a sequence of cosines, got {type(cosines).__name__}"
        )
    return Pool(cosines)


def observe(pool: Pool, query: str = "", pseudo_query: PseudoQuery | None = None) -> Observation:
    """Take the figures of a pool.

    Args:
        pool: The result of one search.
        query: The query.
        pseudo_query: The piece of a stored text that it is, if it is one.

    Raises:
        InvalidInputError: A cosine is neither a number nor None.
    """
    cosines = tuple(finite_column(pool.cosines, _EXPECTED))
    expected = "rerank_scores must hold a number or None per candidate"
    reranked = finite_column(() if pool.rerank_scores is None else pool.rerank_scores, expected)
    own = None if pseudo_query is None else _own(pool, pseudo_query, cosines)
    others = (
        cosines if own is None else [c for c, same in zip(cosines, own, strict=True) if not same]
    )
    reading = None
    texts = None if pool.texts is None else tuple(_beginning(text) for text in pool.texts)
    if texts is not None:
        reading = Reading(query, cosines, texts, None if own is None else tuple(own))
    return Observation(
        top_of(cosines),
        None if own is None else top_of(others),
        max((score for score in reranked if score is not None), default=None),
        reading,
        tuple(str(key) for key in (pool.ids if pool.ids is not None else texts or ()) if key),
    )


def top_of(cosines: Iterable[object]) -> float | None:
    """Return the highest cosine; None where there is none, or any lies outside [-1.001, 1.001].

    Raises:
        InvalidInputError: A value is neither a number nor None.
    """
    values: Sequence[float] = [
        value for value in finite_column(cosines, _EXPECTED) if value is not None
    ]
    top = max(values, default=None)
    if top is None or top > RANGE_TOLERANCE or min(values) < -RANGE_TOLERANCE:
        return None
    return top


def _own(pool: Pool, pseudo_query: PseudoQuery, cosines: Sequence[float | None]) -> Sequence[bool]:
    """Return which candidates are the document that a pseudo-query was cut from.

    That is every candidate with its id, and every one that holds it word for word. Where the pool
    has neither ids nor texts to tell by, it is the best candidate.
    """
    if pool.texts is not None or (pool.ids is not None and pseudo_query.source_id is not None):
        return _is_source(pool, pseudo_query)
    best = max((cosine for cosine in cosines if cosine is not None), default=None)
    at = None if best is None else cosines.index(best)
    return [place == at for place in range(len(cosines))]


def _beginning(text: object) -> str | None:
    """Return what coverage reads of a text, the same object for equal texts."""
    return intern(str(text[:MAX_CHARACTERS])) if isinstance(text, str) else None


def _is_source(pool: Pool, pseudo_query: PseudoQuery) -> list[bool]:
    own = [False] * len(pool)
    if pool.ids is not None and pseudo_query.source_id is not None:
        own = [id_ is not None and str(id_) == pseudo_query.source_id for id_ in pool.ids]
    if pool.texts is not None:
        piece = _folded(pseudo_query.text)
        own = [
            same or piece in _folded(text or "") for same, text in zip(own, pool.texts, strict=True)
        ]
    return own


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


_EXPECTED = "a search must return, and a baseline observe, a number or None per candidate"
