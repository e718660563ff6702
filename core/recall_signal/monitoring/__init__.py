"""Watch logs: what changed in the traffic, the encoder and the stored texts, and when."""

from recall_signal.monitoring._days import Day
from recall_signal.monitoring._findings import Finding
from recall_signal.monitoring._fleet import FleetReport, Tenant, monitor_fleet
from recall_signal.monitoring._html import fleet_html, log_html
from recall_signal.monitoring._prometheus import fleet_metrics, log_metrics
from recall_signal.monitoring._watch import LogReport, Series, monitor

__all__ = [
    "Day",
    "Finding",
    "FleetReport",
    "LogReport",
    "Series",
    "Tenant",
    "fleet_html",
    "fleet_metrics",
    "log_html",
    "log_metrics",
    "monitor",
    "monitor_fleet",
]
