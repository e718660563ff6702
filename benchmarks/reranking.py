"""Measure what a reranker adds where the topic is stored and the fact may not be.

    python benchmarks/reranking.py DATA --cache FOLDER

A unit is an encoder, a set, and its near-misses (a neighbouring fact is stored) or its missing
answers (a passage on the very topic is stored). The line on cosine and reranker is learned from
the dev split through `Calibration.fit`; the test split is reported. Every unit is printed.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy's, read when it is imported
os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from detection_sets import DataSet, family_of, load_set
from encoders import ENCODERS, CachedSides
from rerankers import RERANKERS
from rich.console import Console
from rich.table import Table

from recall_signal import Calibration, Pool, assess
from recall_signal._steps.compute import Compute
from recall_signal._steps.driver import drive
from recall_signal.errors import RecallSignalError
from recall_signal.evaluation._data import PRESENT, Query
from recall_signal.evaluation._exact_search import Retriever
from recall_signal.evaluation._metrics import Bools, Floats, auroc
from recall_signal.reranking import (
    Rerank,
    RerankerOptions,
    Reranking,
    rerank_page,
    with_match,
)

PAGE, POOL = 5, 50
SETS = ("xquad_en", "selqa", "clinc150", "squad2", "locomo_facts")
KINDS = {"near": "near-miss", "hard": "answer missing"}
DRAWS, WIDTH = 1000, 200
SMALLEST = 20
"""Queries of either class below which a unit is left out."""


@dataclass(frozen=True)
class Row:
    """One unit with one reranker.

    Attributes:
        present: Reported queries whose answer is stored, and `absent` the others.
        cosine: AUROC of the top cosine.
        reranker: AUROC of the reranker's best score on the page.
        both: AUROC of the line learned from dev labels, and `gain` over the cosine's with its
            95 % bootstrap interval.
        null: Shares without labels, as `_shares` gives them.
        labelled: The same with labels.
    """

    encoder: str
    set: str
    kind: str
    model: str
    present: int
    absent: int
    cosine: float
    reranker: float
    both: float
    gain: tuple[float, float, float]
    null: dict[str, tuple[float, float]]
    labelled: dict[str, tuple[float, float]]


@dataclass
class Source:
    """An encoder and a reranker on a set; `search` gives pools with both kinds of score."""

    encoder: str
    data: DataSet
    retriever: Retriever
    model: Any

    def search(self, query: str) -> Pool:
        """The pool, its page scored by the reranker."""
        pool = self.retriever(query)
        texts = list(pool.texts or ())[:PAGE]
        scores: list[float | None] = [*self.model(query, texts)]
        return replace(pool, rerank_scores=scores + [None] * (len(pool) - len(texts)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything and print one table; 2 where something is wrong with what was given."""
    options = _options(arguments)
    try:
        rows = list(_rows(options))
    except RecallSignalError as error:
        Console(stderr=True).print(f"Error: {error}", markup=False)
        return 2
    Console(width=WIDTH, highlight=False).print(_table(rows))
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", "utf-8")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What a reranker adds for near-misses.")
    parser.add_argument("data", type=Path, help="folder with NAME.corpus.jsonl.gz and queries")
    parser.add_argument("--encoders", default="use,minilm-int8", help="names, comma-separated")
    parser.add_argument("--sets", default=",".join(SETS), help="names, comma-separated")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache/recall-signal-bench")
    parser.add_argument("--split", choices=("test", "dev"), default="test")
    parser.add_argument("--json", type=Path, help="write every unit")
    return parser.parse_args(arguments)


def _rows(options: argparse.Namespace) -> Iterator[Row]:
    errors = Console(stderr=True)
    models = [make(options.cache) for make in RERANKERS.values()]
    for name in options.sets.split(","):
        data = load_set(options.data, name)
        for model in models:
            model.prepare([document.text for document in data.corpus])
        for encoder_name in options.encoders.split(","):
            encoder = CachedSides(ENCODERS[encoder_name](), options.cache)
            retriever = Retriever(data.corpus, data.queries, encoder, pool_size=POOL)
            for model in models:
                errors.print(f"{name} {encoder_name} {model.name}")
                yield from _units(Source(encoder_name, data, retriever, model), options.split)


