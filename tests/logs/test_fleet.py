"""A fleet of tenants: which calibrations are stale, and which were never fitted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from recall_signal import Calibration, ConfigurationError, InvalidInputError, Pool
from recall_signal.calibration._canaries import Canaries
from recall_signal.logs import append_canaries
from recall_signal.monitoring import fleet_html, fleet_metrics, monitor_fleet
from tests.logs.made import record, write_day

CREATED = "2026-01-04T00:00:00+00:00"


@pytest.fixture(scope="module")
def calibration() -> Calibration:
    made = Calibration.fit(
        lambda query: Pool([0.8 if "text" in query else 0.2 + len(query) % 20 / 100, 0.1]),
        documents=[f"text {n} of some length" for n in range(40)],
    )
    return replace(made, created=CREATED, status="ok", canaries=Canaries(()))


@pytest.fixture
def fleet(tmp_path: Path, calibration: Calibration) -> Path:
    """One tenant of each status, and what is none."""
    for name in ("fresh", "moved", "silent", "unfitted", "broken", "flat", ".hidden", "_other"):
        (tmp_path / name / "log").mkdir(parents=True)
    (tmp_path / "notes.txt").touch()
    for name in ("fresh", "moved", "silent"):
        calibration.save(tmp_path / name / "calibration.json")
    flat = replace(calibration, status="no_valid_threshold")
    flat.save(tmp_path / "flat" / "calibration.json")
    (tmp_path / "broken" / "calibration.json").write_text("{}")
    for name, encoder in (("fresh", 1), ("moved", 2), ("flat", 1)):
        append_canaries(tmp_path / name / "log", record(0, created=CREATED))
        append_canaries(tmp_path / name / "log", record(1, encoder=encoder, created=CREATED))
    (tmp_path / "flat" / "log" / "_canaries.jsonl").rename(tmp_path / "flat" / "_canaries.jsonl")
    (tmp_path / "flat" / "log").rmdir()
    (tmp_path / "silent" / "log" / "_canaries.jsonl").touch()
    write_day(tmp_path / "moved" / "log", "2026-01-06", [0.5])
    return tmp_path


def test_each_tenant_has_its_status(fleet: Path) -> None:
    report = monitor_fleet(fleet)
    assert {one.name: one.status for one in report.tenants} == {
        "moved": "stale",
        "broken": "unreadable",
        "unfitted": "never_fitted",
        "flat": "no_threshold",
        "silent": "not_watched",
        "fresh": "ok",
    }
    assert report.status == "changed"
    assert report.verdict == (
        "6 tenants: 1 stale, 1 with a calibration or canaries that cannot be read, 1 never "
        "fitted, 1 without a threshold that separates, 1 without canaries, 1 in order."
    )
    moved = report.tenants[0]
    assert (moved.created, moved.last_canaries, moved.last_day) == (
        CREATED,
        "2026-01-06",
        "2026-01-06",
    )
    assert "The encoder changed around 2026-01-06" in moved.text
    assert "moved" in fleet_html(report)
    assert 'recall_signal_tenants{status="stale"} 1' in fleet_metrics(report)


def test_canaries_of_which_no_line_can_be_read_are_unreadable(fleet: Path) -> None:
    file = fleet / "silent" / "log" / "_canaries.jsonl"
    file.write_text("cut off\nsecret\n")
    one = next(one for one in monitor_fleet(fleet).tenants if one.name == "silent")
    assert one.status == "unreadable"
    assert one.text == "the log's _canaries.jsonl holds no line that can be read; remove it"
    append_canaries(fleet / "silent" / "log", record(0))
    assert {one.name: one.status for one in monitor_fleet(fleet).tenants}["silent"] == "ok"


def test_a_new_calibration_ends_it(fleet: Path, calibration: Calibration) -> None:
    later = replace(calibration, created="2026-01-06T12:00:00+00:00")
    later.save(fleet / "moved" / "calibration.json")
    status = {one.name: one.status for one in monitor_fleet(fleet).tenants}
    assert status["moved"] == "ok"


def test_a_new_calibration_ends_it_where_canaries_do_not_name_theirs(
    fleet: Path, calibration: Calibration
) -> None:
    log = fleet / "unfitted" / "log"
    for number in range(4):
        append_canaries(log, record(number, encoder=1 if number == 0 else 2))

    def status() -> str:
        return next(one.status for one in monitor_fleet(fleet).tenants if one.name == "unfitted")

    calibration.save(fleet / "unfitted" / "calibration.json")
    assert status() == "stale"
    later = replace(calibration, created="2026-01-06T12:00:00+00:00")
    later.save(fleet / "unfitted" / "calibration.json")
    assert status() == "ok"
    append_canaries(log, record(4, encoder=3))
    assert status() == "stale"


def test_the_spaces_of_a_line_do_not_matter(fleet: Path) -> None:
    file = fleet / "moved" / "log" / "_canaries.jsonl"
    lines = [json.dumps(json.loads(line), indent=None) for line in file.read_text().splitlines()]
    file.write_text("\n".join([lines[0].replace("2026-01-05", "2026-01-04"), *lines]))
    assert monitor_fleet(fleet).tenants[0].name == "moved"


def test_a_fleet_in_order_is_quiet(tmp_path: Path, calibration: Calibration) -> None:
    (tmp_path / "a").mkdir()
    calibration.save(tmp_path / "a" / "calibration.json")
    append_canaries(tmp_path / "a", record(0))
    (tmp_path / "b").mkdir()
    calibration.save(tmp_path / "b" / "calibration.json")
    assert monitor_fleet(tmp_path).status == "quiet"
    assert [one.status for one in monitor_fleet(tmp_path).tenants] == ["not_watched", "ok"]


def test_what_is_no_fleet(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="folder must be a path, got NoneType"):
        monitor_fleet(None)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="is no folder"):
        monitor_fleet(tmp_path / "nowhere")
    tenants = tmp_path / "tenants"
    tenants.mkdir()
    (tenants / "mails.json").touch()
    layout = "tenants has no folder in it; .* calibration as calibration.json and its log in log/"
    with pytest.raises(InvalidInputError, match=layout):
        monitor_fleet(tenants)
