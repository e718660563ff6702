"""Which questions are read and which are sent away: the signal beside what else people use.

    python benchmarks/peers.py [--encoders use,minilm-int8,e5] [--grader 4]

The demo's 200 memories in LangChain's FAISS store, as it is made by default, and the 96 packaged
questions: 72 main ones, and 24 that were written to be hard. A filter reads a question when it
leaves at least one of the five documents; the signal reads one when its advice is `read`.

Where something was learned from these very questions, the row says so:

    hindsight    the one value that makes the fewest wrong turns on the main stored and off-topic
                 questions, found by trying them all on the same questions
    other half   learned from the main stored and off-topic questions of one half, counted on the
                 other, and the other way round; for the hard ones learned from both halves

`--grader N` asks the small local model of the tests (or the one that `RECALL_SIGNAL_LLM_URL` and
`RECALL_SIGNAL_LLM_MODEL` name) about each document of the first N main questions of each kind.
semantic-router is measured where it can be imported, and named as not measured elsewhere.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import resource
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from encoders import ENCODERS
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import EmbeddingsFilter
from langchain_community.vectorstores import FAISS
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from rich import box
from rich.console import Console
from rich.table import Table

from langchain_recall_signal import RecallRetriever

K = 5
KINDS = ("stored", "off_topic", "near_miss")
COPIED = (0.5, 0.7, 0.8)
"""Thresholds of published examples; none is a default of the library."""

TEMPLATE = (
    "Question: {question}\n\nNote: {note}\n\n"
    "Does the note help to answer the question? Reply with yes or no."
)
GRADE = {
    "title": "Grade",
    "type": "object",
    "properties": {"relevant": {"enum": ["yes", "no"]}},
    "required": ["relevant"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Question:
    """A packaged question; `half` is 0 or 1 for a main one, None for a hard one."""

    text: str
    kind: str
    half: int | None


Decide = Callable[[Question], bool]
Labelled = Sequence[tuple[str, bool]]


@dataclass(frozen=True, slots=True)
class Row:
    """Results of one way of deciding.

    Attributes:
        name: For the table.
        read: Questions that were read, of how many, by kind; hard ones as `hard stored` and so on.
        seconds: A question, processor time.
        calls: Calls of a language model, a question.
    """

    name: str
    read: dict[str, tuple[int, int]]
    seconds: float
    calls: float = 0.0

    @property
    def wrong(self) -> int:
        """Main stored questions sent away, and off-topic ones read."""
        read, all_ = self.read["stored"]
        return all_ - read + self.read["off_topic"][0]


@dataclass(frozen=True, slots=True)
class World:
    """The demo's memories behind one encoder."""

    encoder: Embeddings
    notes: tuple[str, ...]
    store: VectorStore
    questions: tuple[Question, ...]

    @classmethod
    def load(cls, encoder: str = "use") -> World:
        """Embed the memories."""
        embeddings: Embeddings = type("Encoder", (ENCODERS[encoder], Embeddings), {})()
        notes = tuple(line["text"] for line in _lines("memories"))
        seen = dict.fromkeys(KINDS, 0)
        questions = []
        for line in _lines("questions"):
            kind = line["kind"]
            main = line["section"] == "main"
            questions.append(Question(line["text"], kind, seen[kind] % 2 if main else None))
            seen[kind] += main
        store = FAISS.from_texts(list(notes), embeddings)
        return cls(embeddings, notes, store, tuple(questions))

    def learned_from(self, question: Question) -> Labelled:
        """Return what a way may learn from before it meets this question."""
        return [
            (q.text, q.kind == "stored")
            for q in self.questions
            if q.half is not None and q.half != question.half and q.kind != "near_miss"
        ]

    def by_half(self, learn: Callable[[Labelled], Decide]) -> Decide:
        """A way that is learned once for each half, and once for the hard questions."""
        ways: dict[int | None, Decide] = {}
        for question in self.questions:
            if question.half not in ways:
                ways[question.half] = learn(self.learned_from(question))
        return lambda question: ways[question.half](question)


def measure(name: str, decide: Decide, questions: Sequence[Question]) -> Row:
    """Ask everything."""
    read: dict[str, tuple[int, int]] = {}
    seconds = []
    decide(questions[0])  # what is loaded or made at the first call
    for question in questions:
        start = process_time()
        yes = decide(question)
        seconds.append(process_time() - start)
        kind = question.kind if question.half is not None else f"hard {question.kind}"
        before, all_ = read.get(kind, (0, 0))
        read[kind] = (before + yes, all_ + 1)
    return Row(name, read, median(seconds))


