"""Does a calibration that looks after itself do what it promises, on the demo's texts and encoder.

    python benchmarks/auto.py [DATA] [--quick]

Four tables, about four minutes: levels that differ between two seeds of a fit; what a stream of
fifty copied texts or nonsense questions does to "auto"; the time of a query beside a running fit in
the background, by the clock on the wall; and what `check` finds. Each row has what was measured,
the bar and a verdict. With DATA, the folder of `benchmarks/detection.py`, `check` is tried on large
corpora of public sets too (some minutes more).
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported
os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import asyncio
import gzip
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import combinations, islice, product
from pathlib import Path
from random import Random
from statistics import mean
from string import ascii_lowercase
from threading import Lock
from typing import Any

import faiss
import numpy as np
from detection_sets import language_of, set_names
from detection_show import Table, print_tables
from langchain_community.docstore.in_memory import InMemoryDocstore
from langchain_community.vectorstores import FAISS
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from numpy.typing import NDArray
from rich.console import Console

from langchain_recall_signal import RecallRetriever
from recall_signal import Calibration
from recall_signal.encoders import DemoEncoder

Floats = NDArray[np.float64]
Row = tuple[str, ...]

K = 5
STREAM = 50
BLOCK = 50
NOISE = 1e-3
LINKS, SEARCHED = 16, 16
"""Of an HNSW index: a rough one."""

MOST_PASSAGES, SMALL = 5500, 100
"""Passages of public sets for one large corpus, and the size from which small ones grow tenfold."""

FEWEST = 50
"""Texts of a corpus that grows tenfold, at least."""


@dataclass(frozen=True)
class Effort:
    """How much is measured.

    Attributes:
        seeds: Fits whose levels are compared, two at a time.
        streams: Draws of each stream.
        fits, rebuilt: Corpora for `check`, and times that each is built anew.
        changes: Draws of each change of the corpus or the encoder.
        back_to_back, spaced, shared: Queries beside a fit: without a pause between two, with one,
            and with an encoder that serves one query at a time.
        large: Times that a large corpus is built anew.
        pairs: Pairs of a small corpus and a set by which it grows, at most.
    """

    seeds: int
    streams: int
    fits: int
    rebuilt: int
    changes: int
    back_to_back: int
    spaced: int
    shared: int
    large: int
    pairs: int


FULL = Effort(10, 10, 20, 10, 20, 400, 250, 200, 60, 1000)
QUICK = Effort(2, 1, 2, 2, 2, 10, 5, 5, 2, 2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; 2 where there is no such folder."""
    parser = argparse.ArgumentParser(description="What a calibration does by itself.")
    parser.add_argument("data", type=Path, nargs="?", help="folder of benchmarks/detection.py")
    parser.add_argument("--quick", action="store_true", help="a few draws: shows that it runs")
    options = parser.parse_args(arguments)
    if options.data is not None and not options.data.is_dir():
        Console(stderr=True).print(f"Error: no folder {options.data}", markup=False)
        return 2
    effort = QUICK if options.quick else FULL
    demo = Demo.load()
    console = Console(width=120, highlight=False)
    for measure in (measure_seeds, measure_streams, measure_time, measure_check):
        print_tables([measure(demo, effort)], console)
    if options.data is not None:
        print_tables([measure_large(options.data, effort)], console)
    return 0


class Remembering(Embeddings):
    """The demo's encoder, each text once.

    Args:
        change: Applied to each vector, such as noise; drawn anew each time.
    """

    encoder = DemoEncoder()
    known: dict[str, Floats] = {}  # noqa: RUF012  (shared on purpose)
    model = DemoEncoder.name

    def __init__(self, change: Callable[[Floats], Floats] = lambda vector: vector) -> None:
        self._change = change

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors."""
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        vectors = np.asarray(self.encoder.embed_documents(new), np.float64) if new else ()
        self.known.update(zip(new, vectors, strict=True))
        return [self._change(self.known[text]).tolist() for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector."""
        return self.embed_documents([text])[0]


class OneAtATime(Embeddings):
    """The demo's encoder behind a service that takes 20 ms and serves one query at a time."""

    def __init__(self) -> None:
        self._encoder, self._lock = DemoEncoder(), Lock()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors at once."""
        return self._encoder.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Return the vector when it is this query's turn."""
        with self._lock:
            time.sleep(0.02)
            return self._encoder.embed_query(text)


