"""Measure what the recall signal costs, in one table with the bars it has to stay under.

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
import gc
import json
import random
import subprocess
import sys
import tracemalloc
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

from langchain_recall_signal import DemoEmbeddings, RecallRetriever
from recall_signal import Calibration, Pool, assess, assess_many
from recall_signal.encoders import DemoEncoder

PAGE, POOL, DIMENSIONS = 5, 50, 384
LISTS = 40
"""Lists of cosines between two readings of the clock, so that the reading does not count."""

EMBEDDING_BAR, BATCH_BAR, IN_MEMORY_BAR, FAISS_BAR, LLAMA_BAR = 1 / 200, 6.0, 1.02, 1.25, 1.2
TOGETHER_BAR, TOGETHER_WALL_BAR, BY_HAND_BAR = 1 / 2.5, 1 / 1.8, 1 / 0.8
CONCURRENT, CONCURRENT_BAR = 200, 1 / 0.95
PEAK_BAR, HELD_BAR = 27 / 2, 8.6 / 2
"""Kilobytes of a call on FAISS: half of what they were in version 0.1."""

FRAMEWORKS = ("langchain_core", "llama_index")
RACES = 11

Stopwatch = Callable[[int], float]
"""Takes the number of the turn and returns the seconds that one call took."""

Clock = Callable[[], float]
Tick = Callable[[], None]


@dataclass(frozen=True)
class Effort:
    """Amount of what is measured."""

    rounds: int = 15
    turns: int = 60
    slow_turns: int = 2
    questions: int | None = None
    rows: int = 10_000
    vectors: int = 10_000
    imports: int = 5
    batches: int = 3
    batch: int = 1_000
    concurrent: int = CONCURRENT
    texts: int | None = None


QUICK = Effort(
    rounds=2,
    turns=2,
    slow_turns=1,
    questions=2,
    rows=2_000,
    vectors=200,
    imports=1,
    batches=1,
    batch=4,
    concurrent=4,
)


@dataclass(frozen=True)
class Row:
    """One line of the table; `passed` is None where there is no bar."""

    what: str
    takes: str
    against: str = ""
    base: str = ""
    ratio: str = ""
    spread: str = ""
    bar: str = ""
    passed: bool | None = None


def main() -> int:
    """Measure and print; 1 where a bar was missed and `--check` asks."""
    parser = argparse.ArgumentParser(description="What the recall signal costs.")
    parser.add_argument("--check", action="store_true", help="exit with 1 where a bar is missed")
    parser.add_argument("--quick", action="store_true", help="every row, no figure to rely on")
    options = parser.parse_args()
    effort = QUICK if options.quick else Effort()
    sections = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        steps = RACES * effort.rounds + effort.imports + 3 * effort.batches
        task = progress.add_task("", total=steps)
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
    import faiss

    store, encoder = build_faiss(effort.vectors)
    race_on = partial(race, rounds=effort.rounds, turns=effort.turns, tick=tick)
    rows = retriever_rows("FAISS", store, encoder, race_on, FAISS_BAR)
    rows += calibrated_rows(store, encoder, race_on)
    threads = os.cpu_count() or 1
    name = f"FAISS, {threads} threads:"
    faiss.omp_set_num_threads(threads)
    try:
        rows += retriever_rows(name, store, encoder, race_on, FAISS_BAR, clock=perf_counter)
    finally:
        faiss.omp_set_num_threads(1)
    return rows


def measure_concurrent(effort: Effort, tick: Tick) -> list[Row]:
    """Many queries at the same time in one event loop, with a free encoder and with a real one."""
    store, encoder = build_faiss(effort.vectors)
    free = concurrent_rows("FAISS", store, list(encoder.vectors), effort, tick)
    memories, questions = build_memories(effort)
    return free + concurrent_rows("Demo", memories, questions, effort, tick)


def concurrent_rows(
    name: str, store: VectorStore, known: Sequence[str], effort: Effort, tick: Tick
) -> list[Row]:
    """Compare the wrapper and an idle one with the bare retriever, by the clock on the wall."""
    page, pool = (store.as_retriever(search_kwargs={"k": k}) for k in (PAGE, POOL))
    retrievers: dict[str, BaseRetriever] = {
        "pool": pool,
        "idle": IdleWrapper(retriever=pool),
        "recall": RecallRetriever(retriever=page, pool_size=POOL),
    }
    queries = [known[turn % len(known)] for turn in range(effort.concurrent)]
    took: dict[str, list[float]] = {name: [] for name in retrievers}
    order, shuffle = list(retrievers), random.Random(0).shuffle

    async def ask_all(retriever: BaseRetriever) -> float:
        start = perf_counter()
        await asyncio.gather(*(retriever.ainvoke(query) for query in queries))
        return perf_counter() - start

    with asyncio.Runner() as runner:
        for retriever in retrievers.values():
            runner.run(ask_all(retriever))
        for _ in range(effort.batches):
            for _ in range(effort.concurrent // 40 or 1):
                shuffle(order)
                for contestant in order:
                    took[contestant].append(runner.run(ask_all(retrievers[contestant])))
            tick()
    what, base = f"{name}, {effort.concurrent} ainvoke at once", f"bare, k={POOL}"
    return [
        compare(f"{what}, idle", took["idle"], base, took["pool"]),
        compare(what, took["recall"], base, took["pool"], bar=CONCURRENT_BAR),
    ]


def measure_llama_index(effort: Effort, tick: Tick) -> list[Row]:
    """LlamaIndex' wrapper around its own retriever over a flat FAISS index."""
    page, pool, recall, queries = build_llama_index(effort.vectors)

    def timed(ask: Callable[[str], object]) -> Stopwatch:
        return lambda turn: seconds_of(ask, queries[turn % len(queries)])

    retrievers = {"page": page.retrieve, "pool": pool.retrieve, "recall": recall.retrieve}
    contestants = {name: timed(ask) for name, ask in retrievers.items()}
    seconds = race(contestants, effort.rounds, effort.turns, tick)
    what = "LlamaIndex, FAISS retrieve, RecallRetriever"
    return [
        compare(what, seconds["recall"], f"bare, k={PAGE}", seconds["page"]),
        compare(what, seconds["recall"], f"bare, k={POOL}", seconds["pool"], bar=LLAMA_BAR),
        *memory_rows("LlamaIndex, FAISS", recall.retrieve, pool.retrieve, queries),
    ]


