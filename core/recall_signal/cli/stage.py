"""What every part of the demo works with: memories, questions, and an encoder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from time import perf_counter
from typing import Any, Self

from rich.console import RenderableType
from rich.text import Text

from recall_signal.cli.frameworks import Build, Passage, Workbench
from recall_signal.cli.tally import Question, Result
from recall_signal.cli.terminal import EmbeddingBar, ProgressBar, Terminal
from recall_signal.encoders import Encoder
from recall_signal.pool import DEFAULT_POOL_SIZE

__all__ = ["K", "RememberingEncoder", "Stage"]

K = 5
EMBED_BATCH = 20
BAR_DELAY = 1.0


class RememberingEncoder:
    """An encoder that embeds each document once, and reports its progress."""

    def __init__(self, encoder: Encoder, bar: EmbeddingBar) -> None:
        self.name = encoder.name
        self.embed_query = encoder.embed_query
        self._encoder = encoder
        self._bar = bar
        self._vectors: dict[str, list[float]] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of these texts, in batches where they are new."""
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        for start in range(0, len(new), EMBED_BATCH):
            self._bar(start, len(new))
            batch = new[start : start + EMBED_BATCH]
            self._vectors.update(zip(batch, self._encoder.embed_documents(batch), strict=True))
        if new:
            self._bar(len(new), len(new))
        return [self._vectors[text] for text in texts]


@dataclass(frozen=True, slots=True)
class Stage:
    """The memories behind some framework's retriever, as often as it takes.

    Attributes:
        terminal: Where everything is shown.
        build: The framework to ask through.
        encoder: Embeds memories and questions.
        memories: What can be found.
        questions: What is asked, in the order of the tables.
        bar: Shows the embedding of the memories, and knows how long it took.
    """

    terminal: Terminal
    build: Build
    encoder: RememberingEncoder
    memories: Sequence[Passage]
    questions: Sequence[Question]
    bar: EmbeddingBar

    @classmethod
    def load(cls, build: Build, encoder: Encoder, terminal: Terminal) -> Self:
        """With the memories and questions that come with the package."""
        bar = EmbeddingBar(terminal.err)
        return cls(
            terminal=terminal,
            build=build,
            encoder=RememberingEncoder(encoder, bar),
            memories=[Passage(m["id"], m["text"], m["topic"]) for m in _load("memories")],
            questions=[
                Question(q["text"], q["kind"], frozenset(q["answers"])) for q in _load("questions")
            ],
            bar=bar,
        )

    def workbench(self, build: Build | None = None, **given: Any) -> Workbench:
        """The memories in a store; with another framework, a selector or a calibration."""
        with self.bar:
            return (build or self.build)(self.memories, self.encoder, K, DEFAULT_POOL_SIZE, **given)

    def ask_all(self, workbench: Workbench, label: str) -> list[Result]:
        """Every question with its answer and its times."""
        with ProgressBar(self.terminal.err, label, BAR_DELAY) as bar:
            results = []
            for done, question in enumerate(self.questions, start=1):
                start = perf_counter()
                self.encoder.embed_query(question.text)
                between = perf_counter()
                answer = workbench.recall(question.text)
                seconds = perf_counter() - between
                results.append(Result(question, answer, seconds, between - start))
                bar(done, len(self.questions))
        return results

    def show(self, heading: str, text: str, *parts: RenderableType) -> None:
        """Print a paragraph and what belongs to it, each with an empty line behind it."""
        for part in (Text.assemble((heading, "bold"), f" {text}"), *parts):
            self.terminal.out.print(part)
            self.terminal.out.print()


def _load(name: str) -> list[dict[str, Any]]:
    text = (files("recall_signal") / "demo" / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]
