"""The memories, questions and encoder that every part of the demo works with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from time import perf_counter
from typing import Any, Self

from rich.console import RenderableType
from rich.text import Text

from recall_signal.cli._backends import BackendFactory, Passage, SearchBackend
from recall_signal.cli._demo._stats import Question, Result
from recall_signal.cli._models import Selection
from recall_signal.cli._terminal import ProgressBar, Terminal
from recall_signal.encoders import Encoder
from recall_signal.pool import DEFAULT_POOL_SIZE

__all__ = ["K", "RememberingEncoder", "Session"]

K = 5
EMBED_BATCH = 20
BAR_DELAY = 1.0


class RememberingEncoder:
    """An encoder that embeds each document once, and reports its progress."""

    def __init__(self, encoder: Encoder, bar: ProgressBar) -> None:
        self.name = encoder.name
        self.embed_query = encoder.embed_query
        self._encoder = encoder
        self._bar = bar
        self._vectors: dict[str, list[float]] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of these texts; new ones are embedded in batches."""
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        for start in range(0, len(new), EMBED_BATCH):
            self._bar(start, len(new))
            batch = new[start : start + EMBED_BATCH]
            self._vectors.update(zip(batch, self._encoder.embed_documents(batch), strict=True))
        if new:
            self._bar(len(new), len(new))
        return [self._vectors[text] for text in texts]


@dataclass(frozen=True, slots=True)
class Session:
    """The memories behind a framework's retriever, and the questions to it.

    Attributes:
        terminal: Where everything is shown.
        build: The framework.
        encoder: Embeds memories and questions.
        memories: The texts to search.
        questions: In the order of the table.
        bar: Shows and times the embedding of the memories.
    """

    terminal: Terminal
    build: BackendFactory
    encoder: RememberingEncoder
    memories: Sequence[Passage]
    questions: Sequence[Question]
    bar: ProgressBar

    @classmethod
    def load(cls, build: BackendFactory, encoder: Encoder, terminal: Terminal) -> Self:
        """Return a session with the packaged memories and questions."""
        bar = ProgressBar(terminal.err, "Embedding")
        return cls(
            terminal=terminal,
            build=build,
            encoder=RememberingEncoder(encoder, bar),
            memories=[Passage(m["id"], m["text"], m["topic"]) for m in _load("memories")],
            questions=[
                Question(q["text"], q["kind"], q["section"], frozenset(q["answers"]))
                for q in _load("questions")
            ],
            bar=bar,
        )

    def backend(
        self, build: BackendFactory | None = None, selection: Selection | None = None
    ) -> SearchBackend:
        """Return the memories in a store, by default of the session's framework."""
        with self.bar:
            return (build or self.build)(
                self.memories,
                self.encoder,
                K,
                DEFAULT_POOL_SIZE,
                selector=None if selection is None else selection.selector,
                selector_options=None if selection is None else selection.options,
            )

    def ask_all(self, backend: SearchBackend, label: str) -> list[Result]:
        """Return every question with its page and its times."""
        results = []
        with ProgressBar(self.terminal.err, label, BAR_DELAY) as bar:
            for done, question in enumerate(self.questions, start=1):
                start = perf_counter()
                self.encoder.embed_query(question.text)
                between = perf_counter()
                page = backend.recall(question.text)
                seconds = perf_counter() - between
                results.append(Result(question, page, seconds, between - start))
                bar(done, len(self.questions))
        return results

    def show(self, heading: str, text: str, *parts: RenderableType) -> None:
        """Print a paragraph and its tables, each followed by an empty line."""
        for part in (Text.assemble((heading, "bold"), f" {text}"), *parts):
            self.terminal.out.print(part)
            self.terminal.out.print()


def _load(name: str) -> list[dict[str, Any]]:
    text = (files("recall_signal") / "demo" / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]
