"""What LlamaIndex has no public name for: fails loudly when a release changes it."""

import gc
import inspect
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.retrievers import VectorIndexRetriever
from llama_index.core.vector_stores.types import VectorStoreQueryMode

from llama_index_recall_signal import RecallRetriever
from llama_index_recall_signal import _internals as ours
from tests.llama_index.fakes import QUERY, index_with_cosines


def retriever(**settings: Any) -> VectorIndexRetriever:
    found = index_with_cosines([0.9, 0.5, 0.1]).as_retriever(**settings)
    assert isinstance(found, VectorIndexRetriever)
    return found


def test_the_private_attributes_are_what_they_were() -> None:
    bare = retriever()
    assert bare._vector_store is bare._index.vector_store
    assert isinstance(bare._embed_model, BaseEmbedding)
    assert bare._similarity_top_k == bare.similarity_top_k
    assert isinstance(bare._vector_store_query_mode, VectorStoreQueryMode)
    assert VectorStoreQueryMode.DEFAULT.value == ours.DEFAULT_MODE


def test_a_query_mode_may_be_a_text() -> None:
    bare = retriever()
    bare._vector_store_query_mode = "default"  # type: ignore[assignment]
    assert (
        RecallRetriever(bare).recall(QUERY).level
        == RecallRetriever(retriever()).recall(QUERY).level
    )


@pytest.mark.parametrize("name", sorted(ours._SEARCH_METHODS))
def test_the_methods_a_search_runs_through_exist(name: str) -> None:
    assert callable(getattr(VectorIndexRetriever, name))


@pytest.mark.parametrize("name", ["_handle_recursive_retrieval", "_ahandle_recursive_retrieval"])
def test_the_hook_has_its_parameters(name: str) -> None:
    for owner in (BaseRetriever, RecallRetriever):
        parameters = inspect.signature(getattr(owner, name)).parameters
        assert list(parameters) == ["self", "query_bundle", "nodes"]


async def test_every_retrieval_runs_through_the_hook() -> None:
    search = ours.vector_search(retriever())
    assert search is not None
    hits: list[Any] = []
    page = ours.with_larger_top_k(search, 3, 2, hits, []).retrieve(QUERY)
    assert (len(page), len(hits)) == (2, 3)
    hits.clear()
    page = await ours.with_larger_top_k(search, 3, 2, hits, []).aretrieve(QUERY)
    assert (len(page), len(hits)) == (2, 3)


def test_the_wider_copy_shows_the_retrievers_own_name_and_manager() -> None:
    search = ours.vector_search(retriever())
    assert search is not None
    view = ours.with_larger_top_k(search, 3, 2, [], [])
    assert view.__class__ is VectorIndexRetriever
    assert type(view).__qualname__ == "VectorIndexRetriever"
    assert view.callback_manager is search.retriever.callback_manager
    assert search.retriever.similarity_top_k == 2


class Named(VectorIndexRetriever):
    """Changes nothing about the search."""

    title = "mine"


class Own(VectorIndexRetriever):
    """May return anything."""

    def _retrieve(self, query_bundle: Any) -> Any:
        return super()._retrieve(query_bundle)[:1]


def as_subclass(subclass: Callable[..., Any]) -> VectorIndexRetriever:
    found = subclass(index_with_cosines([0.9, 0.5, 0.1]))
    assert isinstance(found, VectorIndexRetriever)
    return found


def test_a_subclass_that_searches_alike_is_read_alike(searches: list[int]) -> None:
    response = RecallRetriever(as_subclass(Named)).recall(QUERY)
    assert searches == [50]
    assert response.cosine_source == "store"


async def test_a_subclass_that_closes_its_client_is_never_closed_by_a_call() -> None:
    closed = []

    class Closing(VectorIndexRetriever):
        def __del__(self) -> None:
            closed.append(id(self))

    bare = as_subclass(Closing)
    wrapped = RecallRetriever(bare)
    assert wrapped.recall(QUERY).cosine_source == "store"
    assert (await wrapped.arecall(QUERY)).cosine_source == "store"
    gc.collect()
    assert closed == []


def test_a_subclass_keeps_what_it_assigns_in_a_search() -> None:
    class Counting(VectorIndexRetriever):
        asked = 0

        @property
        def callback_manager(self) -> Any:
            self.asked += 1
            return self._manager

        @callback_manager.setter
        def callback_manager(self, manager: Any) -> None:
            self._manager = manager

    bare = as_subclass(Counting)
    wrapped = RecallRetriever(bare)
    before = bare.asked  # type: ignore[attr-defined]
    wrapped.recall(QUERY)
    assert bare.asked > before  # type: ignore[attr-defined]


@pytest.mark.parametrize("k", [None, 1, 9])
def test_a_subclass_that_has_no_view_is_left_alone(
    k: int | None, searches: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    class Final(VectorIndexRetriever):
        def __init_subclass__(cls, **kwargs: Any) -> None:
            raise TypeError("no subclass")

    response = RecallRetriever(as_subclass(Final), k=k).recall(QUERY)
    assert searches == [2]
    assert [item.node_id for item in response.nodes] == ["n0", "n1"][:k]
    assert "the retriever keeps its own page size: TypeError" in caplog.text


def test_a_subclass_with_a_search_of_its_own_is_left_alone(searches: list[int]) -> None:
    wrapped = RecallRetriever(as_subclass(Own))
    response = wrapped.recall(QUERY)
    assert searches == [2]
    assert [item.node_id for item in response.nodes] == ["n0"]
    assert response.confidence.reason == "store_not_recognised"


@pytest.mark.parametrize("top_k", [0, None])
def test_a_top_k_that_is_no_number_of_hits(top_k: Any) -> None:
    bare = retriever(similarity_top_k=top_k)
    response = RecallRetriever(bare).recall(QUERY)
    assert [item.node_id for item in response.nodes] == ["n0", "n1", "n2"]
    assert response.cosine_source == "store"