class Direct(Embeddings):
    """The demo's encoder as it is."""

    def __init__(self) -> None:
        self._encoder = DemoEncoder()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors."""
        return self._encoder.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """Return the vector."""
        return self._encoder.embed_query(text)


@dataclass(frozen=True)
class Demo:
    """The demo's notes and its main questions by kind."""

    notes: list[str]
    questions: dict[str, list[str]]

    @classmethod
    def load(cls) -> Demo:
        """Read the packaged files."""
        questions: dict[str, list[str]] = {}
        for row in _packaged("questions"):
            if row["section"] == "main":
                questions.setdefault(row["kind"], []).append(row["text"])
        return cls([row["text"] for row in _packaged("memories")], questions)

    def store(self, encoder: Embeddings) -> VectorStore:
        """Return the notes in a store."""
        return InMemoryVectorStore.from_texts(self.notes, encoder)


def measure_seeds(demo: Demo, effort: Effort) -> Table:
    """Fit with several seeds and compare the levels of the questions."""
    retriever = behind(demo.store(Remembering()))
    texts = [text for asked in demo.questions.values() for text in asked]

    def levels(seed: int) -> list[str]:
        judged = retriever.with_calibration(retriever.calibrate(seed=seed))
        return [judged.recall(text).confidence.level for text in texts]

    found = [levels(seed) for seed in range(effort.seeds)]
    differ = [
        sum(one != other for one, other in zip(*pair, strict=True))
        for pair in combinations(found, 2)
    ]
    rows = [
        _row("mean of all pairs", mean(differ), 2, ".1f"),
        (f"most of {len(differ)} pairs", str(max(differ)), "", ""),
    ]
    return Table(f"Levels of {len(texts)} that differ between two seeds", HEAD, rows)


HEAD = ("", "measured", "bar", "")


def measure_streams(demo: Demo, effort: Effort) -> Table:
    """Send fifty chosen queries into "auto" and count the questions that are read."""
    store = demo.store(Remembering())
    plain = behind(store)

    def read(calibration: Calibration | None) -> dict[str, int]:
        judged = plain.with_calibration(calibration)
        return {
            kind: sum(judged.recall(text).advice == "read" for text in asked)
            for kind, asked in demo.questions.items()
        }

    def after(queries: Sequence[str]) -> dict[str, int]:
        retriever = behind(store, calibration="auto")
        retriever.wait_until_calibrated(60)
        for query in queries:
            retriever.recall(query)
        return read(retriever.current_calibration)

    before = read(plain.calibrate())
    rows: list[Row] = []
    for name, draw, kind, sign in (
        ("copied texts: stored questions lost", _copied, "stored", 1),
        ("nonsense questions: off-topic ones read more", _nonsense, "off_topic", -1),
    ):
        results = [after(draw(demo, Random(seed))) for seed in range(effort.streams)]
        worst = max(sign * (before[kind] - one[kind]) for one in results)
        rows.append(_row(f"{STREAM} {name}, most", worst, 2, "d"))
        for label in demo.questions:
            ends = sorted(one[label] for one in results)
            shown = f"{before[label]} -> {ends[0]} to {ends[-1]} of {len(demo.questions[label])}"
            rows.append((f"  {label.replace('_', '-')} read", shown, "", ""))
    return Table(f"A stream into auto, {effort.streams} draws", HEAD, rows)


def measure_time(demo: Demo, effort: Effort) -> Table:
    """Race queries beside a running fit against the same without one."""
    rows: list[Row] = []
    for name, encoder, pause, count, race in (
        ("sync, back to back", Direct(), 0.0, effort.back_to_back, race_sync),
        ("sync, 50 ms between two", Direct(), 0.05, effort.spaced, race_sync),
        ("async, back to back", Direct(), 0.0, effort.back_to_back, race_async),
        ("async, 50 ms between two", Direct(), 0.05, effort.spaced, race_async),
        (
            "sync, an encoder that serves one at a time",
            OneAtATime(),
            0.03,
            effort.shared,
            race_sync,
        ),
    ):
        alone, beside = (
            1000 * np.quantile(taken, (0.5, 0.95)) for taken in race(demo, encoder, pause, count)
        )
        for at, quantile in enumerate(("p50", "p95")):
            shown = f"{beside[at]:.1f} ms / {alone[at]:.1f} ms = {beside[at] / alone[at]:.2f}"
            bar = ("<= 1.20", _verdict(beside[at] <= 1.2 * alone[at])) if at else ("", "")
            rows.append((f"{name}, {quantile}", shown, *bar))
    return Table(
        "A query beside a running fit / without one, the clock on the wall",
        HEAD,
        rows,
        f"{effort.back_to_back}, {effort.spaced} and {effort.shared} queries each, in blocks of "
        f"{BLOCK} by turns; each block beside a fit has a new one.",
    )


