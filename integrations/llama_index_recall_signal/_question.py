"""Whose vector a query is searched with: the question's own, or that of other words.

A `QueryBundle` may carry other texts to embed in the place of its question, as HyDE does, or a
vector that is ready. What is found by these is compared with these; a cosine of the product is one
with the question.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from weakref import ref

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import QueryBundle

from recall_signal._flow.embedding import EmbedQuery, VectorMismatch, cosines_of
from recall_signal._steps.driver import Steps, contained_steps
from recall_signal._steps.failures import original
from recall_signal._text import is_blank
from recall_signal.stores import Vector

__all__ = ["EmbeddedTogether", "Question", "are_only", "is_reworded", "note_own_vector"]

log = logging.getLogger(__name__)

_SAME = 1.0 - 1e-4
"""Cosine from which two vectors are of the same text: services answer one text a little differently
each time, and vectors are kept in half precision."""


class EmbeddedTogether(QueryBundle):
    """A question with a vector that a batch made: where it does not serve, it may be dropped."""


def are_only(strings: Sequence[str], question: str) -> bool:
    """Return whether what is embedded for a query is the question and nothing else."""
    return all(text == question for text in strings)


def is_reworded(bundle: QueryBundle) -> bool:
    """Return whether other texts stand in the place of the question, or beside it."""
    return not are_only(bundle.embedding_strs, bundle.query_str)


class Question:
    """The question of a query, before a search by one encoder.

    Args:
        bundle: The query; a search may leave its vector here.
        encoder: What embeds the questions of the search; None where that is not known.
        given: The vector that came with the query.

    Attributes:
        reason: Why hits of the search say nothing about the question, once `doubt` has found out.
        vector: The question's own vector, where it had to be made for that.
    """

    def __init__(
        self, bundle: QueryBundle, encoder: BaseEmbedding | None, given: Vector | None
    ) -> None:
        self.bundle, self.encoder, self.given = bundle, encoder, given
        self.reason: str | None = None
        self.vector: Vector | None = None
        self._is_settled = False

    def doubt(self) -> Steps[EmbedQuery, str | None]:
        """Return the reason why the search was not one for the question; None where it was.

        A given vector is compared with the question's own, once. Where its encoder is not known,
        it is taken for what LlamaIndex calls it: the embedding of the query.
        """
        if not self._is_settled:
            self._is_settled = True
            self.reason = yield from self._found_out()
        return self.reason

    def _found_out(self) -> Steps[EmbedQuery, str | None]:
        bundle, given, encoder = self.bundle, self.given, self.encoder
        if is_reworded(bundle):
            return "rewritten_query"
        if encoder is None or (given is not None and is_blank(bundle.query_str)):
            return None
        if given is not None and not _is_own(bundle, given, encoder):
            try:
                is_same = yield from contained_steps(self._compared(encoder, given))
            except Exception as error:
                log.warning("embedding the question failed: %s", type(original(error)).__name__)
                return "embedding_failed"
            if not is_same:
                return "rewritten_query"
        note_own_vector(bundle, encoder)
        return None

    def _compared(self, encoder: BaseEmbedding, given: Vector) -> Steps[EmbedQuery, bool]:
        self.vector = own = yield EmbedQuery(encoder)
        try:
            (cosine,) = cosines_of(own, [given])
        except VectorMismatch:
            return False
        return cosine is not None and cosine >= _SAME


_own: dict[int, tuple[ref[QueryBundle], object, BaseEmbedding]] = {}
"""The last vector of each living query that is known to be its question's, and its encoder.

By id, since a `QueryBundle` cannot be hashed; the reference tells a new one from an old one.
"""


def note_own_vector(bundle: QueryBundle, encoder: BaseEmbedding | None) -> None:
    """Remember that the vector in a query is the question's own, so that none is made again."""
    vector, key = bundle.embedding, id(bundle)
    if vector is not None and encoder is not None:
        _own[key] = ref(bundle, lambda _: _own.pop(key, None)), vector, encoder


def _is_own(bundle: QueryBundle, vector: Vector, encoder: BaseEmbedding) -> bool:
    known = _own.get(id(bundle))
    if known is None or known[0]() is not bundle:
        return False
    return known[1] is vector and known[2] is encoder
