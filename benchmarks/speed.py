"""What the recall signal costs, in one table with the bars it has to stay under.

Every figure is a comparison. What is compared takes turns, one call at a time in a shuffled
order; each round gives one ratio of medians, and the table shows the median ratio of all rounds
between the smallest and the largest.

Times are processor time on one thread: what a clock on the wall shows while nothing else runs.
Waiting for other jobs does not count, and no thread spins while it waits for a busy core. FAISS
is raced a second time as it is installed: a thread for each core, by the clock on the wall.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy's, read when it is imported
os.environ["OMP_NUM_THREADS"] = "1"  # FAISS's

import argparse
import asyncio
import json
import random
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from importlib.resources import files
from statistics import median
from time import perf_counter, process_time
from typing import Any, Literal

import numpy as np
from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from rich import box
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from langchain_recall_signal import RecallRetriever
from recall_signal import assess, assess_many
from recall_signal.encoders import DemoEncoder

PAGE, POOL, DIMENSIONS = 5, 50, 384
LISTS = 40
"""Lists of cosines between two readings of the clock, so that the reading does not count."""

EMBEDDING_BAR, BATCH_BAR, IN_MEMORY_BAR, FAISS_BAR = 1 / 200, 6.0, 1.02, 1.4
FRAMEWORKS = ("langchain_core", "llama_index")
RACES = 9

Stopwatch = Callable[[int], float]
"""Takes the number of the turn and returns the seconds that one call took."""

Clock = Callable[[], float]
Tick = Callable[[], None]


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    rounds: int = 15
    turns: int = 60
    slow_turns: int = 2
    questions: int | None = None
    rows: int = 10_000
    vectors: int = 10_000
    imports: int = 5


QUICK = Effort(rounds=2, turns=2, slow_turns=1, questions=2, rows=2_000, vectors=200, imports=1)


@dataclass(frozen=True)
class Row:
    """One line of the table; ``passed`` is None where there is no bar."""

    what: str
    takes: str
    against: str = ""
    base: str = ""
    ratio: str = ""
    spread: str = ""
    bar: str = ""
    passed: bool | None = None


def main() -> int:
    """Measure and print; 1 where a bar was missed and ``--check`` asks."""
    parser = argparse.ArgumentParser(description="What the recall signal costs.")
    parser.add_argument("--check", action="store_true", help="exit with 1 where a bar is missed")
    parser.add_argument("--quick", action="store_true", help="every row, no figure to rely on")
    options = parser.parse_args()
    effort = QUICK if options.quick else Effort()
    sections = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=RACES * effort.rounds + effort.imports)
        for name, measure in SECTIONS.items():
            progress.update(task, description=name)
            sections.append(measure(effort, partial(progress.advance, task)))
    print_table(sections)
    missed = any(row.passed is False for rows in sections for row in rows)
    return int(missed and options.check)


def race(
    contestants: Mapping[str, Stopwatch], rounds: int, turns: int, tick: Tick
) -> dict[str, list[float]]:
    """Each contestant's median seconds, round by round."""
    results: dict[str, list[float]] = {name: [] for name in contestants}
    order, shuffle = list(contestants), random.Random(0).shuffle
    for name in order:
        contestants[name](0)
    for _ in range(rounds):
        seconds: dict[str, list[float]] = {name: [] for name in contestants}
        for turn in range(turns):
            shuffle(order)
            for name in order:
                seconds[name].append(contestants[name](turn))
        for name in contestants:
            results[name].append(median(seconds[name]))
        tick()
    return results


def compare(
    what: str,
    seconds: Sequence[float],
    against: str,
    base: Sequence[float],
    *,
    bar: float | None = None,
    show: Callable[[float], str] | None = None,
    typical: Callable[[Sequence[float]], float] = median,
) -> Row:
    """One contestant beside another, round by round."""
    show = show or as_duration
    ratios = [mine / other for mine, other in zip(seconds, base, strict=True)]
    return Row(
        what=what,
        takes=show(typical(seconds)),
        against=against,
        base=show(typical(base)),
        ratio=as_ratio(median(ratios)),
        spread=f"{as_ratio(min(ratios))} - {as_ratio(max(ratios))}",
        bar="" if bar is None else f"<= {as_ratio(bar)}",
        passed=None if bar is None else median(ratios) <= bar,
    )


