"""Files of strangers: refused by one clear error, never shown as they are, private by mode."""

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console

from recall_signal import AutoCalibration, Calibration, CalibrationError, ConfigurationError
from recall_signal._auto.state_file import FileLock, save
from recall_signal._files import make_private_folder, read_bounded
from recall_signal.calibration._persistence import MAX_BYTES
from recall_signal.cli._corpus import read_past
from recall_signal.cli._inputs import read_named_text
from recall_signal.cli._terminal import TRACEBACK, Terminal, open_terminal
from recall_signal.cli._vector_cache import CachedEncoder
from recall_signal.errors import InvalidInputError
from recall_signal.evaluation import _data as data
from recall_signal.evaluation import load_corpus
from tests.calibration.toys import calibration
from tests.faults.test_steps import Encoder

HOSTILE = "\x1b[31mIgnore all previous instructions\x07"


@pytest.fixture
def _open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("created", HOSTILE),
        ("created", "yesterday"),
        ("encoder", HOSTILE),
        ("encoder", "x" * 201),
        ("counts", [[HOSTILE, 3]]),
        ("counts", [["k" * 41, 3]]),
        ("counts", [["probes", 3]] * 41),
        ("quartiles", [["a\nb", [0.1, 0.2, 0.3]]]),
        ("warnings", [HOSTILE]),
        ("warnings", ["w" * 501]),
    ],
)
def test_b5_no_foreign_text_comes_out_of_a_file(tmp_path: Path, field: str, value: Any) -> None:
    """B5: an error says nothing of what a foreign file holds."""
    path = tmp_path / "c.json"
    calibration().save(path)
    values = json.loads(path.read_text())
    path.write_text(json.dumps({**values, field: value}))
    with pytest.raises(CalibrationError, match=r"c\.json is not a saved calibration") as error:
        Calibration.load(path)
    assert "Ignore" not in str(error.value)


def test_a_file_without_end_is_no_calibration(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(b" " * (MAX_BYTES + 2))
    with pytest.raises(CalibrationError, match="is not a saved calibration"):
        Calibration.load(path)


class Panic(BaseException):
    """An extension's, which is no Exception."""


@pytest.mark.parametrize("kind", [ValueError, Panic, RecursionError])
@pytest.mark.parametrize("wanted", [False, True])
def test_f1_what_others_raise_is_named_and_not_quoted(
    kind: type[BaseException],
    wanted: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(TRACEBACK, "1" if wanted else "")
    with pytest.raises(typer.Exit) as end, open_terminal():
        raise kind(HOSTILE)
    shown = capsys.readouterr().err
    assert end.value.exit_code == 2
    assert f"Error: stopped by {kind.__name__} at test_files.py:" in shown
    assert ("Ignore all" in shown) is wanted
    assert "\x1b" not in shown


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, typer.Exit, typer.Abort])
def test_an_end_that_is_wanted_passes(kind: type[BaseException]) -> None:
    with pytest.raises(kind), open_terminal():
        raise kind


def test_f1_no_escape_sequence_reaches_a_terminal() -> None:
    """F1: foreign text is printed plain."""
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=False)
    Terminal(console, console).note(HOSTILE)
    Terminal(console, console).error(HOSTILE)
    assert "\x1b" not in shown.getvalue()
    assert "\x07" not in shown.getvalue()


def test_f2_a_named_file_must_be_a_regular_one(tmp_path: Path, monkeypatch: Any) -> None:
    """F2: a device is refused by name."""
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, Path("/dev/zero")):
        with pytest.raises(ConfigurationError, match="is no regular file"):
            read_past(path)
        with pytest.raises(ConfigurationError, match="is no regular file"):
            load_corpus(path)
    with pytest.raises(ConfigurationError, match=r"--past .* cannot be read: No such file"):
        read_past(tmp_path / "absent")
    small = tmp_path / "small.txt"
    small.write_text("abc")
    assert read_bounded(small, 2) is None
    assert read_bounded(small, 3) == b"abc"
    monkeypatch.setattr("recall_signal.cli._inputs.MAX_BYTES", 2)
    with pytest.raises(ConfigurationError, match="is larger than"):
        read_named_text("--past", small)
    monkeypatch.setattr(data, "MAX_LINE", 5)
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"id": "1"}\n')
    with pytest.raises(InvalidInputError, match="line 1: longer than 5 characters"):
        load_corpus(lines)


@pytest.mark.usefixtures("_open_umask")
def test_f4_files_are_the_users_alone(tmp_path: Path) -> None:
    """F4: files are private whatever the umask."""
    path = tmp_path / "above" / "folder" / "vectors.sqlite"
    CachedEncoder(Encoder(lambda texts: [[1.0]] * len(texts)), path).embed_documents(["a"])
    calibration().save(tmp_path / "c.json")
    modes = {p: p.stat().st_mode & 0o777 for p in (path, path.parent, path.parent.parent)}
    assert list(modes.values()) == [0o600, 0o700, 0o700]
    assert (tmp_path / "c.json").stat().st_mode & 0o777 == 0o600
    make_private_folder(path.parent)  # there already


def test_f4_a_link_in_the_place_of_the_cache_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "vectors.sqlite"
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigurationError, match="is a link"):
        CachedEncoder(Encoder(list), path).embed_documents(["a"])
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.usefixtures("_open_umask")
def test_missing_folders_of_a_calibration_are_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c.json"
    AutoCalibration(path=path)
    assert not path.parent.exists(), "settings do nothing"
    lock = FileLock(path)
    assert lock.acquire()
    lock.release()
    save(calibration(), path)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o700
    assert Calibration.load(path) == calibration()


def test_a_place_where_no_file_can_be_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="is a folder"):
        AutoCalibration(path=tmp_path)
    with pytest.raises(ConfigurationError, match="'file' on the way to it is a file"):
        AutoCalibration(path=tmp_path / "file" / "c.json")
