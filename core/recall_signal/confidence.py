"""The recall signal itself: a frozen value that says how strong the match is, and why."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict

__all__ = [
    "LEVELS",
    "REASONS",
    "Basis",
    "Level",
    "Match",
    "RecallConfidence",
    "unknown",
]

Level = Literal["high", "moderate", "low", "none", "unknown"]
Basis = Literal["prominence", "absolute", "separation", "stream", "calibration", "labels"]
Match = Literal["exact", "near_miss"]

LEVELS: tuple[Level, ...] = get_args(Level)

REASONS: dict[str, str] = {
    "no_scores": "the candidates carry no usable score",
    "score_not_convertible": "the retriever's scores are of a kind that no cosine can be had from",
    "score_inverted": "the score rises with the rank, so its kind must be the other way round",
    "score_out_of_range": "a value lies outside what a cosine can be, so the score kind, the "
    "metric or the assumption of unit vectors is wrong",
    "store_not_recognised": "the store behind the retriever is not one whose score is known",
    "no_score_access": "the retriever gives documents without scores",
    "embedding_failed": "the encoder failed while the candidates were embedded again",
    "embedding_mismatch": "the encoder's vectors do not fit each other in number or dimension",
    "norm_unknown": "the score needs vectors of one known length, and the stored ones are not",
    "adapter_failed": "reading the store's scores failed",
    "retrieval_failed": "the retriever failed, so nothing was searched",
    "no_signal": "what a tool gave or a state holds has no signal that can be read",
}
"""Why a level is ``unknown``: machine-readable reason -> what it says to a person."""


class RecallConfidence(BaseModel):
    """How strongly the best candidate matches the query, for one retrieval.

    A triage hint about topical match strength, never a verdict that the exact fact is stored.

    Attributes:
        level: ``high``, ``moderate``, ``low``, ``none``; ``unknown`` only where nothing could
            be measured.
        top_score: Best raw cosine of the pool, not clipped, in [-1.001, 1.001]; for a
            keyword-only pool the best score as given. 3 decimals.
        prominence: (top - mean background) / mean background, unbounded. None for keyword-only
            pools, single candidates, and where the mean background is <= 1e-3.
        relative_margin: (top - mean background) / population standard deviation of the
            background. Informational: never the basis of a level when cosines exist.
        result_count: Number of candidates in the pool.
        rationale: One or two sentences with the figures used and what to do next. Holds no
            query text and no document text.
        basis: What decided the level; None with ``unknown`` and with an empty pool.
        probability: P(something relevant was retrieved), 4 decimals; only with a calibration
            or a baseline.
        reason: Machine-readable, set with ``unknown`` (see :data:`REASONS`).
        rerank_score: Best score that a reranker gave a result of the page, on the reranker's own
            scale, 3 decimals; only with a reranker.
        match: A hint from the reranker where the level is moderate or high: ``exact`` where one
            result may hold the fact, ``near_miss`` where likely only the topic is stored; only
            with a reranker whose scale was declared or learnt.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    level: Level
    top_score: float | None = None
    prominence: float | None = None
    relative_margin: float | None = None
    result_count: int
    rationale: str
    basis: Basis | None = None
    probability: float | None = None
    reason: str | None = None
    rerank_score: float | None = None
    match: Match | None = None

    def _repr_html_(self) -> str:
        from recall_signal.display import confidence_html

        return confidence_html(self)


def unknown(reason: str, result_count: int) -> RecallConfidence:
    """The signal of a retrieval that could not be measured.

    Args:
        reason: A key of :data:`REASONS`, or a reason of an adapter's own.
        result_count: Candidates in the pool.
    """
    return RecallConfidence(
        level="unknown",
        result_count=result_count,
        reason=reason,
        rationale=f"Match strength could not be measured: {REASONS.get(reason, reason)}. "
        "This says nothing about whether the results are relevant.",
    )
