"""F2, F3: links, pipes and devices in the place of files, for everything that is read or written.

A folder that others can write to holds traps; none is followed, written through or waited for.
"""

import errno
import fcntl
import json
import os
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recall_signal import Baseline, Calibration, CalibrationError
from recall_signal import _files as module
from recall_signal._auto.state_file import FileLock, load, save
from recall_signal._files import (
    NotRegularError,
    make_real_folder,
    read_bounded,
    refuse_other_than_file,
    replacing,
    write_whole,
)
from recall_signal.errors import ConfigurationError, InvalidInputError, RecallSignalError
from recall_signal.logs import LogWriter, append_canaries, read_canaries, recover, score
from recall_signal.logs._canaries import CANARY_FILE
from recall_signal.logs._spool import OPEN
from recall_signal.monitoring import monitor, monitor_fleet
from tests.calibration.toys import calibration
from tests.logs.made import date_of, record, write_day

Trap = Callable[[Path], object]


def as_pipe(path: Path) -> None:
    os.mkfifo(path)


def as_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(here)


def as_link(path: Path) -> None:
    path.symlink_to(path.with_name("precious"))


TRAPS: list[Trap] = [as_pipe, as_socket, as_link, Path.mkdir]


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    path = tmp_path / "precious"
    path.write_text("mine")
    path.chmod(0o644)
    return path


@pytest.mark.parametrize("trap", TRAPS)
def test_f2_a_trap_is_no_file(trap: Trap, tmp_path: Path, precious: Path) -> None:
    path = tmp_path / "trap"
    trap(path)
    with pytest.raises(NotRegularError, match="no regular file"):
        read_bounded(path, 10, follow=False)
    for read in (Calibration.load, Baseline.load, load):
        with pytest.raises(CalibrationError):
            read(path)
    assert precious.read_text() == "mine"


WRITES: list[Callable[[Path], object]] = [
    lambda path: write_whole(path, "x"),
    lambda path: calibration().save(path),
    lambda path: Baseline([0.5]).save(path),
]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("trap", [as_pipe, as_socket, Path.mkdir])
def test_f2_nothing_is_written_to_a_trap(
    trap: Trap, write: Callable[[Path], object], tmp_path: Path
) -> None:
    path = tmp_path / "trap"
    trap(path)
    (tmp_path / "link").symlink_to(path)
    for named in (path, tmp_path / "link", Path("/dev/null")):
        with pytest.raises(OSError, match=r"no regular file|is a folder"):
            write(named)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["link", "trap"]


@pytest.mark.parametrize("write", [*WRITES, lambda path: save(calibration(), path)])
@pytest.mark.parametrize("dangles", [False, True])
def test_f2_a_link_is_replaced_and_its_target_left(
    dangles: bool, write: Callable[[Path], object], tmp_path: Path
) -> None:
    outside, path = tmp_path / "outside", tmp_path / "in" / "c.json"
    path.parent.mkdir()
    if not dangles:
        calibration(prior=0.4).save(outside)
        outside.chmod(0o644)
    before = None if dangles else outside.read_bytes()
    path.symlink_to(outside)
    write(path)
    assert not path.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600, "a link's mode is not passed on"
    assert (outside.read_bytes() if outside.exists() else None) == before


def test_f2_standard_output_is_no_file(tmp_path: Path) -> None:
    """Where it is redirected to a file, /dev/stdout is a link to one: root could replace it."""
    with (tmp_path / "out").open("w") as file:
        (tmp_path / "stdout").symlink_to(f"/proc/self/fd/{file.fileno()}")
        with pytest.raises(NotRegularError):
            refuse_other_than_file(tmp_path / "stdout")


def test_a_lock_is_beside_the_link_and_a_trap_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "c.json"
    path.symlink_to(tmp_path / "nothing")
    lock = FileLock(path)
    assert lock.acquire()
    lock.release()
    assert lock.path.parent == path.parent
    lock.path.unlink()
    os.mkfifo(lock.path)
    with pytest.raises(NotRegularError):
        lock.acquire()


def test_a_system_without_locks_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(OSError, match="No locks"):
        write_whole(tmp_path / "x", "x")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("write", WRITES)
def test_an_error_names_the_file_that_was_given(
    write: Callable[[Path], object], tmp_path: Path
) -> None:
    path = tmp_path / ("x" * 250)  # with what is added to the name beside it, too long
    with pytest.raises(OSError, match="name too long") as raised:
        write(path)
    assert raised.value.filename == str(path)


