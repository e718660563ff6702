"""Kinds of scores that stores give, and the cosine behind each of them.

For unit vectors with cosine `c` the squared Euclidean distance is `d2 = 2 - 2c`; every
formula below follows from that and from how the store presents its distance. A kind without a
formula is refused, with its reason, instead of being guessed at.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from math import isfinite, log
from typing import SupportsFloat

from recall_signal._names import meant_name, shown_choice
from recall_signal._numbers import Numbers, finite_or_none
from recall_signal.errors import ConfigurationError

__all__ = [
    "NOT_CONVERTIBLE",
    "ScoreKind",
    "as_number",
    "parse_score_kind",
    "to_cosine",
    "to_cosines",
]


class ScoreKind(StrEnum):
    """Kinds of a retriever's score, a closed list. `c`: cosine, `d`: L2 distance."""

    COSINE = "cosine"
    COSINE_DISTANCE = "cosine_distance"
    L2 = "l2"
    SQUARED_L2 = "squared_l2"
    INNER_PRODUCT = "inner_product"
    NEGATIVE_INNER_PRODUCT = "negative_inner_product"
    HALF_COSINE = "half_cosine"
    COSINE_PLUS_ONE = "cosine_plus_one"
    INVERSE_L2 = "inverse_l2"
    INVERSE_SQUARED_L2 = "inverse_squared_l2"
    EXP_NEG_SQUARED_L2 = "exp_neg_squared_l2"
    EXP_NEG_COSINE_DISTANCE = "exp_neg_cosine_distance"
    AZURE = "azure"
    SIGMOID_IP = "sigmoid_ip"
    RRF = "rrf"
    FUSED_NORMALIZED = "fused_normalized"
    MINMAX = "minmax"
    BM25 = "bm25"
    RERANKER_LOGIT = "reranker_logit"
    RERANKER_PROB = "reranker_prob"
    LLM_0_10 = "llm_0_10"
    UNKNOWN = "unknown"

    @property
    def convertible(self) -> bool:
        """True where a score of this kind can be converted to a cosine."""
        return self in _FORMULAS

    @property
    def needs_unit_norm(self) -> bool:
        """True where the formula holds for unit vectors only (all but the cosine metrics)."""
        return self in _NEEDS_UNIT_NORM


NOT_CONVERTIBLE: dict[ScoreKind, str] = {
    ScoreKind.RRF: "reciprocal rank fusion keeps ranks, not strengths",
    ScoreKind.FUSED_NORMALIZED: "fused scores are normalised within each result list",
    ScoreKind.MINMAX: "min-max scaling within the list makes the best candidate 1.0 every time",
    ScoreKind.BM25: "BM25 is unbounded and depends on the words and the corpus, not on an angle",
    ScoreKind.RERANKER_LOGIT: "a reranker's logit is a scale of its own",
    ScoreKind.RERANKER_PROB: "a reranker's probability is a scale of its own",
    ScoreKind.LLM_0_10: "a grade given by a language model is a scale of its own",
    ScoreKind.UNKNOWN: "what the number means is not known",
}
"""The reason why a kind cannot be converted to a cosine."""


def _same(score: float) -> float:
    return score


def _l2(score: float) -> float | None:
    return 1.0 - score * score / 2.0 if score >= -_NOISE else None


def _inverse_l2(score: float) -> float | None:
    return _l2(1.0 / score - 1.0) if score > 0.0 else None


def _inverse_squared_l2(score: float) -> float | None:
    return 1.0 - (1.0 / score - 1.0) / 2.0 if score > 0.0 else None


