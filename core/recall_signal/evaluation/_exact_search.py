"""Exact search: the cosine of every query with every document of its group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from copy import copy
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from recall_signal.encoders import Encoder
from recall_signal.errors import InvalidInputError
from recall_signal.evaluation._data import Document, Query
from recall_signal.evaluation._metrics import Floats
from recall_signal.pool import Pool

__all__ = ["Progress", "Ranking", "Retriever"]

Vectors: TypeAlias = Sequence[Sequence[float]]

Progress = Callable[[int, int], None]

_BATCH = 64
"""Texts embedded at a time; progress is reported after each batch."""

_BLOCK = 256
"""Queries searched at a time: with 100,000 documents, 200 MB of cosines."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The pools of Q queries.

    Attributes:
        cosines: `[Q, P]`, each row from high to low, padded with NaN.
        places: `[Q, P]`, positions in the corpus, -1 where there is no candidate.
    """

    cosines: Floats
    places: NDArray[np.int64]


class Retriever:
    """A corpus, its vectors, and exact search among them; within a group where a query has one.

    Calling it with a text gives the pool, so that it can be calibrated like any retriever. Texts
    that are no query of the data (probes, pieces of documents) are searched where they belong:
    a piece in the group of a document that holds it, anything else in a group chosen by a hash.

    Args:
        corpus: At least two documents.
        queries: The queries of the data.
        encoder: Embeds both. Where it has `embed_queries(texts)`, that is used for many
            queries at once.
        pool_size: Candidates a pool.
        progress: Called with (texts embedded, texts in all).
    """

    def __init__(
        self,
        corpus: Sequence[Document],
        queries: Sequence[Query],
        encoder: Encoder,
        *,
        pool_size: int,
        progress: Progress | None = None,
    ) -> None:
        self.corpus = corpus
        self.pool_size = pool_size
        self._encoder = encoder
        self._groups = np.array([document.group or "" for document in corpus])
        self._grouped = bool((self._groups != "").any())
        self._group_of = {query.text: query.group for query in queries}
        self._folded: list[str] | None = None
        texts, questions = [document.text for document in corpus], [query.text for query in queries]
        report = _BatchEmbedder(progress, len(texts) + len(questions))
        self._vectors = _unit(report.embed(encoder.embed_documents, texts), len(texts))
        self._query_vectors = self._embed_queries(questions, report)
        if self._query_vectors.shape[1] != self._vectors.shape[1]:
            raise InvalidInputError(
                f"the encoder gives queries {self._query_vectors.shape[1]} dimensions and "
                f"documents {self._vectors.shape[1]}; both need the same"
            )
        self._queries = queries
        self._query_groups = [query.group for query in queries]
        self.ranking = self.rank(self._query_vectors, self._query_groups)
        self._pools: dict[str, Pool] = {}

    def __call__(self, text: str) -> Pool:
        """Return the pool of any text; cached, because calibrations repeat their searches."""
        if text not in self._pools:
            vector = self._embed_queries([text], _BatchEmbedder(None, 1))
            self._pools[text] = self._pool(text, self.rank(vector, [self._where(text)]), 0)
        return self._pools[text]

    def pools(self, rows: Iterable[int]) -> list[Pool]:
        """Return the pools of these queries of the data, by their position."""
        return [self._pool(self._queries[row].text, self.ranking, row) for row in rows]

    def _pool(self, text: str, ranking: Ranking, row: int) -> Pool:
        places = ranking.places[row][ranking.places[row] >= 0]
        documents = [self.corpus[place] for place in places]
        cosines = ranking.cosines[row][: len(places)].tolist()
        return Pool(
            [None if cosine != cosine else cosine for cosine in cosines],
            ids=[document.id for document in documents],
            texts=[document.text for document in documents],
            query=text,
        )

    def resized(self, pool_size: int) -> Retriever:
        """Return this retriever with pools of another size; nothing is embedded again."""
        other = copy(self)
        other.pool_size = pool_size
        other.ranking = other.rank(self._query_vectors, self._query_groups)
        other._pools = {}
        return other

    def rank(self, vectors: NDArray[np.float32], groups: Sequence[str | None]) -> Ranking:
        """Return the pools of these unit vectors, `[Q, dim]`."""
        count = len(vectors)
        cosines = np.full((count, self.pool_size), np.nan)
        places = np.full((count, self.pool_size), -1, dtype=np.int64)
        wanted = np.array([group or "" for group in groups])
        for group in dict.fromkeys(wanted.tolist()):
            members = self._members(group)
            stored = self._vectors[members] if group else self._vectors
            rows = np.flatnonzero(wanted == group)
            for start in range(0, len(rows), _BLOCK):
                block = rows[start : start + _BLOCK]
                table = vectors[block] @ stored.T
                ranked = np.where(np.isnan(table), -np.inf, table)
                order = _best(ranked, self.pool_size)
                width = order.shape[1]
                cosines[block, :width] = np.take_along_axis(table, order, axis=1)
                places[block, :width] = members[order]
        return Ranking(cosines, places)

    def background(self, size: int, seed: int) -> Floats:
        """Return cosines of each query with `size` documents drawn at random, `[Q, size]`."""
        rng = np.random.default_rng(seed)
        wanted = np.array([group or "" for group in self._query_groups])
        out = np.full((len(wanted), size), np.nan)
        for group in dict.fromkeys(wanted.tolist()):
            members = self._members(group)
            drawn = rng.choice(members, min(size, len(members)), replace=False)
            rows = np.flatnonzero(wanted == group)
            out[rows, : len(drawn)] = self._query_vectors[rows] @ self._vectors[drawn].T
        return out

    def _members(self, group: str) -> NDArray[np.int64]:
        """Return positions of the documents of this group; "" stands for all."""
        if not group:
            return np.arange(len(self.corpus))
        members = np.flatnonzero(self._groups == group)
        if not len(members):
            raise InvalidInputError("a query names a group that no document belongs to")
        return members

    def _where(self, text: str) -> str | None:
        """Return the group to search a text in."""
        if not self._grouped:
            return None
        if text in self._group_of:
            return self._group_of[text]
        if self._folded is None:
            self._folded = [_fold(document.text) for document in self.corpus]
        piece = _fold(text)
        for place, stored in enumerate(self._folded):
            if piece in stored:
                return self.corpus[place].group
        groups = sorted(set(self._groups.tolist()) - {""})
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return str(groups[int.from_bytes(digest) % len(groups)])

    def _embed_queries(self, texts: list[str], report: _BatchEmbedder) -> NDArray[np.float32]:
        many = getattr(self._encoder, "embed_queries", None)
        if many is None:
            one = self._encoder.embed_query

            def many(batch: list[str]) -> list[list[float]]:
                return [one(text) for text in batch]

        return _unit(report.embed(many, texts), len(texts))


def _best(scores: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Return columns of the highest scores of each row, ties from left to right."""
    if scores.shape[1] > count:
        chosen = np.sort(np.argpartition(-scores, count - 1, axis=1)[:, :count], axis=1)
    else:
        chosen = np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
    kept = np.take_along_axis(scores, chosen, axis=1)
    return np.take_along_axis(chosen, np.argsort(-kept, axis=1, kind="stable"), axis=1)


class _BatchEmbedder:
    """Embeds in batches and reports after each."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0

    def embed(self, embed: Callable[[list[str]], Vectors], texts: list[str]) -> Vectors:
        vectors: list[Sequence[float]] = []
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            vectors.extend(embed(batch))
            self._done += len(batch)
            if self._progress is not None:
                self._progress(self._done, self._total)
        return vectors


def _unit(vectors: Vectors, count: int) -> NDArray[np.float32]:
    """Return rows of length 1; NaN for a vector of length 0, which has no direction."""
    try:
        rows = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError):
        rows = np.empty(0, dtype=np.float32)
    if rows.ndim != 2 or len(rows) != count:
        raise InvalidInputError(
            f"the encoder must return one vector of numbers for each of {count} texts, all of "
            f"one dimension; got {len(vectors)} vectors{_lengths(vectors)}"
        )
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        return np.where(norms > 0.0, rows / norms, np.nan)


def _lengths(vectors: Vectors) -> str:
    """Return the lengths of vectors that differ, for a message."""
    lengths = {len(vector) for vector in vectors if isinstance(vector, Sized)}
    return f" of {min(lengths)} to {max(lengths)} numbers" if len(lengths) > 1 else ""


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()