def test_what_was_removed_meanwhile_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "x") as beside:
        beside.unlink()
    assert not list(tmp_path.iterdir())


def test_a_file_of_an_own_name_is_no_folder(tmp_path: Path, monkeypatch: Any) -> None:
    make_real_folder(tmp_path / "new")
    make_real_folder(tmp_path / "new")
    (tmp_path / "link").symlink_to(tmp_path / "new")
    with pytest.raises(FileExistsError, match="no folder"):
        make_real_folder(tmp_path / "link")
    monkeypatch.setattr(os, "fsync", lambda _: None)
    module.sync_folder(tmp_path / "missing")


# A scoring.


@pytest.fixture
def log(tmp_path: Path) -> Path:
    folder = tmp_path / "log"
    write_day(folder, date_of(0), [0.5, 0.4])
    return folder


@pytest.mark.parametrize(
    "kind", ["lock", "plan", "parts", "parts/day=1", "parts/.x", "parts/part-1.parquet"]
)
@pytest.mark.parametrize("trap", TRAPS)
def test_f2_a_scoring_follows_no_link_beside_its_result(
    kind: str, trap: Trap, log: Path, precious: Path
) -> None:
    name = f".o.parquet.{kind}"
    path = log.parent / name
    path.parent.mkdir(exist_ok=True)
    foreign = log.parent / "foreign"
    foreign.mkdir()
    (foreign / ".keep.tmp").write_text("mine")
    if trap is as_link and kind == "parts":
        path.symlink_to(foreign)
    else:
        path.with_name("precious").touch()
        trap(path)
    if trap is Path.mkdir and kind.startswith("parts"):
        assert score(log, log.parent / "o.parquet").rows == 2
        return
    with pytest.raises(ConfigurationError, match=f"{re.escape(path.name)}.*remove it"):
        score(log, log.parent / "o.parquet")
    assert precious.read_text() == "mine"
    assert [entry.name for entry in foreign.iterdir()] == [".keep.tmp"]


@pytest.mark.parametrize("trap", [as_pipe, as_socket, as_link])
def test_f2_the_result_of_a_scoring_is_a_file_or_a_folder(
    trap: Trap, log: Path, precious: Path
) -> None:
    for name in ("o.parquet", "o"):
        trap(log.parent / name)
        with pytest.raises(ConfigurationError, match="is a link, a pipe or a device"):
            score(log, log.parent / name)
    assert precious.read_text() == "mine"


def test_bytes_that_are_no_text_are_another_plan(log: Path) -> None:
    out = log.parent / "o.parquet"
    (log.parent / ".o.parquet.plan").write_bytes(b"\xff\xfe\x00")
    keys = {b"\xff\xfe": b"\xff", b"recall_signal.plan": b"\xff"}
    pq.write_table(pa.table({"a": [1]}).replace_schema_metadata(keys), out)
    assert score(log, out).rows == 2
    (log.parent / "o").mkdir()
    (log.parent / "o" / "_SUCCESS").write_bytes(b"\xff")
    with pytest.raises(ConfigurationError, match="is a folder already"):
        score(log, log.parent / "o")


# A log and its monitor.


@pytest.mark.parametrize("trap", TRAPS)
def test_f2_canaries_are_in_a_file_of_the_log(trap: Trap, log: Path, precious: Path) -> None:
    (log / "precious").write_text("mine")
    trap(log / CANARY_FILE)
    with pytest.raises(NotRegularError):
        append_canaries(log, record(0, 0.0))
    for read in (monitor, read_canaries):
        with pytest.raises(InvalidInputError, match="no regular file"):
            read(log)
    assert (log / "precious").read_text() == "mine"
    calibration().save(log / "calibration.json")
    (tenant,) = monitor_fleet(log.parent).tenants
    assert (tenant.name, tenant.status) == ("log", "unreadable")


