"""Elasticsearch, read and not run: approximate and exact searches, keywords, and min-max."""

import asyncio
import warnings
from copy import deepcopy
from typing import Any

import pytest
from elasticsearch.helpers.vectorstore import DistanceMetric
from langchain_core.embeddings import Embeddings
from langchain_elasticsearch import (
    AsyncDenseVectorScriptScoreStrategy,
    AsyncElasticsearchStore,
    BM25Strategy,
    DenseVectorScriptScoreStrategy,
    DenseVectorStrategy,
    ElasticsearchStore,
    SparseVectorStrategy,
)
from remote_rows import (
    OTHERS,
    AsyncTwin,
    Metric,
    RemoteConformance,
    Rows,
    boosted_product,
    cosine_plus_one,
    half_cosine,
    half_product,
    inverse,
    inverse_squared,
    sigmoid,
)

from langchain_recall_signal import RecallRetriever
from langchain_recall_signal.stores import find_adapter
from recall_signal import ScoreKind

with warnings.catch_warnings():  # its class is configured in a way that pydantic retires
    warnings.simplefilter("ignore")

INDEXED: dict[str, Metric] = {
    "cosine": half_cosine,
    "dot_product": half_product,
    "l2_norm": inverse_squared,
    "max_inner_product": boosted_product,
}
SCRIPTS: dict[str, Metric] = {
    "cosineSimilarity(": cosine_plus_one,
    "l2norm(": inverse,
    "dotProduct(": sigmoid,
}


class FakeElasticsearch:
    """Answers ``search`` and ``indices.get_mapping`` for indices of one similarity."""

    def __init__(self, rows: Rows, similarity: str | None = "cosine", **field: Any) -> None:
        self.rows, self.similarity, self.indices = rows, similarity, self
        self.field = {"type": "dense_vector", "dims": 16, "similarity": similarity, **field}
        self.mapped = 0

    def options(self, **settings: Any) -> "FakeElasticsearch":
        return self

    def close(self) -> None:
        """Nothing to close."""

    def get_mapping(self, index: str) -> dict[str, Any]:
        self.mapped += 1
        held = {name: value for name, value in self.field.items() if value is not None}
        return {index: {"mappings": {"properties": {"text": {"type": "text"}, "vector": held}}}}

    def search(self, index: str, size: int, **body: Any) -> dict[str, Any]:
        found = self._found(size, body)
        hits = [
            {
                "_index": index,
                "_id": row.id,
                "_score": score,
                "_source": {
                    "text": row.text,
                    "content": row.text,
                    "metadata": deepcopy(row.metadata),
                },
            }
            for row, score in found
        ]
        return {"hits": {"total": {"value": len(hits)}, "hits": hits}}

    def _found(self, size: int, body: dict[str, Any]) -> Any:
        if "retriever" in body:
            first, second = body["retriever"]["rrf"]["retrievers"]
            words = _words(first["standard"])
            return self.rows.by_ranks(words, second["knn"]["query_vector"], size)
        if "knn" in body:
            metric = INDEXED[self.similarity or "cosine"]
            return self.rows.nearest(body["knn"]["query_vector"], metric, size)
        if "script_score" in body["query"]:
            script = body["query"]["script_score"]["script"]
            metric = next(m for name, m in SCRIPTS.items() if name in script["source"])
            return self.rows.nearest(script["params"]["query_vector"], metric, size)
        return self.rows.by_words(_words(body), size)


def _words(body: dict[str, Any]) -> str:
    (match,) = body["query"]["bool"]["must"]
    (field,) = match["match"].values()
    query: str = field["query"]
    return query


class InElasticsearch(RemoteConformance):
    similarity = "cosine"
    distance = DistanceMetric.COSINE

    def strategy(self) -> Any:
        return DenseVectorStrategy(distance=self.distance)

    def serve(self, rows: Rows, encoder: Embeddings) -> Any:
        client: Any = FakeElasticsearch(rows, self.similarity)
        return ElasticsearchStore(
            "index", client=client, embedding=encoder, strategy=self.strategy()
        )


class TestApproximateCosine(InElasticsearch):
    norms = (1.0, *OTHERS)


class TestApproximateDotProduct(InElasticsearch):
    similarity = "dot_product"  # the server refuses vectors of other lengths
    distance = DistanceMetric.DOT_PRODUCT


