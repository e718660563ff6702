"""One unit of the benchmark: an encoder on a set, present queries against one kind of absent ones.

Modes that use queries are fitted on draws from the dev split and their figures averaged over the
draws. Where the dev split itself is reported (while developing), a draw takes at most half of
it and the rest is reported, so that no query is judged by a fit that has seen it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from statistics import fmean
from unittest.mock import patch

import numpy as np
from detection_sets import DataSet, Family, family_of
from encoders import CachedSides

from recall_signal._words import Vocabulary, learn_vocabulary
from recall_signal.assess import assess
from recall_signal.calibration import Calibration
from recall_signal.calibration import _fit as fit
from recall_signal.calibration._observation import Observation, observe, top_of
from recall_signal.calibration._pseudo_queries import PseudoQuery
from recall_signal.calibration._rule import Judgement
from recall_signal.calibration._word_scale import WitnessPair
from recall_signal.confidence import RecallConfidence
from recall_signal.evaluation import _metrics as metrics
from recall_signal.evaluation import _qpp as statistics
from recall_signal.evaluation._data import PRESENT, Query, Split
from recall_signal.evaluation._evaluate import (
    FIXED_CUTS,
    MakeCalibrator,
    Predictions,
    draw_sample,
    fit_mode,
    predict,
)
from recall_signal.evaluation._exact_search import Retriever
from recall_signal.evaluation._metrics import Bools, Floats
from recall_signal.evaluation._result import MODES, Mode
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
REPEATS = 3
"""Draws of the queries that a mode is fitted on, by default; figures are means over them."""

SMALLEST = 8
"""A unit with fewer queries of either class is not reported, but named."""

SAMPLED: tuple[Mode, ...] = ("null+past", "auto", "stream", "labelled")
"""Modes that queries of the dev split are drawn for."""

STATISTICS: dict[str, Callable[[Floats], Floats]] = {
    "gap": statistics.gap,
    "z-score": statistics.z_score,
    **{f"prominence@{n}": partial(statistics.prominence, pool_size=n) for n in (5, 10, 50)},
    "NQC": statistics.nqc,
    "WIG": statistics.wig,
}


class FitMemory:
    """Parts that the many fits on one source share: vocabulary, and figures of each search."""

    def __init__(self) -> None:
        self._vocabulary: Vocabulary | None = None
        self._observations: dict[tuple[int, PseudoQuery | None], tuple[Pool, Observation]] = {}
        self._seen: dict[int, WitnessPair | None] = {}

    @contextmanager
    def used(self) -> Iterator[None]:
        """Let fits look here first; the searches must be answered from the retriever's memory."""
        seen = Observation.seen

        def learn(texts: Iterable[str]) -> Vocabulary:
            self._vocabulary = self._vocabulary or learn_vocabulary(texts)
            return self._vocabulary

        def look(
            pool: Pool, query: str = "", pseudo_query: PseudoQuery | None = None
        ) -> Observation:
            key = (id(pool), pseudo_query)
            if key not in self._observations:
                self._observations[key] = (pool, observe(pool, query, pseudo_query))
            return self._observations[key][1]

        def both(observation: Observation, vocabulary: Vocabulary) -> WitnessPair | None:
            if id(observation) not in self._seen:
                self._seen[id(observation)] = seen(observation, vocabulary)
            return self._seen[id(observation)]

        with (
            patch.object(fit, "learn_vocabulary", learn),
            patch.object(fit, "observe", look),
            patch.object(Observation, "seen", both),
        ):
            yield


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
    null: tuple[MakeCalibrator, tuple[str, ...]] = field(init=False)
    _resized: dict[int, Retriever] = field(default_factory=dict)
    _memory: FitMemory = field(default_factory=FitMemory)
    _words: tuple[Vocabulary, float] | None = None
    _measured: dict[int, tuple[float | None, bool]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.null = fit_mode("null", self.retriever, self.data.corpus, ())

    @classmethod
    def build(cls, encoder: CachedSides, data: DataSet, split: Split) -> Source:
        """Embed, search, and fit mode null."""
        retriever = Retriever(data.corpus, data.queries, encoder, pool_size=POOL)
        return cls(encoder.name, data, data.language in encoder.languages, retriever, split)

    @cached_property
    def rows(self) -> dict[str, int]:
        """Return the place of each query, by its id."""
        return {query.id: row for row, query in enumerate(self.data.queries)}

    @property
    def null_status(self) -> str:
        """Return `ok` where mode null found a threshold, else why not."""
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

    @cached_property
    def pools(self) -> list[Pool]:
        """The pool of each query, with its texts."""
        return self.retriever.pools(range(len(self.data.queries)))

    @cached_property
    def signals(self) -> list[RecallConfidence]:
        """The uncalibrated signal of each query."""
        return [assess(list(pool.cosines)) for pool in self.pools]

    def predict(self, rows: Sequence[int], fitted: MakeCalibrator) -> Predictions:
        """Assess the pools of these queries; the same as one by one, but measured once.

        The term coverage of a pool depends on the vocabulary and the step of a calibration, which
        all fits on one source share, so it is remembered; a test holds the two ways together.
        """
        calibration = fitted()
        if not isinstance(calibration, Calibration):
            return predict([self.pools[row] for row in rows], fitted)
        words = calibration.words
        if words is not None and self._words != (words.vocabulary, words.scale.step):
            self._words, self._measured = (words.vocabulary, words.scale.step), {}
        judged = []
        for row in rows:
            if words is not None and row not in self._measured:
                self._measured[row] = words.measure(self.pools[row]) or (None, True)
            coverage, witness = (None, True) if words is None else self._measured[row]
            level, top = self.signals[row].level, top_of(self.pools[row].cosines)
            if top is None:  # the encoder gives this question no direction
                judged.append(Judgement("unknown", None, "absolute", None, False))
            else:
                judged.append(calibration.judge(level, top, coverage, witness=witness))
        probabilities = np.array(
            [np.nan if one.probability is None else round(one.probability, 4) for one in judged]
        )
        prominences = np.array([self.signals[row].prominence or np.nan for row in rows], float)
        levels = np.array([one.level for one in judged])
        return Predictions(
            levels=levels,
            probabilities=probabilities,
            scores=np.where(np.isfinite(probabilities), probabilities, prominences),
            present=np.isin(levels, ("moderate", "high")),
            bases=np.array([one.basis for one in judged]),
        )

    def forget(self) -> None:
        """Let go of pools that were only needed for fitting; there are gigabytes of them."""
        self._resized.clear()
        self._measured.clear()
        self._memory = FitMemory()
        self.__dict__.pop("pools", None)
        self.retriever = self.retriever.resized(POOL)

    def fit(
        self, mode: Mode, sample: Sequence[Query], search: Callable[[str], Pool] | None = None
    ) -> MakeCalibrator:
        """One mode on these queries; mode null is fitted once."""
        if mode == "null" and search is None:
            return self.null[0]
        if search is not None:
            return fit_mode(mode, search, self.data.corpus, sample)[0]
        with self._memory.used():
            return fit_mode(mode, self.retriever, self.data.corpus, sample)[0]


@dataclass(frozen=True)
class Draw:
    """Queries that one draw is fitted on, and those that it is reported on.

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
    """A mode on a unit, mean over draws: see `recall_signal.evaluation.Metrics`.

    Attributes:
        above: AUROC less the top cosine's, over draws that found a cut; None where none did.
        above_high: The upper end of its paired 95 % bootstrap interval, on the first draw.
    """

    above: float | None
    auroc: float
    balanced_accuracy: float
    gap: float
    found_present: float
    found_absent: float
    above_high: float | None = None


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
        modes: By mode; `mixed` modes were fitted on queries of all kinds of the set.
        probabilities: Of mode `labelled`, the labels, and whether the fit could use the drawn
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


def _answer(unit: Unit, mode: Mode, draw: Draw) -> Predictions:
    fitted = unit.source.fit(mode, draw.sample)
    return unit.source.predict(draw.rows, fitted)


def _outcome(unit: Unit, draws: list[Draw], given: list[Predictions]) -> Outcome:
    """The figures of a mode, mean over its draws."""
    rows, above = [], []
    for draw, answers in zip(draws, given, strict=True):
        area = metrics.auroc(answers.scores, draw.present)
        if np.isfinite(answers.probabilities).any():
            above.append(area - metrics.auroc(unit.tops(draw), draw.present))
        accuracy = metrics.balanced_accuracy(answers.present, draw.present)
        oracle = metrics.oracle(unit.tops(draw), draw.present)[0]
        rows.append(
            (
                area,
                accuracy,
                oracle - accuracy,
                float(answers.present[draw.present].mean()),
                float(answers.present[~draw.present].mean()),
            )
        )
    means = (fmean(column) for column in zip(*rows, strict=True))
    high = None
    if np.isfinite(given[0].probabilities).any():
        high = _paired_high(given[0].scores, unit.tops(draws[0]), draws[0].present)
    return Outcome(fmean(above) if above else None, *means, high)


def _paired_high(scores: Floats, tops: Floats, present: Bools, resamples: int = 300) -> float:
    """The 97.5 % quantile of AUROC(scores) - AUROC(tops), resampling queries within each class."""
    rng = np.random.default_rng(0)
    classes = [np.flatnonzero(present), np.flatnonzero(~present)]
    differences = []
    for _ in range(resamples):
        rows = np.concatenate([rng.choice(rows, len(rows)) for rows in classes])
        pairs = (metrics.auroc(values[rows], present[rows]) for values in (scores, tops))
        differences.append(next(pairs) - next(pairs))
    return float(np.quantile(differences, 0.975))


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
