"""Embedding texts again: the step of the flow, a bounded memory for vectors, and their cosines."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Embed", "EmbeddingCache", "VectorMismatch", "cosines_of", "embed_again"]

log = logging.getLogger(__name__)

Item = TypeVar("Item")

CACHED_TEXTS = 2048
"""Vectors kept per wrapper: 2,048 of 768 float32 values are 6 MB."""


@dataclass(frozen=True, slots=True)
class Embed:
    """Embed the query and these texts. Answered with ``(query vector, text vectors)``."""

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
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[EmbeddingCache], tuple[int]]:
        return type(self), (self._size,)  # a copy starts empty: a lock cannot be copied

    def lookup(self, texts: Sequence[str]) -> list[NDArray[np.float32] | None]:
        """The vector of each text, None where it is not here."""
        keys = [_key(text) for text in texts]
        with self._lock:
            found = [self._vectors.get(key) for key in keys]
            for key, vector in zip(keys, found, strict=True):
                if vector is not None:
                    self._vectors.move_to_end(key)
        return found

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._vectors.clear()

    def store(self, texts: Sequence[str], vectors: Sequence[NDArray[np.float32]]) -> None:
        """Keep these vectors, and forget the oldest ones beyond the size."""
        with self._lock:
            for text, vector in zip(texts, vectors, strict=True):
                key = _key(text)
                self._vectors[key] = vector
                self._vectors.move_to_end(key)
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def as_vectors(vectors: Any, count: int) -> list[NDArray[np.float32]]:
    """``count`` vectors of one dimension as float32 rows.

    Raises:
        VectorMismatch: There are more or fewer, or they differ in dimension.
    """
    import numpy as np

    rows = [
        np.array(vector, dtype=np.float32) for vector in vectors
    ]  # an encoder may reuse its own
    shapes = {row.shape for row in rows}
    if len(rows) != count or len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        raise VectorMismatch(
            f"expected {count} vectors of one dimension, got {len(rows)} of shapes {shapes}"
        )
    return rows


def cosines_of(query_vector: Any, vectors: Sequence[Any]) -> list[float | None]:
    """The cosine of each vector with the query's, None where one of the two has no length.

    Args:
        query_vector: ``[dim]``.
        vectors: ``[n, dim]``.

    Raises:
        VectorMismatch: The dimensions differ.
    """
    import numpy as np

    if not len(vectors):
        return []
    query = np.asarray(query_vector, dtype=np.float64)
    try:
        rows = np.asarray(vectors, dtype=np.float64)
    except ValueError:
        raise VectorMismatch("the candidates' vectors differ in dimension") from None
    if query.ndim != 1 or rows.ndim != 2 or rows.shape[1] != query.shape[0]:
        raise VectorMismatch(
            f"the query's vector has shape {query.shape}, the candidates' {rows.shape}"
        )
    with np.errstate(all="ignore"):
        cosines = rows @ query / (np.linalg.norm(rows, axis=1) * np.linalg.norm(query))
    return [cosine if np.isfinite(cosine) else None for cosine in cosines.tolist()]


def embed_again(
    query: str, items: Sequence[Item], text_of: Callable[[Item], str], cache: EmbeddingCache
) -> Generator[Embed, Any, tuple[list[float | None] | None, str | None]]:
    """Cosines from the texts themselves, or the reason why there are none."""
    try:
        texts = [text_of(item) for item in items]
        known = cache.lookup(texts)
        missing = list(dict.fromkeys(t for t, v in zip(texts, known, strict=True) if v is None))
        query_vector, answer = yield Embed(query, missing)
        vectors = as_vectors(answer, len(missing))
        fresh = dict(zip(missing, vectors, strict=True))
        rows = [fresh[t] if v is None else v for t, v in zip(texts, known, strict=True)]
        cosines = cosines_of(query_vector, rows)
    except Exception as error:
        fits = not isinstance(error, VectorMismatch)
        if not fits:
            cache.clear()  # perhaps the model behind the encoder has changed
        log.warning("embedding the candidates again failed: %s", type(error).__name__)
        return None, "embedding_failed" if fits else "embedding_mismatch"
    sound = {text for text, cosine in zip(texts, cosines, strict=True) if cosine is not None}
    kept = [(text, fresh[text]) for text in missing if text in sound]
    cache.store([text for text, _ in kept], [vector for _, vector in kept])
    return cosines, None
