"""Measure how the level holds as a corpus grows: with an own fit, with an old one, and fitted anew.

    python benchmarks/growth.py DATA --cache FOLDER

Each set in English is put among the texts of the others, 1,000, 10,000 and 30,000 of them, and
100,000 with the fastest encoder. Only the dev split is used: present queries against each kind of
absent ones, as in `detection.py`. Every unit can be printed (`--units`).
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy's, read when it is imported
os.environ["OMP_NUM_THREADS"] = "1"  # the encoders'

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean

from detection_sets import FAMILIES, DataSet, Family
from detection_show import Table, print_tables, to_markdown
from detection_units import POOL, Source, Unit, units_of
from encoders import ENCODERS, CachedSides
from growth_sets import TEXTS_ALONE, EncoderMemory, Union
from rich.console import Console

from recall_signal.calibration import Calibration
from recall_signal.errors import RecallSignalError
from recall_signal.evaluation import _metrics as metrics
from recall_signal.evaluation._evaluate import Predictions, _traffic, predict
from recall_signal.evaluation._exact_search import Retriever

WIDTH = 175

SIZES = (1_000, 10_000, 30_000, 100_000)

FASTEST = "potion"
"""The encoder that goes on where whole texts run out."""


@dataclass(frozen=True)
class Row:
    """One unit at one size.

    Attributes:
        encoder: Its name.
        size: That was asked for.
        family: What the kind stands for in this set.
        set: Its name.
        kind: Of the absent queries.
        figures: Those of `HEAD`, means over the unit's draws.
    """

    encoder: str
    size: int
    family: Family
    set: str
    kind: str
    figures: dict[str, float]

    @property
    def loses(self) -> bool:
        """True where words rank worse than the top cosine, or a mode misses the best cut on it."""
        found = self.figures
        return found["words"] < found["top"] or max(found["null_gap"], found["past_gap"]) > 0.0


HEAD = {
    "texts": "texts",
    "top": "top",
    "words": "words",
    "cosine_gap": "gap: cosine",
    "null_gap": "null",
    "past_gap": "+past",
    "auto_gap": "auto",
    "old_absent": "absent: old",
    "anew_absent": "anew",
    "auto_absent": "auto",
    "old_present": "present: old",
    "anew_present": "anew",
    "auto_present": "auto",
    "checked": "check",
    "stale": "stale",
}
"""Figures of a unit, and the heads of their columns.

* `texts`: in the corpus.
* `top`, `words`: AUROC of the raw top cosine, and of mode null, on both witnesses.
* `cosine_gap` and the others: the best cut's balanced accuracy less that of mode null without
  texts, of mode null, of null+past, and of a fit without documents and with 50 queries as traffic
  (auto).
* `old_absent`, `old_present`: share of the queries read under the fit from the smallest size;
  `anew`: fitted anew without documents, as "auto" does; `auto`: and after 50 queries.
* `checked`, `stale`: 1 where `check` or `staleness` finds a change since the smallest size.
"""

NOTE = (
    "AUROC of the top cosine, and with words; gap to the best cut on the top cosine at that size "
    "(without texts, modes null, null+past, auto); share of absent and of present queries read "
    "with the fit from the smallest size, fitted anew without documents, and after 50 queries; "
    "share of corpora whose growth since the smallest size `check` and `staleness` find."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything; 2 where something is wrong with what was given."""
    options = _options(arguments)
    errors = Console(stderr=True)
    try:
        rows = list(run(options, errors))
    except RecallSignalError as error:
        errors.print(f"Error: {error}", markup=False)
        return 2
    tables = [means(rows), losing(rows)]
    if options.units:
        tables.append(every(rows))
    tables = [table for table in tables if table.rows]
    print_tables(tables, Console(width=WIDTH, highlight=False))
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", "utf-8")
    if options.markdown:
        options.markdown.write_text(to_markdown(tables), "utf-8")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="How the level holds as a corpus grows.")
    parser.add_argument("data", type=Path, help="folder with NAME.corpus.jsonl.gz and queries")
    parser.add_argument("--encoders", default=f"use,{FASTEST}", help="names, comma-separated")
    parser.add_argument(
        "--sets", default="", help="names, comma-separated; default: all in English"
    )
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="smallest first")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/recall-signal-bench")
    parser.add_argument("--units", action="store_true", help="print every unit too")
    parser.add_argument("--json", type=Path, help="write every unit")
    parser.add_argument("--markdown", type=Path, help="write the tables")
    options = parser.parse_args(arguments)
    options.encoders = options.encoders.split(",")
    options.sets = options.sets.split(",") if options.sets else []
    try:
        options.sizes = sorted(int(size) for size in options.sizes.split(","))
    except ValueError:
        parser.error(f"--sizes takes whole numbers with commas between, got {options.sizes!r}")
    unknown = [name for name in options.encoders if name not in ENCODERS]
    if unknown:
        parser.error(f"no encoder {unknown[0]}; there are {', '.join(ENCODERS)}")
    return options


