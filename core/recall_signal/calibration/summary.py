"""A calibration as a few lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recall_signal.calibration.model import Calibration

__all__ = ["summary"]

_REAL_QUERIES = {"null": [], "null+past": ["past queries"], "labelled": ["labelled queries"]}
"""What was learnt from beside the corpus, by mode."""


def summary(calibration: Calibration) -> str:
    """What it was learnt from, the cut, the anchors and what a user should know."""
    scale, size = calibration.scale, calibration.corpus_size
    documents = _count(size, "documents") if size else "unknown number of documents"
    lines = [
        f"Calibration ({calibration.mode}): {calibration.status}",
        f"  encoder {calibration.encoder or 'not named'}, {documents}, {calibration.created}",
        f"  learnt from {_learnt_from(calibration)}",
        "  with " + ", ".join(_count(count, kind) for kind, count in calibration.counts),
        f"  cut {scale.cut:.3f}, step {scale.step:.3f}, overlap {calibration.overlap:.0%}",
    ]
    if calibration.hub is not None:
        hub = calibration.hub.scale
        lines.append(f"  hub-corrected: cut {hub.cut:.3f}, step {hub.step:.3f}")
    if calibration.reranker is not None:
        lines.append(f"  {calibration.reranker}")
    lines += [
        f"  {kind:<9} quartiles {low:.3f} {middle:.3f} {high:.3f}"
        for kind, (low, middle, high) in calibration.anchors
    ]
    lines += [f"  note: {warning}" for warning in calibration.warnings]
    return "\n".join(lines)


def _learnt_from(calibration: Calibration) -> str:
    """What decided, in words; kinds that were too few are not named."""
    from recall_signal.calibration.conclude import FEWEST_PSEUDO  # which ends in a calibration

    enough = dict(calibration.counts).get("pseudo-queries", 0) >= FEWEST_PSEUDO
    kinds = ["general questions", *(["pieces of stored texts"] if enough else [])]
    kinds += _REAL_QUERIES[calibration.mode]
    most, last = ", ".join(kinds[:-1]), kinds[-1]
    labels = "" if calibration.mode == "labelled" else ", no labels"
    return f"{most} and {last}{labels}" if most else f"{last}{labels}"


def _count(number: int, kinds: str) -> str:
    """So many of a kind, which is given in the plural."""
    kind = kinds.removesuffix("s").replace("querie", "query") if number == 1 else kinds
    return f"{number} {kind}"
