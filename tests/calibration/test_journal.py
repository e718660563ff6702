"""A journal survives crashes, and leaves the files of others alone."""

from pathlib import Path

import pytest

from recall_signal.calibration.journal import Journal, Observation
from recall_signal.errors import ConfigurationError

SEEN = Observation(0.75, None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "fit.jsonl"


def test_what_was_seen_is_there_again(path: Path) -> None:
    journal = Journal(path)
    journal["a"], journal["b"], journal["a"] = Observation(None), SEEN, Observation(-0.5, 0.25)
    again = Journal(path)
    assert dict(again) == {"a": Observation(-0.5, 0.25), "b": SEEN}
    del again["a"]
    assert (list(again), len(again)) == (["b"], 1)


@pytest.mark.parametrize("cut", [1, 2, 9, 30, 40])
def test_a_line_cut_off_by_a_crash_costs_that_line_alone(path: Path, cut: int) -> None:
    journal = Journal(path)
    journal["a"], journal["b"] = SEEN, SEEN
    path.write_bytes(path.read_bytes()[:-cut])
    after = Journal(path)
    assert dict(after) in ({"a": SEEN}, {"a": SEEN, "b": SEEN})
    after["c"] = SEEN
    assert Journal(path).keys() == after.keys()


@pytest.mark.parametrize(
    "line",
    [
        b"a note",
        b"\xff\xfe\x00",
        b"null",
        b"[]",
        b"7",
        b"{}",
        b'{"key": "x"}',
        b'{"key": "x", "value": 0.5}',
        b'{"top": 0.5, "without": null}',
        b'{"key": "x", "top": "0.5", "without": null}',
        b'{"key": "x", "top": NaN, "without": null}',
        b'{"key": "x", "top": 0.5, "without": 1e999}',
        b'{"key": "x", "top": 1' + b"0" * 400 + b', "without": null}',
        b'{"key": "x", "top": true, "without": null}',
        b"[" * 100_000,
        b'{"key": ' + b"[" * 100_000 + b"}",
    ],
)
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_file_with_another_line_is_left_as_it_is(path: Path, line: bytes, end: bytes) -> None:
    Journal(path)["a"] = SEEN
    before = path.read_bytes() + line + end
    path.write_bytes(before)
    with pytest.raises(ConfigurationError, match="holds something else than an interrupted"):
        Journal(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("line", [b"", b"{", b'{"key": "', b'{"key": "x", "top": 0.'])
def test_what_a_crash_left_of_a_line_is_passed_over(path: Path, line: bytes) -> None:
    Journal(path)["a"] = SEEN
    path.write_bytes(line + b"\n" + path.read_bytes())
    assert dict(Journal(path)) == {"a": SEEN}


def test_a_file_that_cannot_be_written_is_told_of_at_once(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        Journal(tmp_path / "nowhere" / "fit.jsonl")
