"""Elasticsearch's mapping, read and not run: who is asked for it, and what it may hold."""

from typing import Any
from unittest.mock import patch

import pytest
from langchain_elasticsearch import AsyncBM25Strategy as LangChainAsyncBM25
from langchain_elasticsearch import AsyncDenseVectorStrategy as LangChainAsyncDense
from langchain_elasticsearch import AsyncElasticsearchStore, DenseVectorStrategy, ElasticsearchStore
from remote_rows import Rows
from test_remote_elasticsearch import AsyncTwinOf, FakeElasticsearch, kind_of, store_with

from recall_signal import ScoreKind


def kind_with(client: Any, **settings: Any) -> ScoreKind:
    return kind_of(ElasticsearchStore("index", client=client, **settings))


def test_it_is_asked_for_once() -> None:
    client = FakeElasticsearch(Rows())
    store = store_with(DenseVectorStrategy(), client)
    assert [kind_of(store) for _ in range(3)] == [ScoreKind.HALF_COSINE] * 3
    assert client.mapped == 1


def test_no_similarity_in_it() -> None:
    assert kind_with(FakeElasticsearch(Rows(), None)) is ScoreKind.UNKNOWN


@pytest.mark.parametrize("element", ["byte", "bit"])
def test_other_numbers_than_floats(element: str) -> None:
    client = FakeElasticsearch(Rows(), element_type=element)
    assert kind_with(client) is ScoreKind.UNKNOWN


def test_a_field_within_a_field() -> None:
    client = FakeElasticsearch(Rows())
    nested = {"properties": {"predicted_value": dict(client.field)}}
    client.field = nested
    kind = kind_with(client, vector_query_field="vector.predicted_value")
    assert kind is ScoreKind.HALF_COSINE


def test_an_alias_of_indices_that_differ() -> None:
    one, other = FakeElasticsearch(Rows()), FakeElasticsearch(Rows(), "l2_norm")
    both = {**one.get_mapping("a"), **other.get_mapping("b")}
    with patch.object(one, "get_mapping", lambda index: both):
        assert kind_with(one) is ScoreKind.UNKNOWN


def test_no_right_to_see_it(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recall_signal.stores.asked._PAUSE", 0.0)
    client = FakeElasticsearch(Rows())
    store = store_with(DenseVectorStrategy(), client)
    with patch.object(client, "get_mapping", side_effect=PermissionError("secret")):
        assert kind_of(store) is ScoreKind.UNKNOWN
    assert "PermissionError" in caplog.text
    assert "secret" not in caplog.text
    assert kind_of(store) is ScoreKind.HALF_COSINE  # asked again


def test_an_asynchronous_client_is_not_asked() -> None:
    client: Any = AsyncTwinOf(FakeElasticsearch(Rows()))
    store = AsyncElasticsearchStore("index", client=client, strategy=LangChainAsyncDense())
    assert kind_of(store) is ScoreKind.UNKNOWN
    words = AsyncElasticsearchStore("index", client=client, strategy=LangChainAsyncBM25())
    assert kind_of(words) is ScoreKind.BM25
