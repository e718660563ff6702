"""Measure how well every mode tells that nothing relevant is stored, on real sets and encoders.

    python benchmarks/detection.py DATA --cache FOLDER

A unit is an encoder, a set, and one kind of absent queries. Calibrations are fitted on the dev
split and the test split is reported; `--split dev` is for developing. Every unit is printed.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy's, read when it is imported
os.environ["OMP_NUM_THREADS"] = "1"  # the encoders'

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import fmean
from typing import Any

from detection_bars import (
    auroc_checks,
    check,
    coverage_checks,
    ece_checks,
    family_checks,
    moved_check,
    share_checks,
)
from detection_checks import (
    Coverage,
    Moved,
    cost_of,
    coverage_of,
    pseudo_loss,
    with_other_pools,
    with_other_units,
)
from detection_sets import load_set, set_names
from detection_show import print_tables, to_markdown
from detection_tables import all_tables
from detection_transfer import best_fixed_cut, transfer
from detection_units import Source, Unit, measure, units_of
from encoders import ENCODERS, CachedSides
from rich.console import Console
from rich.progress import Progress

from recall_signal.errors import RecallSignalError

Row = dict[str, Any]

WIDTH = 150


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything; 2 where something is wrong with what was given."""
    options = _options(arguments)
    errors = Console(stderr=True)
    try:
        results = run(options, errors)
    except RecallSignalError as error:
        errors.print(f"Error: {error}", markup=False)
        return 2
    tables = all_tables(results)
    print_tables(tables, Console(width=WIDTH, highlight=False))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    if options.markdown:
        options.markdown.write_text(to_markdown(tables), "utf-8")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="How well every mode tells absence.")
    parser.add_argument("data", type=Path, help="folder with NAME.corpus.jsonl.gz and queries")
    parser.add_argument("--encoders", default=",".join(ENCODERS), help="names, comma-separated")
    parser.add_argument("--sets", default="", help="names, comma-separated; default: all")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/recall-signal-bench")
    parser.add_argument("--split", choices=("test", "dev"), default="test")
    parser.add_argument("--json", type=Path, help="write every unit")
    parser.add_argument("--markdown", type=Path, help="write the tables")
    parser.add_argument(
        "--embedded", action="store_true", help="leave out sets whose vectors are not cached yet"
    )
    return parser.parse_args(arguments)


def run(options: argparse.Namespace, errors: Console) -> Row:
    """Everything that the tables are made of, as plain JSON values."""
    units: list[Unit] = []
    small: list[str] = []
    checks = _Checks()
    for source in _sources(options, errors):
        found = list(units_of(source))
        small += [unit.name for unit in found if not unit.draws]
        some = [unit for unit in found if unit.draws]
        for unit in some:
            measure(unit)
        units += some
        if some:
            checks.add(source, some)
    errors.print("Leaving out encoders and sets ...")
    rows = [_unit_row(unit) for unit in units]
    known = [unit for unit in units if unit.source.knows]
    return {
        "v": 1,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": _version(),
        "split": options.split,
        "too_small": small,
        "units": rows,
        "checks": checks.rows(units, rows),
        "fixed": {"known": _fixed(known), "all": _fixed(units)},
        "transfer": [asdict(row) for row in transfer(known)],
        "coverage": [asdict(row) for row in checks.coverage],
    }


def _sources(options: argparse.Namespace, errors: Console) -> Iterator[Source]:
    """Every encoder on every set, one after the other, with a bar."""
    names = options.sets.split(",") if options.sets else set_names(options.data)
    encoders = options.encoders.split(",")
    unknown = [name for name in encoders if name not in ENCODERS]
    if unknown:
        errors.print(f"no encoder {unknown[0]}; there are {', '.join(ENCODERS)}")
        raise SystemExit(2)
    with Progress(console=errors, transient=True) as progress:
        task = progress.add_task("", total=len(encoders) * len(names))
        for encoder_name in encoders:
            for name in names:
                progress.update(task, description=f"{encoder_name} {name}", advance=1)
                if not errors.is_terminal:
                    errors.print(f"{encoder_name} {name}")
                encoder = CachedSides(ENCODERS[encoder_name](), options.cache)
                data = load_set(options.data, name)
                texts = [document.text for document in data.corpus]
                if options.embedded and not encoder.holds(texts):
                    errors.print(f"left out, no vectors yet: {encoder_name} {name}")
                    continue
                yield Source.build(encoder, data, options.split)


