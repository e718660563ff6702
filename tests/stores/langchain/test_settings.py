"""Settings in unusual places: what the store really does decides, not what it was told last."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import lancedb
import pysqlite3
import pytest
import sqlalchemy
import sqlite_vec
from lancedb.index import BTree, IvfFlat
from langchain_community.vectorstores import LanceDB as CommunityLanceDB
from langchain_community.vectorstores import SQLiteVec
from langchain_core.documents import Document
from langchain_lancedb import LanceDB
from langchain_milvus import Milvus
from langchain_postgres import PGVector
from langchain_redis import RedisConfig, RedisVectorStore

from langchain_recall_signal import RecallResponse, RecallRetriever
from langchain_recall_signal.stores import find_adapter
from recall_signal import ScoreKind
from tests.stores.langchain_world import LONG, Encoder, check_cosines

QUERY = "a query"
TEXTS = ["it's one", "two; -- with signs", 'three "quoted"', "four\nlines", *map(str, range(20))]


def check(store: Any, encoder: Encoder, source: str = "store", **settings: Any) -> RecallResponse:
    """Every cosine is numpy's, and the page the bare retriever's."""
    response = RecallRetriever.from_vectorstore(store, k=10, **settings).recall(QUERY)
    assert response.cosine_source == source
    check_cosines(response.documents, encoder, QUERY)
    assert None not in response.pool.cosines
    bare = store.as_retriever(search_kwargs={"k": 10}).invoke(QUERY)
    assert [d.page_content for d in response.documents] == [d.page_content for d in bare]
    return response


class TestLanceDB:
    """An index has a metric of its own, and the table's searches go by it."""

    @pytest.fixture(params=[LanceDB, CommunityLanceDB])
    def make(self, request: pytest.FixtureRequest, tmp_path: Path) -> Any:
        def make(encoder: Encoder, metric: Any = None) -> Any:
            is_new = request.param is LanceDB
            argument = {"embedding_function" if is_new else "embedding": encoder}
            store = request.param(uri=str(tmp_path), **argument)
            store.add_documents([Document(id=text, page_content=text) for text in TEXTS])
            if metric is None:
                return store
            name = "documents" if is_new else "vectorstore"
            table = lancedb.connect(tmp_path).open_table(name)
            table.create_index("text", config=BTree())  # an index, though none of vectors
            table.create_index("vector", config=IvfFlat(distance_type=metric, num_partitions=1))
            return request.param(uri=str(tmp_path), **argument)

        return make

    @pytest.mark.parametrize("metric", ["l2", "cosine", "dot"])
    def test_of_length_one(self, make: Any, metric: str) -> None:
        encoder = Encoder()
        check(make(encoder, metric), encoder)

    def test_cosine_of_any_length(self, make: Any) -> None:
        encoder = Encoder(norm=LONG)
        check(make(encoder, "cosine"), encoder)

    @pytest.mark.parametrize("metric", [None, "l2", "dot"])
    def test_the_vectors_are_found_by_any_text(self, make: Any, metric: str | None) -> None:
        encoder = Encoder(norm=LONG)
        check(make(encoder, metric), encoder, "vectors")

    def test_what_the_store_was_told_changes_no_search(self, tmp_path: Path) -> None:
        encoder = Encoder()
        store = CommunityLanceDB(embedding=encoder, uri=str(tmp_path), distance="cosine")
        store.add_texts(TEXTS)
        check(store, encoder)


class TestSQLiteVec:
    @pytest.mark.parametrize(
        ("metric", "kind"),
        [
            ("", ScoreKind.L2),
            ("distance_metric=L2", ScoreKind.L2),
            ("distance_metric = cosine", ScoreKind.COSINE_DISTANCE),
            ("distance_metric=l1", ScoreKind.UNKNOWN),
        ],
    )
    def test_the_table_decides(self, metric: str, kind: ScoreKind) -> None:
        connection = pysqlite3.connect(":memory:")
        connection.row_factory = pysqlite3.Row
        connection.enable_load_extension(True)
        sqlite_vec.load(connection)
        connection.execute(
            "CREATE VIRTUAL TABLE memos_vec USING vec0"
            f"(rowid INTEGER PRIMARY KEY, text_embedding float[16] {metric})"
        )
        encoder = Encoder()
        store = SQLiteVec("memos", connection, encoder)
        store.add_texts(TEXTS)
        adapter = find_adapter(store)
        assert adapter is not None
        assert adapter.score_kind(store) is kind
        check(store, encoder, "vectors" if kind is ScoreKind.UNKNOWN else "store")


class TestRedis:
    @pytest.mark.parametrize("metric", ["L2", "IP", "COSINE"])
    def test_an_existing_index_decides(self, redis_url: str, metric: str) -> None:
        encoder, name = Encoder(), uuid4().hex
        settings: dict[str, Any] = {"index_name": name, "redis_url": redis_url}
        made = RedisVectorStore(encoder, RedisConfig(**settings, distance_metric=metric))
        made.add_texts(TEXTS)
        again = RedisVectorStore(encoder, RedisConfig(**settings, from_existing=True))
        assert again.config.distance_metric == "COSINE"
        check(again, encoder)


class TestPGVector:
    @pytest.mark.parametrize("strategy", ["l2", "cosine", "inner"])
    def test_a_strategy_by_its_name(self, postgres_url: str, strategy: Any) -> None:
        engine = sqlalchemy.create_engine(postgres_url.replace(":", "+psycopg:", 1))
        encoder = Encoder(norm=LONG)
        store = PGVector(
            encoder, connection=engine, collection_name=uuid4().hex, distance_strategy=strategy
        )
        store.add_texts(TEXTS)
        check(store, encoder, "store" if strategy == "cosine" else "vectors")
        engine.dispose()


class TestMilvus:
    def test_an_existing_collection_decides(self, milvus_uri: str) -> None:
        encoder, name = Encoder(norm=LONG), f"c{uuid4().hex}"
        index = {"index_type": "FLAT", "metric_type": "COSINE", "params": {}}
        settings: dict[str, Any] = {"connection_args": {"uri": milvus_uri}}
        made = Milvus(encoder, name, index_params=index, **settings)
        made.add_texts(TEXTS, ids=list(map(str, range(len(TEXTS)))))
        check(Milvus(encoder, name, **settings), encoder)
        with_search = Milvus(
            encoder, name, index_params=index, search_params={"params": {}}, **settings
        )
        check(with_search, encoder)

    def test_a_metric_that_nothing_tells_is_not_guessed(self, milvus_uri: str) -> None:
        encoder, name = Encoder(), f"c{uuid4().hex}"
        settings: dict[str, Any] = {"connection_args": {"uri": milvus_uri}}
        Milvus(encoder, name, **settings).add_texts(["one"], ids=["1"])
        store = Milvus(encoder, name, search_params={"params": {}}, **settings)
        adapter = find_adapter(store)
        assert adapter is not None
        assert adapter.score_kind(store) is ScoreKind.UNKNOWN

    def test_documents_without_their_key_have_no_vector(self, milvus_uri: str) -> None:
        store = Milvus(Encoder(), f"c{uuid4().hex}", connection_args={"uri": milvus_uri})
        adapter = find_adapter(store)
        assert adapter is not None
        assert adapter.vectors(store, [Document("unknown")]) is None