def run(options: argparse.Namespace, errors: Console) -> Iterator[Row]:
    """Every unit at every size."""
    union = Union(options.data, options.sets)
    for name in options.encoders:
        encoder = EncoderMemory(CachedSides(ENCODERS[name](), options.cache))
        for set_name in union.names:
            old: Calibration | None = None
            for size in options.sizes:
                if size > TEXTS_ALONE and name != FASTEST:
                    continue
                data = union.grown(set_name, size)
                if data is None:
                    errors.print(f"too few texts for {size}: {set_name}")
                    continue
                errors.print(f"{name} {set_name} {size}")
                grown = Grown(encoder, data)
                old = old or grown.own
                yield from grown.rows(size, old)


class Grown:
    """An encoder on one set among so many texts.

    Args:
        encoder: Remembers its vectors.
        data: The set; its queries are those of the dev split.
    """

    def __init__(self, encoder: EncoderMemory, data: DataSet) -> None:
        self.retriever = Retriever(data.corpus, data.queries, encoder, pool_size=POOL)
        self.source = Source(encoder.name, data, True, self.retriever, "dev")
        self.own = _calibration(self.source.null[0]())
        self.bare = Calibration.fit(self.retriever)

    def rows(self, size: int, old: Calibration) -> Iterator[Row]:
        """The units at this size, judged by fits of their own and by an old one."""
        texts = len(self.source.data.corpus)
        noticed = {
            "texts": float(texts),
            "checked": float(not old.check(self.retriever).fits),
            "stale": float(old.staleness(texts) is not None),
        }
        for unit in units_of(self.source):
            if unit.draws:
                yield Row(
                    self.source.encoder,
                    size,
                    unit.family,
                    self.source.data.name,
                    unit.kind,
                    {**noticed, **self._figures(unit, old)},
                )

    def _figures(self, unit: Unit, old: Calibration) -> dict[str, float]:
        """Means over the draws of a unit."""
        found = []
        for draw in unit.draws:
            tops, present = unit.tops(draw), draw.present
            best = metrics.oracle(tops, present)[0]
            past = _calibration(self.source.fit("null+past", draw.sample)())
            traffic = _traffic(self.bare, self.retriever, draw.sample)
            bare_pools = [
                replace(self.source.pools[row], texts=None, query=None) for row in draw.rows
            ]
            judged = {
                "cosine": predict(bare_pools, lambda: self.own),
                "null": self._judge(draw.rows, self.own),
                "past": self._judge(draw.rows, past),
                "old": self._judge(draw.rows, old),
                "anew": self._judge(draw.rows, self.bare),
                "auto": self._judge(draw.rows, self.bare.with_traffic(traffic)),
            }
            row = {
                "top": metrics.auroc(tops, present),
                "words": metrics.auroc(judged["null"].scores, present),
            }
            for name in ("cosine", "null", "past", "auto"):
                accuracy = metrics.balanced_accuracy(judged[name].present, present)
                row[f"{name}_gap"] = best - accuracy
            for name in ("old", "anew", "auto"):
                row[f"{name}_absent"] = float(judged[name].present[~present].mean())
                row[f"{name}_present"] = float(judged[name].present[present].mean())
            found.append(row)
        return {name: fmean(row[name] for row in found) for name in found[0]}

    def _judge(self, rows: list[int], calibration: Calibration) -> Predictions:
        return self.source.predict(rows, lambda: calibration)


def means(rows: Sequence[Row]) -> Table:
    """Means over the units of an encoder, a family and a size."""
    lines = []
    for encoder in dict.fromkeys(row.encoder for row in rows):
        for family in FAMILIES:
            for size in sorted({row.size for row in rows}):
                some = [r for r in rows if (r.encoder, r.family, r.size) == (encoder, family, size)]
                if some:
                    name = f"{encoder} {family} {size:,}"
                    lines.append((name, str(len(some)), *_cells(some)))
    return Table("As the corpus grows", ("", "units", *HEAD.values()), lines, NOTE)


def losing(rows: Sequence[Row]) -> Table:
    """Far and near units on the larger corpora that lose with a fit of their own."""
    largest = max((row.size for row in rows), default=0)
    lost = [
        row
        for row in rows
        if row.size >= min(largest, TEXTS_ALONE) and row.family in ("far", "near") and row.loses
    ]
    title = "Far and near units on the larger corpora that lose: AUROC, or a gap above 0"
    return replace(every(lost), title=title)


def every(rows: Sequence[Row]) -> Table:
    """One line a unit and size."""
    lines = [
        (f"{row.encoder} {row.set} {row.kind} {row.size:,}", row.family, *_cells([row]))
        for row in rows
    ]
    return Table("Every unit", ("", "family", *HEAD.values()), lines)


def _cells(rows: Sequence[Row]) -> Iterator[str]:
    for name in HEAD:
        value = fmean(row.figures[name] for row in rows)
        if name == "texts":
            yield f"{value:,.0f}"
        elif name in ("top", "words") or name.endswith("gap"):
            yield f"{value:.3f}"
        else:
            yield f"{value:.2f}"


def _calibration(fitted: object) -> Calibration:
    if not isinstance(fitted, Calibration):
        raise TypeError(f"expected a Calibration, got {type(fitted).__name__}")
    return fitted


if __name__ == "__main__":
    sys.exit(main())
