"""`DuckDB` and `SQLiteVec` of langchain-community."""

import sys
from typing import Any
from unittest.mock import patch

import duckdb
import pysqlite3
import sqlite_vec
from langchain_community.vectorstores import DuckDB, SQLiteVec
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from tests.stores.langchain_world import StoreConformance


class TestDuckDB(StoreConformance):
    def store(self, encoder: Embeddings) -> Any:
        return DuckDB(connection=duckdb.connect(":memory:"), embedding=encoder)

    def add(self, store: Any, documents: list[Document]) -> None:
        # DuckDB cannot read the frames of pandas 3; without pandas, the store writes row by row.
        with patch.dict(sys.modules, {"pandas": None}):
            super().add(store, documents)


class TestDuckDBWithoutMetadata(TestDuckDB):
    """Of texts without metadata, the store leaves its score out as well."""

    source = "vectors"

    def add(self, store: Any, documents: list[Document]) -> None:
        with patch.dict(sys.modules, {"pandas": None}):
            store.add_texts([document.page_content for document in documents])


def connect() -> Any:
    # Not every Python is built with an sqlite3 that loads extensions.
    connection = pysqlite3.connect(":memory:", check_same_thread=False)
    connection.row_factory = pysqlite3.Row
    connection.enable_load_extension(True)
    sqlite_vec.load(connection)
    return connection


class TestSQLiteVec(StoreConformance):
    unit_only = True

    def store(self, encoder: Embeddings) -> Any:
        return SQLiteVec("memos", connect(), encoder)


class TestSQLiteVecOfACosineTable(StoreConformance):
    """The store takes a table that was made by somebody else as it is."""

    def store(self, encoder: Embeddings) -> Any:
        connection = connect()
        connection.execute(
            "CREATE VIRTUAL TABLE memos_vec USING vec0(rowid INTEGER PRIMARY KEY, "
            f"text_embedding float[{self.dimension}] distance_metric=cosine)"
        )
        return SQLiteVec("memos", connection, encoder)
