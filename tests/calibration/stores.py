"""A small vector store with an encoder, both of which can be changed under a calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np

from recall_signal import Pool


def unit(vectors: Any) -> Any:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@dataclass
class HashEncoder:
    """A vector of its own for every text, around a direction that all have in common."""

    dimensions: int = 48
    model: str = "first"
    common: float = 0.6
    added: float = 0.0
    noise: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)

    def __call__(self, texts: Sequence[str]) -> Any:
        rows = unit(np.array([self._row(f"{self.model} {text}") for text in texts]))
        shared = unit(self._row(f"{self.model} common"))
        rows = unit(rows + self.common * shared)
        rows = unit(rows + self.added * unit(self._row("another direction")))
        return rows + self.noise * self._random.normal(size=rows.shape)

    def _row(self, text: str) -> Any:
        return _row(text, self.dimensions)


@cache
def _row(text: str, dimensions: int) -> Any:
    seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
    return np.random.default_rng(seed).normal(size=dimensions)


@dataclass
class VectorStore:
    """A port that misses candidates as an approximate index does.

    Attributes:
        texts: What is stored.
        encoder: Embeds queries, and texts when they are stored.
        missed: Share of the best candidates that a search does not find.
        reachable: Whether the encoder can be asked for vectors.
    """

    texts: list[str]
    encoder: HashEncoder = field(default_factory=HashEncoder)
    missed: float = 0.0
    reachable: bool = True
    seed: int = 0
    encoder_name: str | None = "hash"
    is_async_only: bool = False
    only_on_request: bool = False

    def __post_init__(self) -> None:
        self.vectors = unit(self.encoder(self.texts))
        self._random = np.random.default_rng(self.seed)

    def search(self, query: str, _ahead: Sequence[str] = (), /) -> Pool:
        cosines = self.vectors @ unit(self.encoder([query])[0])
        found = np.argsort(-cosines)[:30]
        found = found[self._random.random(len(found)) >= self.missed][:20]
        return Pool(cosines[found].tolist(), texts=[self.texts[at] for at in found])

    async def asearch(self, query: str, _ahead: Sequence[str] = (), /) -> Pool:
        return self.search(query)

    def embed_texts(self, texts: Sequence[str]) -> Any:
        return self.encoder(texts) if self.reachable else None

    async def aembed_texts(self, texts: Sequence[str]) -> Any:
        return self.embed_texts(texts)


def texts(count: int, kind: str = "text") -> list[str]:
    return [f"{kind} number {n}" for n in range(count)]
