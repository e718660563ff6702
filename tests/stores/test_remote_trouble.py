"""What users of services that do not run here reported, each row a test."""

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from elasticsearch.helpers.vectorstore import AsyncDenseVectorStrategy
from langchain_elasticsearch import BM25Strategy

from langchain_recall_signal import RecallRetriever
from llama_index_recall_signal import RecallRetriever as LlamaRecall
from recall_signal import NOT_CONVERTIBLE, ScoreKind, assess, to_cosine
from tests.stores.llama_store_cases import QUERY
from tests.stores.remote_payloads import (
    elasticsearch,
    hits_with,
    llama_elasticsearch,
    mongodb,
    pinecone,
    weaviate,
)
from tests.stores.test_remote import (
    READ_BY_SCORE,
    llama_retriever,
    no_patched_loops,
    recall,
)

__all__ = ["no_patched_loops"]  # a fixture

ON_TOPIC = [0.82, 0.55, 0.5, 0.41, 0.35, 0.3, 0.2, 0.1]
OFF_TOPIC = [0.12, 0.118, 0.115, 0.113, 0.11, 0.108, 0.105, 0.1]
NORMALISED = [1.0, *np.linspace(0.9, 0.0, 7).tolist()]


class TestRow10:
    """weaviate/weaviate#3385: every relevance lies between 0.5 and 0.74, whatever is asked."""

    @pytest.mark.parametrize("cosines", [ON_TOPIC, OFF_TOPIC], ids=["on topic", "off topic"])
    def test_the_stores_own_relevance_says_nothing(self, cosines: list[float]) -> None:
        store = weaviate(hits_with(NORMALISED, cosines))
        found = store.similarity_search_with_relevance_scores(QUERY, k=8)
        assert all(0.5 <= relevance <= 0.74 for _, relevance in found)
        response = RecallRetriever.from_vectorstore(store, k=8).recall(QUERY)
        assert response.confidence.level == "unknown"
        assert response.confidence.reason == "score_not_convertible"

    def test_the_stored_vectors_do(self) -> None:
        levels = []
        for cosines in (ON_TOPIC, OFF_TOPIC):
            store = weaviate(hits_with(NORMALISED, cosines))
            search = {"include_vector": True}
            wrapped = RecallRetriever.from_vectorstore(store, k=8, search_kwargs=search)
            levels.append(wrapped.recall(QUERY).confidence.level)
        assert levels == ["high", "none"]


@pytest.mark.usefixtures("no_patched_loops")
class TestRow11:
    """run-llama/llama_index#12486, #12567, #8510: Elasticsearch's best hit always has 1.0."""

    def test_an_off_topic_query_is_never_high(self) -> None:
        halves = [(1 + cosine) / 2 for cosine in OFF_TOPIC]
        store = llama_elasticsearch(hits_with(halves, OFF_TOPIC), AsyncDenseVectorStrategy())
        bare = llama_retriever(store)
        assert [bare.retrieve(QUERY)[n].score for n in (0, -1)] == [1.0, 0.0]
        confidence = LlamaRecall(bare).recall(QUERY).confidence
        assert (confidence.level, confidence.reason) == ("unknown", "score_not_convertible")
        assert assess(NORMALISED).level == "high"  # what it would look like

    @pytest.mark.parametrize("score", [0.0, 0.5, 1.0])
    def test_the_kind_refuses_conversion(self, score: float) -> None:
        assert to_cosine(score, ScoreKind.MINMAX) is None
        assert ScoreKind.MINMAX in NOT_CONVERTIBLE


class TestRow17:
    """langchain-ai/langchain#4517: one hit, one number for each store; here, one cosine."""

    def test_their_own_numbers_for_one_cosine(self) -> None:
        """That the cosine is the same for all of them: `test_a_documented_number_...`."""
        numbers = {round(scores[1], 3) for _, scores, _ in READ_BY_SCORE.values()}
        assert numbers == {0.5, 0.75, 1.0, 1.5, 0.622}  # 0.5 is the cosine, or 1 / (1 + d)


class TestRow21:
    """vectorize-io/hindsight#1823: ranks alone leave no trace of how good the best hit is."""

    def test_the_same_ranking_of_other_strengths_is_judged_otherwise(self) -> None:
        found = {}
        for cosines in (ON_TOPIC, OFF_TOPIC):
            response = RecallRetriever.from_vectorstore(
                pinecone(hits_with(cosines, cosines)), k=8
            ).recall(QUERY)
            texts = tuple(document.page_content for document in response.documents)
            found[response.confidence.level] = (texts, response.confidence.top_score)
        ranking = tuple(f"text {n}" for n in range(8))
        assert found == {"high": (ranking, 0.82), "none": (ranking, 0.12)}


class TestRow66:
    """scrypster/muninndb#711: an off-topic query got a relevance of 0.9999 out of BM25."""

    def recall(self, scores: list[float]) -> Any:
        store = elasticsearch(hits_with(scores, [0.5] * len(scores)), strategy=BM25Strategy())
        return RecallRetriever.from_vectorstore(store, k=8).recall("anything").confidence

    @pytest.mark.parametrize("size", [0.001, 1.0, 1000.0])
    def test_large_scores_do_not_saturate(self, size: float) -> None:
        """Eight hits that are equally good stand out from nothing, however large their score."""
        flat = self.recall([size] * 8)
        assert (flat.level, flat.basis) == ("none", "separation")
        assert flat.top_score == pytest.approx(size)
        assert (flat.prominence, flat.relative_margin, flat.probability) == (None, None, None)

    def test_the_level_does_not_depend_on_the_scale(self) -> None:
        levels = {
            self.recall([s * size for s in (9, 5, 5, 4, 4, 3, 3, 2)]).level for size in (1, 99)
        }
        assert len(levels) == 1


def test_row_20_a_fused_page_is_the_bare_retrievers() -> None:
    """DeytaHQ/khora#811: the order before and after is the same."""
    recall(weaviate(hits_with(NORMALISED, ON_TOPIC[::-1])))


def test_scores_that_a_store_writes_into_metadata_stay_there() -> None:
    bare = mongodb(hits_with(ON_TOPIC, ON_TOPIC)).as_retriever(
        search_kwargs={"k": 3, "include_scores": True}
    )
    assert "score" in bare.invoke(QUERY)[0].metadata
    assert "score" in RecallRetriever(retriever=bare).invoke(QUERY)[0].metadata


def test_candidates_asked_of_each_shard_stay_as_they_were() -> None:
    store = elasticsearch(hits_with(ON_TOPIC, ON_TOPIC))
    bare = store.as_retriever(search_kwargs={"k": 3, "fetch_k": 200})
    with patch.object(store.client, "search", wraps=store.client.search) as search:
        bare.invoke(QUERY)
        RecallRetriever(retriever=bare).invoke(QUERY)
    assert [call.kwargs["knn"]["num_candidates"] for call in search.call_args_list] == [200, 200]
