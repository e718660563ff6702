"""The recall signal: a frozen value with the strength of the match and its reasons."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from recall_signal._cards import signal_card
from recall_signal.reasons import REASONS

__all__ = [
    "LEVELS",
    "Basis",
    "Level",
    "Match",
    "RecallConfidence",
    "unknown",
]

Level = Literal["high", "moderate", "low", "none", "unknown"]
"""The strength of the best match, or `unknown` where nothing could be measured."""

Basis = Literal["prominence", "absolute", "separation", "stream", "calibration", "labels"]
"""The figure that decided the level."""

Match = Literal["exact", "near_miss"]

LEVELS: tuple[Level, ...] = get_args(Level)


_Share = Annotated[float, Field(ge=0, le=1)]


class RecallConfidence(BaseModel):
    """How strongly the best candidate matches the query, for one retrieval.

    A triage hint about topical match strength, never a verdict that the exact fact is stored.

    Attributes:
        level: `high`, `moderate`, `low`, `none`; `unknown` only where nothing could
            be measured.
        top_score: Best raw cosine of the pool, not clipped, in [-1.001, 1.001]; for a
            keyword-only pool the best score as given. 3 decimals.
        prominence: (top - mean background) / mean background, unbounded. None for keyword-only
            pools, single candidates, and where the mean background is <= 1e-3. Over 5 to 10
            candidates it ranked stored above off-topic questions with an AUROC of .30 to .80 over
            four encoders, for three of them below .5, a coin (docs/claims.md).
        relative_margin: (top - mean background) / population standard deviation of the
            background. Informational: never the basis of a level when cosines exist. A high one
            is no evidence: 99 to 100 % of off-topic questions exceed 2 (docs/claims.md).
        result_count: Number of candidates in the pool.
        rationale: One or two sentences with the figures used and what they mean for the topic.
            Holds no query text and no document text; what to do is said by `advice`.
        basis: What decided the level; None with `unknown` and with an empty pool.
        probability: P(something relevant was retrieved), 4 decimals; only with a calibration
            or a baseline.
        term_coverage: Share of the query's informative terms that the best of the first 50
            candidates holds, 0 to 1, 3 decimals. With a calibration terms have weights, and a
            candidate counts less the further its cosine lies below the top. None where no text
            or no query was at hand. Informational without a calibration.
        reason: Machine-readable, set with `unknown` (see `REASONS`).
        rerank_score: Best score that a reranker gave a result of the page, on the reranker's own
            scale, 3 decimals; only with a reranker.
        match: A hint from the reranker where the level is moderate or high: `exact` where one
            result may hold the fact, `near_miss` where likely only the topic is stored; only
            with a reranker whose scale was declared or learned.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        json_schema_serialization_defaults_required=True,
    )

    level: Level
    top_score: float | None = None
    prominence: float | None = None
    relative_margin: float | None = None
    result_count: int = Field(ge=0)
    rationale: str
    basis: Basis | None = None
    probability: _Share | None = None
    term_coverage: _Share | None = None
    reason: str | None = None
    rerank_score: float | None = None
    match: Match | None = None

    def _repr_html_(self) -> str:
        return signal_card(vars(self))


def unknown(reason: str, result_count: int) -> RecallConfidence:
    """Make the signal of a retrieval that could not be measured.

    Args:
        reason: A key of `REASONS`, or a reason of an adapter's own.
        result_count: Candidates in the pool.
    """
    return RecallConfidence(
        level="unknown",
        result_count=result_count,
        reason=reason,
        rationale=f"Match strength could not be measured: {REASONS.get(reason, reason)}. "
        "This says nothing about whether the results are relevant.",
    )
