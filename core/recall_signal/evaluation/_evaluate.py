"""`evaluate`: compare baselines and calibration modes on one corpus with one encoder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from time import perf_counter, process_time
from typing import TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from recall_signal._numbers import require_between
from recall_signal.assess import Calibrator, assess
from recall_signal.assess_many import assess_many
from recall_signal.calibration import Baseline, Calibration
from recall_signal.calibration._baseline import MIN_QUERIES
from recall_signal.calibration._fit_input import items_of
from recall_signal.calibration._lines import MIN_TRAFFIC
from recall_signal.calibration._observation import top_of
from recall_signal.encoders import Encoder
from recall_signal.errors import InvalidInputError
from recall_signal.evaluation import _qpp as qpp
from recall_signal.evaluation._data import PRESENT, Document, Query, Split
from recall_signal.evaluation._exact_search import Progress, Retriever
from recall_signal.evaluation._metrics import Bools, Floats
from recall_signal.evaluation._result import MODES, Evaluation, Latency, Method, Mode
from recall_signal.pool import DEFAULT_POOL_SIZE, Pool

__all__ = [
    "FIXED_CUTS",
    "Predictions",
    "baselines",
    "draw_sample",
    "evaluate",
    "fit_mode",
    "predict",
]

SAMPLE = 50
"""Queries that the modes `null+past`, `stream` and `labelled` are fitted on."""

FIXED_CUTS = (0.5, 0.7, 0.8)
"""Cosine cuts as people set them by hand."""

PROMINENCE_POOLS = (5, 10, 50)

BACKGROUND = 500
"""Stored texts drawn at random for the own-background z-score."""

_REPEATS = 5
"""Latency is the best of N repeats, which is least disturbed by other processes."""


Item = TypeVar("Item", Document, Query)

MakeCalibrator: TypeAlias = Callable[[], Calibrator | None]
"""Returns the calibration for one query; a fresh baseline each time, since it learns from use."""


def evaluate(
    corpus: Sequence[Document],
    queries: Sequence[Query],
    encoder: Encoder,
    *,
    pool_size: int = DEFAULT_POOL_SIZE,
    sample: int = SAMPLE,
    split: Split = "test",
    seed: int = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """Compare every baseline and every calibration mode by exact search over a corpus.

    Calibrations are fitted on queries of the split that is not reported, so no reported query
    influences a threshold.

    Args:
        corpus: At least two documents.
        queries: Present and absent ones in the reported split; see
            `load_queries`.
        encoder: Any encoder; `embed_queries(texts)` is used where there is one.
        pool_size: Candidates a pool.
        sample: Queries of the other split that modes are fitted on, drawn at random from all
            kinds: past queries, the stream before, or labels.
        split: The split that is reported.
        seed: Of every draw.
        progress: Called with (texts embedded, texts in all).

    Raises:
        ConfigurationError: `pool_size` or `sample` is too small, or no number.
        InvalidInputError: The data do not fit together or are something else, or one class of
            queries is missing.
    """
    require_between("pool_size", pool_size, 2)
    require_between("sample", sample, 0)
    corpus, queries = _all_of(corpus, Document, "corpus"), _all_of(queries, Query, "queries")
    _check(corpus, queries, split)
    retriever = Retriever(corpus, queries, encoder, pool_size=pool_size, progress=progress)
    fit_on = draw_sample([query for query in queries if query.split != split], sample, seed)
    rows = np.array([at for at, query in enumerate(queries) if query.split == split])
    cosines = retriever.ranking.cosines[rows]
    background = retriever.background(BACKGROUND, seed)[rows]
    modes, latency = _modes(retriever, fit_on, retriever.pools(rows.tolist()), seed)
    return Evaluation(
        encoder=encoder.name,
        documents=len(corpus),
        pool_size=pool_size,
        split=split,
        sample=len(fit_on),
        seed=seed,
        ids=tuple(queries[row].id for row in rows),
        kinds=np.array([queries[row].kind for row in rows]),
        methods=(*baselines(cosines, background), *modes),
        latency=latency,
    )


def baselines(cosines: Floats, background: Floats) -> tuple[Method, ...]:
    """Return the baseline predictors of query difficulty, on pools `[Q, P]`.

    Args:
        cosines: Each row from high to low, padded with NaN.
        background: Cosines with stored texts drawn at random, `[Q, M]`.
    """
    top = qpp.top(cosines)
    fixed = [Method(f"cosine >= {cut}", top, top >= cut) for cut in FIXED_CUTS]
    prominences = []
    for pool in PROMINENCE_POOLS:
        levels = assess_many(cosines[:, :pool]).level
        predicted = np.isin(levels, ("moderate", "high"))
        scores = qpp.prominence(cosines, pool)
        prominences.append(Method(f"prominence, pool {pool}", scores, predicted, levels=levels))
    return (
        Method("top cosine", top),
        *fixed,
        Method("gap to the second", qpp.gap(cosines)),
        Method("z-score in the pool", qpp.z_score(cosines)),
        *prominences,
        Method("NQC", qpp.nqc(cosines)),
        Method("WIG", qpp.wig(cosines)),
        Method("z-score, own background", qpp.background_z(cosines, background)),
    )


def draw_sample(queries: Sequence[Query], count: int, seed: int) -> list[Query]:
    """Draw `count` queries at random, or all of them where there are fewer."""
    random = Random(seed)  # noqa: S311  (a sample, not a secret)
    ordered = sorted(queries, key=lambda query: query.id)
    return random.sample(ordered, min(count, len(ordered)))


def _modes(
    retriever: Retriever, fit_on: Sequence[Query], pools: Sequence[Pool], seed: int
) -> tuple[list[Method], Latency | None]:
    """Return every calibration mode, and the latency of one."""
    methods, latency = [], None
    for query in fit_on:  # pools are cached, so that the fit that is timed does not search:
        retriever(query.text)  # the first mode searches the probes and pseudo-queries
    for mode in MODES:
        start = perf_counter()
        fitted, notes = fit_mode(mode, retriever, retriever.corpus, fit_on, seed=seed)
        seconds = perf_counter() - start
        predictions = predict(pools, fitted)
        methods.append(
            Method(
                name=mode,
                scores=predictions.scores,
                predicted_present=predictions.present,
                probabilities=predictions.probabilities,
                levels=predictions.levels,
                notes=notes,
            )
        )
        if mode == "null+past":
            latency = _latency(pools, fitted, seconds)
    return methods, latency


def _all_of(given: Iterable[Item], kind: type[Item], name: str) -> list[Item]:
    """Return what was given as a list, if all of it is of the kind."""
    items = [*items_of(given, name)]
    for item in items:
        if not isinstance(item, kind):
            raise InvalidInputError(
                f"{name} must hold {kind.__name__} objects (see load_{name}), "
                f"got {type(item).__name__}"
            )
    return cast("list[Item]", items)


def _check(corpus: Sequence[Document], queries: Sequence[Query], split: str) -> None:
    if len(corpus) < 2:
        raise InvalidInputError(f"the corpus must hold at least 2 documents, got {len(corpus)}")
    reported = [query.kind == PRESENT for query in queries if query.split == split]
    if len(set(reported)) < 2:
        raise InvalidInputError(
            f"the split {split!r}, which is reported, needs queries with something relevant stored "
            f"and queries without, got {sum(reported)} and {len(reported) - sum(reported)} of "
            f"{len(queries)}; add some of both, or give each its split ('dev' or 'test'), which a "
            "hash of its id chooses otherwise"
        )
    stored = {document.id for document in corpus}
    lost = [q for q in queries if q.present and q.relevant and not stored.intersection(q.relevant)]
    if lost:
        raise InvalidInputError(
            f"{len(lost)} present queries name relevant documents of which the corpus holds "
            "none; give the whole corpus, or label these queries absent"
        )


def _latency(pools: Sequence[Pool], fitted: MakeCalibrator, fit_seconds: float) -> Latency:
    calibration = fitted()
    return Latency(
        assess=_microseconds(assess, pools),
        calibrated=_microseconds(lambda pool: assess(pool, calibration=calibration), pools),
        fit=fit_seconds,
    )


def _microseconds(call: Callable[[Pool], object], pools: Sequence[Pool]) -> float:
    """Return the processor time of one call."""
    turns = []
    for _ in range(_REPEATS):
        start = process_time()
        for pool in pools:
            call(pool)
        turns.append((process_time() - start) / len(pools) * 1e6)
    return min(turns)


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """Levels and probabilities of Q queries.

    Attributes:
        levels: `[Q]`.
        probabilities: `[Q]`, NaN where the level came without one.
        scores: `[Q]`, the value the level follows: the probability, else the prominence.
        present: `[Q]`, true where the level is moderate or high.
        bases: `[Q]`, the basis of the level, empty without one.
    """

    levels: NDArray[np.str_]
    probabilities: Floats
    scores: Floats
    present: Bools
    bases: NDArray[np.str_]


def fit_mode(
    mode: Mode,
    search: Callable[[str], Pool],
    documents: Sequence[Document],
    sample: Sequence[Query],
    *,
    seed: int = 0,
) -> tuple[MakeCalibrator, tuple[str, ...]]:
    """Fit one mode as a user would: through the retriever, with the data that mode may use.

    Args:
        mode: `uncalibrated` uses nothing, `null` the documents, `null+past` also the
            sample's texts, `auto` the same as traffic, `stream` the sample's top cosines
            alone, `labelled` the documents and the sample's labels.
        search: The retriever.
        documents: Its documents.
        sample: Queries to fit on.
        seed: For the calibration's own draws.

    Returns:
        A factory of the fitted calibration, and remarks on the fit.
    """
    if mode == "uncalibrated":
        return (lambda: None), ()
    if mode == "stream":
        tops = [top for query in sample if (top := search(query.text).cosines[0]) is not None]
        return (lambda: Baseline(tops)), _too_few(tops, MIN_QUERIES, "uncalibrated")
    labelled = [(query.text, query.present) for query in sample]
    calibration = Calibration.fit(
        search,
        documents=[(document.id, document.text) for document in documents],
        past_queries=[query.text for query in sample] if mode == "null+past" else None,
        labelled=labelled if mode == "labelled" else None,
        seed=seed,
    )
    few: tuple[str, ...] = ()
    if mode == "auto":
        traffic = _traffic(calibration, search, sample)
        few = _too_few(traffic, MIN_TRAFFIC, "null")
        calibration = calibration.with_traffic(traffic)
    status = () if calibration.status == "ok" else (calibration.status,)
    return (lambda: calibration), (*status, *few, *calibration.warnings)


def _too_few(seen: Sequence[object], needed: int, as_mode: Mode) -> tuple[str, ...]:
    """Say that a mode learned nothing from the queries, where they were too few."""
    if len(seen) >= needed:
        return ()
    return (f"only {len(seen)} queries were seen, {needed} are needed: as {as_mode}",)


def _traffic(
    calibration: Calibration, search: Callable[[str], Pool], sample: Sequence[Query]
) -> list[tuple[float, float | None]]:
    """Return top cosine and term coverage of each query, as a wrapper would have seen them."""
    pools = [search(query.text) for query in sample]
    signals = [(top_of(pool.cosines), assess(pool, calibration=calibration)) for pool in pools]
    return [(top, signal.term_coverage) for top, signal in signals if top is not None]


def predict(pools: Iterable[Pool], fitted: MakeCalibrator) -> Predictions:
    """Assess Q pools."""
    signals = [assess(pool, calibration=fitted()) for pool in pools]
    levels = np.array([signal.level for signal in signals])
    probabilities = np.array(
        [np.nan if s.probability is None else s.probability for s in signals], dtype=np.float64
    )
    prominences = np.array(
        [np.nan if s.prominence is None else s.prominence for s in signals], dtype=np.float64
    )
    calibrated = np.isfinite(probabilities)
    return Predictions(
        levels=levels,
        probabilities=probabilities,
        scores=np.where(calibrated, probabilities, prominences),
        present=np.isin(levels, ("moderate", "high")),
        bases=np.array([signal.basis or "" for signal in signals]),
    )
