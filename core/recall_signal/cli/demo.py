"""``recall-signal demo``: a small team's memory, asked 72 questions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from statistics import median
from time import perf_counter
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from recall_signal.advice import advice
from recall_signal.cli.frameworks import Passage, Workbench, load_framework
from recall_signal.cli.tally import KINDS, Question, Result, Tally, tally
from recall_signal.cli.terminal import EmbeddingBar, Terminal, figure, level_text, shortened
from recall_signal.confidence import LEVELS
from recall_signal.encoders import DemoEncoder, Encoder

__all__ = ["demo"]

K, POOL_SIZE = 5, 50
EMBED_BATCH = 20
NEXT = 'recall-signal ask --docs FOLDER "your question"'
OTHER_COLUMNS = 51
"""Width of the table of results without the questions."""

NOTES = {
    "right": "stored should be 'read', off_topic 'fallback'. near_miss asks for a fact that is "
    "not stored about a topic that is: scores measure topic, not whether the fact is stored, so "
    "no level is right or wrong there.",
    f"hit@{K}": f"a memory that answers is among the {K} results.",
    "levels": "uncalibrated: default cuts, chosen on another encoder and corpus, fitted neither "
    "to this encoder nor to these memories.",
}


class _Reporting:
    """An encoder that reports its progress."""

    def __init__(self, encoder: Encoder, bar: EmbeddingBar) -> None:
        self.name = encoder.name
        self.embed_query = encoder.embed_query
        self._encoder = encoder
        self._bar = bar

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = []
        for start in range(0, len(texts), EMBED_BATCH):
            self._bar(start, len(texts))
            vectors += self._encoder.embed_documents(texts[start : start + EMBED_BATCH])
        self._bar(len(texts), len(texts))
        return vectors


def demo(framework: str, terminal: Terminal) -> None:
    """Embed the memories, ask every question, and show what the signal said.

    Raises:
        RecallSignalError: There is no such framework, or an extra is missing.
    """
    build = load_framework(framework)
    memories = [Passage(m["id"], m["text"], m["topic"]) for m in _load("memories")]
    questions = [
        Question(q["text"], q["kind"], frozenset(q["answers"])) for q in _load("questions")
    ]
    encoder = DemoEncoder()
    with EmbeddingBar(terminal.err) as bar:
        workbench = build(memories, _Reporting(encoder, bar), K, POOL_SIZE)
        seconds = bar.seconds
    terminal.out.print(
        Text(
            f"{len(memories)} memories of a small team, embedded in {seconds:.1f} s with "
            f"{encoder.name}; {len(questions)} questions, each judged over a pool of "
            f"{POOL_SIZE} with a page of {K}."
        )
    )
    terminal.out.print()
    results = [_ask(question, workbench, encoder) for question in questions]
    terminal.out.print(results_table(results, terminal.out.width))
    terminal.out.print()
    terminal.out.print(summary_table([tally(results, kind) for kind in KINDS]))
    terminal.out.print()
    terminal.out.print(_notes({**NOTES, "time": _timing(results), "next": NEXT}))


def _load(name: str) -> list[dict[str, Any]]:
    text = (files("recall_signal") / "demo" / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _ask(question: Question, workbench: Workbench, encoder: Encoder) -> Result:
    start = perf_counter()
    encoder.embed_query(question.text)
    between = perf_counter()
    answer = workbench.recall(question.text)
    return Result(question, answer, perf_counter() - between, between - start)


def results_table(results: Sequence[Result], width: int) -> Table:
    """One row a question, as wide as the terminal at most."""
    table = _table()
    for name in ("question", "kind", "level"):
        table.add_column(name, no_wrap=True)
    for name in ("top", "prominence"):
        table.add_column(name, no_wrap=True, justify="right")
    table.add_column("advice", no_wrap=True)
    for result in results:
        signal = result.answer.confidence
        table.add_row(
            shortened(result.question.text, max(width - OTHER_COLUMNS, 16)),
            result.question.kind,
            level_text(signal.level),
            figure(signal.top_score),
            figure(signal.prominence),
            advice(signal),
        )
    return table


def summary_table(tallies: Sequence[Tally]) -> Table:
    """One row for each kind of question."""
    shown = [
        level for level in LEVELS if level != "unknown" or any(t.levels[level] for t in tallies)
    ]
    table = _table()
    table.add_column("kind", no_wrap=True)
    for level in shown:
        table.add_column(level_text(level), no_wrap=True, justify="right")
    for name in ("median top", "right", f"hit@{K}"):
        table.add_column(name, no_wrap=True, justify="right")
    for row in tallies:
        table.add_row(
            row.kind,
            *(str(row.levels[level]) for level in shown),
            figure(row.median_top),
            _share(row.right, row.count),
            _share(row.hits, row.count),
        )
    return table


def _timing(results: Sequence[Result]) -> str:
    recall = median(result.recall_seconds for result in results) * 1000
    embedding = median(result.embed_seconds for result in results) * 1000
    return (
        f"{recall:.1f} ms per question (median; embedding, search and signal), beside "
        f"{embedding:.1f} ms for one embedding."
    )


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))


def _notes(notes: dict[str, str]) -> Table:
    table = Table.grid(padding=(0, 2))
    for word, text in notes.items():
        table.add_row(Text(word, style="bold"), Text(text))
    return table


def _share(part: int | None, whole: int) -> str:
    return "-" if part is None else f"{part} of {whole}"