def race_sync(demo: Demo, encoder: Embeddings, pause: float, count: int) -> tuple[Floats, Floats]:
    """Return the seconds of queries alone, and beside a fit, in blocks by turns."""
    asked, store = _round(demo), demo.store(encoder)
    plain = behind(store)
    alone: list[float] = []
    beside: list[float] = []

    def ask(retriever: RecallRetriever, taken: list[float]) -> None:
        time.sleep(pause)
        started = time.perf_counter()
        retriever.recall(next(asked))
        taken.append(time.perf_counter() - started)

    ask(plain, [])
    while len(beside) < count:
        auto = behind(store, calibration="auto")
        ask(auto, [])  # starts the fit, which ends with the wrapper
        for _ in range(min(BLOCK, count - len(beside))):
            if auto.calibration_status == "fitting":
                ask(auto, beside)
        del auto
        while len(alone) < len(beside):
            ask(plain, alone)
    return np.array(alone), np.array(beside)


def race_async(demo: Demo, encoder: Embeddings, pause: float, count: int) -> tuple[Floats, Floats]:
    """`race_sync` on one event loop."""
    asked, store = _round(demo), demo.store(encoder)
    plain = behind(store)
    alone: list[float] = []
    beside: list[float] = []

    async def ask(retriever: RecallRetriever, taken: list[float]) -> None:
        await asyncio.sleep(pause)
        started = time.perf_counter()
        await retriever.arecall(next(asked))
        taken.append(time.perf_counter() - started)

    async def race() -> None:
        await ask(plain, [])
        while len(beside) < count:
            auto = behind(store, calibration="auto")
            await ask(auto, [])
            for _ in range(min(BLOCK, count - len(beside))):
                if auto.calibration_status == "fitting":
                    await ask(auto, beside)
            del auto
            while len(alone) < len(beside):
                await ask(plain, alone)

    asyncio.run(race())
    return np.array(alone), np.array(beside)


def measure_check(demo: Demo, effort: Effort) -> Table:
    """Ask `check` where nothing changed but by noise, and where something did."""
    notes, count = demo.notes, len(demo.notes)
    kept = count - count // 21  # 5 % more come to them
    alarms, least, most = false_alarms(
        [Random(seed).sample(notes, count) for seed in range(effort.fits)], kept, effort.rebuilt
    )
    total = effort.fits * effort.rebuilt
    rows = [
        _row(f"false alarms of {total}", alarms, 0, "d"),
        ("  least share of the first five that remained", f"{least:.2f}", "", ""),
        ("  largest shift, as a share of what is tolerated", f"{most:.2f}", "", ""),
    ]
    whole = index(notes, Remembering())
    fitted = whole.calibrate()
    for name, change, bar in (
        ("another model, same name and dimensions", _turned, True),
        ("other dimensions", lambda _: lambda vector: vector[:256], True),
        ("a common direction, a fifth of the length", _shifted(0.2), True),
        ("a common direction, a tenth of the length", _shifted(0.1), False),
    ):
        found = sum(
            fitted.check(index(notes, Remembering(change(np.random.default_rng(seed))))).status
            == "encoder_changed"
            for seed in range(effort.changes)
        )
        rows.append(_found(f"encoder: {name}", found, effort.changes, bar=bar))
    for name, before, after, bar in (
        ("replaced", 0.5, None, True),
        ("grown tenfold", 0.1, 1.0, True),
        ("grown fivefold", 0.2, 1.0, False),
        ("grown threefold", 1 / 3, 1.0, False),
        ("doubled", 0.5, 1.0, False),
    ):
        found = sum(
            corpus_changed(Random(seed).sample(notes, count), before, after)
            for seed in range(effort.changes)
        )
        rows.append(_found(f"corpus: {name}", found, effort.changes, bar=bar))
    return Table(
        "What check finds",
        HEAD,
        rows,
        f"False alarms: {kept} notes, 5 % more, a rough HNSW index built anew, noise of {NOISE} "
        "on every coordinate. Replaced: half of the notes by the other half.",
    )


