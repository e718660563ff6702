"""Which store is read how: adapters, query modes, and stores that are not believed."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.schema import QueryBundle
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import VectorStoreQueryMode

from llama_index_recall_signal import RecallRetriever, StoreAdapter, register_adapter
from llama_index_recall_signal.stores import Hits, ServerMetricAdapter, find_adapter
from llama_index_recall_signal.stores import _registry as registry
from recall_signal import ConfigurationError, ScoreKind
from tests.llama_index.fakes import (
    QUERY,
    QUERY_VECTOR,
    Embedding,
    index_with_cosines,
    nodes_with_cosines,
    page_of,
    texts_with_metadata,
)

WORDS = {QUERY: QUERY_VECTOR}


class MinMaxStore(SimpleVectorStore):
    """Scales its scores within each result list, as Elasticsearch's does: the top is 1.0."""

    def query(self, query: Any, **kwargs: Any) -> Any:
        result = super().query(query, **kwargs)
        scores = result.similarities or []
        low, high = min(scores), max(scores)
        result.similarities = [(score - low) / (high - low) for score in scores]
        return result


def min_max_index() -> VectorStoreIndex:
    return VectorStoreIndex(
        nodes_with_cosines(list(np.linspace(0.12, 0.1, 9))),
        storage_context=StorageContext.from_defaults(vector_store=MinMaxStore()),
        embed_model=Embedding(WORDS),
    )


def test_scores_normalised_per_list_are_never_cosines(searches: list[int]) -> None:
    bare = min_max_index().as_retriever(similarity_top_k=4)
    assert bare.retrieve(QUERY)[0].score == 1.0
    searches.clear()
    response = RecallRetriever(bare).recall(QUERY)
    assert (response.confidence.level, response.confidence.reason) == (
        "unknown",
        "store_not_recognised",
    )
    assert searches == [4]
    cosines = list(np.linspace(0.12, 0.1, 9))
    response = RecallRetriever(bare, texts_with_metadata(cosines), "minmax").recall(QUERY)
    assert response.cosine_source == "embeddings"
    assert response.confidence.level == "none"
    assert page_of(response.nodes) == page_of(bare.retrieve(QUERY))


class AnyMode(SimpleVectorStore):
    """Has a hybrid mode, in a manner of speaking."""

    def query(self, query: Any, **kwargs: Any) -> Any:
        query.mode = VectorStoreQueryMode.DEFAULT
        return super().query(query, **kwargs)


@pytest.mark.parametrize("mode", [m for m in VectorStoreQueryMode if m != "default"])
def test_no_mode_but_the_default_one_is_searched_wider(
    searches: list[int], mode: VectorStoreQueryMode
) -> None:
    index = VectorStoreIndex(
        nodes_with_cosines([0.9, 0.5, 0.4, 0.2]),
        storage_context=StorageContext.from_defaults(vector_store=AnyMode()),
        embed_model=Embedding(WORDS),
    )
    bare = index.as_retriever(vector_store_query_mode=mode, alpha=0.5)
    given = QueryBundle(QUERY, embedding=QUERY_VECTOR)
    response = RecallRetriever(bare, score_kind="cosine").recall(given)
    assert searches == [2]
    assert response.pool.cosines == pytest.approx([0.9, 0.5])


def test_a_vector_that_is_gone_from_the_store() -> None:
    index = index_with_cosines([0.9, 0.5, 0.2])
    wrapped = RecallRetriever(index.as_retriever(vector_store_query_mode="mmr"))
    store: Any = index.vector_store
    adapter: Any = find_adapter(store)
    hits = wrapped.retriever.retrieve(QUERY)
    store.delete_nodes([hits[1].node_id])
    first, second = adapter.vectors(store, Hits(hits, "mmr"))
    assert first is not None
    assert second is None


@pytest.mark.parametrize("place", sorted(set(registry._KNOWN.values())))
def test_no_mode_is_believed_but_the_default_one(place: str) -> None:
    """In MMR a score may look like that of a plain search; nothing promises that."""
    adapter = registry._registry._load(f"{registry._HERE}.{place}")
    for mode in (mode for mode in VectorStoreQueryMode if mode != "default"):
        kind = adapter.score_kind(None, mode)
        assert kind is not None
        assert kind is ScoreKind.BM25 or not ScoreKind(kind).convertible


