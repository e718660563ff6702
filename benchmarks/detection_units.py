"""One unit of the benchmark: an encoder on a set, present queries against one kind of absent ones.

Modes that use queries are fitted on draws from the dev split and their figures averaged over the
draws. Where the dev split itself is reported (while developing), a draw takes at most half of
it and the rest is reported, so that no query is judged by a fit that has seen it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from statistics import fmean

import numpy as np
from detection_sets import DataSet, Family, family_of
from encoders import CachedSides

from recall_signal.evaluation import metrics, statistics
from recall_signal.evaluation.data import PRESENT, Query, Split
from recall_signal.evaluation.metrics import Bools, Floats
from recall_signal.evaluation.modes import MODES, Answers, Fitted, Mode, fit_mode, judge
from recall_signal.evaluation.run import FIXED_CUTS, draw_sample
from recall_signal.evaluation.search import Retriever
from recall_signal.pool import Pool

__all__ = [
    "POOL",
    "SAMPLED",
    "Draw",
    "Outcome",
    "Source",
    "Unit",
    "draws_of",
    "measure",
    "units_of",
]

POOL = 50
SAMPLE = 50
REPEATS = 10
"""Draws of the queries that a mode is fitted on; figures are means over them."""

SMALLEST = 8
"""A unit with fewer queries of either class is not reported, but named."""

SAMPLED: tuple[Mode, ...] = ("null+past", "stream", "labelled")
"""Modes that queries of the dev split are drawn for."""

STATISTICS: dict[str, Callable[[Floats], Floats]] = {
    "gap": statistics.gap,
    "z-score": statistics.z_score,
    **{f"prominence@{n}": partial(statistics.prominence, pool_size=n) for n in (5, 10, 50)},
    "NQC": statistics.nqc,
    "WIG": statistics.wig,
}


@dataclass
class Source:
    """An encoder on a set, searched once.

    Attributes:
        encoder: Its name.
        data: The set.
        knows: Whether the encoder was trained on the set's language.
        retriever: Exact search.
        split: The split that is reported.
    """

    encoder: str
    data: DataSet
    knows: bool
    retriever: Retriever
    split: Split
    null: tuple[Fitted, tuple[str, ...]] = field(init=False)
    _resized: dict[int, Retriever] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.null = fit_mode("null", self.retriever, self.data.corpus, ())

    @classmethod
    def build(cls, encoder: CachedSides, data: DataSet, split: Split) -> Source:
        """Embed, search, and fit mode null."""
        retriever = Retriever(data.corpus, data.queries, encoder, pool_size=POOL)
        return cls(encoder.name, data, data.language in encoder.languages, retriever, split)

    @cached_property
    def rows(self) -> dict[str, int]:
        """Where each query stands, by its id."""
        return {query.id: row for row, query in enumerate(self.data.queries)}

    @property
    def null_status(self) -> str:
        """Whether mode null found a threshold: ``ok``, or why not."""
        return getattr(self.null[0](), "status", "ok")

    def top_of(self, query: Query) -> float:
        """The top cosine of a query."""
        return float(self.retriever.ranking.cosines[self.rows[query.id], 0])

    @cached_property
    def background(self) -> Floats:
        """Cosines of each query with 500 stored texts at random."""
        return self.retriever.background(500, 0)

    def resized(self, pool_size: int) -> Retriever:
        """The retriever with other pools."""
        if pool_size not in self._resized:
            self._resized[pool_size] = self.retriever.resized(pool_size)
        return self._resized[pool_size]

    def forget(self) -> None:
        """Let go of pools that were only needed for fitting; there are gigabytes of them."""
        self._resized.clear()
        self.retriever = self.retriever.resized(POOL)

    def fit(
        self, mode: Mode, sample: Sequence[Query], search: Callable[[str], Pool] | None = None
    ) -> Fitted:
        """One mode on these queries; mode null is fitted once."""
        if mode == "null" and search is None:
            return self.null[0]
        return fit_mode(mode, search or self.retriever, self.data.corpus, sample)[0]


@dataclass(frozen=True)
class Draw:
    """What one draw is fitted on, and what it is reported on.

    Attributes:
        sample: Queries of the dev split.
        rows: Positions of the reported queries in the set.
        present: Of each reported query.
    """

    sample: list[Query]
    rows: list[int]
    present: Bools


@dataclass(frozen=True)
class Outcome:
    """A mode on a unit, mean over draws: see :class:`recall_signal.evaluation.Figures`.

    Attributes:
        above: AUROC less the top cosine's, over draws that found a cut; None where none did.
    """

    above: float | None
    auroc: float
    balanced_accuracy: float
    gap: float
    found_present: float
    found_absent: float


@dataclass
class Unit:
    """One unit and everything that is reported of it.

    Attributes:
        source: Encoder and set.
        kind: Of the absent queries.
        family: What that kind stands for in this set.
        draws: What is fitted and reported.
        oracle: Best balanced accuracy of any cut on the top cosine, chosen with these labels.
        auroc: Of the top cosine, with its bootstrap interval.
        statistics: AUROC of every other statistic.
        fixed: Balanced accuracy of fixed cosine cuts.
        modes: By mode; ``mixed`` modes were fitted on queries of all kinds of the set.
        probabilities: Of mode ``labelled``, the labels, and whether the fit could use the drawn
            ones, for every draw.
        fallbacks: Share of draws without a threshold, by mode: levels are then uncalibrated.
    """

    source: Source
    kind: str
    family: Family
    draws: list[Draw]
    oracle: float = 0.0
    auroc: tuple[float, float, float] = (0.0, 0.0, 0.0)
    statistics: dict[str, float] = field(default_factory=dict)
    fixed: dict[str, float] = field(default_factory=dict)
    modes: dict[str, Outcome] = field(default_factory=dict)
    probabilities: list[tuple[Floats, Bools, bool]] = field(default_factory=list)
    fallbacks: dict[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As it is printed."""
        return f"{self.source.encoder} {self.source.data.name} {self.kind}"

    def tops(self, draw: Draw) -> Floats:
        """Top cosines of the reported queries of a draw."""
        return self.source.retriever.ranking.cosines[draw.rows, 0]


