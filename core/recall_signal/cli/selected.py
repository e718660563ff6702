"""What a selector did to a page, for a person."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from recall_signal.cli.frameworks import Answer, Hit
from recall_signal.cli.terminal import figure, level_text, plain, shortened
from recall_signal.reports import SelectionReason, SelectionReport

__all__ = ["selection_words", "side_by_side"]

NAME_CELLS = 40
GAP = 3

WHY: dict[SelectionReason, str] = {
    "not_configured": "no model was asked",
    "no_results": "there was nothing to select from",
    "too_few_results": "so few results are not worth a call",
    "skipped_by_level": "no call is spent at this level",
    "timeout": "the model took too long",
    "llm_error": "the model or its server failed",
    "invalid_output": "the model did not answer in the form that it was asked for",
    "selected_none": "the model found that no result helps",
}


def selection_words(report: SelectionReport) -> str:
    """The report in one sentence."""
    if report.applied:
        model = shortened(report.model or "the model", NAME_CELLS).plain
        kept, dropped = report.kept or 0, report.dropped or 0
        ids = report.dropped_memory_ids or []
        more = ", ..." if dropped > len(ids) else ""
        named = f": {', '.join(map(plain, ids))}{more}" if ids else ""
        return f"applied: {model} kept {kept} of {kept + dropped} and dropped {dropped}{named}"
    assert report.reason is not None  # noqa: S101  (a report has one or the other)
    return f"not applied ({report.reason}): {WHY[report.reason]}, so the page stays as it is"


def side_by_side(columns: Sequence[tuple[str, Answer, Sequence[Hit]]], width: int) -> Table:
    """Selections beside each other.

    Args:
        columns: Question, answer, and the page before the selection.
        width: Of the whole table.
    """
    table = Table.grid()
    cells = max((width - GAP * (len(columns) - 1)) // len(columns), 20)
    groups: list[Group | str] = []
    for column in columns:
        if groups:  # a column for the gap: releases of rich differ on what padding does to a width
            table.add_column(width=GAP)
            groups.append("")
        table.add_column(width=cells)
        groups.append(Group(*_column(*column, cells)))
    table.add_row(*groups)
    return table


def _column(question: str, answer: Answer, page: Sequence[Hit], cells: int) -> Iterator[Text]:
    report = answer.selection
    yield Text("Applied" if report.applied else "Not applied", style="bold")
    yield shortened(question, cells)
    calibrated = " (calibrated)" if answer.confidence.basis == "calibration" else ""
    yield Text("level ").append(level_text(answer.confidence.level)).append(calibrated)
    left = {hit.id for hit in answer.hits}
    for hit in page:
        mark, style = ("keep", "") if hit.id in left else ("drop", "dim")
        head = f"{figure(hit.cosine)}  {f'{mark}  ' if report.applied else ''}"
        yield Text(head, style=style).append(shortened(hit.text, cells - len(head)))
    if report.reason is not None:
        yield Text(f"Why: {WHY[report.reason]}.")
    yield Text(f"report {json.dumps(report.model_dump(mode='json'))}")
