"""`recall-signal monitor`: verdict, reports and exit codes."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from recall_signal.cli import _monitor as module
from recall_signal.logs import append_canaries
from recall_signal.monitoring import Series
from recall_signal.monitoring._days import Day
from tests.cli.fakes import invoke
from tests.logs.made import date_of, normal_tops, record, write_day, write_days


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Thirty quiet days with canaries."""
    folder = tmp_path / "log"
    write_days(folder, 30, probability=0.8)
    for number in range(30):
        append_canaries(folder, record(number))
    return folder


def test_a_quiet_log(log: Path, tmp_path: Path) -> None:
    html, metrics = tmp_path / "r.html", tmp_path / "r.prom"
    result = invoke("monitor", log, "--html", html, "--prometheus", metrics)
    assert result.exit_code == 0, result.output
    first, *table = result.stdout.splitlines()
    assert first == f"Quiet: nothing changed since {date_of(23)}."
    assert any("answerable, expected" in line and "80%" in line for line in table)
    assert any("top cosine, 50%" in line and "±" in line for line in table)
    assert html.read_text("utf-8").startswith("<!doctype html>")
    assert 'recall_signal_changed{kind="traffic"} 0' in metrics.read_text("utf-8")
    assert (log / "_monitor.json").is_file()
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_a_column_without_figures_is_not_shown(log: Path, tmp_path: Path) -> None:
    write_days(tmp_path / "young", 3)
    assert "usual" in invoke("monitor", log).stdout
    said = invoke("monitor", tmp_path / "young").stdout
    assert "queries" in said
    assert "usual" not in said
    write_day(log, date_of(30), [0.5])  # too few queries to be compared
    assert "usual" not in invoke("monitor", log).stdout


def test_a_changed_log_ends_with_1(log: Path, tmp_path: Path) -> None:
    write_day(log, date_of(30), normal_tops(30, mean=0.3), probability=0.2)
    append_canaries(log, record(30, encoder=2))
    state = tmp_path / "state.json"
    result = invoke("monitor", log, "--state", state)
    assert result.exit_code == 1, result.output
    said = " ".join(result.stdout.split())
    assert f"The encoder changed around {date_of(30)}" in said
    assert "changed from about 80% to 20%" in said
    assert state.is_file()
    assert invoke("monitor", log, "--state", state).stdout == result.stdout


