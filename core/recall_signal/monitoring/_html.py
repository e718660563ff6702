"""The report of a monitor as one HTML file with its pictures inside. Figures only, no texts."""

from __future__ import annotations

from collections.abc import Sequence

from recall_signal._display_words import LEVEL_COLOURS
from recall_signal._safe_text import html_text
from recall_signal.confidence import LEVELS
from recall_signal.monitoring._fleet import FleetReport
from recall_signal.monitoring._svg import Line, line_picture, share_picture
from recall_signal.monitoring._traffic import DEVIATION, QUANTILES
from recall_signal.monitoring._watch import LogReport, Series

__all__ = ["fleet_html", "log_html"]

SHOWN = 120
"""Days in a picture."""

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:58em;margin:2em auto;padding:0 1em;color:#222;
background:#fff}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:2px 14px 2px 0;text-align:left;border-bottom:1px solid #ddd}
td:first-child{white-space:nowrap}
.verdict{padding:.6em 1em;border-left:6px solid #4d9221;background:#f4faf0}
.changed{border-color:#b2182b;background:#fdf1f0}
.quiet,figcaption{color:#555}
figure{margin:1em 0}
svg{width:100%;height:auto}
.legend span{margin-right:1.2em}
.legend i{display:inline-block;width:.8em;height:.8em;margin-right:.3em}
"""

_BLUES = ("#c6dbef", "#9ecae1", "#2171b5", "#6baed6", "#08306b")


def log_html(report: LogReport) -> str:
    """Return the page of one log."""
    parts = [_verdict(text, one.current != []) for text, one in _verdicts(report)]
    for series in report.series:
        parts += _section(series)
    parts.append(
        '<p class="quiet">The band of a quantile is five standard deviations of its last 28 days '
        "around their mean: two of five outside of it are a change. A share of answerable queries "
        "is an estimate from levels, never a verdict on single answers.</p>"
    )
    return _page("Recall over time", parts)


def _verdicts(report: LogReport) -> list[tuple[str, Series]]:
    return list(zip(report.verdict, report.series, strict=True))


def _section(series: Series) -> list[str]:
    days = [*series.days][-SHOWN:]
    marks = {found.day: found.text for found in series.findings}
    title = html_text(series.retriever or "All queries", 120)
    parts = [f"<h2>{title}</h2>", _summary(series)]
    if days:
        shares: dict[str, list[float]] = {
            level: [series.days[day].level_share(level) for day in days]
            for level in LEVELS
            if any(series.days[day].level_share(level) for day in days)
        }
        if shares:
            parts.append(_figure("Levels", share_picture(days, shares, LEVEL_COLOURS)))
        parts.append(_figure("Quantiles of the top cosine", _quantiles(series, days, marks)))
        parts.append(_figure("Expected share of answerable queries", _share(series, days, marks)))
    parts += [_canaries(series), _history(series)]
    return parts


def _summary(series: Series) -> str:
    if not series.days:
        return ""
    first, last = min(series.days), max(series.days)
    day = series.days[last]
    names = [name for name in (day.encoder, day.calibration) if name]
    used = f"; {html_text(', calibration '.join(names), 200)}" if names else ""
    return f'<p class="quiet">{series.rows:,} queries, {first} to {last}{used}</p>'


def _quantiles(series: Series, days: Sequence[str], marks: dict[str, str]) -> str:
    compared = {one.day: one for one in series.comparisons}
    lines = []
    for at, share in enumerate(QUANTILES):
        ranges = [None if (one := compared.get(day)) is None else one.quantiles[at] for day in days]
        lines.append(
            Line(
                f"{share:.0%}",
                [
                    series.days[day].quantile(share) if series.days[day].measured else None
                    for day in days
                ],
                _BLUES[at],
                [None if r is None else r.usual - DEVIATION * r.sd for r in ranges],
                [None if r is None else r.usual + DEVIATION * r.sd for r in ranges],
            )
        )
    return line_picture(days, lines, marks)


def _share(series: Series, days: Sequence[str], marks: dict[str, str]) -> str:
    values = [series.days[day].answerable for day in days]
    return line_picture(days, [Line("expected share", values, "#4d9221")], marks)


def _canaries(series: Series) -> str:
    verdicts = series.canaries[-SHOWN:]
    if not verdicts:
        return '<p class="quiet">No canaries are logged.</p>'
    days = [verdict.day for verdict in verdicts]
    lines = [
        Line("rose since the calibration", [one.rose for one in verdicts], "#e08214"),
        Line("fell", [one.fell for one in verdicts], "#5e3c99"),
    ]
    marks = {one.day: one.change or "" for one in verdicts if one.change}
    first = {day: marks[day] for day in list(marks)[:1]}
    return _figure("Canaries that moved", line_picture(days, lines, first))


def _history(series: Series) -> str:
    if not series.findings:
        return '<p class="quiet">No change was found.</p>'
    rows = "".join(
        f"<tr><td>{found.day}</td><td>{found.kind}</td><td>{html_text(found.text, 500)}</td></tr>"
        for found in reversed(series.findings)
    )
    return f"<table><tr><th>Day</th><th>Kind</th><th>Change</th></tr>{rows}</table>"


def fleet_html(report: FleetReport) -> str:
    """Return the page of a fleet."""
    rows = "".join(
        f"<tr><td>{html_text(one.name, 120)}</td><td>{one.status}</td>"
        f"<td>{html_text(one.text, 500)}</td><td>{one.last_day or ''}</td></tr>"
        for one in report.tenants
    )
    return _page(
        "Calibrations of a fleet",
        [
            _verdict(report.verdict, report.status == "changed"),
            "<table><tr><th>Tenant</th><th>Status</th><th></th><th>Last rows</th></tr>"
            f"{rows}</table>",
        ],
    )


def _verdict(text: str, changed: bool) -> str:
    mark = " changed" if changed else ""
    return f'<p class="verdict{mark}">{html_text(text, 2000)}</p>'


def _figure(caption: str, picture: str) -> str:
    return f"<figure><figcaption>{caption}</figcaption>{picture}</figure>" if picture else ""


def _page(title: str, parts: Sequence[str]) -> str:
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        f"<style>{_STYLE}</style></head>\n<body>\n<h1>{title}</h1>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body></html>\n"
    )
