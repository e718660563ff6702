"""Findings in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Literal

from recall_signal.calibration._calibration import Calibration
from recall_signal.logs import CanaryRecord
from recall_signal.monitoring._canary_test import CanaryChange, CanaryVerdict
from recall_signal.monitoring._days import Day
from recall_signal.monitoring._traffic import QUANTILES, Comparison

__all__ = ["FINDING_KINDS", "Finding", "canary_findings", "name_findings", "traffic_findings"]

FindingKind = Literal["encoder", "corpus", "traffic", "answerable"]

FINDING_KINDS: tuple[FindingKind, ...] = ("encoder", "corpus", "traffic", "answerable")


@dataclass(frozen=True, slots=True)
class Finding:
    """One change.

    Attributes:
        kind: `encoder`, `corpus` (the stored texts), `traffic` (the top cosines), or `answerable`
            (the expected share of answerable queries).
        day: The first day on which it shows, ISO date.
        text: One or two plain sentences.
        lasts: True for one that stays until there is another calibration.
    """

    kind: FindingKind
    day: str
    text: str
    lasts: bool = False


def name_findings(days: Mapping[str, Day]) -> list[Finding]:
    """Return the days from which on most queries went through an encoder of another name."""
    named = [(date, day.encoder) for date, day in days.items() if day.encoder is not None]
    return [
        Finding(
            "encoder",
            date,
            f"The encoder of the queries changed from {before!r:.60} to {now!r:.60} on {date}.",
        )
        for (_, before), (date, now) in pairwise(named)
        if before != now
    ]


def traffic_findings(comparisons: Sequence[Comparison]) -> list[Finding]:
    """Return changes of the answerable share, else of the top cosines; one for each spell."""
    found = []
    for comparison in _first_of_spells(comparisons):
        share = comparison.answerable
        if comparison.share_changed and share is not None:
            found.append(
                Finding(
                    "answerable",
                    comparison.day,
                    "The expected share of answerable queries changed from about "
                    f"{share.usual:.0%} to {share.value:.0%} around {comparison.day}: other "
                    "questions are coming in, or what they need is no longer found.",
                )
            )
        else:
            found.append(Finding("traffic", comparison.day, _moved(comparison)))
    return found


def _first_of_spells(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the first day of each run of changed days."""
    runs = groupby(comparisons, lambda one: one.traffic_changed or one.share_changed)
    return [next(iter(run)) for changed, run in runs if changed]


def _moved(comparison: Comparison) -> str:
    middle = comparison.quantiles[len(QUANTILES) // 2]
    widest = max(comparison.quantiles, key=lambda found: abs(found.z))
    direction = "higher" if widest.value > widest.usual else "lower"
    return (
        f"The top cosines of the traffic became {direction} around {comparison.day}: median "
        f"{middle.value:.3f} against {middle.usual:.3f}, and {comparison.moved} of "
        f"{len(QUANTILES)} quantiles are outside their range of four weeks. Encoder, texts or "
        "questions changed; canaries tell which."
    )


_WORDS: dict[CanaryChange, tuple[FindingKind, str]] = {
    "encoder": ("encoder", "The encoder changed around {day}: it gives other vectors"),
    "corpus_grown": ("corpus", "The stored texts grew to about {growth} their number around {day}"),
    "corpus_replaced": ("corpus", "The stored texts were replaced or cut around {day}"),
    "encoder_or_corpus": (
        "encoder",
        "The encoder was exchanged or the stored texts were replaced around {day}",
    ),
}


def canary_findings(
    verdicts: Sequence[CanaryVerdict],
    records: Sequence[CanaryRecord],
    calibration: Calibration | None,
) -> list[Finding]:
    """Return the changes that the canaries show, each with its first day.

    A change under an older calibration than the one in use is history: it does not last.
    """
    given = None if calibration is None else calibration.created
    under = [record.under(given) for record in records]
    found: list[Finding] = []
    pairs = zip(verdicts, under, strict=True)
    for (change, created), run in groupby(pairs, lambda pair: (pair[0].change, pair[1])):
        if change is None:
            continue
        spell = [verdict for verdict, _ in run]
        lasts = spell[-1] is verdicts[-1] and given in (None, created)
        found.append(_finding(change, spell, created, lasts))
    return found


def _finding(
    change: CanaryChange, spell: Sequence[CanaryVerdict], created: str | None, lasts: bool
) -> Finding:
    first, last = spell[0], spell[-1]
    kind, words = _WORDS[change]
    growth = last.growth
    factor = "several times" if growth is None or growth > 9.5 else f"{growth:.1f} times"
    text = words.format(day=first.day, growth=factor)
    since = f" since the calibration of {created[:10]}" if created else ""
    figures = (
        f"{last.rose:.0%} of {last.compared} canaries rose and {last.fell:.0%} fell{since}"
        if last.encoder_distance is None or change != "encoder"
        else f"distance {last.encoder_distance:.2f}{since}"
    )
    todo = " Calibrate again." if lasts else ""
    if lasts and created is None:
        todo += (
            " Where that was done since, give the new one (--calibration FILE): these canaries do "
            "not name theirs."
        )
    return Finding(kind, first.day, f"{text} ({figures}).{todo}", lasts)
