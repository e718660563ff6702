"""`recall-signal monitor`: what changed in a log, for a person and for cron."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer
from rich.table import Table
from rich.text import Text

from recall_signal._files import SHARED, refuse_other_than_file, write_whole
from recall_signal._safe_text import terminal_text
from recall_signal.cli import _options as opt
from recall_signal.cli._terminal import ProgressBar, Terminal, open_terminal
from recall_signal.confidence import LEVELS
from recall_signal.errors import ConfigurationError

if TYPE_CHECKING:
    from recall_signal.monitoring import FleetReport, LogReport, Series

__all__ = ["monitor"]

Report = TypeVar("Report", "LogReport", "FleetReport")

SINCE = 7

CHANGED = 1
"""Exit code where something changed; 0 is quiet, 2 an error."""

TENANTS = 20
"""Tenants that are named on the terminal at most."""


def monitor(
    log: opt.Log = None,
    fleet: opt.Fleet = None,
    calibration: opt.CalibrationInUse = None,
    state: opt.StateFile = None,
    since: opt.Since = SINCE,
    html: opt.HtmlReport = None,
    prometheus: opt.Prometheus = None,
    as_json: opt.AsJson = False,
) -> None:
    """Say what changed in a log: traffic, encoder, stored texts. Exit code 1 where anything did.

    0 is quiet, 2 an error. Each part of a log is read once; figures are kept in a state file.
    """
    from recall_signal import monitoring  # with numpy, which other commands start without

    with open_terminal() as terminal:
        _check(log, fleet, {"--state": state, "--html": html, "--prometheus": prometheus})
        if fleet is None:
            report = _read(log or Path(), calibration, state, since, terminal)
            status = report.status
            _print(report, _show, terminal, as_json=as_json)
            _write(html, lambda: monitoring.log_html(report))
            _write(prometheus, lambda: monitoring.log_metrics(report))
        else:
            tenants = monitoring.monitor_fleet(fleet)
            status = tenants.status
            _print(tenants, _show_fleet, terminal, as_json=as_json)
            _write(html, lambda: monitoring.fleet_html(tenants))
            _write(prometheus, lambda: monitoring.fleet_metrics(tenants))
    if status == "changed":
        raise typer.Exit(CHANGED)


def _check(log: Path | None, fleet: Path | None, targets: Mapping[str, Path | None]) -> None:
    if (log is None) == (fleet is None):
        raise ConfigurationError("give either a LOG or --fleet FOLDER")
    for name, path in targets.items():
        if path is not None:
            try:
                refuse_other_than_file(path)
            except OSError as error:
                raise ConfigurationError(
                    f"{name} {path} cannot be written: {error.strerror}"
                ) from None


def _read(
    log: Path, calibration: Path | None, state: Path | None, since: int, terminal: Terminal
) -> LogReport:
    from recall_signal.calibration import Calibration
    from recall_signal.monitoring import monitor as read

    if calibration is not None and not calibration.is_file():
        raise ConfigurationError(
            f"--calibration {calibration} is no file; give one of recall-signal calibrate"
        )
    used = None if calibration is None else Calibration.load(calibration)
    with ProgressBar(terminal.err, "Reading", delay=0.5) as bar:
        return read(log, calibration=used, state=state, since=since, progress=bar)


def _write(path: Path | None, make: Callable[[], str]) -> None:
    """Write a report, whole or not at all: a collector may read it at any moment."""
    if path is not None:
        try:
            write_whole(path, make(), SHARED)
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from None


def _print(
    report: Report, show: Callable[[Report, Terminal], None], terminal: Terminal, *, as_json: bool
) -> None:
    if as_json:
        terminal.out.out(json.dumps(report.to_dict(), allow_nan=False), highlight=False)
    else:
        show(report, terminal)


def _show(report: LogReport, terminal: Terminal) -> None:
    """Print the verdict first, then the figures of the last day, beside the usual ones if known."""
    for text, series in zip(report.verdict, report.series, strict=True):
        style = "bold red" if series.current else "bold"
        terminal.out.print(Text(terminal_text(text), style=style))
    for series in report.series:
        if series.days:
            terminal.out.print(_table(series))


def _place(level: str) -> int:
    return LEVELS.index(level) if level in LEVELS else len(LEVELS)


def _table(series: Series) -> Table:
    last = max(series.days)
    day = series.days[last]
    compared = next((one for one in series.comparisons[-1:] if one.day == last), None)
    columns = ("", last) if compared is None else ("", last, "usual")
    table = Table(*columns, box=None, pad_edge=False, title_justify="left")
    table.add_row("queries", f"{day.rows:,}")
    for level in sorted(day.levels, key=_place):
        table.add_row(Text(terminal_text(level)), f"{day.level_share(level):.0%}")
    if compared is not None:
        from recall_signal.monitoring._traffic import QUANTILES

        for share, found in zip(QUANTILES, compared.quantiles, strict=True):
            name = f"top cosine, {share:.0%}"
            table.add_row(name, f"{found.value:.3f}", f"{found.usual:.3f} ± {found.sd:.3f}")
    if day.answerable is not None:
        table.add_row("answerable, expected", f"{day.answerable:.0%}")
    return table


def _show_fleet(report: FleetReport, terminal: Terminal) -> None:
    style = "bold red" if report.status == "changed" else "bold"
    terminal.out.print(Text(report.verdict, style=style))
    named = [one for one in report.tenants if one.status != "ok"]
    for one in named[:TENANTS]:
        text = f"{one.name}: {one.status.replace('_', ' ')}. {one.text}".rstrip()
        terminal.out.print(Text(terminal_text(text)))
    if len(named) > TENANTS:
        terminal.note(f"and {len(named) - TENANTS:,} more; --html FILE names them all")
