"""Pseudo-queries: short pieces of stored texts, asked as if somebody had typed them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

from recall_signal.errors import InvalidInputError
from recall_signal.pool import Pool

__all__ = ["PseudoQuery", "as_pair", "cut_pseudo_queries", "is_source"]

_WORDS = 12
_CHARACTERS = 30
"""The length of a piece in scripts that put no spaces between words."""

_SHORTEST = 8
_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？।])\s*|\n+")  # noqa: RUF001  (sentence ends)


@dataclass(frozen=True, slots=True)
class PseudoQuery:
    """A piece of a stored text, and where it comes from."""

    text: str
    source_id: str | None


def cut_pseudo_queries(
    documents: Iterable[str | tuple[Any, str]], count: int, seed: int
) -> list[PseudoQuery]:
    """Pieces of at most twelve words from ``count`` documents drawn at random.

    Args:
        documents: Texts, or (id, text) pairs.
        count: How many, at most; one for each distinct text.
        seed: The same seed and documents give the same pieces.

    Raises:
        InvalidInputError: A document is neither a text nor a pair.
    """
    pairs = list({text: (id_, text) for id_, text in map(as_pair, documents)}.values())
    random = Random(seed)  # noqa: S311  (a sample, not a secret)
    chosen = random.sample(pairs, min(count, len(pairs)))
    pieces = ((id_, _piece(text, random)) for id_, text in chosen)
    return [PseudoQuery(text, id_) for id_, text in pieces if text]


def is_source(pool: Pool, query: PseudoQuery) -> list[bool]:
    """Which candidates are the document that the piece was cut from, or hold it word for word."""
    piece = _folded(query.text)
    own = [False] * len(pool)
    if pool.ids is not None and query.source_id is not None:
        own = [id_ is not None and str(id_) == query.source_id for id_ in pool.ids]
    if pool.texts is not None:
        own = [
            same or piece in _folded(text or "") for same, text in zip(own, pool.texts, strict=True)
        ]
    return own


def as_pair(document: str | tuple[Any, str]) -> tuple[str | None, str]:
    """A document as (id, text), the id as a text.

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
    long_enough = [part for part in sentences if len(part) >= _SHORTEST] or [text.strip()]
    sentence = random.choice(long_enough)
    words = sentence.split()
    if len(words) > 1:
        return " ".join(words[:_WORDS])
    return sentence[:_CHARACTERS]


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
