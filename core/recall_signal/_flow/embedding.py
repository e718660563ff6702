"""Embed texts again: the step of the flow, a bounded cache of vectors, and their cosines."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from math import isfinite
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recall_signal._fork_safe import ForkSafeLock
from recall_signal._steps.compute import Compute, computed
from recall_signal._steps.driver import Steps, contained_steps
from recall_signal._steps.failures import original

__all__ = ["Embed", "EmbedQuery", "EmbeddingCache", "VectorMismatch", "cosines_of", "embed_again"]

log = logging.getLogger(__name__)

Item = TypeVar("Item")

CACHED_TEXTS = 2048
"""Vectors kept per wrapper: 2,048 of 768 float32 values are 6 MB."""


@dataclass(frozen=True, slots=True)
class EmbedQuery:
    """Request to embed the query with the framework's own encoder; the answer is its vector."""

    name: ClassVar = "embed_query"

    encoder: Any


@dataclass(frozen=True, slots=True)
class Embed:
    """Embed the query and these texts. Answered with `(query vector, text vectors)`."""

    name: ClassVar = "embed"

    query: str
    texts: list[str]


class VectorMismatch(ValueError):
    """Vectors whose number or dimension does not fit."""


class EmbeddingCache:
    """The last vectors of document texts, by a hash of the text. Thread-safe.

    Args:
        size: How many vectors are kept; the one that was not used for longest goes first.
    """

    def __init__(self, size: int = CACHED_TEXTS) -> None:
        self._size = size
        self._vectors: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()
        self._lock = ForkSafeLock()

    def __reduce__(self) -> tuple[type[EmbeddingCache], tuple[int]]:
        return type(self), (self._size,)  # a copy starts empty: a lock cannot be copied

    def lookup(self, texts: Sequence[str]) -> list[NDArray[np.float32] | None]:
        """Return the vector of each text, None where it is not kept."""
        keys = [_key(text) for text in texts]
        with self._lock:
            found = [self._vectors.get(key) for key in keys]
            for key, vector in zip(keys, found, strict=True):
                if vector is not None:
                    self._vectors.move_to_end(key)
        return found

    def clear(self) -> None:
        """Drop every vector."""
        with self._lock:
            self._vectors.clear()

    def store(self, texts: Sequence[str], vectors: Sequence[NDArray[np.float32]]) -> None:
        """Keep these vectors and drop the least recently used ones beyond the size."""
        with self._lock:
            for text, vector in zip(texts, vectors, strict=True):
                key = _key(text)
                self._vectors[key] = vector
                self._vectors.move_to_end(key)
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def as_vectors(vectors: Iterable[ArrayLike], count: int) -> list[NDArray[np.float32]]:
    """Convert `count` vectors of one dimension to float32 rows.

    Raises:
        VectorMismatch: There are more or fewer, or they differ in dimension.
    """
    rows = [
        np.array(vector, dtype=np.float32) for vector in vectors
    ]  # an encoder may reuse its own
    shapes = {row.shape for row in rows}
    if len(rows) != count or len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        raise VectorMismatch(
            f"expected {count} vectors of one dimension, got {len(rows)} of shapes {shapes}"
        )
    return rows


def cosines_of(
    query_vector: ArrayLike, vectors: Sequence[ArrayLike] | NDArray[Any]
) -> list[float | None]:
    """Compute each vector's cosine with the query's, None where one of the two has no length.

    Args:
        query_vector: `[dim]`.
        vectors: `[n, dim]`.

    Raises:
        VectorMismatch: The dimensions differ.
    """
    if not len(vectors):
        return []
    query = np.asarray(query_vector, dtype=np.float64)
    # Row by row: a list of lists as a whole would keep every other thread waiting.
    each = [np.asarray(vector) for vector in vectors]
    if len({row.shape for row in each}) > 1:
        raise VectorMismatch("the candidates' vectors differ in dimension")
    rows = np.stack(each).astype(np.float64, copy=False)
    if query.ndim != 1 or rows.ndim != 2 or rows.shape[1] != query.shape[0]:
        raise VectorMismatch(
            f"the query's vector has shape {query.shape}, the candidates' {rows.shape}"
        )
    with np.errstate(all="ignore"):
        cosines = rows @ query / (np.linalg.norm(rows, axis=1) * np.linalg.norm(query))
    return [cosine if isfinite(cosine) else None for cosine in cosines.tolist()]


def embed_again(
    query: str, items: Sequence[Item], text_of: Callable[[Item], str], cache: EmbeddingCache
) -> Steps[Embed | Compute, tuple[list[float | None] | None, str | None]]:
    """Compute cosines from the texts themselves, or give the reason why there are none."""
    try:
        return (yield from contained_steps(_embedded(query, items, text_of, cache))), None
    except Exception as error:
        fits = not isinstance(error, VectorMismatch)
        if not fits:
            cache.clear()  # perhaps the model behind the encoder has changed
        log.warning("embedding the candidates again failed: %s", type(original(error)).__name__)
        return None, "embedding_failed" if fits else "embedding_mismatch"


def _embedded(
    query: str, items: Sequence[Item], text_of: Callable[[Item], str], cache: EmbeddingCache
) -> Steps[Embed | Compute, list[float | None]]:
    texts, known = yield from computed(partial(_looked_up, items, text_of, cache))
    missing = list(dict.fromkeys(t for t, v in zip(texts, known, strict=True) if v is None))
    query_vector, answer = yield Embed(query, [*missing])  # an encoder may sort its list
    compare = partial(_compared, query_vector, answer, texts, known, missing, cache)
    return (yield from computed(compare))


def _looked_up(
    items: Sequence[Item], text_of: Callable[[Item], str], cache: EmbeddingCache
) -> tuple[list[str], list[NDArray[np.float32] | None]]:
    texts = [text_of(item) for item in items]
    return texts, cache.lookup(texts)


def _compared(
    query_vector: ArrayLike,
    answer: Iterable[ArrayLike],
    texts: Sequence[str],
    known: Sequence[NDArray[np.float32] | None],
    missing: Sequence[str],
    cache: EmbeddingCache,
) -> list[float | None]:
    """Return the cosines of all texts, and keep the vectors of those that have one."""
    vectors = as_vectors(answer, len(missing))
    fresh = dict(zip(missing, vectors, strict=True))
    rows = [fresh[t] if v is None else v for t, v in zip(texts, known, strict=True)]
    cosines = cosines_of(query_vector, rows)
    sound = {text for text, cosine in zip(texts, cosines, strict=True) if cosine is not None}
    kept = [(text, fresh[text]) for text in missing if text in sound]
    cache.store([text for text, _ in kept], [vector for _, vector in kept])
    return cosines
