"""What must hold on every encoder and set, beside how well a mode tells absence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from random import Random
from statistics import fmean
from time import process_time
from unittest.mock import patch

import numpy as np
from detection_units import Draw, Source, Unit

from recall_signal.assess import assess
from recall_signal.calibration import Calibration, conclude, fit
from recall_signal.calibration.anchors import Anchors
from recall_signal.calibration.risk import p_value
from recall_signal.evaluation import metrics
from recall_signal.evaluation.data import PRESENT
from recall_signal.evaluation.metrics import Bools, Floats
from recall_signal.evaluation.modes import MODES, Answers, Mode, fit_mode, judge
from recall_signal.pool import Pool

__all__ = [
    "Coverage",
    "Moved",
    "anchors_of",
    "cost_of",
    "coverage_of",
    "ece_by_unit",
    "pooled_ece",
    "pseudo_loss",
    "with_other_pools",
    "with_other_units",
]

MAPS = ((0.3, 0.5), (-0.2, 0.7), (0.85, 0.1), (0.0, 0.01))
"""a, b of s -> a + b s: as crowded or as wide as the cosines of any encoder."""

POOL_SIZES = (5, 10, 200)
FITTED: tuple[Mode, ...] = MODES[1:]

FEW_PSEUDO, MANY_PSEUDO = 20, 150
NOMINAL = (0.05, 0.1)
COVERAGE_DRAWS = 200
COVERAGE_SIZES = (50, 100)


@dataclass
class Moved:
    """Queries whose level moved when nothing but the scale, or the pool, did.

    Attributes:
        moved: Calibrated levels that are others.
        judged: Calibrated levels that were compared.
        statuses: Fits whose threshold appeared or went.
        fits: Fits that were compared.
    """

    moved: int = 0
    judged: int = 0
    statuses: int = 0
    fits: int = 0

    def compare(self, before: Answers, after: Answers) -> None:
        """Count one fit and its queries; levels that no calibration gave are left out."""
        was, is_now = (np.isfinite(answers.probabilities) for answers in (before, after))
        both = was & is_now
        self.fits += 1
        self.statuses += int(bool(was.any()) is not bool(is_now.any()))
        self.judged += int(both.sum())
        self.moved += int((before.levels[both] != after.levels[both]).sum())


def with_other_units(unit: Unit, moved: Moved) -> None:
    """Map every score of the whole system, fit anew, and compare the levels."""
    source, draw = unit.source, unit.draws[0]
    pools = source.retriever.ranking.cosines[draw.rows]
    for a, b in MAPS:

        def search(text: str, a: float = a, b: float = b) -> Pool:
            pool = source.retriever(text)
            mapped = [None if c is None else a + b * c for c in pool.cosines]
            return replace(pool, cosines=mapped)

        for mode in FITTED:
            before = judge(pools, source.fit(mode, draw.sample))
            after = judge(a + b * pools, source.fit(mode, draw.sample, search))
            moved.compare(before, after)


def with_other_pools(unit: Unit, moved: Moved) -> None:
    """Look at pools of another size, fit anew, and compare the levels."""
    source, draw = unit.source, unit.draws[0]
    pools = source.retriever.ranking.cosines[draw.rows]
    for size in POOL_SIZES:
        other = source.resized(size)
        for mode in FITTED:
            before = judge(pools, source.fit(mode, draw.sample))
            after = judge(other.ranking.cosines[draw.rows], source.fit(mode, draw.sample, other))
            moved.compare(before, after)


def anchors_of(source: Source, pseudo: int) -> tuple[Anchors, Callable[..., Calibration]]:
    """The top cosines that a fit sees, with so many pseudo-queries, and how it concludes."""
    seen: list[tuple[fit.FitInput, Anchors]] = []
    finish = conclude.conclude

    def remember(given: fit.FitInput, anchors: Anchors) -> Calibration:
        seen.append((given, anchors))
        return finish(given, anchors)

    with patch.object(fit, "conclude", remember), patch.object(fit, "PSEUDO_QUERIES", pseudo):
        fit_mode("null", source.retriever, source.data.corpus, ())
    given, anchors = seen[0]
    return anchors, lambda changed: finish(given, changed)


def pseudo_loss(units: Iterable[Unit]) -> dict[str, tuple[float, float]]:
    """By unit of one source: balanced accuracy of mode null with few and many pseudo-queries."""
    units = list(units)
    anchors, finish = anchors_of(units[0].source, MANY_PSEUDO)
    random = Random(0)
    few = []
    for _ in range(10):  # draws of the few
        kept = random.sample(range(len(anchors.pseudo)), min(FEW_PSEUDO, len(anchors.pseudo)))
        hits = [anchors.hits[at] for at in kept]
        few.append(replace(anchors, pseudo=[anchors.pseudo[at] for at in kept], hits=hits))
    losses = {}
    for unit in units:
        draw = unit.draws[0]
        losses[unit.name] = (
            fmean(_accuracy(unit, draw, finish(changed)) for changed in few),
            _accuracy(unit, draw, finish(anchors)),
        )
    return losses


@dataclass(frozen=True)
class Coverage:
    """How many answerable queries read none under a bound, mean over draws.

    Attributes:
        source: Encoder and set.
        size: Labelled answerable queries.
        nominal: The bound.
        measured: The share.
    """

    source: str
    size: int
    nominal: float
    measured: float


def coverage_of(source: Source) -> list[Coverage]:
    """Random parts of the answerable queries bound the others (both splits: nothing is tuned).

    While developing, only the dev split takes part.
    """
    tops = source.retriever.ranking.cosines[:, 0]
    rows = [
        row
        for row, query in enumerate(source.data.queries)
        if query.kind == PRESENT and source.split in ("test", query.split)
    ]
    found = []
    for size in COVERAGE_SIZES:
        if len(rows) < size + 20:  # too few left to measure on
            continue
        random = Random(size)
        shares: dict[float, list[float]] = {nominal: [] for nominal in NOMINAL}
        for _ in range(COVERAGE_DRAWS):
            drawn = random.sample(rows, len(rows))
            answerable = sorted(float(tops[row]) for row in drawn[:size])
            values = [p_value(float(tops[row]), answerable) for row in drawn[size:]]
            for nominal in NOMINAL:
                shares[nominal].append(fmean(value <= nominal for value in values))
        name = f"{source.encoder} {source.data.name}"
        found += [Coverage(name, size, nominal, fmean(shares[nominal])) for nominal in NOMINAL]
    return found


def pooled_ece(units: Iterable[Unit], *, all_fits: bool = False) -> tuple[float, float]:
    """ECE of mode labelled over the queries of all units: class-balanced and plain.

    Fits whose labels do not separate go by what was learnt without them; they count only with
    ``all_fits``. Within each unit and draw both classes weigh the same (balanced) or every query
    does (plain); units weigh the same.
    """
    probabilities: list[Floats] = []
    labels: list[Bools] = []
    balanced: list[Floats] = []
    plain: list[Floats] = []
    for unit in units:
        counted = [draw for draw in unit.probabilities if draw[2] or all_fits]
        for values, present, _ in counted:
            probabilities.append(values)
            labels.append(present)
            balanced.append(metrics.balanced_weights(present) / len(counted))
            plain.append(np.full(len(present), 1.0 / len(present) / len(counted)))
    if not probabilities:
        return float("nan"), float("nan")
    p, present = np.concatenate(probabilities), np.concatenate(labels)
    weights = (np.concatenate(balanced), np.concatenate(plain))
    first, second = (metrics.ece(p, present, weights=w) for w in weights)
    return first, second


def ece_by_unit(units: Iterable[Unit]) -> tuple[float, float]:
    """Mean ECE of mode labelled within single units, and what perfect probabilities would have.

    A unit has so few queries that even they have one; it is found by drawing labels from them.
    """
    rng = np.random.default_rng(0)
    measured, perfect = [], []
    for unit in units:
        for values, present, used in unit.probabilities:
            if not used:
                continue
            measured.append(metrics.ece(values, present, bins=5))
            perfect.append(metrics.ece(values, rng.random(len(values)) < values, bins=5))
    if not measured:
        return float("nan"), float("nan")
    return fmean(measured), fmean(perfect)


def cost_of(source: Source) -> tuple[float, float, float]:
    """Microseconds of an assessment, of a calibrated one, and seconds of a fit.

    Processor time; the fit's searches are answered from memory.
    """
    pools = [row[np.isfinite(row)].tolist() for row in source.retriever.ranking.cosines]
    start = process_time()
    fitted, _ = fit_mode("null", source.retriever, source.data.corpus, ())
    seconds = process_time() - start
    calibration = fitted()
    plain: list[float] = []
    calibrated: list[float] = []
    for _ in range(5):
        for times, used in ((plain, None), (calibrated, calibration)):
            start = process_time()
            for pool in pools:
                assess(pool, calibration=used)
            times.append((process_time() - start) / len(pools) * 1e6)
    return min(plain), min(calibrated), seconds


def _accuracy(unit: Unit, draw: Draw, calibration: Calibration) -> float:
    pools = unit.source.retriever.ranking.cosines[draw.rows]
    answers = judge(pools, lambda: calibration)
    return metrics.balanced_accuracy(answers.found, draw.present)