class Cosine(StoreAdapter):
    def score_kind(self, store: Any, mode: str) -> ScoreKind:
        return ScoreKind.COSINE


class Fetching(ServerMetricAdapter):
    other_modes: ClassVar = {"sparse": ScoreKind.BM25}

    def fetch_kind(self, store: Any) -> ScoreKind:
        store.fetched += 1
        return ScoreKind.COSINE


def test_a_servers_metric_is_fetched_once_and_for_the_default_mode_only() -> None:
    class Store:
        fetched = 0

    adapter, store = Fetching(), Store()
    assert [adapter.score_kind(store, mode) for mode in ("sparse", "mmr")] == ["bm25", "unknown"]
    assert (adapter.waits(store), store.fetched) == (True, 0)
    assert [adapter.score_kind(store, "default") for _ in range(3)] == ["cosine"] * 3
    assert (adapter.waits(store), store.fetched) == (False, 1)


class Broken(StoreAdapter):
    def score_kind(self, store: Any, mode: str) -> ScoreKind:
        raise RuntimeError(mode)


def test_an_adapter_of_ones_own(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    known = registry._registry
    monkeypatch.setattr(known, "_adapters", dict(known._adapters))
    name = f"{MinMaxStore.__module__}.{MinMaxStore.__qualname__}"
    bare = min_max_index().as_retriever(similarity_top_k=4)
    register_adapter(name, Cosine())
    assert RecallRetriever(bare).recall(QUERY).cosine_source == "store"
    register_adapter(name, f"{__name__}:Broken")
    response = RecallRetriever(bare).recall(QUERY)
    assert response.confidence.reason == "adapter_failed"
    assert page_of(response.nodes) == page_of(bare.retrieve(QUERY))
    assert "RuntimeError" in caplog.text
    register_adapter(name, StoreAdapter())  # says nothing about the score
    assert RecallRetriever(bare).recall(QUERY).confidence.reason == "adapter_failed"


def test_what_is_no_adapter() -> None:
    with pytest.raises(ConfigurationError, match="dotted class name"):
        register_adapter("Store", StoreAdapter())
    with pytest.raises(ConfigurationError, match="a StoreAdapter or a text"):
        register_adapter("my.Store", "adapter")


def test_a_subclass_is_read_like_its_store_unless_it_searches_by_itself() -> None:
    class Renamed(SimpleVectorStore):
        pass

    class Own(SimpleVectorStore):
        async def aquery(self, query: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    assert find_adapter(Renamed()) is find_adapter(SimpleVectorStore()) is not None
    assert find_adapter(MinMaxStore()) is None
    assert find_adapter(Own()) is None
    assert find_adapter(object()) is None


class Generous(SimpleVectorStore):
    """A store that takes a limit for a hint, as searches over shards do."""

    def query(self, query: Any, **kwargs: Any) -> Any:
        return super().query(replace(query, similarity_top_k=query.similarity_top_k + 2), **kwargs)


@pytest.mark.parametrize("declared", [{}, {"score_kind": "cosine"}])
@pytest.mark.parametrize("pool_size", [3, 10])
async def test_a_store_that_returns_more_than_asked_keeps_its_page(
    pool_size: int, declared: dict[str, Any]
) -> None:
    index = VectorStoreIndex(
        nodes_with_cosines(list(np.linspace(0.9, 0.1, 30))),
        storage_context=StorageContext.from_defaults(vector_store=Generous()),
        embed_model=Embedding(WORDS),
    )
    bare = index.as_retriever(similarity_top_k=3)
    expected = page_of(bare.retrieve(QUERY))
    assert len(expected) == 5
    retriever = RecallRetriever(bare, pool_size=pool_size, **declared)
    assert page_of(retriever.retrieve(QUERY)) == expected
    assert page_of(await retriever.aretrieve(QUERY)) == expected
