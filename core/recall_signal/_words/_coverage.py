"""The coverage of a query's terms by the texts of its candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from recall_signal._words._terms import QueryTerms, TermKind, query_terms
from recall_signal._words._text import MAX_CHARACTERS, fold
from recall_signal._words._vocabulary import DENSITIES, Vocabulary, is_stuffed

__all__ = [
    "MAX_CHARACTERS",
    "Front",
    "best_coverage",
    "coverage_front",
    "is_witness",
    "term_coverage",
]

MAX_CANDIDATES = 50
"""Candidates that are read, from the top."""

MAX_TRIES = 16
"""Places within other words where a term is found before it counts as missing: bounds the time of
a text made of such places."""

DROP = 0.4
"""Coverage that a candidate loses for each step that its cosine lies below the top one. It keeps
candidates far down from deciding: between pools of 50 and of 10 2.3 % of the levels move, 4.0 %
with .25, 1.9 % with .5. AUROC .991 / .885 / .641 (four encoders); .3 has .000 / .001 / .002 more,
.75 .002 / .003 / .010 less."""

_PAIR, _WORD = TermKind.PAIR, TermKind.WORD

Front: TypeAlias = tuple[tuple[float, float], ...]
"""(drop of the cosine below the top, coverage) of the candidates that can be the best for any
step: drops ascend from 0, and so does coverage."""


def term_coverage(
    query: str,
    texts: Sequence[str | None],
    cosines: Sequence[float | None] | None = None,
    *,
    vocabulary: Vocabulary | None = None,
    step: float | None = None,
) -> float | None:
    """Return how much of the query's informative terms the best candidate holds, 0 to 1.

    Args:
        query: As the user typed it.
        texts: Of the candidates, best first; the first 50 are read, 2,000 characters each.
        cosines: Of the same candidates, finite or None.
        vocabulary: The calibration's, for weights and density.
        step: The calibration's, for candidates below the top.

    Returns:
        None where the query has no informative term or no candidate has a text.
    """
    terms = query_terms(query, vocabulary)
    if terms is None:
        return None
    front = coverage_front(terms, texts, cosines, vocabulary=vocabulary, step=step)
    return best_coverage(front, step)


def coverage_front(
    terms: QueryTerms,
    texts: Sequence[str | None],
    cosines: Sequence[float | None] | None = None,
    *,
    vocabulary: Vocabulary | None = None,
    step: float | None = None,
    left_out: Sequence[bool] | None = None,
) -> Front:
    """Return the candidates that can have the best coverage, whatever the step turns out to be.

    While a calibration is fitted, the step is not known yet, so this is what is remembered of a
    search: a handful of figures. Empty where no candidate has a text.

    Args:
        terms: Of the query.
        texts: Of the candidates, in any order where there are cosines, else best first; None where
            a candidate has none.
        cosines: Of the same candidates, finite or None (then the candidate is left out);
            without them all drops are 0.
        vocabulary: Knows how dense the corpus' texts are.
        step: Where it is known already, candidates too far down to be the best are not read.
        left_out: Candidates that do not count, such as the document that a piece was cut from; they
            take their place among the first 50 all the same, so that larger pools change nothing.
    """
    densities = DENSITIES if vocabulary is None else vocabulary.densities
    front: list[tuple[float, float]] = []
    best = 0.0
    for drop, text in _ranked(texts, cosines, left_out):
        if front and (best >= 1.0 or (step is not None and best >= 1.0 - DROP * drop / step)):
            break  # a full coverage down here would not be better
        if not isinstance(text, str):
            continue
        low = fold(text)
        covered = _covered(terms, low, best)
        if covered > best and not is_stuffed(low, densities):
            best = covered
            front.append((drop, best))
        elif not front:
            front.append((drop, 0.0))
    return tuple(front)


def best_coverage(front: Front, step: float | None = None) -> float | None:
    """Return the best coverage of a front, 0 to 1, each candidate less its drop in steps.

    Args:
        front: See `coverage_front`.
        step: Length of the calibration's step on the cosine axis, > 0; without one drops count
            for nothing.
    """
    if not front:
        return None
    if step is None:
        return front[-1][1]
    return max(0.0, *(covered - DROP * drop / step for drop, covered in front))


def is_witness(foreign: bool | None, coverage: float) -> bool:
    """Return True where missing words say something of a query.

    They do not where it is in another language than the texts, and where that is not known and
    no candidate holds any of its terms.
    """
    return foreign is False or (foreign is None and coverage > 0.0)


def _ranked(
    texts: Sequence[str | None],
    cosines: Sequence[float | None] | None,
    left_out: Sequence[bool] | None,
) -> list[tuple[float, str | None]]:
    """Return (drop below the top cosine, text) of the candidates to read, the best first."""
    out = [False] * len(texts) if left_out is None else left_out
    values = [0.0] * len(texts) if cosines is None else cosines
    scored = [(cosine, at) for at, cosine in enumerate(values) if cosine is not None]
    scored.sort(key=lambda item: -item[0])  # stable: ties keep their order
    kept = [(cosine, texts[at]) for cosine, at in scored[:MAX_CANDIDATES] if not out[at]]
    return [(kept[0][0] - cosine, text) for cosine, text in kept]


def _covered(terms: QueryTerms, low: str, best: float) -> float:
    """Return the share of the terms' weight that a folded text holds; 0 where at most `best`."""
    left = terms.total
    needed = best * left
    for term, weight, kind in terms.terms:
        if term not in low or not (kind is _PAIR or _holds(low, term, kind)):
            left -= weight
            if left <= needed:
                return 0.0
    return left / terms.total


def _holds(low: str, term: str, kind: TermKind) -> bool:
    """Return True where a text that contains a term has it at the right place of a word."""
    at = low.find(term)
    for _ in range(MAX_TRIES):  # a stem starts a word, a short word is one
        end = at + len(term)
        inside = at > 0 and low[at - 1].isalnum()
        if not inside and not (kind is _WORD and low[end : end + 1].isalnum()):
            return True
        at = low.find(term, at + 1)
        if at < 0:
            return False
    return False
