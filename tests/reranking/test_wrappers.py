"""The reranker around the retrievers of both frameworks: what it changes, and how it fails."""

import json
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recall_signal import Calibration, CalibrationError, ConfigurationError
from recall_signal.calibration._reranker import RerankScale
from recall_signal.reranking import RerankerOptions
from tests.frameworks import FRAMEWORKS, QUERY, Framework, Keeping

COSINES = [0.95, 0.85, 0.76, 0.67, 0.57, 0.48, 0.38, 0.29, 0.2, 0.1]
IDS = ["id0", "id1", "id2", "id3"]


def backwards(query: str, texts: list[str]) -> list[float]:
    """The last first."""
    return [float(text[1:]) for text in texts]


def never(query: str, texts: list[str]) -> list[float]:
    raise AssertionError("called")


def wrapped(framework: Framework, reranker: Any, **given: Any) -> Any:
    return framework.over(COSINES, **{"reranker": reranker, "use_rerank": True, **given})


def ids(framework: Framework, response: Any) -> list[str]:
    return [item.id for item in framework.page(response)]


async def test_the_page_is_reordered_and_says_so(framework: Framework, way: str) -> None:
    retriever = wrapped(framework, RerankerOptions(backwards, scale="logit"))
    response = await framework.recall(retriever, way)
    bare = await framework.recall(framework.over(COSINES), way)
    assert ids(framework, response) == ids(framework, bare)[::-1] == IDS[::-1]
    assert (response.confidence.rerank_score, response.confidence.match) == (3.0, "exact")
    first, *_, last = (item.entry for item in framework.page(response))
    report = {"applied": True, "scale": "logit", "scored": 4, "reordered": True}
    assert (first["rank"], first["rerank_score"], first["rerank"]) == (0, 3.0, report)
    assert first["cosine"] < last["cosine"]
    assert response.to_dict()["rerank"] == report
    assert response.pool.rerank_scores == [0.0, 1.0, 2.0, 3.0, *[None] * 6]
    json.dumps(first, allow_nan=False)
    changed = {"rerank_score", "match", "rationale"}
    with_it, without = response.confidence, bare.confidence
    assert with_it.model_dump(exclude=changed) == without.model_dump(exclude=changed)


async def test_without_reordering_the_page_is_the_bare_one(framework: Framework, way: str) -> None:
    response = await framework.recall(wrapped(framework, backwards, reorder=False), way)
    assert ids(framework, response) == IDS
    assert response.confidence.rerank_score == 3.0
    entry = framework.page(response)[0].entry
    assert (entry["rerank_score"], entry["rerank"]["reordered"]) == (0.0, False)


async def test_a_reranker_that_is_not_to_be_used_does_nothing(
    framework: Framework, way: str
) -> None:
    response = await framework.recall(wrapped(framework, never, use_rerank=False), way)
    assert response.rerank is None
    assert "rerank" not in response.to_dict()
    assert {"rerank", "rerank_score"}.isdisjoint(framework.page(response)[0].entry)
    assert (response.confidence.rerank_score, response.confidence.match) == (None, None)


def test_use_rerank_without_one_is_refused(framework: Framework) -> None:
    with pytest.raises(ConfigurationError, match="RecallRetriever: use_rerank=True needs"):
        wrapped(framework, None)
    expected = {"langchain": "a document compressor, a cross-encoder", "llama_index": "a node post"}
    for used in (True, False):
        with pytest.raises(ConfigurationError, match=expected[framework.name]):
            wrapped(framework, "a name", use_rerank=used)


def broken(query: str, texts: list[str]) -> list[float]:
    raise RuntimeError(f"cannot score {texts[0]}")


