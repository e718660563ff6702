"""`recall-signal ask`: questions to a folder of texts."""

from __future__ import annotations

import json

import typer
from rich.text import Text

from recall_signal._display_words import LEVEL_STYLES
from recall_signal._safe_text import terminal_text
from recall_signal.advice import ADVICE_TEXTS, Advice
from recall_signal.cli import _options as opt
from recall_signal.cli._backends import Hit, SearchResult
from recall_signal.cli._corpus import read_corpus
from recall_signal.cli._prepared import Prepared
from recall_signal.cli._search_options import SearchOptions, with_search_options
from recall_signal.cli._telling import telling_part
from recall_signal.cli._terminal import Terminal, figure, open_terminal, selection_text, snippet
from recall_signal.confidence import RecallConfidence
from recall_signal.errors import ConfigurationError

__all__ = ["ask"]

SNIPPET_LINES, INDENT = 2, 4
MAX_WIDTH = 100
"""Longer lines than this are hard to read on a wide terminal."""

WEAK = (
    "A weak match: these may touch the topic, and likely do not answer. Check them before relying "
    "on them, or prefer an external source."
)
"""The headline of `low`, whose page may hold the answer; the advice is that of `none`."""

EXIT_CODES: dict[Advice, int] = {"read": 0, "fallback": 3, "undecided": 4}
"""Advice -> exit code, for scripts; of several questions the highest."""

FIGURES = {
    True: "Top cosine: the best of the pool. Term coverage: how much of the question's "
    "informative terms the best passage holds, 0 to 1.",
    False: "Top cosine: the best of the pool. Prominence: how far it stands above the mean "
    "of the other candidates, in units of that mean. Margin: the same in their standard "
    "deviations.",
}
"""The figures that decide a level, with a calibration and without one."""


@with_search_options
def ask(questions: opt.Questions, search: SearchOptions, as_json: opt.AsJson = False) -> None:
    """Ask a folder of texts, and see whether what was found is worth reading.

    Exit code: 0 every page is worth reading, 3 some page is not, 4 not known.
    """
    with open_terminal() as terminal:
        if not all(question.strip() for question in questions):
            raise ConfigurationError("a question must hold some text, got an empty one")
        prepared = Prepared.check(terminal, search)
        corpus = read_corpus(search.docs, None, terminal, search.glob)
        backend, _, about = prepared.open(corpus, terminal)
        advised, calibrated = set(), set()
        for question in questions:
            result = backend.recall(question)
            advised.add(result.advice)
            calibrated.add(result.confidence.probability is not None)
            if as_json:
                terminal.out.out(json.dumps(_as_dict(question, result)), highlight=False)
            else:
                _show(question, result, terminal)
        if not as_json:
            for way in sorted(calibrated):
                terminal.note(FIGURES[way])
            terminal.note(about)
        raise typer.Exit(max(EXIT_CODES[advice] for advice in advised))


def _as_dict(question: str, result: SearchResult) -> dict[str, object]:
    return {
        "question": question,
        "advice": result.advice,
        "report": result.report,
        "hits": [
            {
                "rank": rank,
                "id": hit.id,
                "source": hit.source,
                "cosine": hit.cosine,
                "text": hit.text,
            }
            for rank, hit in enumerate(result.hits)
        ],
    }


def _show(question: str, result: SearchResult, terminal: Terminal) -> None:
    """Print one question: the signal first, then the page."""
    confidence = result.confidence
    width = min(terminal.out.width, MAX_WIDTH)
    level = Text(f"{confidence.level.upper()}  ", style=LEVEL_STYLES[confidence.level])
    terminal.out.print()
    terminal.out.print(Text(terminal_text(question), style="bold"), width=width)
    terminal.out.print(Text.assemble(level, _headline(result)), width=width)
    terminal.out.print(Text("   ".join(_figures(confidence))), width=width)
    terminal.out.print(Text(confidence.rationale, style="dim"), width=width)
    if result.selection.reason != "not_configured":
        terminal.out.print(Text(f"Selection {selection_text(result.selection)}."), width=width)
    terminal.out.print()
    for rank, hit in enumerate(result.hits, start=1):
        _show_hit(rank, hit, question, terminal, width)


def _headline(result: SearchResult) -> str:
    useless = not result.hits or result.selection.reason == "selected_none"
    weak = result.confidence.level == "low" and not useless
    return WEAK if weak else ADVICE_TEXTS[result.advice]


def _show_hit(rank: int, hit: Hit, question: str, terminal: Terminal, width: int) -> None:
    cosine = figure(hit.cosine)
    head = Text.assemble(f"{rank:>2}  {cosine}  ", (terminal_text(hit.source), "cyan"))
    terminal.out.print(head, soft_wrap=True)  # a path in one piece can be clicked and copied
    cells = width - INDENT
    text = telling_part(hit.text, question, cells * SNIPPET_LINES)
    for line in snippet(text, terminal.out, cells, SNIPPET_LINES):
        terminal.out.print(Text(" " * INDENT + line), soft_wrap=True)


def _figures(confidence: RecallConfidence) -> list[str]:
    top, pool = f"top cosine {figure(confidence.top_score)}", f"pool {confidence.result_count}"
    if confidence.probability is not None:
        known = f"probability {confidence.probability:.2f}"
        return [known, top, f"term coverage {figure(confidence.term_coverage)}", pool]
    prominence = f"prominence {figure(confidence.prominence)}"
    return [top, prominence, f"margin {figure(confidence.relative_margin)}", pool]
