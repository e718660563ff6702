"""Rerankers of no framework: models that score pairs, and functions.

What a model is, is told by its methods; nothing of its package is imported.
"""

from __future__ import annotations

from asyncio import iscoroutinefunction
from collections.abc import Callable, Sequence
from typing import Any

from recall_signal.errors import ConfigurationError
from recall_signal.reranking.scores import InvalidScores

__all__ = ["Scorer", "as_scorer"]

Scorer = Callable[[str, list[str]], Any]
"""From a question and texts to one score a text, or None for a text without one."""


def as_scorer(model: Any, expected: str) -> Scorer:
    """The model as a function of question and texts.

    In this order: ``predict(pairs)`` and ``rank(query, texts)`` as in sentence-transformers,
    ``score(pairs)`` as in LangChain's cross-encoders, a function ``(query, texts) -> scores``.

    Args:
        model: A model, or a function.
        expected: What a framework accepts beside these, for the message.

    Raises:
        ConfigurationError: It is none of these, a class, or asynchronous.
    """
    is_class = isinstance(model, type)
    for name, make in _METHODS.items():
        method = getattr(model, name, None)
        if callable(method) and not is_class and not iscoroutinefunction(method):
            return make(method)
    if callable(model) and not is_class and not _is_async(model):
        scorer: Scorer = model
        return scorer
    kind = "the class " if is_class else "the asynchronous " if _is_async(model) else ""
    raise ConfigurationError(
        f"reranker must be {expected}a model with predict(pairs), rank(query, texts) or "
        "score(pairs), or a function (query, texts) -> scores that is not asynchronous, got "
        f"{kind}{model.__name__ if is_class else type(model).__name__}"
    )


def _by_pairs(score: Callable[[list[tuple[str, str]]], Any]) -> Scorer:
    return lambda query, texts: score([(query, text) for text in texts])


def _by_rank(rank: Callable[[str, list[str]], Sequence[Any]]) -> Scorer:
    def scorer(query: str, texts: list[str]) -> list[float | None]:
        scores: list[float | None] = [None] * len(texts)
        for hit in rank(query, texts):
            place = hit["corpus_id"]
            if not 0 <= place < len(texts) or scores[place] is not None:
                raise InvalidScores
            scores[place] = hit["score"]
        return scores

    return scorer


_METHODS: dict[str, Callable[[Any], Scorer]] = {
    "predict": _by_pairs,
    "rank": _by_rank,
    "score": _by_pairs,
}


def _is_async(model: Any) -> bool:
    return iscoroutinefunction(model) or iscoroutinefunction(type(model).__dict__.get("__call__"))
