"""What the reranker's tests share: scripted rerankers, and signals of every level."""

from collections.abc import Callable, Sequence
from typing import Any

from recall_signal import RecallConfidence, assess
from recall_signal._steps.compute import Compute
from recall_signal._steps.driver import drive
from recall_signal.reranking import Rerank, Reranked, RerankerOptions, Reranking, rerank_page

POOLS: dict[str, list[float]] = {
    "high": [0.9, 0.3, 0.2],
    "moderate": [0.6, 0.45, 0.44],
    "low": [0.6, 0.52, 0.51],
    "none": [0.5, 0.49, 0.48],
}


class Scripted:
    """A function of question and texts that gives what it was told, and keeps what it was asked."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[str, list[str]]] = []

    def __call__(self, query: str, texts: list[str]) -> Any:
        self.asked.append((query, list(texts)))
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer(query, texts) if callable(self.answer) else self.answer


class PairScorer:
    """`score(pairs)`, as LangChain's cross-encoders have it."""

    def __init__(self, score: Callable[[str, str], Any]) -> None:
        self._score = score

    def score(self, text_pairs: list[tuple[str, str]]) -> list[Any]:
        return [self._score(query, text) for query, text in text_pairs]


def signal(level: str) -> RecallConfidence:
    """A signal of this level, or one that could not be measured."""
    confidence = assess(POOLS.get(level, [None, None]))
    assert confidence.level == level
    return confidence


def run(
    answer: Any,
    page: Sequence[int] = (0, 1, 2),
    texts: Sequence[str] = ("a", "b", "c"),
    **settings: Any,
) -> Reranked:
    """The steps of one reranking whose request gets this answer; an exception is raised."""
    options = {name: settings.pop(name) for name in ("scale", "cut", "timeout") if name in settings}
    reranking = Reranking(RerankerOptions(len, **options), **settings)

    def perform(request: Rerank | Compute) -> Any:
        if isinstance(request, Compute):
            return request.call()
        assert request.query == "q"
        assert request.texts == list(texts)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return drive(rerank_page("q", iter(texts), page, reranking), perform)
