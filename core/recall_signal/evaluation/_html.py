"""An evaluation as one HTML file with its figures inside. Names and figures only, no texts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from recall_signal._display_words import LEVEL_COLOURS
from recall_signal._safe_text import html_text
from recall_signal.confidence import LEVELS
from recall_signal.evaluation._plots import (
    plot_auroc,
    plot_histograms,
    plot_reliability,
    plot_risk_coverage,
)
from recall_signal.evaluation._report import (
    CEILING,
    COLUMNS,
    LEGEND,
    MODES_LEGEND,
    cost,
    figure_cells,
    notes,
    summary,
    verdict,
    write_text,
)
from recall_signal.evaluation._result import MODES, Evaluation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["html_report", "write_html"]

_LIMIT = 120
_NOTE_LIMIT = 400

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 1em;color:#222;
background:#fff}
table{border-collapse:collapse;margin:.5em 0 1.5em;font-variant-numeric:tabular-nums}
th,td{padding:2px 12px 2px 0;text-align:right;border-bottom:1px solid #ddd}
th:first-child,td:first-child{text-align:left}
tr.ours td{font-weight:600}
.bar{display:flex;width:26em;height:1.3em;font-size:12px;color:#fff;text-align:center}
.bar span{overflow:hidden;white-space:nowrap}
img{max-width:100%}
figure{margin:1em 0}
figcaption{color:#555}
.quiet{color:#555}
"""


def write_html(evaluation: Evaluation, path: str | Path) -> None:
    """Write the report as one HTML file; it holds no texts of queries or documents.

    Raises:
        ConfigurationError: The file cannot be written.
        MissingDependencyError: matplotlib is not installed.
    """
    write_text(path, html_report(evaluation))


def html_report(evaluation: Evaluation) -> str:
    """Return the whole report as one HTML page with its figures inside.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    parts = [_paragraph(summary(evaluation)), *map(_paragraph, verdict(evaluation))]
    for kind in evaluation.absent_kinds:
        parts += _kind_section(kind, evaluation.of_kind(kind))
    parts += ["<h2>Levels by kind of query</h2>", *_level_tables(evaluation)]
    parts += ["<h2>Notes</h2>", *map(_paragraph, (*notes(evaluation), *cost(evaluation)))]
    parts += ["<h2>How to read this</h2>", *map(_paragraph, (LEGEND, MODES_LEGEND, CEILING))]
    title = f"Is anything relevant stored? {html_text(evaluation.encoder, _LIMIT)}"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        f"<style>{_STYLE}</style></head>\n<body>\n<h1>{title}</h1>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _kind_section(kind: str, evaluation: Evaluation) -> list[str]:
    """Return figures and pictures for present queries against the absent ones of one kind."""
    rows = evaluation.metrics()
    name = html_text(kind.replace("_", " "), _LIMIT)
    pictures: tuple[tuple[str, Callable[[], Figure]], ...] = (
        ("AUROC with 95 % intervals", lambda: plot_auroc(rows)),
        ("Top cosines by kind of query", lambda: plot_histograms(evaluation)),
        ("Reliability of the probabilities", lambda: plot_reliability(evaluation)),
        ("Risk over coverage", lambda: plot_risk_coverage(evaluation)),
    )
    return [
        f"<h2>Present against {name}</h2>",
        *_table(COLUMNS, [figure_cells(row) for row in rows], ours=MODES),
        *(_image(plot(), f"{what}, present against {name}") for what, plot in pictures),
    ]


def _level_tables(evaluation: Evaluation) -> list[str]:
    """Return a bar of shares for each mode and kind; the bar's title has the figures as well."""
    parts = []
    for mode in MODES:
        rows = "".join(
            f'<tr><td>{html_text(kind, _LIMIT)}</td><td style="text-align:left">{_bar(row)}</td>'
            "</tr>"
            for kind, row in evaluation.level_table(mode).items()
        )
        parts.append(f"<h3>{mode}</h3><table>{rows}</table>")
    return parts


def _bar(shares: dict[str, float]) -> str:
    pieces = "".join(
        f'<span style="width:{share:.2%};background:{LEVEL_COLOURS[level]}" '
        f'title="{level} {share:.0%}">{level} {share:.0%}</span>'
        for level in LEVELS
        if (share := shares.get(level, 0.0)) > 0.0
    )
    return f'<div class="bar">{pieces}</div>'


def _table(
    head: Sequence[str], rows: Iterable[Sequence[str]], ours: Sequence[str] = ()
) -> list[str]:
    lines = ["<table><tr>" + "".join(f"<th>{html_text(c, _LIMIT)}</th>" for c in head) + "</tr>"]
    for row in rows:
        mark = ' class="ours"' if row[0] in ours else ""
        cells = "".join(f"<td>{html_text(cell, _LIMIT)}</td>" for cell in row)
        lines.append(f"<tr{mark}>{cells}</tr>")
    return [*lines, "</table>"]


def _paragraph(text: str) -> str:
    return f'<p class="quiet">{html_text(text, _NOTE_LIMIT)}</p>'


def _image(figure: Figure, what: str) -> str:
    """Return the figure as a picture with a caption; `what` is escaped already."""
    from matplotlib import rc_context

    file = BytesIO()
    with rc_context({"svg.hashsalt": "recall-signal"}):  # the same file for the same figures
        figure.savefig(file, format="svg", metadata={"Date": None})
    data = b64encode(file.getvalue()).decode("ascii")
    picture = f'<img alt="{what}" src="data:image/svg+xml;base64,{data}">'
    return f"<figure><figcaption>{what}</figcaption>{picture}</figure>"
