"""The demo's results in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from recall_signal.cli._demo._stats import SECTIONS, QuestionKind, Result, Section, Tally, tally

__all__ = ["same_levels", "summary", "uncalibrated"]

NAMED_CHARACTERS = 40
"""Enough of a question to find it in the table."""


def summary(results: Sequence[Result], section: Section) -> str:
    """Say what became of one section's questions, for better and for worse."""
    stored, near_miss, off_topic = (
        tally(results, section, kind) for kind in ("stored", "near_miss", "off_topic")
    )
    return (
        f"the advice is 'read' for {stored.read} of {stored.count} stored questions. The answer "
        f"was on the page of {stored.answered}; {stored.answered_read} of these are read and "
        f"{_lost(stored)} sent away. "
        f"{off_topic.right} of {off_topic.count} off-topic questions are sent away, and "
        f"{near_miss.count - near_miss.read} of {near_miss.count} near-misses."
    )


def uncalibrated(before: Sequence[Result], after: Sequence[Result]) -> str:
    """Compare with the same questions asked without a calibration, in one sentence."""

    def right(results: Sequence[Result], kind: QuestionKind) -> int:
        return sum(tally(results, section, kind).right or 0 for section in SECTIONS)

    def count(kind: QuestionKind) -> int:
        return sum(tally(after, section, kind).count for section in SECTIONS)

    return (
        f"{right(before, 'stored')} of all {count('stored')} stored questions read (calibrated: "
        f"{right(after, 'stored')}), {right(before, 'off_topic')} of {count('off_topic')} "
        f"off-topic ones sent away (calibrated: {right(after, 'off_topic')})."
    )


def same_levels(name: str, results: Sequence[Result], others: Sequence[Result]) -> str:
    """Say for how many questions another framework's level is the same, and where it differs.

    Args:
        name: The other framework.
        results: The results in the table.
        others: The same questions in the same order, through the other framework.
    """
    pairs = list(zip(results, others, strict=True))
    differing = [
        f"{a.question.text[:NAMED_CHARACTERS]!r} ({a.level}, there {b.level})"
        for a, b in pairs
        if a.level != b.level
    ]
    same = f"{name}: the same level for {len(pairs) - len(differing)} of {len(pairs)} questions"
    return f"{same}; not for {', '.join(differing)}." if differing else f"{same}."


def _lost(stored: Tally) -> int:
    return (stored.answered or 0) - (stored.answered_read or 0)