def by_threshold(world: World, cut: float) -> Decide:
    """LangChain's `similarity_score_threshold`."""
    retriever = world.store.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"k": K, "score_threshold": cut}
    )
    return lambda question: bool(retriever.invoke(question.text))


def by_filter(world: World, cut: float | None) -> Decide:
    """LangChain's `EmbeddingsFilter` behind its `ContextualCompressionRetriever`."""
    setting = {} if cut is None else {"similarity_threshold": cut}
    retriever = ContextualCompressionRetriever(
        base_compressor=EmbeddingsFilter(embeddings=world.encoder, **setting),
        base_retriever=world.store.as_retriever(search_kwargs={"k": K}),
    )
    return lambda question: bool(retriever.invoke(question.text))


def by_signal(retriever: RecallRetriever) -> Decide:
    """The advice of a response."""
    return lambda question: retriever.recall(question.text).advice == "read"


def by_cosine(world: World, bare: RecallRetriever, labelled: Labelled) -> tuple[float, Decide]:
    """The top cosine against the value that makes the fewest wrong turns on these."""

    def top(text: str) -> float:
        return bare.recall(text).confidence.top_score or 0.0

    scored = [(top(text), present) for text, present in labelled]
    values = sorted(score for score, _ in scored)
    cuts = [(low + high) / 2 for low, high in pairwise(values)]
    cut = min(cuts, key=lambda cut: sum((score >= cut) != present for score, present in scored))
    distance = 2.0 - 2.0 * cut  # of unit vectors, squared, as FAISS gives it

    def decide(question: Question) -> bool:
        found = world.store.similarity_search_with_score(question.text, k=1)
        return bool(found[0][1] <= distance)

    return cut, decide


def by_router(world: World, threshold: float | None, labelled: Labelled = ()) -> Decide:
    """semantic-router with the memories as the utterances of its one route."""
    from semantic_router import Route
    from semantic_router.encoders import DenseEncoder
    from semantic_router.routers import IndexedRouter

    embed = world.encoder.embed_documents

    class Encoder(DenseEncoder):  # type: ignore[misc]
        def __call__(self, docs: list[Any]) -> list[list[float]]:
            return embed(docs)

    route = Route(name="notes", utterances=list(world.notes))
    router = IndexedRouter(Encoder(name="own"), [route], confidence_threshold=threshold)
    if labelled:
        texts, present = zip(*labelled, strict=True)
        router.fit(texts, ["notes" if yes else None for yes in present])
    return lambda question: router(question.text).name is not None


def router_rows(world: World) -> Iterator[Row]:
    """The rows of semantic-router; none where it is not there."""
    try:
        import semantic_router.routers  # noqa: F401
    except ImportError:
        return
    yield measure("semantic-router, as it comes", by_router(world, None), world.questions)
    yield measure("semantic-router, threshold 0.5", by_router(world, 0.5), world.questions)
    yield measure(
        "semantic-router, fitted on the other half, 0.5",
        world.by_half(partial(by_router, world, 0.5)),
        world.questions,
    )


def rows(world: World) -> Iterator[Row]:
    """Every way of deciding that needs no language model."""
    ask = partial(measure, questions=world.questions)
    bare = RecallRetriever.from_vectorstore(world.store, k=K)
    for cut in COPIED:
        yield ask(f"score_threshold {cut}", by_threshold(world, cut))
    yield ask("EmbeddingsFilter, as it comes", by_filter(world, None))
    for cut in COPIED:
        yield ask(f"EmbeddingsFilter {cut}", by_filter(world, cut))
    all_ = world.learned_from(Question("", "", None))
    cut, decide = by_cosine(world, bare, all_)
    yield ask(f"best possible cut: cosine {cut:.2f} (hindsight)", decide)
    halves = world.by_half(lambda labelled: by_cosine(world, bare, labelled)[1])
    yield ask("best cut of the other half", halves)
    yield from router_rows(world)
    yield ask("recall-signal, uncalibrated", by_signal(bare))
    yield ask("recall-signal, calibrated", by_signal(bare.with_calibration(bare.calibrate())))
    learned = world.by_half(
        lambda labelled: by_signal(bare.with_calibration(bare.calibrate(labelled=labelled)))
    )
    yield ask("recall-signal, labels of the other half", learned)


