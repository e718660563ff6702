"""The wrapper around a vector index: one wider search, the same page, the reports beside it."""

import json
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from llama_fakes import (
    QUERY,
    QUERY_VECTOR,
    Embedding,
    ListRetriever,
    index_with_cosines,
    numpy_cosine,
    page_of,
    scored,
)
from llama_index.core.schema import QueryBundle

from llama_index_recall_signal import RecallResponse, RecallRetriever
from recall_signal import ConfigurationError, InvalidResultError, ScoreKind, Thresholds, assess
from recall_signal.testing import vectors_with_cosines

COSINES = [0.9, 0.5, 0.45, 0.4, *np.linspace(0.39, 0.1, 60)]


def wrap(top_k: int = 3, **settings: Any) -> RecallRetriever:
    bare = index_with_cosines(COSINES).as_retriever(similarity_top_k=top_k)
    return RecallRetriever(bare, **settings)


def test_one_wider_search_and_the_same_page(searches: list[int]) -> None:
    wrapped = wrap()
    response = wrapped.recall(QUERY)
    assert searches == [50]
    assert page_of(response.nodes) == page_of(wrapped.retriever.retrieve(QUERY))
    assert len(response.pool) == 50
    assert response.pool.cosines == pytest.approx(sorted(COSINES, reverse=True)[:50])
    assert response.pool.ids is not None
    assert response.pool.ids[:3] == ["n0", "n1", "n2"]
    assert response.confidence == assess(sorted(COSINES, reverse=True)[:50])
    assert response.confidence.level == "high"
    assert response.cosine_source == "store"


async def test_async_is_the_same(searches: list[int]) -> None:
    wrapped = wrap()
    response = await wrapped.arecall(QUERY)
    assert searches == [50]
    same = wrapped.recall(QUERY)
    assert response.to_dict() == same.to_dict()
    assert page_of(response.nodes) == page_of(same.nodes)
    assert page_of(await wrapped.aretrieve(QUERY)) == page_of(same.nodes)


def test_every_node_carries_the_reports_as_plain_json() -> None:
    response = wrap().recall(QUERY)
    for rank, item in enumerate(response.nodes):
        entry = item.node.metadata["recall"]
        assert entry == {**response.to_dict(), "rank": rank, "cosine": entry["cosine"]}
        assert entry["cosine"] == pytest.approx(COSINES[rank], abs=1e-6)
        assert json.loads(json.dumps(entry, allow_nan=False)) == entry


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


def test_pool_size_k_leaves_the_search_alone(searches: list[int]) -> None:
    response = wrap(pool_size=3).recall(QUERY)
    assert searches == [3]
    assert len(response.pool) == len(response.nodes) == 3


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
    assert RecallRetriever(index.as_retriever()).recall(bundle).confidence.top_score == 0.9


def test_empty_index() -> None:
    response = RecallRetriever(index_with_cosines([]).as_retriever()).recall(QUERY)
    assert response.nodes == []
    assert response.confidence.level == "none"
    assert response.confidence.result_count == 0


def test_thresholds_and_keys() -> None:
    strict = Thresholds(prominence_high=9.0, prominence_moderate=8.0, prominence_low=7.0)
    wrapped = wrap(thresholds=strict, metadata_key="mine", annotate="first", id_key="page")
    response = wrapped.recall(QUERY)
    assert response.confidence.level == "moderate"  # a near-duplicate
    assert ["mine" in item.metadata for item in response.nodes] == [True, False, False]
    assert response.pool.ids is not None
    assert response.pool.ids[:2] == ["0", "1"]


def test_the_response_shows_in_a_notebook() -> None:
    html = wrap().recall(QUERY)._repr_html_()
    assert isinstance(html, str)
    assert html


def test_settings_are_fixed_and_by_name() -> None:
    wrapped = wrap(k=2, score_kind="cosine")
    assert wrapped.settings.k == 2
    assert wrapped.settings.score_kind is ScoreKind.COSINE
    settings: Any = wrapped.settings
    with pytest.raises(ValueError, match="frozen"):
        settings.k = 3


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"k": 0}, "RecallRetriever: k: .*greater than or equal to 1, got 0"),
        ({"k": True}, "k: "),
        ({"k": 2.0}, "k: "),
        ({"pool_size": 0}, "pool_size: .*got 0"),
        ({"pool_size": 2}, "pool_size=2 is below the page's k=3"),
        ({"pool_size": 9, "k": 10}, "pool_size=9 is below the page's k=10"),
        ({"score_kind": "cosin"}, "score_kind must be one of"),
        ({"annotate": "some"}, "annotate: .*'all'"),
        ({"metadata_key": ""}, "metadata_key: "),
        ({"metadata_key": "score"}, "metadata_key 'score' has a meaning"),
        ({"metadata_key": "_node_content"}, "metadata_key '_node_content' has a meaning"),
        ({"thresholds": 0.5}, "thresholds: "),
        ({"embed_model": "local"}, "embed_model: .*BaseEmbedding"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        wrap(**settings)


def test_no_retriever_at_all() -> None:
    index: Any = index_with_cosines([0.5])
    with pytest.raises(ConfigurationError, match=r"retriever: .*BaseRetriever"):
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


def test_other_retrievers_are_cut_to_k_and_looked_at_whole() -> None:
    inner = ListRetriever(scored(*COSINES))
    response = RecallRetriever(inner, k=2, score_kind="cosine").recall(QUERY)
    assert isinstance(response, RecallResponse)
    assert [item.node_id for item in response.nodes] == ["n0", "n1"]
    assert len(response.pool) == len(COSINES)
    assert response.cosine_source == "declared"
