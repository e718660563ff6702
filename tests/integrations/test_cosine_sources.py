"""Declared, embedded again, or nowhere: the cosines come from the same place in both frameworks."""

from typing import Any

import numpy as np
import pytest

from recall_signal import ScoreKind, to_cosine
from recall_signal.testing import SettableEncoder, vectors_with_cosines
from tests.frameworks import QUERY, Framework

COSINES = [0.9, -0.2, 0.5, 0.1]
TEXTS = ["t0", "t1", "t2", "t3"]
ASKED = np.eye(16)[3] * 2.0


def known(framework: Framework) -> tuple[SettableEncoder, dict[str, Any]]:
    """An encoder of vectors of another length than 1."""
    vectors = vectors_with_cosines(ASKED, COSINES, norm=3.0)
    return framework.encoding({QUERY: ASKED, **dict(zip(TEXTS, vectors, strict=True))})


def cosines_on(framework: Framework, response: Any) -> list[Any]:
    return [item.entry["cosine"] for item in framework.page(response)]


@pytest.mark.parametrize("kind", [kind for kind in ScoreKind if kind.convertible])
async def test_every_declared_kind_is_read_by_its_formula(
    framework: Framework, way: str, kind: ScoreKind
) -> None:
    def cosine(score: float) -> float:
        found = to_cosine(score, kind)
        assert found is not None
        return found

    by_rank = sorted([0.6, 0.55, 0.5], key=cosine, reverse=True)
    scores = [*by_rank, None]
    response = await framework.recall(framework.listed(scores, score_kind=kind), way)
    assert response.pool.cosines == pytest.approx([to_cosine(score, kind) for score in scores])
    assert response.cosine_source == "declared"
    assert [item.text for item in framework.page(response)] == TEXTS


@pytest.mark.parametrize("kind", [k for k in ScoreKind if not k.convertible and k != "bm25"])
async def test_no_cosine_is_made_of_a_score_that_holds_none(
    framework: Framework, way: str, kind: ScoreKind
) -> None:
    retriever = framework.listed([1.0, 0.5, 0.0], score_kind=kind)
    confidence = (await framework.recall(retriever, way)).confidence
    assert (confidence.level, confidence.reason) == ("unknown", "score_not_convertible")
    with_encoder = framework.listed([1.0, 0.5], score_kind=kind, **known(framework)[1])
    assert (await framework.recall(with_encoder, way)).cosine_source == "embeddings"


async def test_keyword_scores_are_judged_by_their_separation(
    framework: Framework, way: str
) -> None:
    scores = [9.0, 2.0, np.float32(1.5), 1.0, None]
    response = await framework.recall(framework.listed(scores, score_kind="bm25"), way)
    confidence = response.confidence
    assert (confidence.basis, confidence.level) == ("separation", "high")
    assert (confidence.top_score, confidence.result_count) == (9.0, 5)
    assert response.pool.scores == [9.0, 2.0, 1.5, 1.0, None]
    assert response.cosine_source is None
    assert cosines_on(framework, response) == [None] * 5


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
async def test_a_score_out_of_range_shows_that_the_kind_is_wrong(
    framework: Framework, way: str, kind: str, scores: list[float]
) -> None:
    """An encoder does not cover the mistake up."""
    encoder, settings = known(framework)
    for given in ({}, settings):
        retriever = framework.listed(scores, score_kind=kind, **given)
        response = await framework.recall(retriever, way)
        assert response.confidence.level == "unknown"
        assert response.confidence.reason == "score_out_of_range"
        assert [item.id for item in framework.page(response)] == ["id0", "id1"]
    assert encoder.calls == 0


async def test_missing_scores_stay_missing(framework: Framework, way: str) -> None:
    retriever = framework.listed([0.9, None, float("nan"), 0.3], score_kind="cosine")
    response = await framework.recall(retriever, way)
    assert response.pool.cosines == cosines_on(framework, response) == [0.9, None, None, 0.3]
    assert response.confidence.result_count == 4


async def test_undeclared_scores_are_not_believed(framework: Framework, way: str) -> None:
    response = await framework.recall(framework.listed([0.99, 0.4, 0.1]), way)
    confidence = response.confidence
    assert (confidence.level, confidence.reason) == ("unknown", "store_not_recognised")
    assert response.pool.cosines == cosines_on(framework, response) == [None] * 3


async def test_a_declared_kind_goes_before_a_known_store(framework: Framework, way: str) -> None:
    response = await framework.recall(framework.over(score_kind="half_cosine"), way)
    assert response.cosine_source == "declared"
    assert response.pool.cosines[0] == pytest.approx(2 * 0.9 - 1)


async def test_texts_are_embedded_once(framework: Framework, way: str) -> None:
    encoder, settings = known(framework)
    retriever = framework.around(lambda: TEXTS, **settings)
    for _ in range(2):
        response = await framework.recall(retriever, way)
        assert response.cosine_source == "embeddings"
        assert response.pool.cosines == pytest.approx(COSINES, abs=1e-6)
        assert cosines_on(framework, response) == pytest.approx(COSINES, abs=1e-6)
        assert [item.text for item in framework.page(response)] == TEXTS
    assert (encoder.batches, encoder.queries) == ([TEXTS], [QUERY, QUERY])


def test_two_wrappers_share_no_memory(framework: Framework) -> None:
    encoder, settings = known(framework)
    for _ in range(2):
        framework.around(lambda: TEXTS, **settings).recall(QUERY)
    assert encoder.batches == [TEXTS, TEXTS]


async def test_at_most_the_pool_size_is_embedded(framework: Framework, way: str) -> None:
    encoder, settings = known(framework)
    retriever = framework.around(lambda: TEXTS, pool_size=2, **settings)
    response = await framework.recall(retriever, way)
    assert encoder.batches == [["t0", "t1"]]
    assert response.pool.cosines == pytest.approx([*COSINES[:2], None, None], abs=1e-6)
    assert len(framework.page(response)) == response.confidence.result_count == 4


async def test_an_empty_page_is_not_embedded(framework: Framework, way: str) -> None:
    encoder, settings = known(framework)
    response = await framework.recall(framework.around(list, **settings), way)
    assert (response.confidence.level, response.confidence.result_count) == ("none", 0)
    assert (framework.page(response), encoder.calls) == ([], 0)


async def test_a_failure_of_the_encoder_is_not_remembered(framework: Framework, way: str) -> None:
    encoder, settings = known(framework)
    retriever = framework.around(lambda: TEXTS, **settings)
    encoder.vectors[QUERY] = [1.0, 0.0]
    response = await framework.recall(retriever, way)
    assert response.confidence.reason == "embedding_mismatch"
    assert response.cosine_source is None
    assert [item.text for item in framework.page(response)] == TEXTS
    encoder.vectors[QUERY] = ASKED
    response = await framework.recall(retriever, way)
    assert response.pool.cosines == pytest.approx(COSINES, abs=1e-6)


@pytest.mark.parametrize("method", ["embed_query", "embed_documents"])
async def test_an_encoder_that_fails_costs_no_page(
    framework: Framework, way: str, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> Any:
        raise ConnectionError("key sk-secret refused")

    encoder, settings = known(framework)
    setattr(encoder, method, fail)
    response = await framework.recall(framework.around(lambda: TEXTS, **settings), way)
    assert response.confidence.reason == "embedding_failed"
    assert [item.text for item in framework.page(response)] == TEXTS
    assert "ConnectionError" in caplog.text
    assert not any(text in caplog.text for text in ("sk-secret", QUERY, "t0"))