def measure_memory(effort: Effort, tick: Tick) -> list[Row]:
    """Bytes that one call takes at most, and those that what it returns holds."""
    store, encoder = build_faiss(effort.vectors)
    page, pool = (store.as_retriever(search_kwargs={"k": k}) for k in (PAGE, POOL))
    recall = RecallRetriever(retriever=page, pool_size=POOL)
    return memory_rows(
        "FAISS", recall.invoke, pool.invoke, list(encoder.vectors)[:20], (PEAK_BAR, HELD_BAR)
    )


def memory_rows(
    name: str,
    ours: Callable[[str], object],
    bare: Callable[[str], object],
    queries: Sequence[str],
    bars: tuple[float | None, float | None] = (None, None),
) -> list[Row]:
    """The wrapper's memory beside the bare retriever's."""
    rows = []
    for what, mine, base, bar in zip(
        ("peak", "held"), bytes_of(ours, queries), bytes_of(bare, queries), bars, strict=True
    ):
        rows.append(
            Row(
                what=f"{name}, memory of a call, {what}",
                takes=f"{mine:.1f} KB",
                against=f"bare, k={POOL}",
                base=f"{base:.1f} KB",
                ratio=as_ratio(mine / base),
                bar="" if bar is None else f"<= {bar:.1f} KB",
                passed=None if bar is None else mine <= bar,
            )
        )
    return rows


def bytes_of(ask: Callable[[str], object], queries: Sequence[str]) -> tuple[float, float]:
    """Kilobytes at the peak of a call, and those that are held by what it returned: medians."""
    peaks, held = [], []
    for query in queries[:5]:
        ask(query)
    tracemalloc.start()
    try:
        for query in queries[:20]:
            gc.collect()
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            answer = ask(query)
            peaks.append(tracemalloc.get_traced_memory()[1] - before)
            gc.collect()
            held.append(tracemalloc.get_traced_memory()[0] - before)
            del answer
    finally:
        tracemalloc.stop()
    return median(peaks) / 1024, median(held) / 1024


def measure_batch(effort: Effort, tick: Tick) -> list[Row]:
    """`batch` beside LangChain's own, and beside a loop by hand that asks for no report."""
    store, known = build_memories(effort)
    encoder = store.embeddings
    questions = [known[turn % len(known)] for turn in range(effort.batch)]
    recall = RecallRetriever.from_vectorstore(store, k=PAGE, pool_size=POOL)

    def by_hand(questions: list[str]) -> None:
        for start in range(0, len(questions), 64):
            for vector in encoder.embed_documents(questions[start : start + 64]):
                store.similarity_search_with_score_by_vector(vector, k=POOL)

    contestants: dict[str, Callable[[list[str]], Any]] = {
        "together": recall.batch,
        "LangChain's batch": super(RecallRetriever, recall).batch,
        "by hand": by_hand,
    }
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    order, shuffle = list(contestants), random.Random(0).shuffle
    recall.batch(questions[:2])
    for _ in range(effort.batches):
        shuffle(order)
        for name in order:
            start = process_time(), perf_counter()
            contestants[name](questions)
            took[name].append((process_time() - start[0], perf_counter() - start[1]))
        tick()
    cpu, wall = (
        {name: [times[clock] for times in rounds] for name, rounds in took.items()}
        for clock in (0, 1)
    )
    what, own = f"batch({effort.batch:,}), FAISS", "LangChain's batch"
    return [
        compare(what, cpu["together"], own, cpu[own], bar=TOGETHER_BAR),
        compare(f"{what}, wall", wall["together"], own, wall[own], bar=TOGETHER_WALL_BAR),
        compare(what, cpu["together"], "by hand", cpu["by hand"], bar=BY_HAND_BAR),
    ]


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
    "memory": measure_memory,
    "concurrent": measure_concurrent,
    "LlamaIndex": measure_llama_index,
    "batch": measure_batch,
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
    """The least that a wrapper costs in LangChain: a retriever's run around another one's."""

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


