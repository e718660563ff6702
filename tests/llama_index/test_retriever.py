"""The wrapper around a vector index: one wider search, the same page, the reports beside it."""

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from llama_index.core.schema import QueryBundle

from llama_index_recall_signal import RecallRetriever
from recall_signal import ConfigurationError, InvalidResultError, ScoreKind
from recall_signal.testing import vectors_with_cosines
from tests.llama_index.fakes import (
    QUERY,
    QUERY_VECTOR,
    Embedding,
    ListRetriever,
    index_with_cosines,
    numpy_cosine,
    page_of,
    scored,
)

COSINES = [0.9, 0.5, 0.45, 0.4, *np.linspace(0.39, 0.1, 60)]


def wrap(top_k: int = 3, **settings: Any) -> RecallRetriever:
    bare = index_with_cosines(COSINES).as_retriever(similarity_top_k=top_k)
    return RecallRetriever(bare, **settings)


def test_the_users_retriever_is_never_changed() -> None:
    wrapped = wrap(k=7)
    before = {name: id(value) for name, value in vars(wrapped.retriever).items()}
    wrapped.retrieve(QUERY)
    assert {name: id(value) for name, value in vars(wrapped.retriever).items()} == before
    assert len(wrapped.retriever.retrieve(QUERY)) == 3


def test_a_change_of_the_users_retriever_counts_at_once() -> None:
    wrapped = wrap()
    bare: Any = wrapped.retriever
    bare.similarity_top_k = 5
    assert len(wrapped.retrieve(QUERY)) == 5


@pytest.mark.parametrize(("k", "top_k", "asked"), [(1, 3, 50), (7, 3, 50), (60, 3, 60)])
def test_k_is_the_page_size(searches: list[int], k: int, top_k: int, asked: int) -> None:
    wrapped = wrap(top_k, k=k)
    assert [item.node_id for item in wrapped.retrieve(QUERY)] == [f"n{n}" for n in range(k)]
    assert searches == [asked]


@pytest.mark.parametrize("mode", ["mmr"])
def test_a_mode_that_depends_on_the_size_keeps_its_own(searches: list[int], mode: str) -> None:
    index = index_with_cosines(COSINES)
    bare: Any = index.as_retriever(similarity_top_k=4, vector_store_query_mode=mode)
    response = RecallRetriever(bare).recall(QUERY)
    assert searches == [4]
    assert page_of(response.nodes) == page_of(bare.retrieve(QUERY))
    assert response.cosine_source == "vectors"
    narrow = RecallRetriever(bare, k=2).recall(QUERY)
    bare.similarity_top_k = 2
    assert page_of(narrow.nodes) == page_of(bare.retrieve(QUERY))


async def test_mmr_has_cosines_in_the_async_way_too() -> None:
    index = index_with_cosines(COSINES)
    bare = index.as_retriever(similarity_top_k=4, vector_store_query_mode="mmr")
    wrapped = RecallRetriever(bare)
    response = await wrapped.arecall(QUERY)
    assert response.to_dict() == wrapped.recall(QUERY).to_dict()
    store: Any = index.vector_store
    for item in response.nodes:
        cosine = numpy_cosine(QUERY_VECTOR, store.get(item.node_id))
        assert item.metadata["recall"]["cosine"] == pytest.approx(cosine, abs=1e-6)


def test_ties_are_kept_as_the_retriever_keeps_them(searches: list[int]) -> None:
    index = index_with_cosines([0.9, 0.2])
    vector = vectors_with_cosines(QUERY_VECTOR, [0.6])[0].tolist()
    ties = [deepcopy(node) for node in index.docstore.docs.values() for _ in range(6)]
    for number, node in enumerate(ties):
        node.node_id, node.embedding = f"tie{number}", vector
    index.insert_nodes(ties)
    for k in range(1, 15):
        bare = index.as_retriever(similarity_top_k=k)
        expected = page_of(bare.retrieve(QUERY))
        searches.clear()
        response = RecallRetriever(bare).recall(QUERY)
        assert page_of(response.nodes) == expected
        assert searches == ([50, k] if 2 <= k <= 13 else [50])
        assert len(response.pool) == 14


async def test_ties_in_the_async_way() -> None:
    index = index_with_cosines([0.9, 0.5, 0.5, 0.5, 0.5, 0.2])
    bare = index.as_retriever(similarity_top_k=3)
    page = await RecallRetriever(bare).aretrieve(QUERY)
    assert page_of(page) == page_of(bare.retrieve(QUERY))


def test_a_bundle_is_handed_on_as_it_is() -> None:
    inner = ListRetriever(scored(0.5))
    bundle = QueryBundle(QUERY, custom_embedding_strs=["a", "b"])
    RecallRetriever(inner).retrieve(bundle)
    assert inner.bundles == [bundle]
    assert inner.bundles[0] is bundle


def test_a_given_query_vector_is_searched_with() -> None:
    index = index_with_cosines(COSINES, embedding=Embedding())
    bundle = QueryBundle("no word of it", embedding=QUERY_VECTOR)
    bare = index.as_retriever(similarity_top_k=3)
    expected = page_of(bare.retrieve(bundle))
    response = RecallRetriever(bare).recall(bundle)
    assert page_of(response.nodes) == expected
    assert response.confidence.top_score != 0.9  # that is not the vector of these words


def test_settings_are_fixed_and_by_name() -> None:
    wrapped = wrap(k=2, score_kind="cosine")
    assert wrapped.settings.k == 2
    assert wrapped.settings.score_kind is ScoreKind.COSINE
    settings: Any = wrapped.settings
    with pytest.raises(ValueError, match="frozen"):
        settings.k = 3


def test_no_retriever_at_all() -> None:
    index: Any = index_with_cosines([0.5])
    with pytest.raises(ConfigurationError, match=r"such as index.as_retriever\(\), got "):
        RecallRetriever(index)
    with pytest.raises(ConfigurationError) as raised:
        RecallRetriever(index.as_retriever(), embed_model="sk-secret")  # type: ignore[arg-type]
    assert "secret" not in str(raised.value)


class Careless(ListRetriever):
    """Overrides more than LlamaIndex asks for, and returns what it should not."""

    answer: Any = None

    def retrieve(self, str_or_query_bundle: Any) -> Any:
        return self.answer

    async def aretrieve(self, str_or_query_bundle: Any) -> Any:
        return self.answer


@pytest.mark.parametrize(
    ("answer", "given"),
    [(None, "NoneType"), ("text", "str"), ([scored(0.5)[0].node], "a list with TextNode")],
)
async def test_something_else_than_nodes(answer: Any, given: str) -> None:
    inner = Careless([])
    inner.answer = answer
    with pytest.raises(InvalidResultError, match=f"list of NodeWithScore, got {given}"):
        RecallRetriever(inner).retrieve(QUERY)
    with pytest.raises(InvalidResultError, match=f"list of NodeWithScore, got {given}"):
        await RecallRetriever(inner).arecall(QUERY)
