"""A small world with topics: documents and queries as vectors that a test can foresee."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from recall_signal.evaluation import Document, Query
from recall_signal.testing import SettableEncoder

DIMENSION = 32
TOPICS = 12
STORED = 8
"""Topics that documents are about; present queries ask for these, off-topic ones for none."""


def directions(seed: int = 0) -> np.ndarray:
    """One unit vector a topic, at right angles."""
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((DIMENSION, DIMENSION)))[0].T


def vector_near(direction: np.ndarray, noise: float, rng: np.random.Generator) -> list[float]:
    vector = direction + noise * rng.standard_normal(DIMENSION) / np.sqrt(DIMENSION)
    return [float(value) for value in vector / np.linalg.norm(vector)]


class World:
    """An encoder, a corpus and queries; `near_miss` queries are halfway to a topic."""

    def __init__(self, documents: int = 80, queries: int = 160, noise: float = 0.6) -> None:
        rng = np.random.default_rng(7)
        base = directions()
        self.encoder = NamedEncoder(dimension=DIMENSION)
        self.corpus = []
        for number in range(documents):
            text = f"Stored text number {number} about its topic."
            self.corpus.append(Document(f"d{number}", text))
            self.encoder.vectors[text] = vector_near(base[number % STORED], noise, rng)
        self.queries = []
        for number in range(queries):
            kind = ("present", "present", "off_topic", "near_miss")[number % 4]
            text = f"Question number {number}?"
            topic = base[number % STORED]
            far = base[STORED + number % (TOPICS - STORED)]
            aim = {"present": topic, "off_topic": far, "near_miss": topic + far}[kind]
            self.encoder.vectors[text] = vector_near(aim, noise, rng)
            split: Literal["dev", "test"] = "test" if number // 4 % 2 else "dev"
            self.queries.append(Query(f"q{number}", text, kind == "present", kind, split))

    def grouped(self, groups: int = 2) -> "World":
        """Documents and queries dealt out to groups."""
        self.corpus = [replace(d, group=f"g{at % groups}") for at, d in enumerate(self.corpus)]
        self.queries = [replace(q, group=f"g{at % groups}") for at, q in enumerate(self.queries)]
        return self


class NamedEncoder(SettableEncoder):
    """With a name, as the evaluation needs it."""

    name = "fake <b>$x$</b>"


class BatchEncoder(NamedEncoder):
    """Embeds many queries at once, too."""

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]
