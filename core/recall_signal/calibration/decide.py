"""From a calibrated probability, and a bound where there is one, to the signal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recall_signal.calibration.levels import NOTES, level_of, with_probability
from recall_signal.calibration.risk import p_value
from recall_signal.confidence import Basis, RecallConfidence

if TYPE_CHECKING:
    from recall_signal.calibration.model import Calibration

__all__ = ["NO_VECTORS", "decide", "lifted"]

NO_VECTORS = ", without its hub correction because the pool brought no vectors"

_UNUSUAL = "rarely as low for an answerable query. Prefer an external source."


def decide(
    calibration: Calibration,
    confidence: RecallConfidence,
    top: float,
    probability: float,
    cut: float,
    note: str,
) -> RecallConfidence:
    """The signal at this probability; a bound moves ``low`` and ``none`` alone.

    Args:
        calibration: Whose cuts and bound hold.
        confidence: The uncalibrated signal.
        top: The raw top cosine, which the bound is about.
        probability: P(something relevant was retrieved).
        cut: Where that probability is even, for the rationale.
        note: More about how it was found, likewise.
    """
    level = level_of(probability, calibration.cuts)
    basis: Basis = "labels" if calibration.mode == "labelled" else "calibration"
    weak = ", few documents" if calibration.status == "few_documents" else ""
    text = f"a cut of {cut:.2f} learnt from this retriever (mode {calibration.mode}{weak}{note})"
    said, bound = None, calibration.max_false_none
    if bound is not None:
        basis = "labels"
        text += f", none for at most {100 * bound:.3g}% of answerable queries"
        if not _is_unusual(calibration, top):
            level = "low" if level == "none" else level
        elif level == "low":
            level, said = "none", _UNUSUAL
    return with_probability(confidence, probability, level, basis, text, said)


def lifted(calibration: Calibration, confidence: RecallConfidence, top: float) -> RecallConfidence:
    """The uncalibrated signal; a bound holds for it too, so ``none`` may become ``low``."""
    if confidence.level != "none" or _is_unusual(calibration, top):
        return confidence
    text = f"Top cosine {confidence.top_score:.2f}, not unusual for answerable queries: "
    return confidence.model_copy(
        update={"level": "low", "basis": "labels", "rationale": text + NOTES["low"]}
    )


def _is_unusual(calibration: Calibration, top: float) -> bool:
    """Whether the bound, if there is one, allows ``none`` for this top cosine."""
    bound = calibration.max_false_none
    return bound is None or p_value(top, calibration.answerable) <= bound
