"""``recall-signal ask``: questions to a folder of texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from recall_signal.advice import ADVICE_TEXTS, advice
from recall_signal.cli.chunks import cut
from recall_signal.cli.folder import read_folder
from recall_signal.cli.frameworks import Answer, Hit, Workbench, load_framework
from recall_signal.cli.terminal import (
    LEVEL_STYLES,
    EmbeddingBar,
    Terminal,
    figure,
    plain,
    snippet,
)
from recall_signal.confidence import RecallConfidence
from recall_signal.encoders import DemoEncoder
from recall_signal.errors import ConfigurationError, MissingDependencyError
from recall_signal.vector_cache import CachedEncoder

__all__ = ["DEFAULT_POOL", "AskOptions", "ask"]

DEFAULT_POOL = 50
"""As in ``RecallRetriever``."""

BAR_DELAY = 2.0
SNIPPET_LINES, INDENT = 2, 4
MAX_WIDTH = 100
"""Longer lines than this are hard to read on a wide terminal."""

UNCALIBRATED = (
    "Levels are uncalibrated: default cuts, fitted neither to the encoder nor to the texts."
)


@dataclass(frozen=True, slots=True)
class AskOptions:
    """The command line of ``recall-signal ask``.

    Attributes:
        docs: The folder.
        questions: At least one.
        framework: A name in the entry point group (:mod:`recall_signal.cli.frameworks`).
        k: Page size.
        pool_size: Candidates looked at; None for the default, or ``k`` where that is more.
        as_json: One JSON object per question instead of a page to read.
        cache: Folder of the vectors; None for the user's cache folder.
    """

    docs: Path
    questions: Sequence[str]
    framework: str = "langchain"
    k: int = 5
    pool_size: int | None = None
    as_json: bool = False
    cache: Path | None = None


def ask(options: AskOptions, terminal: Terminal) -> None:
    """Read, embed, and answer every question.

    Raises:
        RecallSignalError: An option is wrong, the folder has no texts, or an extra is missing.
    """
    pool_size = _checked(options)
    workbench = _build(options, pool_size, terminal)
    for question in options.questions:
        answer = workbench.recall(question)
        if options.as_json:
            terminal.out.out(json.dumps(_as_dict(question, answer)), highlight=False)
        else:
            _show(question, answer, terminal)
    if not options.as_json:
        terminal.note(UNCALIBRATED)


def _checked(options: AskOptions) -> int:
    """The pool size, once everything that needs no file is known to be right."""
    if not all(question.strip() for question in options.questions):
        raise ConfigurationError("a question must hold some text, got an empty one")
    if options.k < 1:
        raise ConfigurationError(f"-k must be at least 1, got {options.k}")
    if options.pool_size is None:
        return max(DEFAULT_POOL, options.k)
    if options.pool_size < options.k:
        raise ConfigurationError(
            f"--pool-size must be at least -k ({options.k}), got {options.pool_size}"
        )
    return options.pool_size


def _build(options: AskOptions, pool_size: int, terminal: Terminal) -> Workbench:
    """Everything up to the first question, with notes on the way."""
    build = load_framework(options.framework)
    cache = (options.cache or _user_cache()) / "vectors.sqlite"
    folder = read_folder(options.docs)
    if skipped := folder.describe_skipped():
        terminal.note(f"Skipped: {skipped}")
    passages = cut(folder.files)
    with EmbeddingBar(terminal.err, BAR_DELAY) as bar:
        encoder = CachedEncoder(DemoEncoder(), cache, progress=bar)
        workbench = build(passages, encoder, options.k, pool_size)
    embedded = (
        f"{bar.done} of them new, embedded in {bar.seconds:.1f} s, kept in {cache}"
        if bar.done
        else "all vectors from the cache"
    )
    terminal.note(
        f"{_count(len(folder.files), 'file')}, {_count(len(passages), 'passage')}; {embedded}"
    )
    return workbench


def _user_cache() -> Path:
    try:
        from platformdirs import user_cache_path
    except ImportError:
        raise MissingDependencyError("recall-signal ask without --cache", "demo") from None
    return user_cache_path("recall-signal", appauthor=False)


def _as_dict(question: str, answer: Answer) -> dict[str, object]:
    return {
        "question": question,
        "advice": advice(answer.confidence),
        "report": {"v": 1, "confidence": answer.confidence.model_dump(mode="json")},
        "hits": [
            {
                "rank": rank,
                "id": hit.id,
                "source": hit.source,
                "cosine": hit.cosine,
                "text": hit.text,
            }
            for rank, hit in enumerate(answer.hits)
        ],
    }


def _show(question: str, answer: Answer, terminal: Terminal) -> None:
    """One question: the signal first, then the page."""
    confidence = answer.confidence
    width = min(terminal.out.width, MAX_WIDTH)
    style = LEVEL_STYLES[confidence.level]
    verdict = Text.assemble(
        (f"{confidence.level.upper()}  ", style), ADVICE_TEXTS[advice(confidence)]
    )
    figures = Text("   ".join(_figures(confidence)))
    terminal.out.print()
    terminal.out.print(Text(plain(question), style="bold"), width=width)
    terminal.out.print(verdict, width=width)
    terminal.out.print(figures, width=width)
    terminal.out.print(Text(confidence.rationale, style="dim"), width=width)
    terminal.out.print()
    for rank, hit in enumerate(answer.hits, start=1):
        _show_hit(rank, hit, terminal, width)


def _show_hit(rank: int, hit: Hit, terminal: Terminal, width: int) -> None:
    cosine = figure(hit.cosine)
    head = Text.assemble(f"{rank:>2}  {cosine}  ", (plain(hit.source), "cyan"))
    terminal.out.print(head, soft_wrap=True)  # a path in one piece can be clicked and copied
    for line in snippet(hit.text, terminal.out, width - INDENT, SNIPPET_LINES):
        terminal.out.print(Text(" " * INDENT + line), soft_wrap=True)


def _figures(confidence: RecallConfidence) -> list[str]:
    return [
        f"top score {figure(confidence.top_score)}",
        f"prominence {figure(confidence.prominence)}",
        f"margin {figure(confidence.relative_margin)}",
        f"pool {confidence.result_count}",
    ]


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
