"""A calibration as a few lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recall_signal.calibration.model import Calibration

__all__ = ["summary"]

_LEARNT_FROM = {
    "null": "general questions and pieces of stored texts, no labels",
    "null+past": "general questions, pieces of stored texts and past queries, no labels",
    "labelled": "general questions, pieces of stored texts and labelled queries",
}
"""By mode."""


def summary(calibration: Calibration) -> str:
    """What it was learnt from, the cut, the anchors and what a user should know."""
    scale, size = calibration.scale, calibration.corpus_size or "unknown number of"
    lines = [
        f"Calibration ({calibration.mode}): {calibration.status}",
        f"  encoder {calibration.encoder or 'not named'}, {size} documents, {calibration.created}",
        f"  learnt from {_LEARNT_FROM[calibration.mode]}",
        "  with " + ", ".join(f"{count} {kind}" for kind, count in calibration.counts),
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
