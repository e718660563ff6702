"""What a caller can set about a reranker, in one frozen object with the reranker itself."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any, get_args

from recall_signal.calibration.labels import logit
from recall_signal.calibration.reranker import RerankScale, to_logit
from recall_signal.errors import CalibrationError, ConfigurationError
from recall_signal.reports import RerankerScale

__all__ = ["DEFAULT_TIMEOUT", "RerankerOptions", "Reranking", "as_options"]

DEFAULT_TIMEOUT = 10.0
"""Seconds. A local cross-encoder takes well under one for a page of ten; an API one or two."""


@dataclass(frozen=True, slots=True)
class RerankerOptions:
    """A reranker, and what is known about its scores.

    Attributes:
        model: The reranker, as it could be given by itself.
        scale: What its scores are: ``"logit"`` (log-odds, any number), ``"probability"`` (in
            [0, 1]), or ``"unknown"``. Libraries differ: some apply a sigmoid, some do not.
            Without a declared or a learnt scale no ``match`` is decided.
        cut: On a declared scale, the probability from which a candidate may answer.
        timeout: Seconds for one page; the page is returned as it was after that. None waits
            for as long as the reranker takes.

    Raises:
        ConfigurationError: A setting is out of range.
    """

    model: Any
    scale: RerankerScale = "unknown"
    cut: float = 0.5
    timeout: float | None = DEFAULT_TIMEOUT

    def __post_init__(self) -> None:
        if isinstance(self.model, RerankerOptions):
            raise ConfigurationError("RerankerOptions.model is RerankerOptions already")
        if self.scale not in get_args(RerankerScale):
            raise _wrong("scale", '"logit", "probability" or "unknown"', None)
        if not _is_number(self.cut) or not 0.0 < self.cut < 1.0:
            raise _wrong("cut", "a probability between 0 and 1, both excluded", self.cut)
        if self.timeout is not None and (
            not _is_number(self.timeout) or not isfinite(self.timeout) or self.timeout <= 0
        ):
            raise _wrong("timeout", "seconds above 0, or None", self.timeout)


@dataclass(frozen=True, slots=True)
class Reranking:
    """How a wrapper uses its reranker.

    Attributes:
        options: The reranker and its scale.
        reorder: Whether the page takes the reranker's order.
        learnt: What the wrapper's calibration knows about the reranker.
        prior: The calibration's expected share of answerable queries.

    Raises:
        CalibrationError: It was learnt from scores that are declared as something else.
    """

    options: RerankerOptions
    reorder: bool = True
    learnt: RerankScale | None = None
    prior: float = 0.5

    def __post_init__(self) -> None:
        if self.learnt is not None and self.learnt.scale != self.options.scale:
            raise CalibrationError(
                f"this calibration was fitted with a reranker of scale {self.learnt.scale!r} and "
                f"cannot be used with one of scale {self.options.scale!r}: fit anew, or declare "
                "the same scale"
            )

    def in_logits(self, score: float) -> float:
        """A score in logit space, where the cuts are."""
        return to_logit(score, self.options.scale)

    @property
    def cut(self) -> float | None:
        """The cut in logit space: the learnt one, else the declared one, else None."""
        if self.learnt is not None:
            return self.learnt.cut
        return None if self.options.scale == "unknown" else logit(self.options.cut)


def as_options(reranker: Any) -> RerankerOptions:
    """Any accepted ``reranker=`` with its options."""
    return reranker if isinstance(reranker, RerankerOptions) else RerankerOptions(reranker)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _wrong(name: str, expected: str, value: object) -> ConfigurationError:
    given = f", got {value!r}" if isinstance(value, int | float) else ""
    return ConfigurationError(f"RerankerOptions.{name} must be {expected}{given}")
