"""What travels with the results: the selection report and the entry in each item's metadata."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

from recall_signal.confidence import RecallConfidence

__all__ = [
    "CosineSource",
    "Reports",
    "RerankReason",
    "RerankReport",
    "RerankerScale",
    "SelectionReason",
    "SelectionReport",
    "fresh_copy",
    "metadata_entry",
    "report_dict",
]

CosineSource = Literal["declared", "store", "vectors", "embeddings"]
"""Where the cosines came from: the declared score kind, a known store's own score, vectors that
the store gave back, or the texts embedded again. None where there are no cosines."""

SelectionReason = Literal[
    "not_configured",
    "no_results",
    "too_few_results",
    "skipped_by_level",
    "timeout",
    "llm_error",
    "invalid_output",
    "selected_none",
]

SELECTION_REASONS: tuple[SelectionReason, ...] = get_args(SelectionReason)

COSINE_DECIMALS = 6
"""A float32 store is exact to about seven digits; more would only be noise."""


class SelectionReport(BaseModel):
    """What the optional selector did to the page, or why it did nothing.

    Serializes without the keys that are not set: ``{"applied": false, "reason": "timeout"}``.

    Attributes:
        applied: Whether the page is the selected one.
        reason: Why not (:data:`SelectionReason`); only with ``applied=False``.
        model: The selecting model as it names itself; only with ``applied=True``, like the rest.
        kept: Results left.
        dropped: Results removed.
        dropped_memory_ids: Ids of removed results, in page order, at most 20.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    applied: bool
    reason: SelectionReason | None = None
    model: str | None = None
    kept: int | None = None
    dropped: int | None = None
    dropped_memory_ids: list[str] | None = None

    @model_serializer(mode="wrap")
    def _without_unset(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return _set_only(handler(self))


RerankReason = Literal["no_results", "timeout", "reranker_error", "invalid_scores"]

RerankerScale = Literal["logit", "probability", "unknown"]
"""What a reranker's score is: a log-odds, a probability in [0, 1], or some number that rises."""


class RerankReport(BaseModel):
    """What the optional reranker did, or why it did nothing.

    Serializes without the keys that are not set: ``{"applied": false, "reason": "timeout"}``.

    Attributes:
        applied: Whether its scores were used; if not, the page is as it was.
        reason: Why not (:data:`RerankReason`); only with ``applied=False``.
        scale: What its scores were declared to be; only with ``applied=True``, like the rest.
        scored: Results of the page that got a score.
        reordered: Whether the page is in the reranker's order.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    applied: bool
    reason: RerankReason | None = None
    scale: RerankerScale | None = None
    scored: int | None = None
    reordered: bool | None = None

    @model_serializer(mode="wrap")
    def _without_unset(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return _set_only(handler(self))


class Reports:
    """What every response can do with its reports."""

    __slots__ = ()

    confidence: RecallConfidence
    selection: SelectionReport
    cosine_source: CosineSource | None
    rerank: RerankReport | None = None

    def to_dict(self) -> dict[str, Any]:
        """All reports as plain JSON values, without any text."""
        return report_dict(self.confidence, self.selection, self.cosine_source, self.rerank)


NOT_CONFIGURED = SelectionReport(applied=False, reason="not_configured")


def report_dict(
    confidence: RecallConfidence,
    selection: SelectionReport,
    cosine_source: CosineSource | None,
    rerank: RerankReport | None = None,
) -> dict[str, Any]:
    """The reports of one retrieval as plain JSON values, with the format's version.

    The key ``rerank`` is there only where a reranker is in use.
    """
    report = {
        "v": 1,
        "confidence": vars(confidence).copy(),  # all of its fields are plain JSON values
        "selection": _set_only(vars(selection)),
        "cosine_source": cosine_source,
    }
    if rerank is not None:
        report["rerank"] = _set_only(vars(rerank))
    return report


def metadata_entry(report: Mapping[str, Any], rank: int, cosine: float | None) -> dict[str, Any]:
    """One item's own copy of the report, with its rank on the page (from 0) and its cosine."""
    entry = {**report}
    entry["confidence"] = report["confidence"].copy()
    entry["selection"] = fresh_copy(report["selection"])
    entry["rank"] = rank
    known = cosine is not None and isfinite(cosine)
    entry["cosine"] = round(cosine, COSINE_DECIMALS) if known else None  # type: ignore[arg-type]
    return entry


def fresh_copy(value: Mapping[str, Any]) -> dict[str, Any]:
    """A copy whose nested dicts and lists are new as well; other values are shared.

    Metadata is plain JSON almost everywhere, so this is as good as a deep copy, several times
    faster, and cannot fail on a value that does not support copying. Another thread may change
    ``value`` meanwhile.
    """
    copy = dict(value)
    try:
        for key, item in copy.items():
            if type(item) in _NESTED:
                copy[key] = _fresh(item)
    except RecursionError:  # cyclic, or deeper than anybody reads: shared from the top on
        return dict(value)
    return copy


def _fresh(value: Any) -> Any:
    copy = value.copy()
    for key, item in copy.items() if type(copy) is dict else enumerate(copy):
        if type(item) in _NESTED:
            copy[key] = _fresh(item)
    return copy


_NESTED = (dict, list)


def _set_only(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: [*value] if type(value) is list else value
        for key, value in values.items()
        if value is not None
    }
