"""An evaluation in words and figures, for the terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from recall_signal._files import SHARED, write_whole
from recall_signal._safe_text import terminal_text
from recall_signal.confidence import LEVELS
from recall_signal.errors import ConfigurationError, MissingDependencyError
from recall_signal.evaluation._data import PRESENT
from recall_signal.evaluation._result import MODES, Evaluation, Metrics, Mode

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = [
    "CEILING",
    "COLUMNS",
    "LEGEND",
    "MODES_LEGEND",
    "cost",
    "figure_cells",
    "notes",
    "print_report",
    "summary",
    "verdict",
    "write_json",
    "write_text",
]

COLUMNS = ("", "AUROC", "95 %", "FPR95", "oracle", "default", "Brier", "ECE", "AUGRC")
"""Of the table of figures; they are explained in `LEGEND`."""

LEGEND = (
    "AUROC: 0.5 is chance. FPR95: absent queries let through where 95 % of the present ones are. "
    "oracle: balanced accuracy of the best cut, chosen with these labels. default: balanced "
    "accuracy as shipped, moderate or high counting as found. Brier and ECE weigh both classes "
    "the same. AUGRC: mean risk of a wrong answer given."
)

MODES_LEGEND = (
    "The modes have learned the scale from: uncalibrated nothing; null general questions and "
    "pieces of stored texts, no labels; null+past these and the queries of the other split, "
    "without labels; auto the same as traffic, within bounds; stream the scores of those queries "
    "alone; labelled their labels as well."
)

SPLITS = (
    "A query without a split of its own goes to dev or test by a hash of its id, about half to "
    "each."
)

FEW = 20
"""Queries of a kind below which figures say little."""

OPINIONS = (
    (0.9, "reliable"),
    (0.75, "a useful hint"),
    (0.6, "a weak hint"),
    (0.0, "hardly better than a coin"),
)
"""Least balanced accuracy -> what it is worth in practice."""

TOO_FEW = "too few to say"
"""Opinion on fewer than `FEW` queries of a kind."""

WORTHWHILE = 0.02
"""Balanced accuracy by which another mode must be better to be recommended."""

TO_GET: dict[Mode, str] = {
    "uncalibrated": "without a calibration",
    "null": "calibrated",
    "null+past": "with past queries (recall-signal calibrate --past FILE)",
    "auto": "with calibration='auto' after such traffic",
    "stream": "with a Baseline that follows the traffic",
    "labelled": "with labels (recall-signal calibrate --labelled FILE)",
}

_LITTLE = f"with fewer than {FEW} of a kind the figures say little"

CEILING = (
    "No statistic of the scores sees whether the answer itself is stored: where the topic is "
    "stored and the answer is not, a query looks like any other on that topic. High says that "
    "the topic is stored, not that the answer is."
)

_LIMIT = 60
"""Characters of a name in a table."""


def print_report(evaluation: Evaluation, console: Console | None = None) -> None:
    """Print the tables: figures for each kind of absent queries, then levels, notes and latency.

    Args:
        evaluation: The evaluation to show.
        console: Target; standard output by default.

    Raises:
        MissingDependencyError: rich is not installed.
    """
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        raise MissingDependencyError("The table of an evaluation", "eval") from None
    console = console or Console(highlight=False)
    console.print(Text(terminal_text(summary(evaluation))))
    for kind in evaluation.absent_kinds:
        console.print()
        console.print(_figure_table(kind, evaluation.of_kind(kind)))
    console.print()
    console.print(_level_table(evaluation))
    console.print()
    for line in (LEGEND, MODES_LEGEND, *notes(evaluation), *cost(evaluation)):
        console.print(Text(terminal_text(line), style="dim"))
    console.print()
    for line in verdict(evaluation):
        console.print(Text(terminal_text(line)))


def write_json(evaluation: Evaluation, path: str | Path) -> None:
    """Write everything as JSON: figures, and scores and levels of every query by its id; no texts.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    write_text(path, json.dumps(evaluation.to_dict(), allow_nan=False, indent=1) + "\n")


def _figure_table(kind: str, evaluation: Evaluation) -> Table:
    from rich.text import Text

    table = _table(f"present against {kind.replace('_', ' ')}")
    for number, column in enumerate(COLUMNS):
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    for row in evaluation.metrics():
        style = "bold" if row.method in MODES else ""
        cells = (terminal_text(cell[:_LIMIT]) for cell in figure_cells(row))
        table.add_row(*(Text(cell, style=style) for cell in cells))
    return table


def _level_table(evaluation: Evaluation) -> Table:
    from rich.text import Text

    table = _table("levels, share of queries")
    table.add_column("", no_wrap=True)
    table.add_column("kind", no_wrap=True)
    for level in LEVELS[:4]:
        table.add_column(level, justify="right", no_wrap=True)
    for mode in MODES:
        for kind, row in evaluation.level_table(mode).items():
            shares = [f"{row.get(level, 0.0):.0%}" for level in LEVELS[:4]]
            table.add_row(Text(mode), Text(terminal_text(kind[:_LIMIT])), *shares)
        table.add_section()
    return table