def test_canaries_are_read_up_to_a_bound(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall_signal.logs._canaries.MAX_BYTES", 10)
    append_canaries(log, record(0, 0.0))
    with pytest.raises(InvalidInputError, match="is larger than"):
        read_canaries(log)


@pytest.mark.parametrize(
    "changed",
    [
        {"v": True},
        {"v": 2},
        {"ts": "x\x1b[31m"},
        {"ts": "2026-11-01T00:00:00+02:00"},
        {"tops": {"0badcafe": 1e308}},
        {"tops": {"x\x1b[31m": 0.5}},
        {"fingerprint": {"dimensions": 3, "projections": [1e308]}},
        {"fingerprint": {"dimensions": 0, "projections": []}},
        {"more": 1},
    ],
)
def test_lines_that_are_no_canaries_are_passed_over(changed: dict[str, Any], log: Path) -> None:
    append_canaries(log, record(0, 0.0))
    file = log / CANARY_FILE
    good = file.read_text()
    file.write_text(good + json.dumps({**json.loads(good), **changed}) + "\n" + "[" * 100_000)
    assert read_canaries(log) == [record(0, 0.0)]
    json.dumps(monitor(log).to_dict(), allow_nan=False)


@pytest.mark.parametrize("trap", [as_pipe, as_link])
def test_f2_open_parts_are_in_the_log(trap: Trap, log: Path) -> None:
    (log / OPEN).mkdir()
    (log / OPEN / "precious").write_text("mine")
    trap(log / OPEN / "2026-11-01.000000-deadbeef.arrows")
    assert recover(log) == 0
    assert (log / OPEN / "precious").read_text() == "mine"


def test_f2_a_link_for_the_folder_of_open_parts_is_not_followed(log: Path) -> None:
    foreign = log.parent / "foreign"
    foreign.mkdir()
    (foreign / "2026-11-01.000000-deadbeef.arrows").write_text("mine")
    (log / OPEN).symlink_to(foreign)
    assert recover(log) == 0
    with LogWriter(log) as writer:
        assert writer.written == 0
    assert len(list(foreign.iterdir())) == 1


# The state of a monitor.

GOOD: dict[str, Any] = {
    "rows": 2,
    "tops": [[1500], [2]],
    "levels": {"high": 2},
    "advice": {},
    "encoders": {},
    "calibrations": {},
    "probable": 1,
    "millionths": 900_000,
}


def state(day: object, date: str = "2026-11-01", **more: object) -> str:
    return json.dumps({"v": 1, "parts": {}, "days": {"r": {date: day}}, **more})


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"v":1,"parts":{},"days":' + '{"a":' * 100_000,
        state(GOOD, v=True),
        state(GOOD, v=1.0),
        state(GOOD, more=1),
        state(GOOD, parts={"p": -1}),
        state(GOOD, date="2026-13-01"),
        state(GOOD, date="0001-01-01"),
        state(GOOD, date="20261101"),
        state([]),
        *(
            state({**GOOD, **changed})
            for changed in (
                {"rows": 1},
                {"rows": 1e308},
                {"rows": True},
                {"rows": 10**30},
                {"tops": [[1500], []]},
                {"tops": [[2002], [1]]},
                {"tops": [[-1], [1]]},
                {"tops": [[7, 5], [1, 1]]},
                {"levels": {"high": "2"}},
                {"levels": {"high": 3}},
                {"probable": 3},
                {"millionths": 1_000_001},
                {"more": 1},
            )
        ),
    ],
)
def test_b5_a_state_is_read_strictly(text: str, log: Path) -> None:
    file = log.parent / "state.json"
    file.write_text(state(GOOD))
    monitor(log, state=file)
    file.write_text(text)
    with pytest.raises(ConfigurationError, match="state of a monitor"):
        monitor(log, state=file)
    assert file.read_text() == text


@pytest.mark.parametrize("path", ["/dev/zero", "pipe", "folder"])
def test_f2_a_state_is_a_regular_file(path: str, log: Path) -> None:
    os.mkfifo(log.parent / "pipe")
    (log.parent / "folder").mkdir()
    with pytest.raises(RecallSignalError, match="no regular file"):
        monitor(log, state=log.parent / path)


def test_a_state_that_the_system_does_not_give(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> bytes:
        raise PermissionError

    monkeypatch.setattr("recall_signal.monitoring._state.read", refuse)
    with pytest.raises(ConfigurationError, match=r"cannot be read \(PermissionError\)"):
        monitor(log, state=log.parent / "state.json")


@pytest.mark.parametrize("year", ["0001", "1899"])
def test_rows_outside_of_time_are_left_out(year: str, tmp_path: Path) -> None:
    write_day(tmp_path, f"{year}-12-31", [0.5])
    (verdict,) = monitor(tmp_path).verdict
    assert verdict.endswith("Rows dated before 1900 are left out: 1.")
