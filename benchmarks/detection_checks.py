"""Checks of what must hold on every encoder and set, however well a mode tells absence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from random import Random
from statistics import fmean
from time import process_time
from typing import Any
from unittest.mock import patch

import numpy as np
from detection_units import Draw, Source, Unit

from recall_signal.assess import assess
from recall_signal.calibration import _fit as fit
from recall_signal.calibration._estimate import Estimate, estimate_calibration
from recall_signal.calibration._risk import p_value
from recall_signal.calibration._separation import ReferenceScores
from recall_signal.calibration._words_estimate import WordScores
from recall_signal.evaluation import _metrics as metrics
from recall_signal.evaluation._data import PRESENT
from recall_signal.evaluation._evaluate import MakeCalibrator, Predictions, fit_mode, predict
from recall_signal.evaluation._metrics import Bools, Floats
from recall_signal.evaluation._result import MODES, Mode
from recall_signal.pool import Pool

__all__ = [
    "Coverage",
    "Moved",
    "cost_of",
    "coverage_of",
    "ece_by_unit",
    "pooled_ece",
    "pseudo_loss",
    "with_other_pools",
    "with_other_units",
    "word_scores_of",
]

MAPS = ((0.3, 0.5), (-0.2, 0.7), (0.85, 0.1), (0.0, 0.01))
"""a, b of s -> a + b s: as crowded or as wide as the cosines of any encoder."""

FITTED: tuple[Mode, ...] = MODES[1:]

FEW_PSEUDO, PSEUDO_DRAWS = 20, 3
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

    def compare(self, before: Predictions, after: Predictions) -> None:
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
    pools = [source.pools[row] for row in draw.rows]
    for a, b in MAPS:

        def search(text: str, a: float = a, b: float = b) -> Pool:
            return _mapped(source.retriever(text), a, b)

        for mode in FITTED:
            before = source.predict(draw.rows, source.fit(mode, draw.sample))
            mapped = [_mapped(pool, a, b) for pool in pools]
            after = predict(mapped, source.fit(mode, draw.sample, search))
            moved.compare(before, after)


def _mapped(pool: Pool, a: float, b: float) -> Pool:
    return replace(pool, cosines=[None if c is None else a + b * c for c in pool.cosines])


def with_other_pools(unit: Unit, size: int, moved: Moved) -> None:
    """Look at pools of another size, fit anew, and compare the levels."""
    source, draw = unit.source, unit.draws[0]
    other = source.resized(size)
    for mode in FITTED:
        before = source.predict(draw.rows, source.fit(mode, draw.sample))
        after = predict(other.pools(draw.rows), source.fit(mode, draw.sample, other))
        moved.compare(before, after)


def word_scores_of(source: Source) -> WordScores:
    """The searches of a fit without queries, on both witnesses."""
    seen: list[WordScores] = []

    def remember(scores: ReferenceScores, words: WordScores, **given: Any) -> Estimate:
        seen.append(words)
        return estimate_calibration(scores, words, **given)

    with patch.object(fit, "estimate_calibration", remember):
        fit_mode("null", source.retriever, source.data.corpus, ())
    return seen[0]


def pseudo_loss(units: Iterable[Unit]) -> dict[str, tuple[float, float]]:
    """By unit of one source: balanced accuracy of mode null with few and many pseudo-queries."""
    units = list(units)
    source = units[0].source
    fits = []
    for count, seeds in ((FEW_PSEUDO, range(PSEUDO_DRAWS)), (fit.PSEUDO_QUERIES, range(1))):
        with patch.object(fit, "PSEUDO_QUERIES", count):
            fits.append(
                [
                    fit_mode("null", source.retriever, source.data.corpus, (), seed=seed)[0]
                    for seed in seeds
                ]
            )
    few, many = fits
    return {
        unit.name: (
            fmean(_accuracy(unit, unit.draws[0], fitted) for fitted in few),
            _accuracy(unit, unit.draws[0], many[0]),
        )
        for unit in units
    }


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

    Fits whose labels do not separate go by what was learned without them; they count only with
    `all_fits`. Within each unit and draw both classes weigh the same (balanced) or every query
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


def cost_of(source: Source) -> tuple[float, ...]:
    """Microseconds of an assessment, of a calibrated one, of one with words, and seconds of a fit.

    Processor time; the fit's searches are answered from memory.
    """
    pools = [replace(pool, texts=None) for pool in source.pools]
    start = process_time()
    fitted, _ = fit_mode("null", source.retriever, source.data.corpus, ())
    seconds = process_time() - start
    calibration = fitted()
    ways = ((pools, None), (pools, calibration), (source.pools, calibration))
    times = []
    for given, used in ways:
        turns = []
        for _ in range(5):
            start = process_time()
            for pool in given:
                assess(pool, calibration=used)
            turns.append((process_time() - start) / len(given) * 1e6)
        times.append(min(turns))
    return *times, seconds


def _accuracy(unit: Unit, draw: Draw, fitted: MakeCalibrator) -> float:
    answers = unit.source.predict(draw.rows, fitted)
    return metrics.balanced_accuracy(answers.present, draw.present)
