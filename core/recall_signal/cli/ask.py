"""``recall-signal ask``: questions to a folder of texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.text import Text

from recall_signal.advice import ADVICE_TEXTS, advice
from recall_signal.calibration import Calibration
from recall_signal.cli.chat import Server, ServerSelection
from recall_signal.cli.corpus import Corpus
from recall_signal.cli.frameworks import Answer, Hit, load_framework
from recall_signal.cli.selected import selection_words
from recall_signal.cli.terminal import LEVEL_STYLES, Terminal, figure, plain, snippet
from recall_signal.confidence import RecallConfidence
from recall_signal.encoders import DemoEncoder
from recall_signal.errors import CalibrationError, ConfigurationError
from recall_signal.pool import DEFAULT_POOL_SIZE

__all__ = ["AskOptions", "ask"]

SNIPPET_LINES, INDENT = 2, 4
MAX_WIDTH = 100
"""Longer lines than this are hard to read on a wide terminal."""

UNCALIBRATED = (
    "Levels are uncalibrated: default cuts, fitted neither to the encoder nor to the texts."
)

FIGURES = (
    "Top score: the best cosine of the pool. Prominence: how far it stands above the mean of the "
    "other candidates, in units of that mean. Margin: the same in their standard deviations."
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
        calibration: A file of ``recall-signal calibrate``; None for uncalibrated levels.
        server: A model that selects from the page; None for the whole page.
        selector_timeout: Seconds that it may take for a page; None for the default.
    """

    docs: Path
    questions: Sequence[str]
    framework: str = "langchain"
    k: int = 5
    pool_size: int | None = None
    as_json: bool = False
    cache: Path | None = None
    calibration: Path | None = None
    server: Server | None = None
    selector_timeout: float | None = None


def ask(options: AskOptions, terminal: Terminal) -> None:
    """Read, embed, and answer every question.

    Raises:
        RecallSignalError: An option is wrong, the folder has no texts, or an extra is missing.
    """
    pool_size = _checked(options)
    build = load_framework(options.framework)
    encoder = DemoEncoder()
    given: dict[str, Any] = {}
    server = ServerSelection.open(options.server, options.selector_timeout, terminal)
    if server is not None:
        given |= {"selector": server.selector, "selector_options": server.options}
    if options.calibration is not None:
        given["calibration"] = calibration = _load(options.calibration)
        calibration.require_encoder(encoder.name)
    corpus = Corpus.from_folder(options.docs, terminal)
    workbench = corpus.open(
        build, encoder, options.cache, terminal, k=options.k, pool_size=pool_size, **given
    )
    for question in options.questions:
        answer = workbench.recall(question)
        if options.as_json:
            terminal.out.out(json.dumps(_as_dict(question, answer)), highlight=False)
        else:
            _show(question, answer, terminal)
    if not options.as_json:
        terminal.note(FIGURES)
        terminal.note(_about_levels(given.get("calibration"), len(corpus.passages)))


def _checked(options: AskOptions) -> int:
    """The pool size, once everything that needs no file is known to be right."""
    if not all(question.strip() for question in options.questions):
        raise ConfigurationError("a question must hold some text, got an empty one")
    if options.k < 1:
        raise ConfigurationError(f"-k must be at least 1, got {options.k}")
    if options.pool_size is None:
        return max(DEFAULT_POOL_SIZE, options.k)
    if options.pool_size < options.k:
        raise ConfigurationError(
            f"--pool-size must be at least -k ({options.k}), got {options.pool_size}"
        )
    return options.pool_size


def _load(path: Path) -> Calibration:
    try:
        return Calibration.load(path)
    except OSError as error:
        why = f"cannot be read ({error.strerror})"
    except CalibrationError:
        why = "holds no calibration of this release"
    raise ConfigurationError(f"--calibration {path} {why}; make one with recall-signal calibrate")


def _about_levels(calibration: Calibration | None, passages: int) -> str:
    """What the levels go by."""
    if calibration is None:
        return UNCALIBRATED
    if not calibration.decides:
        return (
            "Levels are uncalibrated: the calibration found no cut that tells relevant from "
            "irrelevant here."
        )
    stale = calibration.staleness(passages)
    return f"Levels follow the calibration of {calibration.created}{f'; {stale}' if stale else ''}."


def _as_dict(question: str, answer: Answer) -> dict[str, object]:
    return {
        "question": question,
        "advice": advice(answer.confidence),
        "report": {
            "v": 1,
            "confidence": answer.confidence.model_dump(mode="json"),
            "selection": answer.selection.model_dump(mode="json"),
        },
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
    if answer.selection.reason != "not_configured":
        terminal.out.print(Text(f"Selection {selection_words(answer.selection)}."), width=width)
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
    known = confidence.probability is not None
    return [
        *([f"probability {confidence.probability:.2f}"] if known else []),
        f"top score {figure(confidence.top_score)}",
        f"prominence {figure(confidence.prominence)}",
        f"margin {figure(confidence.relative_margin)}",
        f"pool {confidence.result_count}",
    ]
