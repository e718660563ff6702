"""What the fake servers of the ``test_remote_`` files share: rows, metrics and fused searches.

None of these services runs here. Each fake answers a client's call in the shape that the service
documents, with scores by the formulas that it documents, as float32 where it sends those.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_world import StoreConformance
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.utils import node_to_metadata_dict
from llama_store_cases import StoreConformance as LlamaStoreConformance
from llama_store_cases import node_id

from llama_index_recall_signal import RecallRetriever

OTHERS = (3.0, (2.5, 1.0, 0.4))
"""Lengths of vectors other than 1: one for all, and several."""

Metric = Callable[[Any, Any], float]


def product(one: Any, other: Any) -> float:
    return float(np.dot(one, other))


def cosine(one: Any, other: Any) -> float:
    return product(one, other) / float(np.linalg.norm(one) * np.linalg.norm(other))


def squared(one: Any, other: Any) -> float:
    return float(np.sum((np.asarray(one) - np.asarray(other)) ** 2))


def half_cosine(one: Any, other: Any) -> float:
    return (1.0 + cosine(one, other)) / 2.0


def half_product(one: Any, other: Any) -> float:
    return (1.0 + product(one, other)) / 2.0


def cosine_plus_one(one: Any, other: Any) -> float:
    return 1.0 + cosine(one, other)


def inverse(one: Any, other: Any) -> float:
    return 1.0 / (1.0 + squared(one, other) ** 0.5)


def inverse_squared(one: Any, other: Any) -> float:
    return 1.0 / (1.0 + squared(one, other))


def sigmoid(one: Any, other: Any) -> float:
    return float(1.0 / (1.0 + np.exp(-product(one, other))))


def boosted_product(one: Any, other: Any) -> float:
    """The maximum inner product made positive: above 1 for positive ones."""
    raw = product(one, other)
    return 1.0 + raw if raw >= 0.0 else 1.0 / (1.0 - raw)


def inverse_cosine_distance(one: Any, other: Any) -> float:
    return 1.0 / (2.0 - cosine(one, other))


class Shape(SimpleNamespace):
    """A response object that clients read by attribute and by key."""

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def get(self, name: str, default: Any = None) -> Any:
        return getattr(self, name, default)


@dataclass(frozen=True)
class Row:
    """One stored document; its metadata is copied by whoever sends it out."""

    id: str
    text: str
    metadata: dict[str, Any]
    vector: list[float]


Ranked = list[tuple[Row, float]]


class Rows:
    """Everything that a fake server holds, in the order in which it came."""

    def __init__(self) -> None:
        self.all: list[Row] = []

    def add(self, id_: str, text: str, metadata: dict[str, Any], vector: Any) -> None:
        self.all.append(Row(id_, text, metadata, [float(value) for value in vector]))

    def of(self, ids: Sequence[str]) -> list[Row]:
        return [row for row in self.all if row.id in set(ids)]

    def nearest(self, query: Any, metric: Metric, limit: int) -> Ranked:
        """By a metric, best first; a distance is better the lower it is."""
        scored = [(row, float(np.float32(metric(query, row.vector)))) for row in self.all]
        return sorted(scored, key=lambda hit: hit[1] * (1 if metric is squared else -1))[:limit]

    def by_words(self, query: str, limit: int) -> Ranked:
        """By a keyword score, best first: here, by how near the numbers in two texts are."""
        asked = _number(query)
        scored = [(row, 9.0 / (1.0 + abs(_number(row.text) - asked))) for row in self.all]
        return sorted(scored, key=lambda hit: -hit[1])[:limit]

    def by_ranks(self, query: str, vector: Any, limit: int) -> Ranked:
        """Reciprocal rank fusion of the first ``limit`` of both: a longer list can rank anew."""
        fused: dict[str, float] = {}
        for found in (self.nearest(vector, cosine, limit), self.by_words(query, limit)):
            for rank, (row, _) in enumerate(found):
                fused[row.id] = fused.get(row.id, 0.0) + 1.0 / (61.0 + rank)
        return self._best(fused, limit)

    def by_relative_scores(self, query: str, vector: Any, limit: int, alpha: float = 0.7) -> Ranked:
        """Fusion of scores that are scaled within the first ``limit`` of each search."""
        fused: dict[str, float] = {}
        searches = (
            (self.nearest(vector, cosine, limit), alpha),
            (self.by_words(query, limit), 1 - alpha),
        )
        for found, weight in searches:
            for (row, _), score in zip(found, scaled([score for _, score in found]), strict=True):
                fused[row.id] = fused.get(row.id, 0.0) + weight * score
        return self._best(fused, limit)

    def _best(self, fused: dict[str, float], limit: int) -> Ranked:
        rows = {row.id: row for row in self.all}
        ranked = sorted(fused.items(), key=lambda item: -item[1])[:limit]
        return [(rows[id_], score) for id_, score in ranked]


def scaled(scores: Sequence[float]) -> list[float]:
    """From 0 for the worst to 1 for the best."""
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return [1.0 if high == low else (score - low) / (high - low) for score in scores]


def _number(text: str) -> int:
    return int("".join(filter(str.isdigit, text.partition(",")[0])) or 0)


class RemoteConformance(StoreConformance):
    """A store of LangChain around :meth:`serve`'s fake, small since no server is measured."""

    stored, asked = 60, 5
    page_sizes = (4,)
    norms = (1.0,)

    def serve(self, rows: Rows, encoder: Embeddings) -> Any:
        """The store over these rows."""
        raise NotImplementedError

    def store(self, encoder: Embeddings) -> Any:
        self.rows = Rows()
        return self.serve(self.rows, encoder)

    def add(self, store: Any, documents: list[Document]) -> None:
        vectors = store.embeddings.embed_documents([d.page_content for d in documents])
        for document, vector in zip(documents, vectors, strict=True):
            self.rows.add(document.id or "", document.page_content, document.metadata, vector)