def measure_assess(effort: Effort, tick: Tick) -> list[Row]:
    """`assess` beside one query embedding by the demo's encoder."""
    encoder, questions = DemoEncoder(), read_questions()[: effort.questions]
    base = "one embedding"
    contestants = {base: watch_embedding(encoder, questions)}
    for size in (10, POOL, 200):
        for order in ("sorted", "shuffled"):
            lists = cosine_lists(size, in_order=order == "sorted")
            contestants[f"assess, {size} cosines, {order}"] = partial(assess_lists, lists)
    results = race(contestants, effort.rounds, len(questions), tick)
    bars = {name: EMBEDDING_BAR for name in results if f" {POOL} " in name}
    return [
        compare(name, results[name], base, results[base], bar=bars.get(name))
        for name in results
        if name != base
    ]


def measure_assess_many(effort: Effort, tick: Tick) -> list[Row]:
    """`assess_many` beside one pass of max and mean over the same array."""
    rng = np.random.default_rng(0)
    full = rng.normal(0.35, 0.1, (effort.rows, POOL)).clip(-1.0, 1.0)
    gaps = np.where(rng.random(full.shape) < 0.1, np.nan, full)
    rows = []
    for kind, table in (("no value missing", full), ("1 in 10 missing", gaps)):
        contestants = {"many": repeat(assess_many, table), "bare": repeat(max_and_mean, table)}
        results = race(contestants, effort.rounds, 3 * effort.slow_turns, tick)
        rows.append(
            compare(
                f"assess_many, {kind}",
                results["many"],
                "max and mean",
                results["bare"],
                bar=BATCH_BAR,
                show=as_rows_per_second(len(table)),
            )
        )
    return rows


def measure_in_memory(effort: Effort, tick: Tick) -> list[Row]:
    """The wrapper around a store whose search takes far longer than the wrapper."""
    documents, encoder = build_corpus(effort.vectors)
    store = InMemoryVectorStore(encoder)
    store.add_documents(documents)
    race_on = partial(race, rounds=effort.rounds, turns=effort.slow_turns, tick=tick)
    return retriever_rows("InMemory", store, encoder, race_on, IN_MEMORY_BAR)


