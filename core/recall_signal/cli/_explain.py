"""`recall-signal explain`: a saved report or calibration, in words and a picture."""

from __future__ import annotations

import json
from collections.abc import Mapping

from rich.bar import Bar
from rich.table import Table
from rich.text import Text

from recall_signal._display_words import LEVEL_STYLES
from recall_signal._report_schema import RecallReport
from recall_signal._safe_text import terminal_text
from recall_signal.advice import ADVICE_TEXTS
from recall_signal.calibration import Calibration
from recall_signal.cli import _options as opt
from recall_signal.cli._calibrate import draw, show_calibration
from recall_signal.cli._inputs import read_named_text
from recall_signal.cli._terminal import Terminal, figure, open_terminal, selection_text
from recall_signal.errors import ConfigurationError
from recall_signal.report_parsing import parse_report

__all__ = ["explain"]

BAR_CELLS = 40

MEANINGS = {
    "top_score": "how near the best candidate is to the question; what counts as near depends on "
    "the encoder and on the texts",
    "term_coverage": "how much of the question's informative words one candidate holds",
    "probability": "that something on the topic was found; never that the exact fact is stored",
}
"""Figure of a signal, between 0 and 1 -> its meaning."""


def explain(file: opt.SavedFile, figure: opt.Figure = None) -> None:
    """Say in words what a saved calibration, or the saved report of a question, means."""
    with open_terminal() as terminal:
        text = read_named_text("FILE", file)
        values = _values(text)
        if any(map(_is_calibration, values)):
            calibration = Calibration.load(file)
            show_calibration(calibration, terminal)
            if figure is not None:
                draw(calibration, figure)
            return
        parsed = [(value, parse_report(_report_of(value))) for value in values]
        reports = [(value, report) for value, report in parsed if report is not None]
        if not reports or len(reports) < len(values):
            raise ConfigurationError(
                f"FILE {file} holds neither a calibration nor reports; expected what calibrate "
                "--out or ask --json wrote, or the entry of a document's metadata"
            )
        if figure is not None:
            raise ConfigurationError("--figure draws a calibration, and FILE holds a report")
        for value, report in reports:
            _show(value, report, terminal)


def _values(text: str) -> list[object]:
    """Return the JSON value of a text, or those of its lines."""
    try:
        value = json.loads(text)
        return value if isinstance(value, list) else [value]
    except (ValueError, RecursionError):
        pass
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return []


def _report_of(value: object) -> object:
    """Return the report of an answer of `ask --json`, or the value itself."""
    return value.get("report", value) if isinstance(value, Mapping) else value


def _is_calibration(value: object) -> bool:
    return isinstance(value, Mapping) and {"mode", "scale"} <= value.keys()


def _show(value: object, report: RecallReport, terminal: Terminal) -> None:
    confidence = report.confidence
    level = Text(f"{confidence.level.upper()}  ", style=LEVEL_STYLES[confidence.level])
    question = value.get("question") if isinstance(value, Mapping) else None
    terminal.out.print()
    if isinstance(question, str):
        terminal.out.print(Text(terminal_text(question), style="bold"))
    terminal.out.print(Text.assemble(level, ADVICE_TEXTS[report.advice]))
    terminal.out.print(Text(terminal_text(confidence.rationale), style="dim"))
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, meaning in MEANINGS.items():
        measured = getattr(confidence, name)
        if measured is not None:
            bar = Bar(1.0, 0.0, min(max(measured, 0.0), 1.0), width=BAR_CELLS)
            table.add_row(name.replace("_", " "), figure(measured), bar)
            table.add_row("", "", Text(f"{meaning}.", style="dim"))
    terminal.out.print(table)
    counted = f"{confidence.result_count} candidates were looked at."
    terminal.out.print(Text(f"{counted} Selection {selection_text(report.selection)}."))
