"""Measure whether `check` notices small corpora that grow, and only those.

    python benchmarks/growth_check.py DATA

Each set in English gives corpora of 50 to 1,000 texts. They grow three- and tenfold by the texts of
one other set (of all others together where none has enough), which is on other topics: the hard
case, since the canaries' best candidates may stay. Beside that 5 % more texts of the same set, and
an index that misses one candidate in a hundred. Demo encoder, exact search; no query is read.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy's, read when it is imported

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from detection_sets import CROSS_SETS, GROUPED_SETS, language_of, set_names
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from recall_signal import Pool
from recall_signal.calibration._canaries import Canaries, canary_pool, canary_queries, summarise
from recall_signal.calibration._check import check
from recall_signal.calibration._port import SearchPort
from recall_signal.encoders import DemoEncoder
from recall_signal.errors import RecallSignalError
from recall_signal.evaluation._data import load_corpus

SIZES, POOLS, MOST = (50, 100, 300, 1_000), (10, 20, 50), 1_000
CHARACTERS = 500

HEAD = {
    "tenfold": "tenfold: found",
    "tenfold, first five": "by the first five",
    "threefold": "threefold: found",
    "more": "5 % more: alarms",
    "missed": "one in 100 missed: alarms",
}


@dataclass(frozen=True)
class Corpus:
    """Texts with their unit vectors, `[n, dim]`."""

    texts: tuple[str, ...]
    vectors: Any

    def part(self, begin: int, end: int) -> "Corpus":
        """Return some of the texts."""
        return Corpus(self.texts[begin:end], self.vectors[begin:end])

    def __add__(self, other: "Corpus") -> "Corpus":
        return Corpus(self.texts + other.texts, np.concatenate([self.vectors, other.vectors]))


@dataclass(frozen=True)
class World:
    """The canaries' vectors, and how many candidates a search brings back."""

    queries: dict[str, Any]
    pool: int

    def search(self, corpus: Corpus, missed: float = 0.0) -> SearchPort:
        """Return the search of a corpus, which may miss a share of the candidates."""
        draw = np.random.default_rng(0)

        def pool(query: str) -> Pool:
            cosines = corpus.vectors @ self.queries[query]
            if missed:
                cosines[draw.random(len(cosines)) < missed] = -1.0
            best = np.argsort(-cosines)[: self.pool]
            return Pool(cosines[best].tolist(), texts=[corpus.texts[at] for at in best])

        return SearchPort(pool)

    def canaries(self, corpus: Corpus) -> Canaries:
        """Return the canaries of a fit on a corpus."""
        port = self.search(corpus)
        found = {query: canary_pool(query, port.search(query)) for query in canary_queries()}
        return summarise({query: pool for query, pool in found.items() if pool}, {}, None)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything; 2 where something is wrong with what was given."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with NAME.corpus.jsonl.gz")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    options = parser.parse_args(arguments)
    try:
        sets = dict(load(options.data))
    except RecallSignalError as error:
        Console(stderr=True).print(f"Error: {error}", markup=False)
        return 2
    encoder = DemoEncoder()
    vectors = np.asarray(encoder.embed_queries(canary_queries()))
    queries = dict(zip(canary_queries(), vectors, strict=True))
    table = Table(box=box.SIMPLE, title="Does check notice that a corpus grew?")
    for name in ("candidates", "texts", *HEAD.values()):
        table.add_column(name, justify="right")
    for pool in POOLS:
        for size in map(int, options.sizes.split(",")):
            counts = count(World(queries, pool), sets, size)
            cells = [f"{counts[name]} of {counts[f'all {name}']}" for name in HEAD]
            table.add_row(str(pool), f"{size:,}", *cells)
    Console(width=140).print(table)
    return 0


def load(folder: Path) -> Iterator[tuple[str, Corpus]]:
    """Yield each set in English, at most a thousand texts of it in an order of chance."""
    names = [name for name in set_names(folder) if name not in CROSS_SETS]
    names = [n for n in names if language_of(n) == "en" and not n.startswith(GROUPED_SETS)]
    encoder = DemoEncoder()
    for name in track(names, "Embedding", console=Console(stderr=True)):
        given = load_corpus(folder / f"{name}.corpus.jsonl.gz")
        texts = sorted({document.text[:CHARACTERS] for document in given})
        random.Random(1).shuffle(texts)
        texts = texts[:MOST]
        yield name, Corpus(tuple(texts), np.asarray(encoder.embed_documents(texts)))


def count(world: World, sets: dict[str, Corpus], size: int) -> Counter[str]:
    """Count the corpora of a size whose change is found, and all of them."""
    counts: Counter[str] = Counter()

    def note(name: str, found: bool) -> None:
        counts[name] += found
        counts[f"all {name}"] += 1

    for name, whole in sets.items():
        if len(whole.texts) < size:
            continue
        base = whole.part(0, size)
        canaries = world.canaries(base)
        blind = replace(canaries, size=None)
        for factor, label in ((10, "tenfold"), (3, "threefold")):
            for added in others(sets, name, (factor - 1) * size):
                port = world.search(base + added)
                note(label, not check(canaries, port).fits)
                if factor == 10:
                    note("tenfold, first five", not check(blind, port).fits)
        if len(whole.texts) >= size + size // 20:
            more = whole.part(0, size + size // 20)
            note("more", not check(canaries, world.search(more)).fits)
        note("missed", not check(canaries, world.search(base, 0.01)).fits)
    return counts


def others(sets: dict[str, Corpus], name: str, count: int) -> Iterator[Corpus]:
    """Yield so many texts of each other set, or of all together where none has as many."""
    strangers = [corpus for other, corpus in sets.items() if other != name]
    enough = [corpus for corpus in strangers if len(corpus.texts) >= count]
    yield from (corpus.part(0, count) for corpus in enough)
    if not enough:
        texts = tuple(chain.from_iterable(corpus.texts for corpus in strangers))
        if len(texts) >= count:
            taken = random.Random(2).sample(range(len(texts)), count)
            vectors = np.concatenate([corpus.vectors for corpus in strangers])
            yield Corpus(tuple(texts[at] for at in taken), vectors[taken])


if __name__ == "__main__":
    sys.exit(main())