def _table(title: str) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    return Table(
        title=Text(terminal_text(title[:_LIMIT])),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=0,
    )


def write_text(path: str | Path, text: str) -> None:
    """Write a report.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    try:
        write_whole(path, text, SHARED)
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written ({error.strerror}); choose another file"
        ) from None


def summary(evaluation: Evaluation) -> str:
    """Return one sentence on what was measured."""
    counts = ", ".join(
        f"{int((evaluation.kinds == kind).sum())} {kind.replace('_', ' ')}"
        for kind in (PRESENT, *evaluation.absent_kinds)
    )
    return (
        f"{evaluation.encoder} over {evaluation.documents} documents, pool of "
        f"{evaluation.pool_size}; {evaluation.split} split: {counts}; fitted on "
        f"{evaluation.sample} queries of the other split. {SPLITS}"
    )


def figure_cells(row: Metrics) -> tuple[str, ...]:
    """Return one method's figures as text, in the order of `COLUMNS`."""
    interval = f"{row.auroc_low:.2f}-{row.auroc_high:.2f}"
    values = (row.fpr95, row.oracle, row.balanced_accuracy, row.brier, row.ece, row.augrc)
    return (row.method, f"{row.auroc:.3f}", interval, *map(_figure, values))


def notes(evaluation: Evaluation) -> list[str]:
    """Return remarks on the number of queries and on the fits, a line each."""
    few = _few(evaluation)
    lines = [f"only {_counted(few)} queries are reported: {_LITTLE}"] if few else []
    if evaluation.sample < FEW:
        lines.append(f"only {evaluation.sample} queries were fitted on: {_LITTLE}")
    return lines + [
        f"{method.name}: {note}" for method in evaluation.methods for note in method.notes
    ]


def _few(evaluation: Evaluation) -> dict[str, int]:
    """Return the kinds with too few queries, each with its number."""
    kinds = (PRESENT, *evaluation.absent_kinds)
    counts = {kind: int((evaluation.kinds == kind).sum()) for kind in kinds}
    return {kind: count for kind, count in counts.items() if count < FEW}


def _counted(few: Mapping[str, int]) -> str:
    return " and ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in few.items())


def verdict(evaluation: Evaluation) -> list[str]:
    """Return what to do, in plain words: how well the default works, and what works better."""
    rows = {
        kind: {row.method: row for row in evaluation.of_kind(kind).metrics(draws=1)}
        for kind in evaluation.absent_kinds
    }
    accuracy = {
        mode: sum(of_kind[mode].balanced_accuracy or 0.0 for of_kind in rows.values()) / len(rows)
        for mode in MODES
    }
    best, few = max(MODES, key=lambda mode: accuracy[mode]), _few(evaluation)
    lines = [
        f"In short: calibrated without labels or past queries, {_outcome(rows, 'null', few)}.",
        f"Uncalibrated, {_outcome(rows, 'uncalibrated', few)}.",
    ]
    if few:
        lines.append(
            f"An opinion needs {FEW} present queries and {FEW} of the other kind, and there are "
            f"only {_counted(few)}: take it as a first impression."
        )
    if accuracy[best] - accuracy["null"] >= WORTHWHILE:
        lines.append(
            f"Better here, {TO_GET[best]}: {_outcome(rows, best, few)} (balanced accuracy "
            f"{accuracy[best]:.2f} against {accuracy['null']:.2f})."
        )
    return lines


def _outcome(rows: Mapping[str, Mapping[str, Metrics]], mode: str, few: Mapping[str, int]) -> str:
    """Say how many queries are read and sent away, with an opinion for each kind."""
    read = next(iter(rows.values()))[mode].found_present or 0.0
    away = []
    for kind, of_kind in rows.items():
        share = 1.0 - (of_kind[mode].found_absent or 0.0)
        is_few = not few.keys().isdisjoint((PRESENT, kind))
        worth = TOO_FEW if is_few else _opinion(of_kind[mode].balanced_accuracy or 0.0)
        away.append(f"{share:.0%} of the {kind.replace('_', ' ')} ones ({worth})")
    return f"{read:.0%} of the present queries are read, and {' and '.join(away)} are sent away"


def _opinion(accuracy: float) -> str:
    return next(opinion for least, opinion in OPINIONS if accuracy >= least)


def cost(evaluation: Evaluation) -> list[str]:
    """Return a line on the cost of a query; none where it was not measured."""
    if evaluation.latency is None:
        return []
    measured = evaluation.latency
    return [
        f"A query costs {measured.assess:.0f} us uncalibrated and {measured.calibrated:.0f} us "
        f"calibrated (processor time, without the search); a fit takes "
        f"{1000 * measured.fit:.0f} ms without its searches."
    ]


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