def _units(source: Source, split: str) -> Iterator[Row]:
    documents = [(document.id, document.text) for document in source.data.corpus]
    null = Calibration.fit(source.search, documents=documents)
    for kind in sorted({query.kind for query in source.data.queries} - {PRESENT, "off_topic"}):
        queries = [query for query in source.data.queries if query.kind in (PRESENT, kind)]
        dev = [query for query in queries if query.split == "dev"]
        # Where the dev split itself is reported, one half of it is learned from.
        learned, reported = (
            (dev[::2], dev[1::2])
            if split == "dev"
            else (dev, [query for query in queries if query.split == split])
        )
        absent = sum(not query.present for query in reported)
        if min(absent, len(reported) - absent) < SMALLEST:
            continue
        labelled = [(query.text, query.present) for query in learned]
        with_labels = Calibration.fit(source.search, documents=documents, labelled=labelled)
        yield _row(source, kind, reported, null, with_labels)


def _row(
    source: Source, kind: str, queries: list[Query], null: Calibration, labelled: Calibration
) -> Row:
    pools = [source.search(query.text) for query in queries]
    present = np.array([query.present for query in queries])
    tops = np.array([pool.cosines[0] for pool in pools])
    best = np.array([max(s for s in pool.rerank_scores or () if s is not None) for pool in pools])
    line = labelled.reranker.line if labelled.reranker else None
    both = np.array(
        [line.probability(t, b) if line else t for t, b in zip(tops, best, strict=True)]
    )
    return Row(
        encoder=source.encoder,
        set=source.data.name,
        kind=KINDS[family_of(source.data.name, kind)],
        model=source.model.name,
        present=int(present.sum()),
        absent=int((~present).sum()),
        cosine=auroc(tops, present),
        reranker=auroc(best, present),
        both=auroc(both, present),
        gain=_gain(both, tops, present),
        null=_shares(pools, null, present),
        labelled=_shares(pools, labelled, present),
    )


def _scored(scores: list[float | None], request: Rerank | Compute) -> object:
    return request.call() if isinstance(request, Compute) else scores


def _shares(
    pools: list[Pool], calibration: Calibration, present: Bools
) -> dict[str, tuple[float, float]]:
    """Return what the product says, as shares of the present and of the absent queries.

    `found`: the level is moderate or high. `exact`: so is the match.
    """
    reranking = Reranking(RerankerOptions(len), learned=calibration.reranker)
    found, exact = [], []
    for pool in pools:
        confidence = assess(pool, calibration=calibration)
        steps = rerank_page("", list(pool.texts or ())[:PAGE], range(PAGE), reranking)
        scores = list(pool.rerank_scores or ())[:PAGE]
        ranked = drive(steps, partial(_scored, scores))
        exact.append(with_match(confidence, ranked, pool.cosines, reranking).match == "exact")
        found.append(confidence.level in ("moderate", "high"))
    return {
        name: (float(flags[present].mean()), float(flags[~present].mean()))
        for name, flags in (("found", np.array(found)), ("exact", np.array(exact)))
    }


def _gain(both: Floats, tops: Floats, present: Bools) -> tuple[float, float, float]:
    """The difference in AUROC, and its paired bootstrap interval, stratified by class."""
    rng = np.random.default_rng(0)
    classes = [np.flatnonzero(present), np.flatnonzero(~present)]
    drawn = []
    for _ in range(DRAWS):
        rows = np.concatenate([rng.choice(rows, len(rows)) for rows in classes])
        drawn.append(auroc(both[rows], present[rows]) - auroc(tops[rows], present[rows]))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return auroc(both, present) - auroc(tops, present), float(low), float(high)


def _table(rows: list[Row]) -> Table:
    table = Table(title="Near-misses and missing answers (shares: present / absent queries)")
    for head in ("kind", "set", "encoder", "reranker", "queries", "cosine", "reranker alone"):
        table.add_column(head)
    for head in ("both", "gain [95 %]", "found", "exact", "found, labels", "exact, labels"):
        table.add_column(head)
    for row in sorted(rows, key=lambda row: (row.kind, row.set, row.encoder, row.model)):
        gain, low, high = row.gain
        table.add_row(
            row.kind,
            row.set,
            row.encoder,
            row.model,
            f"{row.present} / {row.absent}",
            f"{row.cosine:.2f}",
            f"{row.reranker:.2f}",
            f"{row.both:.2f}",
            f"{gain:+.2f} [{low:+.2f}, {high:+.2f}]",
            *(f"{a:.2f} / {b:.2f}" for a, b in (*row.null.values(), *row.labelled.values())),
        )
    return table


if __name__ == "__main__":
    raise SystemExit(main())