def calibrated_rows(
    store: VectorStore,
    encoder: Lookup,
    race_on: Callable[[Mapping[str, Stopwatch]], dict[str, list[float]]],
) -> list[Row]:
    """The wrapper with a calibration that reads the candidates' words as well."""
    page, pool = (store.as_retriever(search_kwargs={"k": k}) for k in (PAGE, POOL))
    calibration = fit_calibration()
    queries = list(encoder.vectors)[:: max(1, len(encoder.vectors) // 60)]
    retrievers: dict[str, BaseRetriever] = {
        "pool": pool,
        "plain": RecallRetriever(retriever=page, pool_size=POOL),
        "words": RecallRetriever(retriever=page, pool_size=POOL, calibration=calibration),
    }
    seconds = race_on({who: watch(it, queries, process_time) for who, it in retrievers.items()})
    what = "FAISS invoke, calibrated with words"
    return [
        compare(what, seconds["words"], f"bare, k={POOL}", seconds["pool"]),
        compare(what, seconds["words"], "uncalibrated", seconds["plain"]),
    ]


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


def build_faiss(size: int) -> tuple[VectorStore, Lookup]:
    """LangChain's FAISS store with these documents, and its encoder."""
    documents, encoder = build_corpus(size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package's notice of its retirement
        from langchain_community.vectorstores import FAISS

        ids = [str(document.id) for document in documents]
        return FAISS.from_documents(documents, encoder, ids=ids), encoder


def build_memories(effort: Effort) -> tuple[VectorStore, list[str]]:
    """LangChain's FAISS store with the demo's memories and encoder, and the demo's questions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package's notice of its retirement
        from langchain_community.vectorstores import FAISS

        return FAISS.from_texts(read_memories(effort.texts), DemoEmbeddings()), read_questions()


def build_llama_index(size: int) -> tuple[Any, Any, Any, list[str]]:
    """LlamaIndex' retrievers of a page and of a pool, the wrapper, and questions."""
    import faiss
    from llama_index.core import StorageContext, VectorStoreIndex
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.schema import TextNode
    from llama_index.vector_stores.faiss import FaissVectorStore

    import llama_index_recall_signal

    documents, encoder = build_corpus(size)
    vectors = encoder.vectors

    class KnownVectors(BaseEmbedding):
        """`Lookup`, for LlamaIndex."""

        def _get_query_embedding(self, query: str) -> list[float]:
            return vectors[query]

        _get_text_embedding = _get_query_embedding

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return vectors[query]

    nodes = [
        TextNode(
            id_=str(document.id),
            text=document.page_content,
            metadata=document.metadata,
            embedding=vectors[document.page_content],
        )
        for document in documents
    ]
    store = FaissVectorStore(faiss_index=faiss.IndexFlatIP(DIMENSIONS))
    context = StorageContext.from_defaults(vector_store=store)
    index = VectorStoreIndex(nodes, storage_context=context, embed_model=KnownVectors())
    page, pool = (index.as_retriever(similarity_top_k=k) for k in (PAGE, POOL))
    recall = llama_index_recall_signal.RecallRetriever(page, pool_size=POOL)
    return page, pool, recall, list(vectors)[:: max(1, size // 60)]


def fit_calibration() -> Calibration:
    """A calibration on cosines and words, fitted on a made-up retriever."""
    words = ("baker", "ferry", "orchid", "lantern", "granite", "violin", "harbour", "meadow")
    drawn = random.Random(0)
    texts = [" ".join(drawn.choices(words, k=8)) + f" number{n}" for n in range(60)]

    def search(query: str) -> Pool:
        shared = [len(set(query.split()) & set(text.split())) for text in texts]
        cosines = [min(0.99, 0.3 + 0.08 * n + drawn.gauss(0, 0.04)) for n in shared]
        order = sorted(range(len(texts)), key=lambda at: -cosines[at])[:20]
        found = [texts[at] for at in order]
        return Pool([cosines[at] for at in order], ids=found, texts=found, query=query)

    return Calibration.fit(search, documents=[(text, text) for text in texts])


def read_memories(size: int | None) -> list[str]:
    """The demo's texts."""
    return read_texts("memories.jsonl")[:size]


def read_questions() -> list[str]:
    """The demo's questions."""
    return read_texts("questions.jsonl")


def read_texts(name: str) -> list[str]:
    """The texts of one of the demo's files."""
    lines = files("recall_signal.demo").joinpath(name).read_text("utf-8").splitlines()
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
Stores: 10,000 vectors of {DIMENSIONS} dimensions, and an encoder that is free.
Demo, batch: FAISS with the demo's 200 memories and its encoder. At once: time on the wall.
RecallRetriever: k={PAGE}, pool_size={POOL}.
Idle wrapper: a retriever around the bare one (k={POOL}) that does nothing else.
Memory: of one call, by tracemalloc; held: by what it returned."""


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
