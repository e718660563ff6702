"""Score kinds that the user declares."""

from typing import Any

import numpy as np
import pytest
from langchain_core.runnables import RunnableLambda
from langchain_fakes import (
    QUERY,
    Encoder,
    Scored,
    documents,
    entry,
    plain,
    simple_store,
)

from langchain_recall_signal import RecallRetriever

BOTH = pytest.mark.parametrize("way", ["recall", "arecall"])


async def ask(retriever: RecallRetriever, way: str) -> Any:
    answer = getattr(retriever, way)(QUERY)
    return await answer if way == "arecall" else answer


class TestDeclaredKinds:
    @BOTH
    async def test_of_an_unknown_store(self, way: str) -> None:
        bare = Scored([0.1, 0.4, 0.9]).as_retriever(search_kwargs={"k": 2})
        response = await ask(RecallRetriever(retriever=bare, score_kind="cosine_distance"), way)
        assert plain(response.documents) == plain(bare.invoke(QUERY))
        assert response.pool.cosines == pytest.approx([0.9, 0.6, 0.1])
        assert response.cosine_source == "declared"

    @BOTH
    async def test_without_one_the_store_is_not_guessed_at(self, way: str) -> None:
        response = await ask(RecallRetriever.from_vectorstore(Scored([0.1, 0.4, 0.9])), way)
        assert response.confidence.level == "unknown"
        assert response.confidence.reason == "store_not_recognised"
        assert response.pool.cosines == [None] * 3
        assert [entry(d)["cosine"] for d in response.documents] == [None] * 3

    @BOTH
    async def test_wins_over_a_known_store(self, way: str) -> None:
        retriever = RecallRetriever.from_vectorstore(simple_store(), score_kind="half_cosine")
        response = await ask(retriever, way)
        assert response.cosine_source == "declared"
        assert response.pool.cosines[0] == pytest.approx(2 * 0.95 - 1)

    @BOTH
    async def test_keyword_scores_are_judged_by_their_separation(self, way: str) -> None:
        store = Scored([9.0, 2.0, np.float32(1.5), 1.0, None])
        response = await ask(RecallRetriever.from_vectorstore(store, score_kind="bm25"), way)
        assert response.confidence.basis == "separation"
        assert response.confidence.level == "high"
        assert response.confidence.top_score == 9.0
        assert response.pool.scores == [9.0, 2.0, 1.5, 1.0, None]
        assert response.cosine_source is None
        assert [entry(d)["cosine"] for d in response.documents] == [None] * 5

    def test_keyword_scores_that_are_not_seen(self) -> None:
        bare = Scored([9.0, 2.0]).as_retriever(search_type="mmr")
        bare.vectorstore.max_marginal_relevance_search = lambda *_, **__: documents(2)
        response = RecallRetriever(retriever=bare, score_kind="bm25").recall(QUERY)
        assert response.confidence.reason == "no_score_access"

    @BOTH
    @pytest.mark.parametrize(
        "kind", ["rrf", "minmax", "fused_normalized", "reranker_prob", "unknown"]
    )
    async def test_kinds_without_a_cosine_are_refused(self, kind: str, way: str) -> None:
        store = Scored([1.0, 0.5, 0.0])
        response = await ask(RecallRetriever.from_vectorstore(store, score_kind=kind), way)
        assert response.confidence.level == "unknown"
        assert response.confidence.reason == "score_not_convertible"
        encoder = Encoder(dimension=4)
        again = RecallRetriever.from_vectorstore(store, score_kind=kind, embeddings=encoder)
        assert (await ask(again, way)).cosine_source == "embeddings"

    def test_a_kind_without_a_cosine_on_a_retriever_without_scores(self) -> None:
        bare = RunnableLambda(lambda query: documents(3))
        response = RecallRetriever(retriever=bare, score_kind="rrf").recall(QUERY)
        assert response.confidence.reason == "score_not_convertible"
        mmr = simple_store().as_retriever(search_type="mmr")
        measured = RecallRetriever(retriever=mmr, score_kind="rrf").recall(QUERY)
        assert measured.cosine_source == "vectors"

    @pytest.mark.parametrize(
        ("kind", "scores"),
        [
            ("cosine", [1.4, 0.2]),
            ("cosine", [0.2, -1.01]),
            ("squared_l2", [9.0, 9.5]),
            ("inverse_l2", [0.5, 0.0]),
            ("sigmoid_ip", [1.0, 0.7]),
        ],
    )
    def test_a_score_out_of_range_shows_that_the_kind_is_wrong(
        self, kind: str, scores: list[float]
    ) -> None:
        encoder = Encoder(dimension=4)
        retriever = RecallRetriever.from_vectorstore(Scored(scores), score_kind=kind)
        response = retriever.recall(QUERY)
        assert response.confidence.level == "unknown"
        assert response.confidence.reason == "score_out_of_range"
        assert plain(response.documents) == plain(documents(2))
        retriever = RecallRetriever.from_vectorstore(
            Scored(scores), score_kind=kind, embeddings=encoder
        )
        assert retriever.recall(QUERY).confidence.reason == "score_out_of_range"
        assert encoder.calls == 0  # the mistake is shown, not covered up

    def test_missing_scores_stay_missing(self) -> None:
        store = Scored([0.9, None, float("nan"), 0.3])
        response = RecallRetriever.from_vectorstore(store, score_kind="cosine").recall(QUERY)
        assert response.pool.cosines == [0.9, None, None, 0.3]
        assert response.confidence.result_count == 4

    @BOTH
    async def test_a_score_that_is_no_number(
        self, way: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        store = Scored(["best", "worst"])
        for kind in ("cosine", "bm25"):
            response = await ask(RecallRetriever.from_vectorstore(store, score_kind=kind), way)
            assert response.confidence.reason == "adapter_failed"
            assert plain(response.documents) == plain(documents(2))
        assert "best" not in caplog.text