def measure_large(folder: Path, effort: Effort) -> Table:
    """Ask `check` on a large corpus of public sets, and on small ones that grow tenfold."""
    english = [n for n in set_names(folder) if language_of(n) == "en" and " on " not in n]
    texts = {name: _texts(folder, name) for name in english}
    union = [text for some in texts.values() for text in some]
    passages = Random(0).sample(union, min(len(union), MOST_PASSAGES))
    alarms, least, most = false_alarms([passages], len(passages) * 20 // 21, effort.large)
    rows = [
        _row(f"false alarms of {effort.large}, {len(passages)} passages", alarms, 0, "d"),
        ("  least share of the first five that remained", f"{least:.2f}", "", ""),
        ("  largest shift, as a share of what is tolerated", f"{most:.2f}", "", ""),
    ]
    missed, tried = [], 0
    for one, other in islice(product(texts, repeat=2), effort.pairs):
        own, more = texts[one], texts[other][SMALL:] if one == other else texts[other]
        size = min(SMALL, len(own), len(more) // 9)
        if size < FEWEST:
            continue
        tried += 1
        grown = index([*own[:size], *more[: 9 * size]], Remembering())
        if index(own[:size], Remembering()).calibrate().check(grown).fits:
            missed.append(f"{one} by {other}")
    rows.append(_found("small corpora grown tenfold", tried - len(missed), tried, bar=True))
    rows += [(f"  missed: {pair}", "", "", "") for pair in missed]
    return Table("What check finds on public sets", HEAD, rows)


def false_alarms(
    orders: Sequence[Sequence[str]], kept: int, rebuilt: int
) -> tuple[int, float, float]:
    """Fit on the first texts, check on all of them; indexes are approximate, vectors noisy.

    Returns:
        Alarms, the least share of the first candidates that remained, and the largest shift as a
        share of what is tolerated.
    """
    alarms, least, most = 0, 1.0, 0.0
    for seed, texts in enumerate(orders):
        noisy = Remembering(_noise(np.random.default_rng(seed)))
        fitted = index(texts[:kept], noisy, rough=True).calibrate()
        for _ in range(rebuilt):
            result = fitted.check(index(texts, noisy, rough=True))
            alarms += not result.fits
            figures = {name: value or 0.0 for name, value in result.figures.items()}
            least = min(least, figures["kept"])
            most = max(most, figures["shift"] / figures["tolerated_shift"])
    return alarms, least, most


def corpus_changed(texts: Sequence[str], before: float, after: float | None) -> bool:
    """Fit on a share of the texts, and check on another share; None for what was left out."""
    size = round(len(texts) * before)
    now = texts[size:] if after is None else texts[: round(len(texts) * after)]
    result = index(texts[:size], Remembering()).calibrate().check(index(now, Remembering()))
    return result.status == "corpus_changed"


def index(texts: Sequence[str], encoder: Embeddings, *, rough: bool = False) -> RecallRetriever:
    """Return texts behind a retriever, in FAISS: exact, or in a rough HNSW index."""
    vectors = np.asarray(encoder.embed_documents(list(texts)), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    made: Any = faiss.IndexFlatL2(vectors.shape[1])
    if rough:
        made = faiss.IndexHNSWFlat(vectors.shape[1], LINKS)
        made.hnsw.efSearch = SEARCHED
    made.add(vectors)
    names = {at: str(at) for at in range(len(texts))}
    stored = {names[at]: Document(text, id=names[at]) for at, text in enumerate(texts)}
    return behind(FAISS(encoder, made, InMemoryDocstore(stored), names))


def behind(store: VectorStore, **settings: Any) -> RecallRetriever:
    """Return a retriever of a store."""
    return RecallRetriever.from_vectorstore(store, k=K, **settings)


def _copied(demo: Demo, random: Random) -> list[str]:
    return random.sample(demo.notes, STREAM)


def _nonsense(_demo: Demo, random: Random) -> list[str]:
    def word() -> str:
        return "".join(random.choices(ascii_lowercase, k=random.randint(3, 9)))

    return [" ".join(word() for _ in range(6)) for _ in range(STREAM)]


Change = Callable[[Floats], Floats]


def _noise(random: np.random.Generator) -> Change:
    return lambda vector: vector + NOISE * random.standard_normal(vector.shape)


def _turned(random: np.random.Generator) -> Change:
    """Another space of the same size: every text gets new coordinates."""
    turn: Floats = np.linalg.qr(random.standard_normal((512, 512)))[0]
    return lambda vector: vector @ turn


def _shifted(share: float) -> Callable[[np.random.Generator], Change]:
    def shift(random: np.random.Generator) -> Change:
        direction = random.standard_normal(512)
        direction *= share / np.linalg.norm(direction)
        return lambda vector: vector + direction * np.linalg.norm(vector)

    return shift


def _row(name: str, measured: float, bar: int, form: str) -> Row:
    return name, format(measured, form), f"<= {bar}", _verdict(measured <= bar)


def _found(name: str, found: int, count: int, *, bar: bool) -> Row:
    wanted = (str(count), _verdict(found == count)) if bar else ("", "")
    return f"{name}: found", f"{found} of {count}", *wanted


def _verdict(met: bool) -> str:
    return "pass" if met else "MISS"


def _round(demo: Demo) -> Iterator[str]:
    """Return the questions over and over."""
    asked = [text for texts in demo.questions.values() for text in texts]
    Random(0).shuffle(asked)
    while True:
        yield from asked


def _packaged(name: str) -> list[dict[str, Any]]:
    text = (files("recall_signal") / "demo" / f"{name}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _texts(folder: Path, name: str) -> list[str]:
    """Return at most 1,000 different texts of a set, in a shuffled order."""
    with gzip.open(folder / f"{name}.corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = list(dict.fromkeys(json.loads(line)["text"][:700] for line in lines))
    Random(1).shuffle(texts)
    return texts[:1000]


if __name__ == "__main__":
    sys.exit(main())