class _Checks:
    """Checks of what must hold, gathered over all sources."""

    def __init__(self) -> None:
        self.units, self.large, self.small = Moved(), Moved(), Moved()
        self.pseudo: list[tuple[str, float, float]] = []
        self.coverage: list[Coverage] = []
        self.costs: list[tuple[float, ...]] = []

    def add(self, source: Source, units: list[Unit]) -> None:
        """Everything that is checked on one source."""
        with_other_units(units[0], self.units)
        with_other_pools(units[0], 200, self.large)
        with_other_pools(units[0], 10, self.small)
        for unit, (few, many) in zip(units, pseudo_loss(units).values(), strict=True):
            self.pseudo.append((unit.family, few, many))
        self.coverage += coverage_of(source)
        self.costs.append(cost_of(source))
        source.forget()

    def rows(self, units: list[Unit], rows: list[Row]) -> list[Row]:
        """One row a bar: what, measured, bar, passed."""
        known = [row for row in rows if row["knows"]]
        return [
            *family_checks(known),
            *auroc_checks(known),
            *share_checks(known),
            *ece_checks([unit for unit in units if unit.source.knows]),
            *coverage_checks(self.coverage),
            moved_check("levels that move with s -> a + b s", self.units),
            moved_check("levels that move with pools of 200", self.large),
            moved_check("levels that move with pools of 10", self.small, share=0.02),
            *self._pseudo_checks(),
            *self._cost_checks(),
        ]

    def _pseudo_checks(self) -> Iterator[Row]:
        for family in ("far", "near"):
            losses = [many - few for name, few, many in self.pseudo if name == family]
            if losses:
                what = f"20 pseudo-queries lose against 60, {family}"
                yield check(what, fmean(losses), "<= 0.02", fmean(losses) <= 0.02)

    def _cost_checks(self) -> Iterator[Row]:
        if self.costs:
            plain, calibrated, words, seconds = (
                fmean(column) for column in zip(*self.costs, strict=True)
            )
            what = f"calibrated assess ({calibrated:.1f} us) over uncalibrated ({plain:.1f} us)"
            yield check(what, calibrated / plain, "<= 3", calibrated / plain <= 3)
            what = "calibrated assess with words, 50 texts, us"
            yield check(what, words, "<= 250", words <= 250)
            yield check("a fit beside its searches, s", seconds, "< 1", seconds < 1)


def _unit_row(unit: Unit) -> Row:
    draw = unit.draws[0]
    area, low, high = unit.auroc
    return {
        "encoder": unit.source.encoder,
        "set": unit.source.data.name,
        "kind": unit.kind,
        "family": unit.family,
        "language": unit.source.data.language,
        "knows": unit.source.knows,
        "present": int(draw.present.sum()),
        "absent": int((~draw.present).sum()),
        "auroc": area,
        "auroc_low": low,
        "auroc_high": high,
        "oracle": unit.oracle,
        "statistics": unit.statistics,
        "fixed": unit.fixed,
        "modes": {mode: asdict(outcome) for mode, outcome in unit.modes.items()},
        "fallbacks": unit.fallbacks,
        "notes": list(unit.source.null[1]),
    }


def _fixed(units: list[Unit]) -> Row:
    cut, gaps = best_fixed_cut(units)
    return {"cut": cut, **gaps}


def _version() -> str:
    try:
        return version("recall-signal")
    except PackageNotFoundError:
        return "not installed"


if __name__ == "__main__":
    sys.exit(main())
