"""The report of a monitor in Prometheus' text format, for a textfile collector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import count

from recall_signal._safe_text import spelled_out
from recall_signal.confidence import LEVELS
from recall_signal.monitoring._findings import FINDING_KINDS
from recall_signal.monitoring._fleet import STATUSES, FleetReport
from recall_signal.monitoring._traffic import QUANTILES
from recall_signal.monitoring._watch import LogReport, Series

__all__ = ["fleet_metrics", "log_metrics"]

Sample = tuple[Mapping[str, str], float]

PREFIX = "recall_signal_"

MOST = 1000
"""Characters of a label."""


def log_metrics(report: LogReport) -> str:
    """Return gauges of the last day of each retriever, and what changed."""
    lines: list[str] = []
    named = [*zip(report.series, _apart([one.retriever for one in report.series]), strict=True)]
    lines += _gauge(
        "changed",
        "1 where this changed",
        (sample for one, name in named for sample in _changed(one, name)),
    )
    dated = [(one, {"retriever": name}) for one, name in named if one.days]
    last = [(one.days[max(one.days)], labels) for one, labels in dated]
    lines += _gauge(
        "last_day_seconds",
        "Begin of the last day with queries, seconds since the epoch",
        ((labels, _seconds(max(one.days))) for one, labels in dated),
    )
    lines += _gauge("queries", "Queries on the last day", ((ls, day.rows) for day, ls in last))
    lines += _gauge(
        "level_share",
        "Share of the last day's queries by level",
        (
            ({**labels, "level": level}, day.level_share(level))
            for day, labels in last
            for level in LEVELS
        ),
    )
    lines += _gauge(
        "top_cosine",
        "Quantiles of the last day's top cosines",
        (
            ({**labels, "quantile": f"{share}"}, day.quantile(share))
            for day, labels in last
            if day.measured
            for share in QUANTILES
        ),
    )
    lines += _gauge(
        "answerable_share",
        "Expected share of answerable queries on the last day",
        ((labels, day.answerable) for day, labels in last if day.answerable is not None),
    )
    return "\n".join(lines) + "\n"


def _changed(series: Series, name: str) -> Iterable[Sample]:
    found = {finding.kind for finding in series.current}
    for kind in FINDING_KINDS:
        yield {"retriever": name, "kind": kind}, float(kind in found)


def _apart(names: Iterable[str]) -> list[str]:
    """Return names as they are shown, those that show alike with a number.

    A collector refuses the whole file where a series stands in it twice.
    """
    taken: set[str] = set()
    numbers: dict[str, Iterator[int]] = {}
    shown = []
    for name in names:
        label = plain = _shown(name)
        while label in taken:
            label = f"{plain} ({next(numbers.setdefault(plain, count(2)))})"
        taken.add(label)
        shown.append(label)
    return shown


def _shown(name: str) -> str:
    """Return a name with hidden characters spelled out; ends of lines have an escape."""
    cut = name if len(name) <= MOST else f"{name[:MOST]}…"
    return "\n".join(map(spelled_out, cut.split("\n")))


def fleet_metrics(report: FleetReport) -> str:
    """Return the number of tenants by status."""
    counts = report.counts
    samples = [({"status": status}, float(counts.get(status, 0))) for status in STATUSES]
    return "\n".join(_gauge("tenants", "Tenants by status", samples)) + "\n"


def _gauge(name: str, words: str, samples: Iterable[Sample]) -> list[str]:
    lines = [f"{PREFIX}{name}{_labels(labels)} {value:.10g}" for labels, value in samples]
    if not lines:
        return []
    return [f"# HELP {PREFIX}{name} {words}", f"# TYPE {PREFIX}{name} gauge", *lines]


def _labels(labels: Mapping[str, str]) -> str:
    """Label values may be any text, with the format's own escapes."""
    shown = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items() if value)
    return f"{{{shown}}}" if shown else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _seconds(day: str) -> float:
    return datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()