def units_of(source: Source) -> Iterator[Unit]:
    """The units of a source, the ones too small to report among them without draws."""
    for kind in sorted({query.kind for query in source.data.queries} - {PRESENT}):
        family = family_of(source.data.name, kind)
        yield Unit(source, kind, family, draws_of(source, kind, source.split))


def measure(unit: Unit) -> None:
    """Fill in everything that is reported of a unit."""
    first = unit.draws[0]
    pools = unit.source.retriever.ranking.cosines
    unit.oracle = fmean(metrics.oracle(unit.tops(d), d.present)[0] for d in unit.draws)
    low, high = metrics.auroc_interval(unit.tops(first), first.present)
    unit.auroc = (fmean(metrics.auroc(unit.tops(d), d.present) for d in unit.draws), low, high)
    for name, statistic in STATISTICS.items():
        unit.statistics[name] = _mean_auroc(statistic(pools), unit.draws)
    own = statistics.background_z(pools, unit.source.background)
    unit.statistics["own-background z"] = _mean_auroc(own, unit.draws)
    for cut in FIXED_CUTS:
        unit.fixed[str(cut)] = fmean(
            metrics.balanced_accuracy(unit.tops(d) >= cut, d.present) for d in unit.draws
        )
    _measure_modes(unit)


def _measure_modes(unit: Unit) -> None:
    for mode in MODES:
        answers = [_answer(unit, mode, draw) for draw in unit.draws]
        unit.modes[mode] = _outcome(unit, unit.draws, answers)
        silent = [not np.isfinite(given.probabilities).any() for given in answers]
        unit.fallbacks[mode] = fmean(silent)
        if mode == "labelled":
            unit.probabilities = [
                (given.probabilities, draw.present, "labels" in given.bases)
                for given, draw, none in zip(answers, unit.draws, silent, strict=True)
                if not none
            ]
    mixed = draws_of(unit.source, unit.kind, unit.source.split, mixed=True)
    for mode in SAMPLED:
        answers = [_answer(unit, mode, draw) for draw in mixed]
        unit.modes[f"{mode}, mixed"] = _outcome(unit, mixed, answers)


def _answer(unit: Unit, mode: Mode, draw: Draw) -> Answers:
    fitted = unit.source.fit(mode, draw.sample)
    return judge(unit.source.retriever.ranking.cosines[draw.rows], fitted)


def _outcome(unit: Unit, draws: list[Draw], given: list[Answers]) -> Outcome:
    """The figures of a mode, mean over its draws."""
    rows, above = [], []
    for draw, answers in zip(draws, given, strict=True):
        area = metrics.auroc(answers.scores, draw.present)
        if np.isfinite(answers.probabilities).any():
            above.append(area - metrics.auroc(unit.tops(draw), draw.present))
        accuracy = metrics.balanced_accuracy(answers.found, draw.present)
        oracle = metrics.oracle(unit.tops(draw), draw.present)[0]
        rows.append(
            (
                area,
                accuracy,
                oracle - accuracy,
                float(answers.found[draw.present].mean()),
                float(answers.found[~draw.present].mean()),
            )
        )
    means = (fmean(column) for column in zip(*rows, strict=True))
    return Outcome(fmean(above) if above else None, *means)


def _mean_auroc(scores: Floats, draws: list[Draw]) -> float:
    return fmean(metrics.auroc(scores[draw.rows], draw.present) for draw in draws)


def draws_of(source: Source, kind: str, split: Split, *, mixed: bool = False) -> list[Draw]:
    """The draws of a unit, reported on a split; none where it is too small.

    Args:
        source: Encoder and set.
        kind: Of the absent queries.
        split: Where the reported queries come from; the drawn ones come from dev.
        mixed: Draw from all kinds of queries of the set and not only from the unit's own.
    """
    queries = source.data.queries
    in_unit = [at for at, query in enumerate(queries) if query.kind in (PRESENT, kind)]
    reported = [at for at in in_unit if queries[at].split == split]
    absent = sum(not queries[at].present for at in reported)
    if min(absent, len(reported) - absent) < SMALLEST:
        return []
    dev = [query for query in queries if query.split == "dev"]
    if not mixed:
        dev = [query for query in dev if query.kind in (PRESENT, kind)]
    size = min(SAMPLE, len(dev) // 2) if split == "dev" else SAMPLE
    draws = []
    for seed in range(REPEATS):
        sample = draw_sample(dev, size, seed)
        seen = {query.id for query in sample}
        rows = [at for at in reported if queries[at].id not in seen]
        present = np.array([queries[at].present for at in rows])
        if 0 < present.sum() < len(present):
            draws.append(Draw(sample, rows, present))
    return draws