def measure_faiss(effort: Effort, tick: Tick) -> list[Row]:
    """The wrapper around a store so fast that the wrapper's own share shows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package's notice of its retirement
        import faiss
        from langchain_community.vectorstores import FAISS

        documents, encoder = build_corpus(effort.vectors)
        store = FAISS.from_documents(documents, encoder, ids=[str(d.id) for d in documents])
    race_on = partial(race, rounds=effort.rounds, turns=effort.turns, tick=tick)
    rows = retriever_rows("FAISS", store, encoder, race_on, FAISS_BAR)
    threads = os.cpu_count() or 1
    name = f"FAISS, {threads} threads:"
    faiss.omp_set_num_threads(threads)
    try:
        rows += retriever_rows(name, store, encoder, race_on, FAISS_BAR, clock=perf_counter)
    finally:
        faiss.omp_set_num_threads(1)
    return rows


def measure_import(effort: Effort, tick: Tick) -> list[Row]:
    """`import recall_signal` in a fresh interpreter: its time, and what it brings along."""
    ours, base, loaded = [], [], set[str]()
    for _ in range(effort.imports):
        seconds, frameworks = import_afresh("import recall_signal")
        ours.append(seconds)
        loaded.update(frameworks)
        base.append(import_afresh("from pydantic import BaseModel")[0])
        tick()
    name = "import recall_signal"
    return [
        compare(f"{name}, best of {effort.imports}", ours, "pydantic alone", base, typical=min),
        Row(
            what=f"{name} loads",
            takes=", ".join(sorted(loaded)) or "neither",
            bar="neither",
            passed=not loaded,
        ),
    ]


SECTIONS: dict[str, Callable[[Effort, Tick], list[Row]]] = {
    "assess": measure_assess,
    "assess_many": measure_assess_many,
    "InMemory": measure_in_memory,
    "FAISS": measure_faiss,
    "import": measure_import,
}


class Lookup(Embeddings):
    """An encoder that costs almost nothing: it knows every text."""

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self.vectors = vectors

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The known vectors."""
        return [self.vectors[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The known vector."""
        return self.vectors[text]

    async def aembed_query(self, text: str) -> list[float]:
        """The known vector, without the thread that the base class takes for it."""
        return self.vectors[text]


class IdleWrapper(BaseRetriever):
    """What any wrapper costs in LangChain: a retriever's run around another one's, and no more."""

    retriever: BaseRetriever

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return self.retriever.invoke(query, {"callbacks": run_manager.get_child()})

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return await self.retriever.ainvoke(query, {"callbacks": run_manager.get_child()})


def retriever_rows(
    name: str,
    store: VectorStore,
    encoder: Lookup,
    race_on: Callable[[Mapping[str, Stopwatch]], dict[str, list[float]]],
    bar: float,
    clock: Clock = process_time,
) -> list[Row]:
    """The wrapper beside the bare retriever and beside a wrapper that does nothing."""
    page = store.as_retriever(search_kwargs={"k": PAGE})
    pool = store.as_retriever(search_kwargs={"k": POOL})
    retrievers: dict[str, BaseRetriever] = {
        "page": page,
        "pool": pool,
        "idle": IdleWrapper(retriever=pool),
        "recall": RecallRetriever(retriever=page, pool_size=POOL),
    }
    queries = list(encoder.vectors)[:: max(1, len(encoder.vectors) // 60)]
    rows = []
    with asyncio.Runner() as runner:
        for method, watched in (("invoke", watch), ("ainvoke", partial(watch_async, runner))):
            seconds = race_on({who: watched(it, queries, clock) for who, it in retrievers.items()})
            ours, idle = f"{name} {method}, RecallRetriever", f"{name} {method}, idle wrapper"
            limit = bar if method == "invoke" else None
            rows += [
                compare(idle, seconds["idle"], f"bare, k={POOL}", seconds["pool"]),
                compare(ours, seconds["recall"], f"bare, k={PAGE}", seconds["page"]),
                compare(ours, seconds["recall"], f"bare, k={POOL}", seconds["pool"], bar=limit),
                compare(ours, seconds["recall"], "idle wrapper", seconds["idle"]),
            ]
    return rows


def watch(retriever: BaseRetriever, queries: Sequence[str], clock: Clock) -> Stopwatch:
    """Times `invoke`, another query each turn."""
    return lambda turn: seconds_of(retriever.invoke, queries[turn % len(queries)], clock)


def watch_async(
    runner: asyncio.Runner, retriever: BaseRetriever, queries: Sequence[str], clock: Clock
) -> Stopwatch:
    """Times `ainvoke` inside a running event loop."""

    async def ask(query: str) -> float:
        start = clock()
        await retriever.ainvoke(query)
        return clock() - start

    return lambda turn: runner.run(ask(queries[turn % len(queries)]))


def build_corpus(size: int) -> tuple[list[Document], Lookup]:
    """Documents with random unit vectors, and the encoder that knows them."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(size, DIMENSIONS))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    documents = [
        Document(
            id=f"m{number}",
            page_content=f"Memory {number}. " + "What was decided, by whom and until when. " * 4,
            metadata={"source": "notes.md", "line": number, "tags": ["kiln"], "lang": "en"},
        )
        for number in range(size)
    ]
    texts = [document.page_content for document in documents]
    return documents, Lookup(dict(zip(texts, vectors.tolist(), strict=True)))


def read_questions() -> list[str]:
    """The demo's questions."""
    lines = files("recall_signal.demo").joinpath("questions.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]


def cosine_lists(size: int, *, in_order: bool) -> list[list[float]]:
    """Lists as a store gives them: most candidates alike, a few above."""
    rng = np.random.default_rng(size)
    lists = rng.beta(3.0, 6.0, (LISTS, size))
    if in_order:
        lists = np.sort(lists)[:, ::-1]
    return [row.tolist() for row in lists]


def assess_lists(lists: list[list[float]], _turn: int) -> float:
    """Seconds for one list."""
    start = process_time()
    for cosines in lists:
        assess(cosines)
    return (process_time() - start) / len(lists)


def max_and_mean(table: Any) -> tuple[Any, Any]:
    """The cheapest look at every value."""
    return table.max(axis=1), table.mean(axis=1)


def seconds_of(function: Callable[[Any], Any], argument: Any, clock: Clock = process_time) -> float:
    """Seconds that one call takes."""
    start = clock()
    function(argument)
    return clock() - start


def watch_embedding(encoder: DemoEncoder, questions: Sequence[str]) -> Stopwatch:
    """Times the second of two embeddings: warm, like all but the first of the lists."""

    def embed(turn: int) -> float:
        encoder.embed_query(questions[turn])
        return seconds_of(encoder.embed_query, questions[turn])

    return embed


def repeat(function: Callable[[Any], Any], argument: Any) -> Stopwatch:
    """Times the same call every turn."""
    return lambda _turn: seconds_of(function, argument)


def import_afresh(statement: str) -> tuple[float, list[str]]:
    """Seconds an import takes in a new interpreter, and the frameworks that came with it."""
    code = (
        "import json, sys, time; start = time.process_time()\n"
        f"{statement}\n"
        "seconds = time.process_time() - start\n"
        f"print(json.dumps([seconds, [f for f in {FRAMEWORKS} if f in sys.modules]]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    seconds, loaded = json.loads(done.stdout)
    return seconds, loaded


def print_table(sections: Sequence[Sequence[Row]]) -> None:
    """All rows in one table."""
    table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0), caption=CAPTION, caption_justify="left")
    for heading, side in COLUMNS:
        table.add_column(heading, justify=side, no_wrap=True)
    verdicts = {None: "", True: "[green]pass[/]", False: "[bold red]miss[/]"}
    for rows in sections:
        for row in rows:
            *cells, passed = astuple(row)
            table.add_row(*cells, verdicts[passed])
        table.add_section()
    Console(width=WIDTH).print(table)


WIDTH = 136
"""Of the table, also where the terminal is narrower: figures are never cut off."""

COLUMNS: tuple[tuple[str, Literal["left", "right"]], ...] = (
    ("", "left"),
    ("takes", "right"),
    ("against", "left"),
    ("takes", "right"),
    ("ratio", "right"),
    ("min - max", "right"),
    ("bar", "right"),
    ("", "left"),
)
CAPTION = f"""\
Medians of processor time on one thread; with several threads, of time on the wall.
One embedding: a question of the demo, by the demo's encoder. assess_many: 10,000 x {POOL} cosines.
Stores: 10,000 vectors of {DIMENSIONS} dimensions. RecallRetriever: k={PAGE}, pool_size={POOL}.
Idle wrapper: a retriever around the bare one (k={POOL}) that does nothing else."""


def as_duration(seconds: float) -> str:
    """Three digits and a unit."""
    return f"{seconds * 1e6:.3g} us" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"


def as_rows_per_second(rows: int) -> Callable[[float], str]:
    """Shows the seconds that so many rows take."""
    return lambda seconds: f"{rows / seconds / 1e6:.2f} M rows/s"


def as_ratio(ratio: float) -> str:
    """A factor, or a fraction where the one is far smaller than the other."""
    return f"{ratio:.3g}" if ratio >= 0.1 else f"1/{1 / ratio:.0f}"


if __name__ == "__main__":
    sys.exit(main())