class TestApproximateL2(InElasticsearch):
    similarity = "l2_norm"
    distance = DistanceMetric.EUCLIDEAN_DISTANCE


class TestApproximateL2OfOtherNorms(TestApproximateL2):
    norms = OTHERS
    expected_reason = "norm_unknown"


class TestMappingAgainstStrategy(InElasticsearch):
    """An index that was made elsewhere: its mapping counts, not the store's default."""

    similarity = "l2_norm"


class TestApproximateMaxInnerProduct(InElasticsearch):
    similarity = "max_inner_product"
    distance = DistanceMetric.MAX_INNER_PRODUCT
    expected_reason = "score_not_convertible"


class Exact(InElasticsearch):
    def strategy(self) -> Any:
        return DenseVectorScriptScoreStrategy(distance=self.distance)


class TestExactCosine(Exact):
    norms = (1.0, *OTHERS)


class TestExactL2(Exact):
    distance = DistanceMetric.EUCLIDEAN_DISTANCE


class TestExactL2OfOtherNorms(TestExactL2):
    norms = OTHERS
    expected_reason = "norm_unknown"


class TestExactDotProduct(Exact):
    distance = DistanceMetric.DOT_PRODUCT


class TestExactDotProductOfOtherNorms(TestExactDotProduct):
    norms = OTHERS
    expected_reason = "norm_unknown"


class TestHybrid(InElasticsearch):
    """The store refuses to show scores, so the page is asked for without."""

    expected_reason = "no_score_access"
    norms = (1.0, *OTHERS)

    def strategy(self) -> Any:
        return DenseVectorStrategy(hybrid=True)


class TestAsynchronousStore(Exact):
    """The exact strategies say by themselves what they score."""

    def serve(self, rows: Rows, encoder: Embeddings) -> Any:
        client: Any = AsyncTwinOf(FakeElasticsearch(rows))
        strategy = AsyncDenseVectorScriptScoreStrategy(distance=self.distance)
        return AsyncElasticsearchStore("index", client=client, embedding=encoder, strategy=strategy)

    def ask(self, retriever: Any, query: str) -> Any:
        return asyncio.run(retriever.ainvoke(query))

    def pool_of(self, wrapped: Any, query: str) -> Any:
        return asyncio.run(wrapped.arecall(query)).pool

    def test_the_source_is_told(self) -> None:
        """The class has no synchronous search."""


class AsyncTwinOf(AsyncTwin):
    """``options`` stays synchronous."""

    def options(self, **settings: Any) -> "AsyncTwinOf":
        return self


def store_with(strategy: Any, client: Any = None) -> ElasticsearchStore:
    return ElasticsearchStore(
        "index", client=client or FakeElasticsearch(Rows()), strategy=strategy
    )


def kind_of(store: Any) -> ScoreKind:
    adapter: Any = find_adapter(store)
    kind: ScoreKind = adapter.score_kind(store)
    return kind


def test_keyword_scores_decide_as_such() -> None:
    rows = Rows()
    for number in range(20):
        rows.add(str(number), f"text {number}", {}, [1.0, 0.0])
    client: Any = FakeElasticsearch(rows)
    store = ElasticsearchStore("index", client=client, strategy=BM25Strategy())
    response = RecallRetriever.from_vectorstore(store).recall("text 7")
    assert response.confidence.basis == "separation"
    assert response.pool.cosines == [None] * 20
    assert response.confidence.top_score == 9.0


class Custom(DenseVectorStrategy):
    def es_query(self, **search: Any) -> dict[str, Any]:
        return {**super().es_query(**search), "min_score": 0.5}


@pytest.mark.parametrize(
    "strategy",
    [
        SparseVectorStrategy(),
        DenseVectorStrategy(hybrid=True),
        DenseVectorStrategy(hybrid=True, rrf=False),
        DenseVectorScriptScoreStrategy(distance=DistanceMetric.MAX_INNER_PRODUCT),
        Custom(),
    ],
)
def test_strategies_whose_score_holds_no_cosine(strategy: Any) -> None:
    assert kind_of(store_with(strategy)) is ScoreKind.UNKNOWN


def test_vectors_embedded_by_the_server() -> None:
    store = store_with(DenseVectorStrategy(model_id="its-model"))
    assert kind_of(store) is ScoreKind.HALF_COSINE