class Fused:
    """For searches whose page a wider pool ranks anew: ten are looked at, and ten are the page."""

    page_sizes = (10,)
    pool_size = 10

    def test_the_top_hit_has_the_highest_cosine(self) -> None:
        """Not where words have a say."""


class LlamaRemoteConformance(LlamaStoreConformance):
    """The same for LlamaIndex."""

    stored, asked = 60, 5
    page_sizes = (4,)
    norms: ClassVar[Any] = (1.0,)
    source: ClassVar[str | None] = "store"

    def serve(self, rows: Rows) -> Any:
        """The store over these rows."""
        raise NotImplementedError

    def build(
        self, texts: list[str], vectors: Any, encoder: Any, k: int, pool_size: int
    ) -> tuple[Any, Any]:
        store = self.serve(filled(texts, vectors))
        index = VectorStoreIndex.from_vector_store(store, embed_model=encoder)
        bare = index.as_retriever(
            similarity_top_k=k, vector_store_query_mode=self.mode, **self.search
        )
        return RecallRetriever(bare, pool_size=pool_size), bare

    def test_the_source_is_told(self) -> None:
        """Where the cosines come from."""
        if self.expected_reason is None:
            for world in self._worlds():
                wrapped, _ = self._build(world, 4)
                assert wrapped.recall(world.queries[0]).cosine_source == self.source


def filled(texts: Sequence[str], vectors: Any) -> Rows:
    """Rows as LlamaIndex's stores write them: each holds its whole node."""
    rows = Rows()
    for number, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
        node = TextNode(id_=node_id(number), text=text, metadata={"number": number})
        held = node_to_metadata_dict(node, remove_text=False, flat_metadata=False)
        rows.add(node.node_id, text, held, vector)
    return rows


class AsyncTwin:
    """An asynchronous client that answers as a synchronous one."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        answer = getattr(self._client, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return answer(*args, **kwargs)

        return call

    async def __aenter__(self) -> "AsyncTwin":
        return self

    async def __aexit__(self, *error: object) -> None:
        """Nothing to close."""