def grader_rows(world: World, sample: int) -> list[Row]:
    """Every document of a page graded by a real language model, by two rules.

    A schema leaves the model no answer but yes and no; a reply that is cut off counts as no. Its
    time is the processor time of the server, from its start on; of a server elsewhere it is the
    time on the clock.
    """
    from langchain_openai import ChatOpenAI

    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "selection"))
    from real_llm import running

    main = [question for question in world.questions if question.half is not None]
    chosen = [q for kind in KINDS for q in [q for q in main if q.kind == kind][:sample]]
    retriever = world.store.as_retriever(search_kwargs={"k": K})
    grades = {}
    clock, before = perf_counter(), _of_children()
    with running() as server:
        chat = ChatOpenAI(
            base_url=server.url,
            model=server.model,
            api_key=server.key,  # type: ignore[arg-type]
            temperature=0,
            max_tokens=48,  # type: ignore[call-arg]
        )
        grader = chat.with_structured_output(GRADE)
        for question in chosen:
            page = retriever.invoke(question.text)
            grades[question] = [_grade(grader, question, document) for document in page]
    used = _of_children() - before or perf_counter() - clock
    calls = sum(map(len, grades.values())) / len(chosen)
    name = Path(server.name).name
    found = []
    for rule, says in ((any, "one document relevant"), (all, "all relevant")):
        row = measure(f"{name} as grader, {says}", lambda q: rule(grades[q]), chosen)  # noqa: B023
        found.append(Row(row.name, row.read, used / len(chosen), calls))
    return found


def _grade(grader: Any, question: Question, document: Document) -> bool:
    from openai import OpenAIError

    asked = TEMPLATE.format(question=question.text, note=document.page_content)
    try:
        return bool(grader.invoke(asked)["relevant"] == "yes")
    except OpenAIError:
        return False


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def table(found: Sequence[Row], encoder: str = "use") -> Table:
    """The figures, one way of deciding a line; hard ones as stored, sent away, near-miss read."""
    heads = ("stored\nread", "off-topic\nsent away", "wrong\nturns", "near-miss\nread")
    made = Table(box=box.SIMPLE, title=f"{encoder}, pages of {K}", title_justify="left")
    made.add_column("what decides")
    for head in (*heads, "hard: the\nsame three", "ms a\nquestion", "LLM calls\na question"):
        made.add_column(head, justify="right")
    for row in found:
        stored, away, near = _shares(row, "")
        all_ = row.read["stored"][1] + row.read["off_topic"][1]
        hard = ", ".join(_shares(row, "hard ")) if "hard stored" in row.read else "-"
        cost = f"{row.seconds * 1e3:.1f}" if row.seconds < 1 else f"{row.seconds * 1e3:,.0f}"
        wrong = f"{row.wrong}/{all_}"
        made.add_row(row.name, stored, away, wrong, near, hard, cost, f"{row.calls:.0f}")
    return made


def _shares(row: Row, prefix: str) -> tuple[str, str, str]:
    stored, off_topic, near = (row.read[prefix + kind] for kind in KINDS)
    away = off_topic[1] - off_topic[0]
    return f"{stored[0]}/{stored[1]}", f"{away}/{off_topic[1]}", f"{near[0]}/{near[1]}"


def _lines(name: str) -> Iterator[dict[str, Any]]:
    text = (files("recall_signal") / "demo" / f"{name}.jsonl").read_text(encoding="utf-8")
    yield from map(json.loads, text.splitlines())


def main() -> None:
    """Measure, and print a table for each encoder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--encoders", default="use", help=f"of {', '.join(ENCODERS)}")
    parser.add_argument("--grader", type=int, default=0, help="questions of each kind for a model")
    options = parser.parse_args()
    logging.getLogger("langchain_core.vectorstores.base").setLevel(logging.ERROR)
    console = Console(width=132)
    console.print(f"{datetime.now(UTC):%Y-%m-%d}, {_versions()}")
    for at, encoder in enumerate(options.encoders.split(",")):
        world = World.load(encoder)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Relevance scores must")
            found = list(rows(world))
        if options.grader and not at:
            found += grader_rows(world, options.grader)
        console.print(table(found, encoder))


def _versions() -> str:
    said = [f"{name} {version(name)}" for name in ("langchain-core", "langchain-classic")]
    try:
        said.append(f"semantic-router {version('semantic-router')}")
    except ImportError:
        said.append("semantic-router not installed, so not measured")
    return ", ".join(said)


if __name__ == "__main__":
    main()
