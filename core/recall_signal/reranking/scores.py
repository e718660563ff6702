"""Scores as a reranker gave them, strictly: all of them are numbers, or none is used."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import iscoroutine
from math import inf, isfinite
from typing import Any

from recall_signal.reports import RerankerScale

__all__ = ["InvalidScores", "checked_scores", "order_of"]


class InvalidScores(ValueError):
    """What a reranker answered is not one score a text. Stays inside, as ``invalid_scores``."""


def checked_scores(answer: Any, count: int, scale: RerankerScale) -> list[float | None]:
    """One finite number or None for each text, at least one of them a number.

    Args:
        answer: A list, a tuple, or an array or tensor of one dimension.
        count: How many texts were scored.
        scale: Probabilities must lie in [0, 1].

    Raises:
        InvalidScores: It is anything else.
    """
    if iscoroutine(answer):
        answer.close()
    if hasattr(answer, "tolist"):
        answer = answer.tolist()
    if not isinstance(answer, list | tuple) or len(answer) != count:
        raise InvalidScores
    scores = [None if score is None else _number(score) for score in answer]
    known = [score for score in scores if score is not None]
    if not known or (scale == "probability" and not (min(known) >= 0.0 and max(known) <= 1.0)):
        raise InvalidScores
    return scores


def order_of(scores: Sequence[float | None]) -> list[int]:
    """Positions from the best score down; equal ones keep their order, those without come last."""
    return sorted(range(len(scores)), key=lambda at: -_or_lowest(scores[at]))


def _or_lowest(score: float | None) -> float:
    return -inf if score is None else score


def _number(score: Any) -> float:
    try:
        score = score.item() if hasattr(score, "item") else score  # numpy's bool is no bool yet
        if isinstance(score, bool | str | bytes):
            raise InvalidScores
        number = float(score)
    except (TypeError, ValueError, OverflowError):
        raise InvalidScores from None
    if not isfinite(number):
        raise InvalidScores
    return number
