"""An encoder whose vectors a test sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b

import numpy as np

from recall_signal.stores import Vector

__all__ = ["SettableEncoder"]


class SettableEncoder:
    """Returns the vector that was set for a text; for any other text, one made of its hash.

    Needs no framework. For LangChain, derive from this class first::

        class Encoder(SettableEncoder, Embeddings): ...

    Attributes:
        vectors: Text -> vector, returned as it is. Change it at any time.
        queries: The queries that were embedded, in the order of the calls.
        batches: The lists of document texts that were embedded, in the order of the calls.

    Args:
        vectors: Initial content of `vectors`.
        dimension: Of the vectors of other texts.
        norm: Length of the vectors of other texts.
    """

    def __init__(
        self,
        vectors: Mapping[str, Vector] | None = None,
        *,
        dimension: int = 16,
        norm: float = 1.0,
    ) -> None:
        self.vectors: dict[str, Vector] = dict(vectors or {})
        self.dimension = dimension
        self.norm = norm
        self.queries: list[str] = []
        self.batches: list[list[str]] = []

    @property
    def calls(self) -> int:
        """Count the calls: queries and batches of documents."""
        return len(self.queries) + len(self.batches)

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        self.queries.append(text)
        return self._vector(text)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of documents, `[n][dim]`."""
        self.batches.append(list(texts))
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        known = self.vectors.get(text)
        if known is not None:
            return [float(value) for value in known]
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        made = np.random.default_rng(int.from_bytes(digest)).standard_normal(self.dimension)
        values: list[float] = (made * (self.norm / np.linalg.norm(made))).tolist()
        return values
