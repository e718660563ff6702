"""Astra DB, read and not run: three metrics mapped into [0, 1], and a reranked hybrid search."""

import warnings
from copy import deepcopy
from typing import Any

import pytest
from langchain_astradb import AstraDBVectorStore
from langchain_astradb.utils.astradb import SetupMode
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_world import Encoder
from remote_rows import (
    OTHERS,
    Fused,
    Metric,
    RemoteConformance,
    Rows,
    Shape,
    half_cosine,
    half_product,
    inverse_squared,
)

from langchain_recall_signal import RecallRetriever
from langchain_recall_signal.stores import find_adapter
from recall_signal import ScoreKind

METRICS: dict[str, Metric] = {
    "cosine": half_cosine,
    "dot_product": half_product,
    "euclidean": inverse_squared,
}


class FakeCollection:
    """One collection of the Data API."""

    def __init__(self, rows: Rows, metric: str | None = "cosine") -> None:
        self.rows, self.metric = rows, metric
        self.described = self.found = 0

    def options(self) -> Any:
        self.described += 1
        return Shape(vector=Shape(dimension=16, metric=self.metric))

    def find(
        self,
        filter: dict[str, Any],  # noqa: A002  (its name in the service's client)
        projection: dict[str, bool],
        limit: int,
        sort: dict[str, Any],
        **rest: Any,
    ) -> list[dict[str, Any]]:
        if "$vector" not in sort:
            self.found += 1
            asked = filter["_id"]
            ids = asked["$in"] if isinstance(asked, dict) else [asked]
            assert len(ids) <= 100
            return [_sent(row, projection) for row in self.rows.of(ids)[:limit]]
        ranked = self.rows.nearest(sort["$vector"], METRICS[self.metric or "cosine"], limit)
        return [{**_sent(row, projection), "$similarity": score} for row, score in ranked]

    def find_and_rerank(self, sort: dict[str, Any], limit: int, **rest: Any) -> list[Any]:
        asked = sort["$hybrid"]
        ranked = self.rows.by_ranks(asked["$lexical"], asked["$vector"], limit)
        return [
            Shape(document=_sent(row, {}), scores={"$rerank": -4.0 + 100.0 * score})
            for row, score in ranked
        ]


def _sent(row: Any, projection: dict[str, bool]) -> dict[str, Any]:
    document = {"_id": row.id, "content": row.text, "metadata": deepcopy(row.metadata)}
    return {**document, "$vector": list(row.vector)} if "$vector" in projection else document


class AsyncFound:
    """A cursor for ``async for``."""

    def __init__(self, found: list[Any]) -> None:
        self._found = iter(found)

    def __aiter__(self) -> "AsyncFound":
        return self

    async def __anext__(self) -> Any:
        try:
            return next(self._found)
        except StopIteration:
            raise StopAsyncIteration from None


class FakeAsyncCollection:
    def __init__(self, collection: FakeCollection) -> None:
        self._collection = collection

    def find(self, **asked: Any) -> AsyncFound:
        return AsyncFound(self._collection.find(**asked))

    def find_and_rerank(self, **asked: Any) -> AsyncFound:
        return AsyncFound(self._collection.find_and_rerank(**asked))


def store_over(collection: FakeCollection, encoder: Embeddings, **settings: Any) -> Any:
    store = AstraDBVectorStore(
        collection_name="collection",
        embedding=encoder,
        api_endpoint="https://node.example",
        token="none",
        environment="other",
        namespace="keyspace",
        setup_mode=SetupMode.OFF,
        **settings,
    )
    environment: Any = store.astra_env
    environment.collection = collection
    environment.async_collection = FakeAsyncCollection(collection)
    return store


class InAstra(RemoteConformance):
    metric = "cosine"

    def serve(self, rows: Rows, encoder: Embeddings) -> Any:
        return store_over(FakeCollection(rows, self.metric), encoder)


class TestCosine(InAstra):
    norms = (1.0, *OTHERS)


class TestDotProduct(InAstra):
    metric = "dot_product"


class TestDotProductOfOtherNorms(TestDotProduct):
    norms = OTHERS
    source = "vectors"


class TestEuclidean(InAstra):
    metric = "euclidean"


class TestEuclideanOfOtherNorms(TestEuclidean):
    norms = OTHERS
    source = "vectors"


@pytest.mark.filterwarnings("ignore:.*[Hh]ybrid.*")
class TestHybrid(Fused, InAstra):
    """The score is the reranker's."""

    norms = (1.0, *OTHERS)
    source = "vectors"

    def serve(self, rows: Rows, encoder: Embeddings) -> Any:
        store = super().serve(rows, encoder)
        store.hybrid_search = True
        return store


def test_the_collection_is_asked_for_its_metric_once() -> None:
    collection = FakeCollection(Rows())
    store = store_over(collection, Encoder(dimension=2))
    adapter: Any = find_adapter(store)
    assert [adapter.score_kind(store) for _ in range(3)] == [ScoreKind.HALF_COSINE] * 3
    assert collection.described == 1


def test_a_metric_that_is_not_told() -> None:
    rows = Rows()
    rows.add("a", "a text", {}, [0.6, 0.8])
    store = store_over(FakeCollection(rows, None), Encoder({"q": [1.0, 0.0]}, dimension=2))
    response = RecallRetriever.from_vectorstore(store).recall("q")
    assert response.cosine_source == "vectors"
    assert response.pool.cosines == pytest.approx([0.6])


def test_many_vectors_take_several_requests() -> None:
    collection = FakeCollection(Rows())
    for number in range(250):
        collection.rows.add(f"id{number}", f"t{number}", {}, [1.0, float(number)])
    store = store_over(collection, Encoder(dimension=2))
    adapter: Any = find_adapter(store)
    hits = [Document(id=f"id{number}", page_content="") for number in (*range(250), 999)]
    found = adapter.vectors(store, [*hits, Document(page_content="without an id")])
    assert found == [*([1.0, float(number)] for number in range(250)), None, None]
    assert collection.found == 3


def test_searching_with_scores_changes_nothing_but_a_warning() -> None:
    """In hybrid mode the store warns of its own scores; the page survives where that raises."""
    rows = Rows()
    for number in range(9):
        rows.add(f"id{number}", f"text {number}", {}, [1.0, 0.1 * number])
    encoder = Encoder({"text 3": [1.0, 0.0]}, dimension=2)
    store = store_over(FakeCollection(rows), encoder)
    store.hybrid_search = True
    bare = store.as_retriever(search_kwargs={"k": 4})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        response = RecallRetriever(retriever=bare).recall("text 3")
    assert [d.id for d in response.documents] == [d.id for d in bare.invoke("text 3")]
    assert response.cosine_source == "vectors"
