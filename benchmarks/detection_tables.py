"""Print the results of the benchmark as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from detection_sets import FAMILIES
from detection_show import Table

__all__ = ["all_tables"]

Row = dict[str, Any]

MODES = ("uncalibrated", "null", "null+past", "auto", "stream", "labelled")
MIXED = ("null+past, mixed", "auto, mixed", "stream, mixed", "labelled, mixed")
FITTED = MODES[1:]

BARS: dict[str, tuple[float, float, float]] = {
    "null": (0.012, 0.022, 0.82),
    "null+past": (0.003, -0.010, 0.82),
    "auto": (0.003, -0.010, 0.82),
    "labelled": (-0.005, -0.030, 0.82),
}
"""Highest mean gap far and near, lowest balanced accuracy of a far unit."""

LOSES_BY = 0.15
"""A unit whose gap is wider than this is listed, as is one that uncalibrated levels win."""


def all_tables(results: Row) -> list[Table]:
    """Every table of a run, from its JSON."""
    units = results["units"]
    known = [unit for unit in units if unit["knows"]]
    tables = [
        _bars("Bars, units in languages that the encoder knows", known, results["fixed"]["known"]),
        _bars("Bars, all units", units, results["fixed"]["all"]),
        _checks(results),
        _by("encoder", known, "Mean gap by encoder, known languages"),
        _by("language", units, "By language (all encoders that know it)", only_known=True),
        _by("encoder", [u for u in units if not u["knows"]], "Languages the encoder does not know"),
        _mixed(known),
        _hard(known),
        _statistics(known),
        _transfer(results),
        _losing(units),
        _every_unit(units),
    ]
    return [table for table in tables if table.rows]


def _of(units: Sequence[Row], family: str) -> list[Row]:
    return [unit for unit in units if unit["family"] == family]


def _mean(units: Sequence[Row], value: Callable[[Row], float]) -> float | None:
    return fmean(map(value, units)) if units else None


def _gap(mode: str) -> Callable[[Row], float]:
    return lambda unit: float(unit["modes"][mode]["gap"])


def _bars(title: str, units: list[Row], fixed: Row) -> Table:
    far, near = _of(units, "far"), _of(units, "near")
    rows = []
    for mode in MODES:
        worst = min(far, key=lambda u: u["modes"][mode]["balanced_accuracy"], default=None)
        lowest = None if worst is None else worst["modes"][mode]["balanced_accuracy"]
        figures = (_mean(far, _gap(mode)), _mean(near, _gap(mode)), lowest)
        cells = [_number(figure) for figure in figures]
        if mode in BARS:
            above = (False, False, True)
            cells = [
                f"{cell} ({'>=' if at_least else '<='} {bar:.3f}) {_verdict(figure, bar, at_least)}"
                for cell, figure, bar, at_least in zip(
                    cells, figures, BARS[mode], above, strict=True
                )
            ]
        where = "" if worst is None else f"{worst['encoder']} {worst['set']}"
        rows.append((mode, *cells, where))
    name = f"one cosine cut ({fixed['cut']:.2f})"
    rows.insert(1, (name, _number(fixed.get("far")), _number(fixed.get("near")), "-", ""))
    note = (
        f"{len(far)} far and {len(near)} near units. Gap: balanced accuracy of the best cut on the "
        "raw top cosine, chosen with the unit's own reported labels, less the mode's at the "
        "shipped default. The one cosine cut is the best for all units' dev splits."
    )
    head = ("mode", "mean gap far", "mean gap near", "worst far unit", "")
    return Table(title, head, rows, note)


def _checks(results: Row) -> Table:
    rows = [
        (check["what"], check["measured"], check["bar"], _VERDICTS[check["passed"]])
        for check in results["checks"]
    ]
    return Table("Other bars", ("", "measured", "bar", ""), rows)


_VERDICTS = {True: "pass", False: "MISS", None: ""}


def _by(key: str, units: list[Row], title: str, *, only_known: bool = False) -> Table:
    rows = []
    chosen = [unit for unit in units if unit["knows"] or not only_known]
    for value in dict.fromkeys(unit[key] for unit in chosen):
        for family in FAMILIES:
            some = _of([unit for unit in chosen if unit[key] == value], family)
            if some:
                rows.append((f"{value}, {family}", str(len(some)), *_summary(some)))
    head = ("", "units", "AUROC", "oracle", *(f"gap {mode}" for mode in MODES))
    return Table(title, head, rows)


def _summary(units: list[Row]) -> tuple[str, ...]:
    return (
        _number(_mean(units, lambda unit: unit["auroc"])),
        _number(_mean(units, lambda unit: unit["oracle"])),
        *(_number(_mean(units, _gap(mode))) for mode in MODES),
    )


def _mixed(units: list[Row]) -> Table:
    rows = [
        (mode, *(_number(_mean(_of(units, family), _gap(mode))) for family in FAMILIES))
        for mode in (*MIXED, *(mode.partition(",")[0] for mode in MIXED))
    ]
    note = (
        "Mixed: fitted once for the set, on 50 dev queries of all its kinds. Otherwise on 50 of "
        "the unit's own, as everywhere else."
    )
    return Table("Fitted on mixed traffic", ("mode", *FAMILIES), rows, note)


def _hard(units: list[Row]) -> Table:
    rows = [
        (
            f"{unit['encoder']} {unit['set']} {unit['kind']}",
            _number(unit["auroc"]),
            f"{unit['auroc_low']:.2f}-{unit['auroc_high']:.2f}",
            "chance" if unit["auroc_low"] <= 0.5 <= unit["auroc_high"] else "",
        )
        for unit in sorted(_of(units, "hard"), key=lambda unit: -unit["auroc"])
    ]
    note = "The topic is stored, the answer is not. AUROC of the top cosine with its 95 % interval."
    return Table("Hard units", ("", "AUROC", "95 %", ""), rows, note)


def _statistics(units: list[Row]) -> Table:
    rows = [("top cosine", *_auroc_cells(units, lambda unit: unit["auroc"]))]
    for name in units[0]["statistics"] if units else ():
        rows.append((name, *_auroc_cells(units, _statistic(name))))
    head = ("AUROC", *(f"{family} {what}" for family in FAMILIES for what in ("mean", "min")))
    return Table("Statistics of the pool", head, rows)


def _statistic(name: str) -> Callable[[Row], float]:
    return lambda unit: float(unit["statistics"][name])


def _auroc_cells(units: list[Row], value: Callable[[Row], float]) -> list[str]:
    cells = []
    for family in FAMILIES:
        some = _of(units, family)
        cells += [_number(_mean(some, value)), _number(min(map(value, some), default=None))]
    return cells


def _transfer(results: Row) -> Table:
    rows = [
        (
            row["mode"],
            *(_number(row[which].get(f)) for f in ("far", "near") for which in _WHICH),
            "; ".join(f"{setting} ({count}x)" for setting, count in row["chosen"].items()),
        )
        for row in results["transfer"]
    ]
    note = (
        "Constants chosen anew on the dev units of all other encoders and other families of sets, "
        "used on the unit left out (left out: mean gap there), beside the shipped ones."
    )
    head = ("mode", "far shipped", "left out", "near shipped", "left out", "chosen")
    return Table("Leave one encoder and one family of sets out", head, rows, note)


_WHICH = ("shipped", "left_out")


def _losing(units: list[Row]) -> Table:
    rows = []
    for unit in units:
        for mode in FITTED if unit["family"] != "hard" else ():
            found = unit["modes"][mode]
            lost = unit["modes"]["uncalibrated"]["balanced_accuracy"] - found["balanced_accuracy"]
            if found["gap"] <= LOSES_BY and lost <= 0.0:
                continue
            rows.append(
                (
                    f"{unit['encoder']} {unit['set']} {unit['kind']}",
                    "" if unit["knows"] else "unknown",
                    mode,
                    _number(unit["oracle"]),
                    _number(found["balanced_accuracy"]),
                    _number(unit["modes"]["uncalibrated"]["balanced_accuracy"]),
                    f"{unit['fallbacks'][mode]:.0%}",
                )
            )
    note = (
        f"Far and near units with a gap above {LOSES_BY}, or where uncalibrated levels do better. "
        "No cut: share of fits that found no threshold and left the levels uncalibrated."
    )
    head = ("", "language", "mode", "oracle", "balanced accuracy", "uncalibrated", "no cut")
    return Table("Losing units", head, rows, note)


def _every_unit(units: list[Row]) -> Table:
    rows = [
        (
            f"{unit['encoder']} {unit['set']} {unit['kind']}",
            unit["family"],
            unit["language"] + ("" if unit["knows"] else " (unknown)"),
            f"{unit['present']}/{unit['absent']}",
            _number(unit["auroc"]),
            _number(unit["oracle"]),
            *(_number(unit["modes"][mode]["balanced_accuracy"]) for mode in MODES),
        )
        for unit in units
    ]
    head = ("", "family", "language", "P/A", "AUROC", "oracle", *MODES)
    return Table("Every unit, balanced accuracy at the shipped default", head, rows)


def _verdict(figure: float | None, bar: float, at_least: bool) -> str:
    if figure is None:
        return ""
    return "pass" if (figure >= bar if at_least else figure <= bar) else "MISS"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
