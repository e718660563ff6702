"""The same questions asked twice, compared in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from recall_signal.advice import advice
from recall_signal.cli.tally import RIGHT, Kind, Result, Tally

__all__ = ["in_short", "same_levels", "what_changed"]

NAMED_CHARACTERS = 40
"""So much of a question is enough to find it in the table."""


def same_levels(name: str, results: Sequence[Result], others: Sequence[Result]) -> str:
    """For how many questions another framework's level is the same, and for which it is not.

    Args:
        name: The other framework.
        results: What the table shows.
        others: The same questions in the same order, asked through the other framework.
    """
    pairs = [
        (a, a.answer.confidence.level, b.answer.confidence.level)
        for a, b in zip(results, others, strict=True)
    ]
    differing = [
        f"{a.question.text[:NAMED_CHARACTERS]!r} ({here}, there {there})"
        for a, here, there in pairs
        if here != there
    ]
    same = f"{name}: the same level for {len(pairs) - len(differing)} of {len(pairs)} questions"
    return f"{same}; not for {', '.join(differing)}." if differing else f"{same}."


def what_changed(before: Sequence[Result], after: Sequence[Result]) -> str:
    """One sentence on what a calibration did to the same questions, for better and for worse."""

    def count(results: Sequence[Result], kind: Kind, holds: Callable[[Result], bool]) -> int:
        return sum(holds(result) for result in results if result.question.kind == kind)

    def change(kind: Kind, holds: Callable[[Result], bool]) -> str:
        whole = count(after, kind, lambda _: True)
        now, then = count(after, kind, holds), count(before, kind, holds)
        return f"{now} of {whole} {kind} questions (before: {then})"

    lost = count(after, "stored", lambda result: _is_none(result) and result.is_hit)
    return (
        f"Now {change('off_topic', _is_none)} read none, and so do {change('stored', _is_none)}, "
        f"{lost} of them with an answering memory on the page; 'read' is the advice for "
        f"{change('stored', _is_read)} and {change('near_miss', _is_read)}."
    )


def in_short(before: Sequence[Tally], after: Sequence[Tally]) -> str:
    """How many questions got the advice that they should, without and with a calibration."""

    def rights(tallies: Sequence[Tally]) -> str:
        return " and ".join(
            f"'{RIGHT[row.kind]}' for {row.right} of {row.count} {row.kind} questions"
            for row in tallies
            if row.right is not None
        )

    found = " ".join(
        f"A memory that answers was on the page of {row.hits} of {row.count} {row.kind} ones."
        for row in before
        if row.hits is not None
    )
    return f"uncalibrated {rights(before)}; calibrated {rights(after)}. {found}"


def _is_none(result: Result) -> bool:
    return result.answer.confidence.level == "none"


def _is_read(result: Result) -> bool:
    return advice(result.answer.confidence) == "read"
