"""`monitor`: what changed in the traffic of a retriever, its encoder and its texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Literal

from recall_signal._given import given_path, kind_of
from recall_signal._names import without_secrets
from recall_signal.calibration._calibration import Calibration
from recall_signal.errors import ConfigurationError
from recall_signal.logs import CanaryRecord, read_canaries
from recall_signal.logs._spool import no_part
from recall_signal.monitoring._canary_test import CanaryVerdict, judge_canaries
from recall_signal.monitoring._days import BEFORE, Day
from recall_signal.monitoring._findings import (
    Finding,
    canary_findings,
    name_findings,
    traffic_findings,
)
from recall_signal.monitoring._state import STATE_FILE, Progress, read_log
from recall_signal.monitoring._traffic import DAYS, QUANTILES, Comparison, compare_days

__all__ = ["SINCE", "LogReport", "Series", "monitor"]

SINCE = 7
"""Days for which a change of the traffic is reported; one of encoder or texts stays until there is
another calibration."""


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """The queries of one retriever, day by day.

    Attributes:
        retriever: Its name, empty where the log has none.
        days: By ISO date, in order.
        comparisons: One for each day that has 28 days before it.
        canaries: One for each record of canaries.
        findings: Everything that changed, in order of time.
        since: First day of what counts as new.
        later: Rows that are dated later than tomorrow, and left out.
        mismatch: Says that the given calibration is of another encoder than the last day's queries,
            None where it is not.
        earlier: Rows that are dated before 1900, and left out.
    """

    retriever: str
    days: Mapping[str, Day]
    comparisons: Sequence[Comparison]
    canaries: Sequence[CanaryVerdict]
    findings: Sequence[Finding]
    since: str
    later: int = 0
    mismatch: str | None = None
    earlier: int = 0

    @property
    def current(self) -> list[Finding]:
        """The findings that call for something now."""
        return [found for found in self.findings if found.lasts or found.day >= self.since]

    @property
    def began(self) -> str:
        """The first day that the log knows of, ISO date."""
        return min([*self.days, *(verdict.day for verdict in self.canaries)], default=self.since)

    @property
    def rows(self) -> int:
        """Number of queries."""
        return sum(day.rows for day in self.days.values())

    @property
    def missing_days(self) -> int:
        """Days of traffic that are missing until it can be compared with itself."""
        return 0 if self.comparisons else max(1, DAYS + 1 - len(self.days))

    @property
    def share_waits(self) -> bool:
        """True where the last day has an answerable share, and too few days to compare it with."""
        return any(
            last.answerable is None and self.days[last.day].answerable is not None
            for last in self.comparisons[-1:]
        )

    def to_dict(self) -> dict[str, object]:
        """Return plain JSON values: what was found, and the figures of the last day."""
        current = self.current
        return {
            "retriever": self.retriever,
            "verdict": _verdict(self),
            "findings": [{**asdict(one), "current": one in current} for one in self.findings],
            "last_day": _last_day(self.days),
        }


@dataclass(frozen=True, slots=True, eq=False)
class LogReport:
    """The report of a monitor.

    Attributes:
        series: One for each retriever of the log.
    """

    series: Sequence[Series]

    @property
    def status(self) -> Literal["quiet", "changed"]:
        """`changed` where anything calls for something now."""
        return "changed" if any(one.current for one in self.series) else "quiet"

    @property
    def verdict(self) -> list[str]:
        """Plain sentences for each retriever, the first thing that a reader sees."""
        return [_verdict(one) for one in self.series]

    def to_dict(self) -> dict[str, object]:
        """Return plain JSON values: the status, and each retriever's report."""
        return {"status": self.status, "series": [one.to_dict() for one in self.series]}


