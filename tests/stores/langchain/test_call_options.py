"""Options of one search that change what its number is: the cosine is right, or unknown."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain_community.vectorstores import LanceDB
from langchain_core.embeddings import Embeddings
from langchain_postgres import PGEngine, PGVectorStore
from langchain_postgres.v2.hybrid_search_config import HybridSearchConfig
from langchain_redis import RedisConfig, RedisVectorStore
from redisvl.query.filter import Text

from langchain_recall_signal import RecallRetriever
from tests.stores.langchain_world import Encoder, check_cosines

QUERY = "text number 3"
TEXTS = [f"text number {n}" for n in range(12)]


def check(store: Any, encoder: Embeddings | None, *, unknown: bool = False, **options: Any) -> None:
    """Never another number than numpy's, and the page the bare retriever's."""
    bare = store.as_retriever(search_kwargs={"k": 5, **options})
    expected = bare.invoke(QUERY)
    response = RecallRetriever(retriever=bare).recall(QUERY)
    assert [d.page_content for d in response.documents] == [d.page_content for d in expected]
    assert encoder is not None
    check_cosines(response.documents, encoder, QUERY)
    if None in response.pool.cosines:
        assert unknown
        assert response.confidence.level == "unknown"


class TestLanceDB:
    @pytest.fixture
    def store(self, tmp_path: Path) -> LanceDB:
        store = LanceDB(embedding=Encoder(), uri=str(tmp_path))
        store.add_texts(TEXTS)
        return store

    @pytest.mark.parametrize("metric", ["l2", "cosine", "dot", "L2", "Cosine"])
    def test_a_metric_of_the_search(self, store: LanceDB, metric: str) -> None:
        check(store, store.embeddings, metrics=metric)

    def test_a_metric_that_the_adapter_never_saw(self, store: LanceDB) -> None:
        bare = store.as_retriever(search_kwargs={"metrics": "cosine"})
        assert RecallRetriever(retriever=bare).recall(QUERY).cosine_source == "vectors"

    def test_a_filter(self, store: LanceDB) -> None:
        check(store, store.embeddings, filter="text != 'text number 3'", prefilter=True)


class TestPGVectorStore:
    @pytest.fixture
    def engine(self, postgres_url: str) -> Iterator[PGEngine]:
        engine = PGEngine.from_connection_string(postgres_url.replace(":", "+psycopg:", 1))
        yield engine
        asyncio.run(engine.close())

    def test_a_hybrid_search_of_the_call(self, engine: PGEngine) -> None:
        encoder, table = Encoder(), f"t{uuid4().hex}"
        engine.init_vectorstore_table(table, encoder.dimension)
        store = PGVectorStore.create_sync(engine, encoder, table)
        store.add_texts(TEXTS)
        config = HybridSearchConfig(fts_query="number", primary_top_k=8, secondary_top_k=8)
        check(store, encoder, unknown=True, hybrid_search_config=config)
        check(store, encoder)


class TestRedis:
    @pytest.fixture
    def store(self, redis_url: str) -> RedisVectorStore:
        store = RedisVectorStore(
            Encoder(), RedisConfig(index_name=uuid4().hex, redis_url=redis_url)
        )
        store.add_texts(TEXTS)
        return store

    @pytest.mark.parametrize(
        "options",
        [
            {"return_metadata": False},
            {"distance_threshold": 0.9},
            {"filter": Text("text") % "number"},
        ],
        ids=lambda options: next(iter(options)),
    )
    def test_options_that_leave_the_number_alone(
        self, store: RedisVectorStore, options: dict[str, Any]
    ) -> None:
        check(store, store.embeddings, **options)

    def test_vectors_among_the_scores(self, store: RedisVectorStore) -> None:
        check(store, store.embeddings, unknown=True, with_vectors=True)

    def test_hits_sorted_by_something_else(self, redis_url: str) -> None:
        """Of more hits, others come first: the page is that of the call's own size."""
        fields = [{"name": "n", "type": "numeric"}]
        config = RedisConfig(index_name=uuid4().hex, redis_url=redis_url, metadata_schema=fields)
        store = RedisVectorStore(Encoder(), config)
        store.add_texts(TEXTS, [{"n": 100 - n} for n in range(12)])
        check(store, store.embeddings, unknown=True, sort_by="n")
