"""`monitor_fleet`: which of a thousand calibrations are stale, and which were never fitted.

Only calibrations and canaries are read, two small files for each tenant; no part of any log is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from recall_signal._given import given_path
from recall_signal.calibration._calibration import Calibration
from recall_signal.errors import CalibrationError, InvalidInputError
from recall_signal.logs._canaries import read_canaries, read_canary_ends
from recall_signal.monitoring._canary_test import judge_canaries
from recall_signal.monitoring._findings import canary_findings

__all__ = ["CALIBRATION_FILE", "FleetReport", "Tenant", "TenantStatus", "monitor_fleet"]

CALIBRATION_FILE = "calibration.json"

LOG_FOLDER = "log"

TenantStatus = Literal["stale", "unreadable", "never_fitted", "no_threshold", "not_watched", "ok"]

STATUSES: dict[TenantStatus, str] = {
    "stale": "stale",
    "unreadable": "with a calibration or canaries that cannot be read",
    "never_fitted": "never fitted",
    "no_threshold": "without a threshold that separates",
    "not_watched": "without canaries",
    "ok": "in order",
}
"""Statuses from the most to the least urgent, in words."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """One tenant of a fleet.

    Attributes:
        name: Of its folder.
        status: `stale` (canaries show that encoder or texts changed since the fit),
            `unreadable` (calibration or canaries), `never_fitted` (there is no calibration),
            `no_threshold` (it was fitted, and nothing separates), `not_watched` (no canaries to
            tell by), `ok`.
        text: The finding in words, empty where there is none.
        created: Of the calibration.
        last_canaries: Day of the last canaries.
        last_day: Day of the last rows of the log.
    """

    name: str
    status: TenantStatus
    text: str = ""
    created: str | None = None
    last_canaries: str | None = None
    last_day: str | None = None


@dataclass(frozen=True, slots=True)
class FleetReport:
    """The report on a fleet.

    Attributes:
        tenants: The most urgent ones first.
    """

    tenants: Sequence[Tenant]

    @property
    def counts(self) -> dict[TenantStatus, int]:
        """Tenants by status, in order of urgency."""
        counts = Counter(one.status for one in self.tenants)
        return {status: counts[status] for status in STATUSES if counts[status]}

    @property
    def status(self) -> Literal["quiet", "changed"]:
        """`changed` where a calibration is stale, cannot be read or was never fitted."""
        counts = self.counts
        return "changed" if counts.keys() & {"stale", "unreadable", "never_fitted"} else "quiet"

    @property
    def verdict(self) -> str:
        """One plain sentence."""
        parts = [f"{count:,} {STATUSES[status]}" for status, count in self.counts.items()]
        number = len(self.tenants)
        return f"{number:,} tenant{'s' * (number != 1)}: {', '.join(parts)}."

    def to_dict(self) -> dict[str, object]:
        """Return plain JSON values: status, verdict, counts, and every tenant."""
        return {
            "status": self.status,
            "verdict": self.verdict,
            "counts": dict(self.counts),
            "tenants": [asdict(one) for one in self.tenants],
        }


def monitor_fleet(folder: str | Path) -> FleetReport:
    """Say which calibrations of a fleet are stale, and which were never fitted.

    Args:
        folder: One folder in it for each tenant, with `calibration.json` and the log in `log/`, or
            with the log in itself. Other files and hidden folders are passed over.

    Raises:
        ConfigurationError: It is no path.
        InvalidInputError: It is no folder, or has no folder in it.
    """
    path = given_path("folder", folder)
    if not path.is_dir():
        raise InvalidInputError(f"{path.name} is no folder; give one with a folder for each tenant")
    places = sorted(
        place for place in path.iterdir() if place.is_dir() and place.name[0] not in "._"
    )
    if not places:
        raise InvalidInputError(
            f"{path.name or path} has no folder in it; expected one for each tenant, named after "
            f"it, with its calibration as {CALIBRATION_FILE} and its log in {LOG_FOLDER}/"
        )
    order = [*STATUSES]
    tenants = sorted(map(_tenant, places), key=lambda one: (order.index(one.status), one.name))
    return FleetReport(tenants)


def _tenant(place: Path) -> Tenant:
    log = place / LOG_FOLDER if (place / LOG_FOLDER).is_dir() else place
    last_day = max((day.name[4:] for day in log.glob("day=*")), default=None)
    try:
        calibration = Calibration.load(place / CALIBRATION_FILE)
    except FileNotFoundError:
        return Tenant(place.name, "never_fitted", last_day=last_day)
    except (CalibrationError, OSError) as error:
        why = str(error) if isinstance(error, CalibrationError) else type(error).__name__
        return Tenant(place.name, "unreadable", why, last_day=last_day)
    created = calibration.created
    try:
        records = read_canary_ends(log, created)
        if any(verdict.change for verdict in judge_canaries(records, calibration)):
            records = read_canaries(log)  # all of them, to date it
    except InvalidInputError as error:
        return Tenant(place.name, "unreadable", str(error), created, last_day=last_day)
    last = records[-1].day if records else None
    verdicts = judge_canaries(records, calibration)
    findings = canary_findings(verdicts, records, calibration)
    current = next((found for found in reversed(findings) if found.lasts), None)
    if current is not None:
        return Tenant(place.name, "stale", current.text, created, last, last_day)
    status: TenantStatus = "ok" if records else "not_watched"
    return Tenant(
        place.name, status if calibration.decides else "no_threshold", "", created, last, last_day
    )