def monitor(
    log: str | Path,
    *,
    calibration: Calibration | None = None,
    state: str | Path | None = None,
    since: int = SINCE,
    progress: Progress | None = None,
) -> LogReport:
    """Read a log and say what changed.

    Only parts that were closed are read, and each of them once: figures are kept in a state file.

    Args:
        log: The folder of a `LogWriter`, or one Parquet file.
        calibration: The one in use; canaries are compared with it as well.
        state: File of the state; None puts it into a log's folder where that can be written to, and
            keeps none for a file.
        since: Days for which a change of the traffic is reported.
        progress: Called with the parts read and the parts to read.

    Raises:
        ConfigurationError: A setting is wrong, or the state cannot be kept.
        InvalidInputError: The log cannot be read, or is empty.
    """
    if type(since) is not int or since < 1:
        raise ConfigurationError(f"since must be a whole number of at least 1, got {since!r:.20}")
    if calibration is not None and not isinstance(calibration, Calibration):
        raise ConfigurationError(
            f"calibration must be a Calibration or None, got {kind_of(calibration)}; of a file: "
            "Calibration.load(path)"
        )
    folder = given_path("log", log)
    kept = folder / STATE_FILE if folder.is_dir() else None
    if state is not None:
        kept = given_path("state", state)
    found = read_log(log, kept, progress, is_own=state is None).by_retriever()
    records = read_canaries(folder) if folder.is_dir() else []
    if not found and not records:
        raise no_part(folder)
    named = {record.retriever for record in records if record.retriever}
    return LogReport(
        [
            _series(name, found.get(name, {}), records, calibration, since)
            for name in sorted({*found, *named}) or [""]
        ]
    )


def _series(
    name: str,
    days: Mapping[str, Day],
    records: Sequence[CanaryRecord],
    calibration: Calibration | None,
    since: int,
) -> Series:
    """Return the report on one retriever; canaries without a name are everybody's."""
    own = [record for record in records if record.retriever in (None, name)]
    now = datetime.now(UTC)
    today = f"{now:%Y-%m-%d}"  # part of a day has other questions than a whole one
    tomorrow = f"{now + timedelta(1):%Y-%m-%d}"  # a clock may be that wrong
    later = sum(day.rows for at, day in days.items() if at > tomorrow)
    earlier = sum(day.rows for at, day in days.items() if at == BEFORE)
    days = {at: day for at, day in days.items() if BEFORE < at <= tomorrow}
    whole = {at: day for at, day in days.items() if at != today}
    comparisons = compare_days(whole)
    verdicts = judge_canaries(own, calibration)
    findings = [
        *name_findings(days),
        *traffic_findings(comparisons),
        *canary_findings(verdicts, own, calibration),
    ]
    findings.sort(key=lambda found: (found.day, found.kind))
    last = max([*days, *(verdict.day for verdict in verdicts)], default=today)
    last = min(last, tomorrow)
    first = (date.fromisoformat(last) - timedelta(since - 1)).isoformat()
    mismatch = _mismatch(days, calibration)
    return Series(name, days, comparisons, verdicts, findings, first, later, mismatch, earlier)


def _mismatch(days: Mapping[str, Day], calibration: Calibration | None) -> str | None:
    """Return a sentence where a calibration is not of the encoder of the last day's queries."""
    if calibration is None or not days:
        return None
    last = max(days)
    encoder = days[last].encoder
    if calibration.fits_encoder(encoder and without_secrets(encoder)):
        return None
    return (
        f"The calibration given was fitted with the encoder {calibration.encoder}, and the queries "
        f"of {last} were embedded by {encoder}: give the one in use."
    )


def _last_day(days: Mapping[str, Day]) -> dict[str, object] | None:
    if not days:
        return None
    last = max(days)
    day = days[last]
    quantiles = {f"{share}": round(day.quantile(share), 4) for share in QUANTILES}
    return {
        "day": last,
        "queries": day.rows,
        "levels": dict(day.levels),
        "top_cosine": quantiles if day.measured else None,
        "answerable": None if day.answerable is None else round(day.answerable, 4),
    }


def _verdict(series: Series) -> str:
    remarks = f" Rows dated in the future are left out: {series.later}." if series.later else ""
    remarks += f" Rows dated before 1900 are left out: {series.earlier}." if series.earlier else ""
    remarks += f" {series.mismatch}" if series.mismatch else ""
    if series.current:
        name = f"{series.retriever}: " if series.retriever else ""
        return name + " ".join(found.text for found in series.current) + remarks
    young = series.began > series.since
    since = f"the log began on {series.began}" if young else series.since
    parts = [f"nothing changed since {since}"]
    if series.missing_days:
        parts.append(
            f"traffic is compared once there are {DAYS} days before it ({len(series.days)} so far)"
        )
    elif series.share_waits:
        parts.append(
            f"the share of answerable queries is compared once there are {DAYS} days before it "
            "under the same calibration"
        )
    if not series.canaries:
        parts.append("no canaries are logged, so encoder and texts are not watched")
    quiet = f"{series.retriever} is quiet" if series.retriever else "Quiet"
    return f"{quiet}: {'; '.join(parts)}.{remarks}"