_NOISE = 1e-6
_FORMULAS: dict[ScoreKind, Callable[[float], float | None]] = {
    ScoreKind.COSINE: _same,
    ScoreKind.COSINE_DISTANCE: lambda s: 1.0 - s,
    ScoreKind.L2: _l2,
    ScoreKind.SQUARED_L2: lambda s: 1.0 - s / 2.0,
    ScoreKind.INNER_PRODUCT: _same,
    ScoreKind.NEGATIVE_INNER_PRODUCT: lambda s: -s,
    ScoreKind.HALF_COSINE: lambda s: 2.0 * s - 1.0,
    ScoreKind.COSINE_PLUS_ONE: lambda s: s - 1.0,
    ScoreKind.INVERSE_L2: _inverse_l2,
    ScoreKind.INVERSE_SQUARED_L2: _inverse_squared_l2,
    ScoreKind.EXP_NEG_SQUARED_L2: lambda s: 1.0 + log(s) / 2.0 if s > 0.0 else None,
    ScoreKind.EXP_NEG_COSINE_DISTANCE: lambda s: 1.0 + log(s) if s > 0.0 else None,
    ScoreKind.AZURE: lambda s: 2.0 - 1.0 / s if s > 0.0 else None,
    ScoreKind.SIGMOID_IP: lambda s: log(s / (1.0 - s)) if 0.0 < s < 1.0 else None,
}
_NEEDS_UNIT_NORM = frozenset(
    {
        ScoreKind.L2,
        ScoreKind.SQUARED_L2,
        ScoreKind.INNER_PRODUCT,
        ScoreKind.NEGATIVE_INNER_PRODUCT,
        ScoreKind.INVERSE_L2,
        ScoreKind.INVERSE_SQUARED_L2,
        ScoreKind.EXP_NEG_SQUARED_L2,
        ScoreKind.SIGMOID_IP,
    }
)


def parse_score_kind(kind: ScoreKind | str) -> ScoreKind:
    """Return the kind of that name.

    Raises:
        ConfigurationError: There is no such kind.
    """
    if type(kind) is ScoreKind:
        return kind
    try:
        return ScoreKind(kind)
    except ValueError:
        meant = meant_name(kind, [*ScoreKind]) if isinstance(kind, str) else None
        hint = "" if meant is None else f"; did you mean {meant}?"
        raise ConfigurationError(
            f"score_kind must be one of {', '.join(ScoreKind)}, got {shown_choice(kind)}{hint}"
        ) from None


def to_cosine(score: SupportsFloat | None, kind: ScoreKind | str) -> float | None:
    """Convert one score to the raw cosine behind it, not clipped.

    Args:
        score: The number as the store gave it; numpy scalars are accepted.
        kind: Kind of the number. Kinds built on L2 or the inner product hold for unit vectors.

    Returns:
        A built-in float; None where `score` is None or not finite, where no unit vectors
        could give it, or where the kind is not convertible (`NOT_CONVERTIBLE` says why).

    Raises:
        ConfigurationError: There is no such kind.
        InvalidInputError: The score is not a number.
    """
    cosines, _ = to_cosines([score], kind)
    return cosines[0] if cosines else None


def as_number(score: object) -> float | None:
    """Return a store's score as a finite built-in float, None where it is missing.

    Raises:
        InvalidInputError: It is not a number; a boolean is none here.
    """
    return finite_or_none(score, "a score must be a number or None")


def to_cosines(
    scores: Numbers, kind: ScoreKind | str
) -> tuple[list[float | None] | None, str | None]:
    """Convert a result list to cosines, or give the reason why that is impossible.

    Returns:
        `(cosines, None)`, or `(None, reason)` with `score_not_convertible` for a kind
        without a formula and `score_out_of_range` where a finite score is impossible for
        the kind: one such score shows that the kind is wrong, so none of the list is used.
    """
    formula = _FORMULAS.get(parse_score_kind(kind))
    if formula is None:
        return None, "score_not_convertible"
    numbers = [s if type(s) is float and isfinite(s) else as_number(s) for s in scores]
    if formula is _same:
        return numbers, None
    cosines: list[float | None] = []
    for number in numbers:
        cosine = None
        if number is not None:
            cosine = formula(number)
            if cosine is None or not isfinite(cosine):
                return None, "score_out_of_range"
        cosines.append(cosine)
    return cosines, None
