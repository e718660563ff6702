"""What counts as a reranker without any framework, and what its options are."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from recall_signal.errors import ConfigurationError, RecallSignalError
from recall_signal.reranking import InvalidScores, RerankerOptions, as_options, as_scorer
from tests.reranking.fakes import PairScorer, Scripted


class SentenceTransformer:
    """As `sentence_transformers.CrossEncoder`: callable too, but that is another thing."""

    def predict(self, pairs: list[tuple[str, str]], **_: Any) -> Any:
        return np.array([len(query) + len(text) for query, text in pairs], dtype=np.float32)

    def rank(self, query: str, documents: list[str]) -> Any:
        raise AssertionError("predict goes first")

    def __call__(self, features: Any) -> Any:
        raise AssertionError("this is torch's")


class Ranker:
    """A model with `rank` alone."""

    def __init__(self, *hits: tuple[int, float]) -> None:
        self.hits = hits

    def rank(self, query: str, documents: list[str]) -> list[dict[str, Any]]:
        return [{"corpus_id": place, "score": score} for place, score in self.hits]


def scored(model: Any) -> Any:
    return as_scorer(model, "")("qq", ["a", "bbb"])


def test_models_are_told_by_their_methods() -> None:
    assert list(scored(SentenceTransformer())) == [3.0, 5.0]
    assert scored(Ranker((1, 0.5), (0, 0.2))) == [0.2, 0.5]
    assert scored(Ranker((1, 0.5))) == [None, 0.5]
    assert scored(PairScorer(lambda query, text: len(text))) == [1, 3]
    assert scored(lambda query, texts: [len(text) for text in texts]) == [1, 3]
    assert scored(partial(lambda by, query, texts: [by] * len(texts), 2.0)) == [2.0, 2.0]
    assert scored(Scripted([1.0, 2.0])) == [1.0, 2.0]


@pytest.mark.parametrize("hits", [[(2, 0.5)], [(-1, 0.5)], [(0, 0.5), (0, 0.2)]])
def test_a_rank_that_does_not_fit_the_texts_is_invalid(hits: list[tuple[int, float]]) -> None:
    with pytest.raises(InvalidScores):
        scored(Ranker(*hits))


async def late(query: str, texts: list[str]) -> list[float]:
    raise AssertionError("never awaited")


class Late:
    async def __call__(self, query: str, texts: list[str]) -> list[float]:
        raise AssertionError("never awaited")


class LateScores:
    async def score(self, pairs: list[tuple[str, str]]) -> list[float]:
        raise AssertionError("never awaited")


@pytest.mark.parametrize(
    ("model", "given"),
    [
        ("a name", "got str"),
        (7, "got int"),
        (PairScorer, "got the class PairScorer"),
        (late, "got the asynchronous function"),
        (Late(), "got the asynchronous Late"),
        (LateScores(), "got LateScores"),
    ],
)
def test_anything_else_is_refused(model: Any, given: str) -> None:
    with pytest.raises(ConfigurationError, match=given) as raised:
        as_scorer(model, "a compressor, ")
    assert "a compressor, a model with predict(pairs)" in str(raised.value)


def test_a_model_by_itself_has_the_default_options() -> None:
    options = RerankerOptions(len, scale="logit")
    assert as_options(options) is options
    assert as_options(len) == RerankerOptions(len)
    assert as_options(len).scale == "unknown"


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": RerankerOptions(len)},
        {"scale": "percent"},
        {"scale": None},
        {"cut": 0.0},
        {"cut": 1},
        {"cut": True},
        {"cut": "half"},
        {"timeout": 0},
        {"timeout": -1.0},
        {"timeout": True},
        {"timeout": float("inf")},
        {"timeout": float("nan")},
        {"timeout": "10"},
    ],
)
def test_options_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(RecallSignalError, match=f"RerankerOptions: {next(iter(wrong))}"):
        RerankerOptions(**{"model": len, **wrong})
    assert RerankerOptions(len, timeout=None).timeout is None
