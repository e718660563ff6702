"""Pseudo-queries: short pieces of stored texts, asked as if somebody had typed them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from unicodedata import name

from recall_signal.errors import InvalidInputError

__all__ = ["PseudoQuery", "as_pair", "cut_pseudo_queries", "writing_systems_of"]

MAX_WORDS = 12
MAX_CHARACTERS = 30
"""Length of a pseudo-query in writing systems that put no spaces between words."""

_MIN_SENTENCE = 8
_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？।])\s*|\n+")  # noqa: RUF001  (sentence ends)


@dataclass(frozen=True, slots=True)
class PseudoQuery:
    """A piece of a stored text, and the id of the document that it was cut from."""

    text: str
    source_id: str | None


def cut_pseudo_queries(
    documents: Iterable[str | tuple[object, str]], count: int, seed: int
) -> list[PseudoQuery]:
    """Cut one pseudo-query of at most twelve words from each of `count` documents.

    Args:
        documents: Texts, or (id, text) pairs. Pass content only: a line of metadata in front of
            a text would be cut like any other.
        count: Documents drawn at random; all distinct texts where there are fewer.
        seed: The same seed and documents give the same pseudo-queries.

    Raises:
        InvalidInputError: A document is neither a text nor a pair.
    """
    pairs = list({text: (id_, text) for id_, text in map(as_pair, documents)}.values())
    random = Random(seed)  # noqa: S311  (a sample, not a secret)
    chosen = random.sample(pairs, min(count, len(pairs)))
    pieces = ((id_, _piece(text, random)) for id_, text in chosen)
    return [PseudoQuery(text, id_) for id_, text in pieces if text]


def as_pair(document: object) -> tuple[str | None, str]:
    """Return a document as (id, text), the id as a text.

    Raises:
        InvalidInputError: It is neither a text nor a pair.
    """
    if isinstance(document, str):
        return None, document
    if isinstance(document, tuple | list) and len(document) == 2 and isinstance(document[1], str):
        return (None if document[0] is None else str(document[0])), document[1]
    raise InvalidInputError(
        f"documents must be texts or (id, text) pairs, got {type(document).__name__}"
    )


def _piece(text: str, random: Random) -> str:
    sentences = [part.strip() for part in _SENTENCES.split(text)]
    long_enough = [part for part in sentences if len(part) >= _MIN_SENTENCE] or [text.strip()]
    sentence = random.choice(long_enough)
    words = sentence.split()
    return " ".join(words[:MAX_WORDS]) if len(words) > 1 else sentence[:MAX_CHARACTERS]


_FAMILIES = {
    "LATIN": "latin",
    "CYRILLIC": "cyrillic",
    "CJK": "cjk",
    "HIRAGANA": "cjk",
    "KATAKANA": "cjk",
    "HANGUL": "hangul",
    "ARABIC": "arabic",
}

_MIN_SHARE = 0.1
"""A writing system with a smaller share of the letters belongs to names and quotations."""

_CHARACTERS, _TEXTS = 200, 500
"""Characters read of each text, and texts read, spread evenly over all."""


def writing_systems_of(texts: Sequence[str]) -> frozenset[str]:
    """Return the writing systems that hold a tenth or more of the letters of these texts."""
    counts: Counter[str] = Counter()
    for text in texts[:: -(-len(texts) // _TEXTS) or 1]:
        letters = Counter(c for c in text[:_CHARACTERS] if c.isalpha())
        for letter, count in letters.items():
            counts[_writing_system(letter)] += count
    total = sum(counts.values())
    return frozenset(system for system, count in counts.items() if count >= _MIN_SHARE * total)


@lru_cache(4096)
def _writing_system(letter: str) -> str:
    first = name(letter, "").partition(" ")[0]
    return _FAMILIES.get(first, first.lower())
