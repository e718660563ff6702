"""``evaluate``: how well can one tell, on this corpus with this encoder, that nothing is stored?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from time import perf_counter, process_time

import numpy as np

from recall_signal.assess import assess
from recall_signal.batch import assess_many
from recall_signal.encoders import Encoder
from recall_signal.errors import ConfigurationError, InvalidInputError
from recall_signal.evaluation import statistics
from recall_signal.evaluation.data import PRESENT, Document, Query, Split
from recall_signal.evaluation.metrics import Floats
from recall_signal.evaluation.modes import MODES, Fitted, fit_mode, judge
from recall_signal.evaluation.result import Evaluation, Latency, Method
from recall_signal.evaluation.search import Progress, Retriever
from recall_signal.pool import DEFAULT_POOL_SIZE

__all__ = ["FIXED_CUTS", "baselines", "draw_sample", "evaluate"]

SAMPLE = 50
"""Queries that the modes ``null+past``, ``stream`` and ``labelled`` are fitted on."""

FIXED_CUTS = (0.5, 0.7, 0.8)
"""Cosine cuts as people set them by hand."""

PROMINENCE_POOLS = (5, 10, 50)

BACKGROUND = 500
"""Stored texts drawn at random for the own-background z-score."""

_TURNS = 5
"""Latency is the smallest of so many turns: what the machine can do when left alone."""


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
    """Compare every baseline and every mode of the product by exact search over a corpus.

    Whatever is fitted is fitted on queries of the other split than the one that is reported, so
    no reported query has a say in a cut.

    Args:
        corpus: At least two documents.
        queries: Present and absent ones in the reported split; see
            :func:`~recall_signal.evaluation.load_queries`.
        encoder: Any encoder; ``embed_queries(texts)`` is used where there is one.
        pool_size: Candidates a pool.
        sample: Queries of the other split that modes are fitted on, drawn at random from all
            kinds: past queries, the stream before, or labels.
        split: The split that is reported.
        seed: Of every draw.
        progress: Called with (texts embedded, texts in all).

    Raises:
        ConfigurationError: ``pool_size`` or ``sample`` is too small.
        InvalidInputError: The data do not fit together, or one class of queries is missing.
    """
    if pool_size < 2 or sample < 0:
        raise ConfigurationError(
            f"pool_size must be at least 2 and sample at least 0, got {pool_size} and {sample}"
        )
    _check(corpus, queries, split)
    retriever = Retriever(corpus, queries, encoder, pool_size=pool_size, progress=progress)
    fit_on = draw_sample([query for query in queries if query.split != split], sample, seed)
    rows = np.array([at for at, query in enumerate(queries) if query.split == split])
    cosines = retriever.ranking.cosines[rows]
    background = retriever.background(BACKGROUND, seed)[rows]
    modes, latency = _modes(retriever, fit_on, cosines, seed)
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
    """Every statistic of a pool's cosines that people tell absence by, on pools ``[Q, P]``.

    Args:
        cosines: Each row from high to low, filled up with NaN.
        background: Cosines with stored texts drawn at random, ``[Q, M]``.
    """
    top = statistics.top(cosines)
    fixed = [Method(f"cosine >= {cut}", top, top >= cut) for cut in FIXED_CUTS]
    prominences = []
    for pool in PROMINENCE_POOLS:
        levels = assess_many(cosines[:, :pool]).level
        found = np.isin(levels, ("moderate", "high"))
        scores = statistics.prominence(cosines, pool)
        prominences.append(Method(f"prominence, pool {pool}", scores, found, levels=levels))
    return (
        Method("top cosine", top),
        *fixed,
        Method("gap to the second", statistics.gap(cosines)),
        Method("z-score in the pool", statistics.z_score(cosines)),
        *prominences,
        Method("NQC", statistics.nqc(cosines)),
        Method("WIG", statistics.wig(cosines)),
        Method("z-score, own background", statistics.background_z(cosines, background)),
    )


def draw_sample(queries: Sequence[Query], count: int, seed: int) -> list[Query]:
    """So many queries at random, all of them where there are fewer."""
    random = Random(seed)  # noqa: S311  (a sample, not a secret)
    ordered = sorted(queries, key=lambda query: query.id)
    return random.sample(ordered, min(count, len(ordered)))


def _modes(
    retriever: Retriever, fit_on: Sequence[Query], cosines: Floats, seed: int
) -> tuple[list[Method], Latency | None]:
    """Every mode of the product, and what it costs to use one."""
    methods, latency = [], None
    for query in fit_on:  # pools are remembered, so that no fit is timed with its searches:
        retriever(query.text)  # those of probes and pieces are made by the first
    for mode in MODES:
        start = perf_counter()
        fitted, notes = fit_mode(mode, retriever, retriever.corpus, fit_on, seed=seed)
        seconds = perf_counter() - start
        answers = judge(cosines, fitted)
        levels = (answers.found, answers.probabilities, answers.levels)
        methods.append(Method(mode, answers.scores, *levels, notes))
        if mode == "null+past":
            latency = _latency(cosines, fitted, seconds)
    return methods, latency


def _check(corpus: Sequence[Document], queries: Sequence[Query], split: str) -> None:
    if len(corpus) < 2:
        raise InvalidInputError(f"the corpus must hold at least 2 documents, got {len(corpus)}")
    reported = [query.kind == PRESENT for query in queries if query.split == split]
    if len(set(reported)) < 2:
        raise InvalidInputError(
            f"the split {split!r} needs queries with something relevant stored and queries "
            f"without, got {sum(reported)} and {len(reported) - sum(reported)}"
        )
    stored = {document.id for document in corpus}
    lost = [q for q in queries if q.present and q.relevant and not stored.intersection(q.relevant)]
    if lost:
        raise InvalidInputError(
            f"{len(lost)} present queries name relevant documents of which the corpus holds "
            "none; give the whole corpus, or label these queries absent"
        )


def _latency(cosines: Floats, fitted: Fitted, fit_seconds: float) -> Latency:
    pools = [row[np.isfinite(row)].tolist() for row in cosines]
    calibration = fitted()
    return Latency(
        assess=_microseconds(assess, pools),
        calibrated=_microseconds(lambda pool: assess(pool, calibration=calibration), pools),
        fit=fit_seconds,
    )


def _microseconds(call: Callable[[list[float]], object], pools: Sequence[list[float]]) -> float:
    """Processor time of one call."""
    turns = []
    for _ in range(_TURNS):
        start = process_time()
        for pool in pools:
            call(pool)
        turns.append((process_time() - start) / len(pools) * 1e6)
    return min(turns)
