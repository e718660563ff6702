"""The informative terms of a query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from recall_signal._words._text import SHORTEST, STEM, fold, is_function_word, is_unspaced, split
from recall_signal._words._vocabulary import Vocabulary

__all__ = ["QueryTerms", "TermKind", "is_foreign", "query_terms"]

MAX_TERMS = 24
"""Terms of a query that are looked for, the most telling ones first; bounds the time of a long
query. A question has 3 to 11 informative words, or about 25 pairs in Japanese."""

FOREIGN = 0.5
"""A query is in another language than the texts where fewer of its function words belong to the
corpus. On dev that is said of 0 to 4 % of the queries in the corpus' own language (9 % of those to
keyword-like intents, 16 % of those to one-sentence notes), and of 77 % of Spanish and 91 % of
German questions on English passages."""

FEWEST_FUNCTION_WORDS = 2
"""With fewer in the query, they do not tell its language."""


class TermKind(IntEnum):
    """The way to look for a term: the start of a word, a whole word, or anywhere."""

    STEM = 0
    WORD = 1
    PAIR = 2


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The informative terms of one query.

    Attributes:
        terms: (characters, weight, kind), the heaviest first, at least one.
        total: Sum of the weights, > 0.
        foreign: True where the query's function words are not those of the corpus; None where it
            has too few to tell, or no vocabulary was given.
    """

    terms: tuple[tuple[str, float, TermKind], ...]
    total: float
    foreign: bool | None


def query_terms(query: str, vocabulary: Vocabulary | None = None) -> QueryTerms | None:
    """Return the informative terms of a query, None where it has none.

    Args:
        query: As the user typed it; the first 2,000 characters are read.
        vocabulary: Gives the weights. Without one every term weighs the same.
    """
    words, pairs = split(fold(query))
    function_words = _function_words(words)
    foreign = None if vocabulary is None else _is_foreign(function_words, vocabulary)
    kinds = {
        word[:STEM]: TermKind.STEM if len(word) >= STEM else TermKind.WORD
        for word in words
        if word not in function_words
    }
    kinds.update(dict.fromkeys(pairs, TermKind.PAIR))
    weighed = ((term, _weight(term, vocabulary), kind) for term, kind in kinds.items())
    telling = sorted((item for item in weighed if item[1] > 0.0), key=lambda item: -item[1])
    terms = tuple(telling[:MAX_TERMS])
    return QueryTerms(terms, sum(weight for _, weight, _ in terms), foreign) if terms else None


def is_foreign(query: str, vocabulary: Vocabulary) -> bool | None:
    """Return whether a query is in another language than a corpus, as in `QueryTerms`."""
    words, _ = split(fold(query))
    return _is_foreign(_function_words(words), vocabulary)


def _function_words(words: Iterable[str]) -> set[str]:
    return {word for word in words if is_function_word(word)}


def _is_foreign(function_words: set[str], vocabulary: Vocabulary) -> bool | None:
    if len(function_words) < FEWEST_FUNCTION_WORDS:
        return None
    known = sum(vocabulary.knows(word) for word in function_words)
    return known < FOREIGN * len(function_words)


def _weight(term: str, vocabulary: Vocabulary | None) -> float:
    """Return how telling a term is; short numbers and the like weigh nothing."""
    if len(term) < SHORTEST and not is_unspaced(term):
        return 0.0
    return 1.0 if vocabulary is None else vocabulary.weight_of(term)
