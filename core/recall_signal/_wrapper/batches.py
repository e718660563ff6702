"""Many questions in one call of the encoder, where it declares that it takes them together.

The convention is an optional `embed_queries(texts)` that returns what `embed_query` returns for
each text, in their order; the evaluation and the command line use it as well. Nobody else's
`embed_documents` is taken for it: many encoders treat questions differently.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from inspect import iscoroutinefunction
from itertools import pairwise
from math import isfinite, nan
from typing import Any, TypeAlias

from recall_signal._steps.failures import contained, original

__all__ = [
    "QUESTIONS_AT_ONCE",
    "EmbedQueries",
    "embed_questions",
    "embedder_of",
    "has_certain_order",
    "parts_of",
]

log = logging.getLogger(__name__)

EmbedQueries: TypeAlias = Callable[[list[str]], Sequence[Sequence[float]]]

QUESTIONS_AT_ONCE = 256
"""Questions embedded in one call: 256 vectors of 1,536 floats are 13 MB as Python lists."""

_NEAR = 2e-6
"""Scores this near each other may change places: each may be 1e-6 off, as a share of the largest
(DemoEncoder: 1e-7)."""


def embedder_of(encoder: Any) -> EmbedQueries | None:
    """Return the encoder's `embed_queries`, None where it declares none."""
    declared: EmbedQueries | None = getattr(encoder, "embed_queries", None)
    return declared if callable(declared) and not iscoroutinefunction(declared) else None


def parts_of(count: int) -> Iterator[slice]:
    """Cut so many questions into the parts that are embedded at once."""
    return (slice(at, at + QUESTIONS_AT_ONCE) for at in range(0, count, QUESTIONS_AT_ONCE))


def embed_questions(embed: EmbedQueries, questions: Sequence[str]) -> list[list[float] | None]:
    """Embed questions together; None for each of them where that fails in any way.

    Args:
        embed: The encoder's `embed_queries`.
        questions: At most `QUESTIONS_AT_ONCE`.

    Returns:
        One vector for each question, `[n, dim]`, or only None: each question is then embedded
        by its own search, which also finds the one that made the call fail.
    """
    try:
        return [*contained(lambda: _rows(embed([*questions]), len(questions)))]
    except Exception as error:
        log.warning("embedding questions together failed: %s", type(original(error)).__name__)
        return [None] * len(questions)


def _rows(vectors: Any, count: int) -> list[list[float]]:
    rows = vectors.tolist() if hasattr(vectors, "tolist") else [[*vector] for vector in vectors]
    if len(rows) != count or len({len(row) for row in rows}) != 1 or not rows[0]:
        raise ValueError("embed_queries must return one vector of one length for each text")
    if not all(isfinite(sum(row)) for row in rows):
        raise ValueError("embed_queries must return finite numbers")
    return rows


def has_certain_order(scores: Sequence[float | None], size: int | None) -> bool:
    """Return whether the question embedded alone surely brings the same page, in the same order.

    A vector that was made together with others may differ in the seventh digit, which decides
    between duplicates.

    Args:
        scores: As the store gave them, in its order; None or NaN is in no order.
        size: The size of the page; None where everything is on it.
    """
    end = None if size is None else size + 1
    first = [nan if score is None else score for score in scores[:end]]
    margin = _NEAR * max([1.0, *map(abs, first)])
    return all(abs(one - other) > margin for one, other in pairwise(first))
