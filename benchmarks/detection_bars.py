"""One row a bar: what was measured, what was promised, and whether it holds."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Any

from detection_checks import Coverage, Moved, ece_by_unit, pooled_ece
from detection_units import Unit

__all__ = [
    "auroc_checks",
    "check",
    "coverage_checks",
    "ece_checks",
    "family_checks",
    "moved_check",
    "share_checks",
]

Row = dict[str, Any]

NOISE = 5e-4
"""Probabilities have four decimals, so a few queries tie."""

CALIBRATED = ("null", "null+past", "auto", "stream", "labelled")


def auroc_checks(rows: list[Row]) -> Iterator[Row]:
    """No mode ranks worse than the raw top cosine; where a fit found a cut, and in all."""
    for mode in CALIBRATED:
        for where in ("with a cut", "all fits"):
            above: dict[str, float] = {}
            for row in rows:
                found = row["modes"][mode]
                gain = found["auroc"] - row["auroc"] if where == "all fits" else found["above"]
                if gain is not None:
                    above[f"{row['encoder']} {row['set']} {row['kind']}"] = gain
            if above:
                mean, worst = fmean(above.values()), min(above, key=lambda name: above[name])
                lowest = above[worst]
                what = f"AUROC of {mode} above the top cosine's, {where}"
                yield check(what, mean, ">= 0", mean >= -NOISE)
                yield check(f"... lowest unit: {worst}", lowest, ">= -0.02", lowest >= -0.02)


def share_checks(rows: list[Row]) -> Iterator[Row]:
    """Mode null+past: what is read of far queries and of present ones."""
    far = [row["modes"]["null+past"] for row in rows if row["family"] == "far"]
    if far:
        absent = fmean(mode["found_absent"] for mode in far)
        away = 1.0 - fmean(mode["found_present"] for mode in far)
        yield check(
            "off-topic queries read, null+past, far units", absent, "<= 0.04", absent <= 0.04
        )
        yield check(
            "present queries sent away, null+past, far units", away, "<= 0.06", away <= 0.06
        )
    mixed = [row["modes"]["labelled, mixed"]["gap"] for row in rows if row["family"] == "far"]
    if mixed:
        gap = fmean(mixed)
        yield check("gap of labelled on mixed traffic, far units", gap, "<= 0.05", gap <= 0.05)


AUROC_BARS = {"far": 0.991, "near": 0.885, "hard": 0.665}


def family_checks(rows: list[Row]) -> Iterator[Row]:
    """AUROC of mode null by family, and units that lose against the top cosine."""
    for family, bar in AUROC_BARS.items():
        areas = [row["modes"]["null"]["auroc"] for row in rows if row["family"] == family]
        if areas:
            tops = fmean(row["auroc"] for row in rows if row["family"] == family)
            what = f"AUROC of null, {family} (top cosine {tops:.3f})"
            yield check(what, fmean(areas), f">= {bar}", fmean(areas) >= bar)
    lost = [
        f"{row['encoder']} {row['set']} {row['kind']} {mode}"
        for row in rows
        for mode in ("null", "null+past", "auto", "labelled")
        if (high := row["modes"][mode]["above_high"]) is not None and high < -0.02
    ]
    yield {
        "what": "units that lose more than .02 AUROC, paired 95 % interval",
        "measured": f"{len(lost)}{': ' if lost else ''}{', '.join(lost)}",
        "bar": "0",
        "passed": not lost,
    }


def ece_checks(units: list[Unit]) -> Iterator[Row]:
    """Mode labelled: whether its probabilities are ones."""
    for family in ("far", "near", "hard"):
        some = [unit for unit in units if unit.family == family]
        for where in ("labels used", "all fits"):
            for weigh, error in zip(
                ("classes", "queries"), pooled_ece(some, all_fits=where == "all fits"), strict=True
            ):
                if error == error:
                    what = f"ECE with 50 labels, {family}, {where}, {weigh} weigh the same"
                    yield check(what, error, "<= 0.10", error <= 0.1)
    mean, chance = ece_by_unit(units)
    if mean == mean:
        yield {
            "what": "ECE with 50 labels, mean of single units, 5 bins, queries weigh the same",
            "measured": f"{mean:.3f} (perfect probabilities: {chance:.3f})",
            "bar": "",
            "passed": None,
        }


def coverage_checks(found: list[Coverage]) -> Iterator[Row]:
    """A bound on false none holds with the share that was asked for."""
    for size in sorted({row.size for row in found}):
        for nominal in sorted({row.nominal for row in found}):
            shares = [r.measured for r in found if (r.size, r.nominal) == (size, nominal)]
            off = max(abs(share - nominal) for share in shares)
            what = (
                f"false none at nominal {nominal:.0%}, n = {size}: mean {fmean(shares):.3f} over "
                f"{len(shares)}, furthest off"
            )
            yield check(what, off, "<= 0.03", off <= 0.03)


def moved_check(what: str, moved: Moved, share: float = 0.0) -> Row:
    """At most this share of the levels moved, and no threshold came or went."""
    passed = moved.moved <= share * moved.judged and moved.statuses == 0
    measured = f"{moved.moved} of {moved.judged}; status of {moved.statuses} of {moved.fits} fits"
    return {"what": what, "measured": measured, "bar": f"<= {share:.0%}", "passed": passed}


def check(what: str, measured: float, bar: str, passed: bool) -> Row:
    """One row."""
    return {"what": what, "measured": f"{measured:.3f}", "bar": bar, "passed": bool(passed)}
