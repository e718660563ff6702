"""One reranking: what its scores do to the page, and what becomes of a failure."""

import json
import logging
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_signal._steps.compute import Compute
from recall_signal._steps.driver import drive
from recall_signal.reranking import InvalidScores, Rerank, RerankerOptions, Reranking, rerank_page
from tests.reranking.fakes import run

ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.floats(), max_size=2),
)


def test_the_page_takes_the_order_of_the_scores() -> None:
    ranked = run([0.1, 0.9, 0.5], page=(4, 2, 7))
    assert ranked.page == [2, 7, 4]
    assert ranked.scores == {4: 0.1, 2: 0.9, 7: 0.5}
    assert ranked.best == 0.9
    assert ranked.report.model_dump() == {
        "applied": True,
        "scale": "unknown",
        "scored": 3,
        "reordered": True,
    }


def test_without_reordering_only_the_scores_are_taken() -> None:
    ranked = run([0.1, 0.9, 0.5], reorder=False)
    assert ranked.page == [0, 1, 2]
    assert ranked.best == 0.9
    assert ranked.report.reordered is False


def test_ties_keep_their_order_and_results_without_a_score_come_last() -> None:
    assert run([None, 0.5, 0.5, None, 0.9], page=range(5), texts="abcde").page == [4, 1, 2, 0, 3]
    assert run([None, -3.0, None]).report.scored == 1


def test_scores_are_spread_over_all_candidates() -> None:
    assert run([1.0, 2.0, None], page=(3, 0, 1)).by_candidate(5) == [2.0, None, None, 1.0, None]


def test_every_entry_gets_its_own_score_and_its_own_report() -> None:
    ranked = run([1.0, None, 1 / 3], page=(5, 6, 7))
    entries: list[dict[str, Any] | None] = [{}, None, {}]
    ranked.add_to(entries, [7, 5, 6])
    first, _, last = entries
    assert first is not None
    assert last is not None
    assert first["rerank_score"] == 0.333333
    assert last["rerank_score"] is None
    assert first["rerank"] == last["rerank"]
    assert first["rerank"] is not last["rerank"]


def test_an_empty_page_asks_nobody() -> None:
    steps = rerank_page("q", iter(()), (), Reranking(RerankerOptions(len)))
    with pytest.raises(StopIteration) as stopped:
        next(steps)
    assert stopped.value.value.report.model_dump() == {"applied": False, "reason": "no_results"}


@pytest.mark.parametrize(
    "answer",
    [
        np.array([0.1, 0.9, 0.5]),
        np.array([0.1, 0.9, 0.5], dtype=np.float32),
        (0.1, 0.9, 0.5),
        [np.float32(0.1), np.float64(0.9), 0.5],
        [1, 3, 2],
    ],
)
def test_arrays_and_tuples_are_lists_of_scores(answer: Any) -> None:
    ranked = run(answer)
    assert ranked.page == [1, 2, 0]
    assert all(type(score) is float for score in ranked.scores.values())


@pytest.mark.parametrize(
    "answer",
    [
        None,
        0.5,
        "abc",
        [],
        [0.1, 0.2],
        [0.1, 0.2, 0.3, 0.4],
        [None, None, None],
        [0.1, math.nan, 0.2],
        [0.1, math.inf, 0.2],
        [0.1, "0.5", 0.2],
        [0.1, True, 0.2],
        [0.1, np.True_, 0.2],
        np.array([True, False, True]),
        [0.1, [0.5], 0.2],
        [0.1, 10**400, 0.2],
        np.array([[0.1], [0.2], [0.3]]),
        {"a": 1.0, "b": 2.0, "c": 3.0},
    ],
)
def test_anything_else_leaves_the_page_alone(answer: Any) -> None:
    ranked = run(answer)
    assert ranked.page == (0, 1, 2)
    assert ranked.best is None
    assert ranked.report.model_dump() == {"applied": False, "reason": "invalid_scores"}


@pytest.mark.parametrize("answer", [[0.1, 1.2, 0.5], [-0.1, 0.2, 0.5]])
def test_probabilities_lie_between_0_and_1(answer: list[float]) -> None:
    assert run(answer, scale="probability").report.reason == "invalid_scores"
    assert run(answer, scale="logit").report.applied
    assert run([0.0, 1.0, None], scale="probability").report.applied


def test_a_coroutine_is_no_answer_and_is_closed() -> None:
    async def late() -> list[float]:
        return [0.1, 0.2, 0.3]

    assert run(late()).report.reason == "invalid_scores"


class ReadTimeout(Exception):
    """As HTTP clients name theirs."""


@pytest.mark.parametrize("error", [TimeoutError(), ReadTimeout()])
def test_a_limit_of_whatever_kind_is_a_timeout(error: Exception) -> None:
    assert run(error).report.reason == "timeout"


def test_a_failure_is_logged_by_its_class_only(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        ranked = run(RuntimeError("the text of a document"))
    assert ranked.report.reason == "reranker_error"
    assert caplog.messages == ["the reranker failed: RuntimeError"]


def test_scores_that_a_driver_finds_invalid_are_invalid() -> None:
    assert run(InvalidScores()).report.reason == "invalid_scores"


def test_texts_that_cannot_be_read_leave_the_page_alone() -> None:
    def texts() -> Iterator[str]:
        yield "a"
        raise ValueError("a secret")

    steps = rerank_page("q", texts(), (0, 1), Reranking(RerankerOptions(len)))

    def call(request: Rerank | Compute) -> object:
        assert isinstance(request, Compute)
        return request.call()

    ranked = drive(steps, call)
    assert ranked.report.reason == "reranker_error"


@given(st.lists(ANYTHING, max_size=5), st.sampled_from(["logit", "probability", "unknown"]))
def test_whatever_comes_back_the_page_stays_a_permutation(answer: list[Any], scale: Any) -> None:
    ranked = run(answer, scale=scale)
    assert sorted(ranked.page) == [0, 1, 2]
    json.dumps([ranked.report.model_dump(mode="json"), ranked.by_candidate(3)], allow_nan=False)


@given(
    st.lists(st.one_of(st.none(), st.floats(-5, 5)), min_size=1, max_size=8).filter(
        lambda scores: any(score is not None for score in scores)
    )
)
def test_the_order_is_that_of_the_scores(scores: list[float | None]) -> None:
    count = len(scores)
    ranked = run(scores, page=range(count), texts=["t"] * count)
    got = [ranked.scores[position] for position in ranked.page]
    known = [score for score in got if score is not None]
    assert known == sorted(known, reverse=True)
    assert got[len(known) :] == [None] * (count - len(known))