def test_a_calibration_is_compared(log: Path, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text("{}")
    result = invoke("monitor", log, "--calibration", file)
    assert (result.exit_code, "is not a saved calibration" in result.stderr) == (2, True)
    result = invoke("monitor", log, "--calibration", tmp_path / "nowhere.json")
    assert (result.exit_code, "is no file" in result.stderr) == (2, True)


def test_a_log_of_canaries_alone(tmp_path: Path) -> None:
    append_canaries(tmp_path, record(0))
    result = invoke("monitor", tmp_path)
    assert result.exit_code == 0
    assert result.stdout.startswith("Quiet:")


def test_the_report_as_json(log: Path, tmp_path: Path) -> None:
    write_day(log, date_of(30), normal_tops(30, mean=0.3), probability=0.2)
    append_canaries(log, record(30, encoder=2))
    result = invoke("monitor", log, "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    (series,) = report["series"]
    assert report["status"] == "changed"
    kinds = {found["kind"]: found for found in series["findings"]}
    assert kinds["encoder"]["day"] == date_of(30)
    assert kinds["encoder"]["lasts"]
    assert kinds["encoder"]["current"]
    assert series["verdict"] in " ".join(invoke("monitor", log).stdout.split())
    last = series["last_day"]
    assert (last["day"], last["answerable"]) == (date_of(30), 0.2)
    assert last["queries"] == sum(last["levels"].values())
    assert last["top_cosine"]["0.5"] == pytest.approx(0.3, abs=0.05)


def test_a_report_without_figures_as_json(tmp_path: Path) -> None:
    append_canaries(tmp_path, record(0))
    (series,) = json.loads(invoke("monitor", tmp_path, "--json").stdout)["series"]
    assert series["last_day"] is None
    unmeasured = Series("", {"2026-01-05": Day(rows=2)}, [], [], [], "2026-01-01").to_dict()
    assert unmeasured["last_day"] == {
        "day": "2026-01-05",
        "queries": 2,
        "levels": {},
        "top_cosine": None,
        "answerable": None,
    }


def test_a_fleet_as_json(tmp_path: Path) -> None:
    (tmp_path / "a\x1b[31m").mkdir()
    result = invoke("monitor", "--fleet", tmp_path, "--json")
    assert result.exit_code == 1
    assert "\x1b" not in result.stdout
    report = json.loads(result.stdout)
    assert report["counts"] == {"never_fitted": 1}
    assert [(one["name"], one["status"]) for one in report["tenants"]] == [
        ("a\x1b[31m", "never_fitted")
    ]


def test_a_log_without_levels(tmp_path: Path) -> None:
    """Neither a share nor figures to compare with."""
    write_day(tmp_path, date_of(0), [0.5], advice=None)  # type: ignore[arg-type]
    result = invoke("monitor", tmp_path)
    assert "answerable" not in result.stdout
    assert "top cosine" not in result.stdout


def test_a_fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = tmp_path / "fleet"
    for name in ("a", "b\x1b[31m", "c"):
        (fleet / name).mkdir(parents=True)
    monkeypatch.setattr(module, "TENANTS", 2)
    html, metrics = tmp_path / "r.html", tmp_path / "r.prom"
    result = invoke("monitor", "--fleet", fleet, "--html", html, "--prometheus", metrics)
    assert result.exit_code == 1, result.output
    assert result.stdout.splitlines() == [
        "3 tenants: 3 never fitted.",
        "a: never fitted.",
        "b: never fitted.",
    ]
    assert "and 1 more" in result.stderr
    assert "Calibrations of a fleet" in html.read_text("utf-8")
    assert 'recall_signal_tenants{status="never_fitted"} 3' in metrics.read_text("utf-8")


def test_a_small_fleet(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    result = invoke("monitor", "--fleet", tmp_path)
    assert result.stdout.splitlines()[0] == "1 tenant: 1 never fitted."
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "give either a LOG or --fleet"),
        (["LOG", "--fleet", "LOG"], "give either a LOG or --fleet"),
        (["nowhere"], "is no log"),
        (["LOG", "--html", "no/r.html"], "--html no/r.html cannot be written"),
        (["LOG", "--prometheus", "LOG"], "cannot be written: It is a folder"),
        (["LOG", "--prometheus", "/dev/null"], "cannot be written: It is no regular file"),
        (["LOG", "--state", "/dev/zero"], "--state /dev/zero cannot be written: It is no regular"),
        (["--fleet", "LOG/day=2026-01-05"], "no folder in it"),
    ],
)
def test_what_is_wrong_ends_with_2(given: list[str], words: str, log: Path) -> None:
    result = invoke("monitor", *[part.replace("LOG", str(log)) for part in given])
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())


def test_a_report_that_cannot_be_written(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "write_whole", full)
    result = invoke("monitor", log, "--html", log.parent / "r.html")
    assert result.exit_code == 2
    assert "No space left" in result.stderr


def shell(line: str, log: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which `$MONITOR` is the command on the log."""
    script = "from recall_signal.cli import main; main()"
    command = shlex.join([sys.executable, "-c", script, "monitor", str(log), "--json"])
    return subprocess.run(
        ["bash", "-c", line.replace("$MONITOR", command)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_reader_that_leaves_is_no_change(log: Path) -> None:
    """1 is an answer; `head` ends a program as SIGPIPE does."""
    (log / "_monitor.json").unlink(missing_ok=True)
    ended = shell("$MONITOR | true; exit ${PIPESTATUS[0]}", log)
    assert (ended.returncode, ended.stderr) == (141, "")


def test_an_output_that_refuses_is_said_to(log: Path, tmp_path: Path) -> None:
    """As a full disk does; here its descriptor can only be read."""
    (tmp_path / "read").touch()
    ended = shell(f"$MONITOR 1< {shlex.quote(str(tmp_path / 'read'))}", log)
    assert ended.returncode == 2
    assert "the output cannot be written: Bad file descriptor" in ended.stderr
