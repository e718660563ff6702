"""Accepted rerankers, and the settings of one in a frozen object with it."""

from __future__ import annotations

from asyncio import iscoroutinefunction
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, field_validator

from recall_signal._pydantic import FrozenOptions
from recall_signal.calibration._probability import logit
from recall_signal.calibration._reranker import RerankScale, to_logit
from recall_signal.errors import CalibrationError, ConfigurationError
from recall_signal.reports import RerankerScale

__all__ = [
    "DEFAULT_TIMEOUT",
    "InvalidScores",
    "RerankerOptions",
    "Reranking",
    "Scorer",
    "as_options",
    "as_scorer",
]

DEFAULT_TIMEOUT = 10.0
"""Seconds. A local cross-encoder takes well under one for a page of ten; an API one or two."""

Probability = Annotated[float, Field(gt=0.0, lt=1.0, strict=True)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)]

Scorer = Callable[[str, list[str]], object]
"""From a question and texts to one score a text, or None for a text without one."""


class InvalidScores(ValueError):
    """A reranker's answer is not one score a text. Becomes the reason `invalid_scores`."""


class RerankerOptions(FrozenOptions):
    """A reranker, and the properties of its scores.

    Attributes:
        model: The reranker, as it could be given by itself.
        scale: Scale of its scores: `"logit"` (log-odds, any number), `"probability"` (in
            [0, 1]), or `"unknown"`. Libraries differ: some apply a sigmoid, some do not.
            Without a declared or a learned scale no `match` is decided.
        cut: On a declared scale, the probability from which a candidate may answer, between 0
            and 1, both excluded.
        timeout: Seconds for one page, above 0; the page is returned as it was after that. None
            waits for as long as the reranker takes.

    Raises:
        ConfigurationError: A setting is unknown or out of range.
    """

    model: object = Field(repr=False)  # its settings may hold a key
    scale: RerankerScale = "unknown"
    cut: Probability = 0.5
    timeout: Seconds | None = DEFAULT_TIMEOUT

    def __init__(self, model: object, **settings: object) -> None:
        super().__init__(model=model, **settings)

    @field_validator("model", mode="before")
    @classmethod
    def _is_not_nested(cls, model: object) -> object:
        if isinstance(model, RerankerOptions):
            raise ValueError("model: got RerankerOptions; pass them as reranker= instead")
        return model


@dataclass(frozen=True, slots=True)
class Reranking:
    """Use of a reranker by a wrapper.

    Attributes:
        options: The reranker and its scale.
        reorder: True where the page takes the reranker's order.
        learned: The scale that the wrapper's calibration learned.
        prior: The calibration's expected share of answerable queries, in (0, 1).

    Raises:
        CalibrationError: It was learned from scores of another scale than the declared one.
    """

    options: RerankerOptions
    reorder: bool = True
    learned: RerankScale | None = None
    prior: float = 0.5

    def __post_init__(self) -> None:
        if self.learned is not None and self.learned.scale != self.options.scale:
            raise CalibrationError(
                f"this calibration was fitted with a reranker of scale {self.learned.scale!r} and "
                f"cannot be used with one of scale {self.options.scale!r}: fit it again, or "
                "declare the same scale"
            )

    def to_logit(self, score: float) -> float:
        """Convert a score to logit space, where the cuts are."""
        return to_logit(score, self.options.scale)

    @property
    def cut(self) -> float | None:
        """The cut in logit space: the learned one, else the declared one, else None."""
        if self.learned is not None:
            return self.learned.cut
        return None if self.options.scale == "unknown" else logit(self.options.cut)


def as_options(reranker: object) -> RerankerOptions:
    """Return any accepted `reranker=` with its options."""
    return reranker if isinstance(reranker, RerankerOptions) else RerankerOptions(reranker)


def as_scorer(model: object, expected: str) -> Scorer:
    """Turn a model into a function of question and texts.

    In this order: `predict(pairs)` and `rank(query, texts)` as in sentence-transformers,
    `score(pairs)` as in LangChain's cross-encoders, a function `(query, texts) -> scores`.
    Models are recognised by their methods; nothing of their packages is imported.

    Args:
        model: A model, or a function.
        expected: Further kinds that a framework accepts, for the message.

    Raises:
        ConfigurationError: It is none of these, a class, or asynchronous.
    """
    if isinstance(model, type):
        raise _refused(f"the class {model.__name__}", expected)
    for name, make in _METHODS.items():
        method = getattr(model, name, None)
        if callable(method) and not iscoroutinefunction(method):
            return make(method)
    given = type(model).__name__
    if not callable(model):
        raise _refused(given, expected)
    if iscoroutinefunction(model) or iscoroutinefunction(type(model).__dict__.get("__call__")):
        raise _refused(f"the asynchronous {given}", expected)
    return model


def _refused(given: str, expected: str) -> ConfigurationError:
    return ConfigurationError(
        f"reranker must be {expected}a model with predict(pairs), rank(query, texts) or "
        "score(pairs), or a function (query, texts) -> scores that is not asynchronous, got "
        f"{given}"
    )


def _by_pairs(score: Callable[[list[tuple[str, str]]], object]) -> Scorer:
    return lambda query, texts: score([(query, text) for text in texts])


def _by_rank(rank: Callable[[str, list[str]], Sequence[dict[str, Any]]]) -> Scorer:
    def scorer(query: str, texts: list[str]) -> list[float | None]:
        scores: list[float | None] = [None] * len(texts)
        for hit in rank(query, texts):
            place = hit["corpus_id"]
            if not 0 <= place < len(texts) or scores[place] is not None:
                raise InvalidScores
            scores[place] = hit["score"]
        return scores

    return scorer


_METHODS: dict[str, Callable[[Callable[..., Any]], Scorer]] = {
    "predict": _by_pairs,
    "rank": _by_rank,
    "score": _by_pairs,
}