@pytest.mark.parametrize(
    ("reranker", "reason"),
    [
        (broken, "reranker_error"),
        (lambda query, texts: [1.0], "invalid_scores"),
        (lambda query, texts: [float("nan")] * len(texts), "invalid_scores"),
        (RerankerOptions(backwards, scale="probability"), "invalid_scores"),
    ],
)
async def test_a_failure_leaves_the_page_and_says_why(
    framework: Framework, way: str, reranker: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    response = await framework.recall(wrapped(framework, reranker), way)
    assert ids(framework, response) == IDS
    entry = framework.page(response)[0].entry
    assert response.to_dict()["rerank"] == entry["rerank"] == {"applied": False, "reason": reason}
    assert entry["rerank_score"] is response.confidence.rerank_score is None
    assert reason in response.confidence.rationale
    assert "t0" not in caplog.text


@pytest.mark.timing
async def test_nothing_waits_longer_than_the_timeout(framework: Framework, way: str) -> None:
    slow = RerankerOptions(lambda query, texts: time.sleep(3), timeout=0.05)
    started = time.monotonic()
    response = await framework.recall(wrapped(framework, slow), way)
    assert time.monotonic() - started < 2
    assert response.to_dict()["rerank"] == {"applied": False, "reason": "timeout"}
    assert ids(framework, response) == IDS


async def test_an_empty_page_is_not_reranked(framework: Framework, way: str) -> None:
    empty = framework.around(list, reranker=never, use_rerank=True)
    response = await framework.recall(empty, way)
    assert response.to_dict()["rerank"] == {"applied": False, "reason": "no_results"}
    assert "reranker" not in response.confidence.rationale


async def test_the_selector_sees_the_reranked_page(framework: Framework, way: str) -> None:
    response = await framework.recall(wrapped(framework, backwards, selector=Keeping(0)), way)
    assert ids(framework, response) == ["id3"]
    assert response.selection.dropped_memory_ids == ["id2", "id1", "id0"]
    assert framework.page(response)[0].entry["rerank_score"] == 3.0


async def test_calibrating_learns_the_rerankers_scale(framework: Framework) -> None:
    documents = [(f"id{n}", f"t{n}") for n in range(10)]
    labelled = [(f"question {n}", n % 2 == 0) for n in range(10)]
    known = {query for query, relevant in labelled if relevant}

    def score(query: str, texts: list[str]) -> list[float]:
        return [5.0 if query in known else -5.0] * len(texts)

    retriever = wrapped(framework, RerankerOptions(score, scale="logit"))
    given: Any = {"documents": documents, "labelled": labelled}
    made, amade = retriever.calibrate(**given), await retriever.acalibrate(**given)
    assert (made.reranker.scale, made.reranker.labels) == ("logit", 10)
    assert made.reranker == amade.reranker
    assert framework.over(COSINES).calibrate(**given).reranker is None
    calibrated = retriever.with_calibration(made).recall(QUERY).confidence
    assert (calibrated.rerank_score, calibrated.level) == (-5.0, calibrated.level)


def learned(framework: Framework, scale: RerankScale | None = None) -> Calibration:
    """A calibration without a reranker, or one that seems to have seen one."""
    return replace(framework.over(COSINES).calibrate(), reranker=scale)


def test_a_calibration_for_another_scale_is_refused_at_construction(framework: Framework) -> None:
    calibration = learned(framework, RerankScale("logit", cut=2.5))
    with pytest.raises(CalibrationError, match="declare the same scale"):
        wrapped(framework, backwards, calibration=calibration)
    for unused in (None, backwards):
        retriever = wrapped(framework, unused, use_rerank=False, calibration=calibration)
        assert retriever.recall(QUERY).rerank is None
    options = RerankerOptions(backwards, scale="logit")
    fits = wrapped(framework, options, calibration=calibration).recall(QUERY)
    assert "not below a learned cut of 2.50" in fits.confidence.rationale
    without = wrapped(framework, options, calibration=learned(framework)).recall(QUERY)
    assert "declared cut of 0.00" in without.confidence.rationale


@given(st.lists(st.one_of(st.none(), st.floats(-9, 9)), min_size=4, max_size=4), st.booleans())
@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_the_page_is_always_a_permutation_of_the_bare_one(
    framework: Framework, scores: list[Any], reorder: bool
) -> None:
    response = wrapped(framework, lambda query, texts: scores, reorder=reorder).recall(QUERY)
    assert sorted(ids(framework, response)) == IDS
    assert [item.entry["rank"] for item in framework.page(response)] == [0, 1, 2, 3]


@pytest.mark.parametrize("reorder", [True, False])
@pytest.mark.parametrize("scale", ["logit", "probability", "unknown"])
def test_both_frameworks_say_the_same(scale: Any, reorder: bool) -> None:
    def score(query: str, texts: list[str]) -> list[float | None]:
        return [None if text == "t1" else float(text[1:]) / 10 for text in texts]

    options: Any = {"reranker": RerankerOptions(score, scale=scale), "reorder": reorder}
    (one, its), (other, others) = (
        (response.to_dict(), [(i.id, i.entry["rerank_score"]) for i in framework.page(response)])
        for framework in FRAMEWORKS.values()
        for response in [framework.over(COSINES, use_rerank=True, **options).recall(QUERY)]
    )
    assert (one, its) == (other, others)
