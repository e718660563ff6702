"""Scoring whole logs: every format equals `assess`, and no kill leaves a trace in the result."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from recall_signal import Baseline, ConfigurationError, InvalidInputError, MissingDependencyError
from recall_signal.logs import BatchScorer, score, score_batch
from recall_signal.logs import _score as score_module
from recall_signal.logs import _sources as sources_module
from recall_signal.logs._parts import write_part
from recall_signal.logs._sources import find_log
from tests.ids import stable_repr
from tests.logs.scoring import expected, fitted, log_of

ROWS = 900


@pytest.fixture(scope="module")
def log() -> pa.Table:
    return log_of(ROWS)


def write_json(table: pa.Table, path: Path) -> None:
    text = "".join(json.dumps(row) + "\n" for row in table.to_pylist())
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, "utf-8")


def write_csv(table: pa.Table, path: Path) -> None:
    lists = [
        None
        if row is None
        else "[" + ", ".join("NULL" if v is None else repr(v) for v in row) + "]"
        for row in table["cosines"].to_pylist()
    ]
    pyarrow.csv.write_csv(table.set_column(1, "cosines", pa.array(lists)), path)


def write_parquet(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, row_group_size=200)


WRITERS: dict[str, Callable[[pa.Table, Path], None]] = {
    "log.parquet": write_parquet,
    "log.jsonl": write_json,
    "log.jsonl.gz": write_json,
    "log.csv": write_csv,
}


def read(path: Path) -> list[dict[str, Any]]:
    files = [path] if path.is_file() else sorted(path.rglob("part-*.parquet"))
    return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("calibrated", [False, True])
def test_every_format_equals_assess(
    name: str, calibrated: bool, log: pa.Table, tmp_path: Path
) -> None:
    fit = fitted() if calibrated else None
    WRITERS[name](log, tmp_path / name)
    right = expected(log, fit)
    scored = score(tmp_path / name, tmp_path / "out.parquet", calibration=fit)
    assert read(scored.path) == right
    assert scored.rows == ROWS
    assert scored.levels == {
        level: sum(row["level"] == level for row in right) for level in scored.levels
    }
    assert names(tmp_path) == sorted([name, "out.parquet"])


def partitioned(log: pa.Table, folder: Path) -> Path:
    for day in range(3):
        part = folder / f"day=2026-01-0{day + 1}"
        part.mkdir(parents=True)
        write_parquet(log[day * 300 : day * 300 + 300], part / f"part-{day}.parquet")
    (folder / "_state.json").write_text("{}")
    (folder / "_open").mkdir()
    (folder / "_open" / "x.parquet").write_bytes(b"open")
    return folder


def test_a_partitioned_folder_keeps_its_partitions(log: pa.Table, tmp_path: Path) -> None:
    scored = score(partitioned(log, tmp_path / "log"), tmp_path / "out")
    assert read(scored.path) == expected(log)
    assert next(iter(files(scored.path))) == "_SUCCESS"
    folders = {path.parent.name for path in scored.path.rglob("part-*.parquet")}
    assert folders == {f"day=2026-01-0{day}" for day in (1, 2, 3)}


def test_two_processes_make_the_same_bytes(log: pa.Table, tmp_path: Path) -> None:
    folder, fit = partitioned(log, tmp_path / "log"), tmp_path / "fit.json"
    fitted().save(fit)
    seen: list[tuple[int, int]] = []
    one = score(folder, tmp_path / "one", calibration=fit)
    two = score(
        folder, tmp_path / "two", calibration=fit, jobs=2, progress=lambda *done: seen.append(done)
    )
    assert files(one.path) == files(two.path)
    assert (seen[0], seen[-1]) == ((0, ROWS), (ROWS, ROWS))


def test_text_files_are_scored_in_parts(
    log: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score_module, "TEXT_ROWS", 300)
    write_json(log, tmp_path / "log.jsonl")
    seen: list[tuple[int, int]] = []
    scored = score(
        tmp_path / "log.jsonl", tmp_path / "out", progress=lambda *done: seen.append(done)
    )
    assert len(list(scored.path.glob("part-*"))) == 3
    assert read(scored.path) == expected(log)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


class Killed(BaseException):
    """Ends a run as a signal would."""


@pytest.mark.parametrize("name", ["log.parquet", "log.jsonl"])
@pytest.mark.parametrize("out", ["out", "out.parquet"])
@pytest.mark.parametrize("after", [0, 1, 2])
def test_an_ended_run_goes_on_where_it_was(
    name: str,
    out: str,
    after: int,
    log: pa.Table,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(score_module, "TEXT_ROWS", 200)
    WRITERS[name](log, tmp_path / name)
    whole = score(tmp_path / name, tmp_path / f"whole-{out}")
    made: list[Path] = []

    def counted(path: Path, *rest: Any) -> int:
        made.append(path)
        return write_part(path, *rest)

    def dying(path: Path, *rest: Any) -> int:
        if len(made) == after:
            raise Killed
        return counted(path, *rest)

    monkeypatch.setattr(score_module, "write_part", dying)
    with pytest.raises(Killed):
        score(tmp_path / name, tmp_path / out)
    assert not (tmp_path / out).exists()
    (tmp_path / f".{out}.parts" / ".part-half").write_bytes(b"PAR1")  # of a killed process
    made.clear()
    monkeypatch.setattr(score_module, "write_part", counted)
    resumed = score(tmp_path / name, tmp_path / out)
    assert len(made) == 5 - after
    if resumed.path.is_file():
        assert resumed.path.read_bytes() == whole.path.read_bytes()
    else:
        assert files(resumed.path) == files(whole.path)


def test_killed_processes_leave_no_trace(tmp_path: Path) -> None:
    """SIGKILL at odd moments; each next run goes on."""
    write_parquet(log_of(4000), tmp_path / "log.parquet")
    whole = score(tmp_path / "log.parquet", tmp_path / "whole.parquet")
    program = (
        "from recall_signal.logs import score\n"
        f"score({str(tmp_path / 'log.parquet')!r}, {str(tmp_path / 'out.parquet')!r}, "
        "progress=lambda *done: print(*done, flush=True))"
    )
    for lines in (1, 2, 3):
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            for _ in range(lines):
                process.stdout.readline()
            sleep(0.003 * lines)
            process.send_signal(signal.SIGKILL)
        left = tmp_path / "out.parquet"
        assert not left.exists() or left.read_bytes() == whole.path.read_bytes()
    resumed = score(tmp_path / "log.parquet", tmp_path / "out.parquet")
    assert resumed.path.read_bytes() == whole.path.read_bytes()
    assert names(tmp_path) == ["log.parquet", "out.parquet", "whole.parquet"]


@pytest.mark.parametrize("out", ["out", "out.parquet"])
def test_a_whole_result_is_left_alone(out: str, log: pa.Table, tmp_path: Path) -> None:
    write_parquet(log, tmp_path / "log.parquet")
    first = score(tmp_path / "log.parquet", tmp_path / out)
    stamp = first.path.stat().st_mtime_ns
    assert score(tmp_path / "log.parquet", tmp_path / out) == first
    assert first.path.stat().st_mtime_ns == stamp


def test_a_file_that_no_scoring_has_made_is_left_alone(log: pa.Table, tmp_path: Path) -> None:
    write_parquet(log, tmp_path / "log.parquet")
    write_parquet(log, tmp_path / "mine.parquet")
    (tmp_path / "text.parquet").write_text("something else")
    for name in ("mine.parquet", "text.parquet"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(ConfigurationError, match=f"{name} is there already"):
            score(tmp_path / "log.parquet", tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
    assert names(tmp_path) == ["log.parquet", "mine.parquet", "text.parquet"]


def interrupted(log: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished part of a scoring into a file that ended before its last part."""
    made: list[Path] = []

    def dying(path: Path, *rest: Any) -> int:
        if len(made) == 2:
            raise KeyboardInterrupt
        made.append(path)
        return write_part(path, *rest)

    write_parquet(log, tmp_path / "log.parquet")
    with monkeypatch.context() as patched:
        patched.setattr(score_module, "write_part", dying)
        with pytest.raises(KeyboardInterrupt):
            score(tmp_path / "log.parquet", tmp_path / "out.parquet")
    return made[0]


def test_a_damaged_part_is_made_again(
    log: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = interrupted(log, tmp_path, monkeypatch)
    part.write_bytes(part.read_bytes()[:-9])
    score(tmp_path / "log.parquet", tmp_path / "out.parquet")
    assert read(tmp_path / "out.parquet") == expected(log)


def test_a_part_of_unreadable_values_is_named_with_what_to_remove(
    log: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = interrupted(log, tmp_path, monkeypatch)
    held = bytearray(part.read_bytes())
    held[4:400] = bytes(396)
    part.write_bytes(held)
    with pytest.raises(ConfigurationError, match=r"remove \.out\.parquet\.parts and score again"):
        score(tmp_path / "log.parquet", tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


def test_a_result_that_was_written_again_is_no_result(log: pa.Table, tmp_path: Path) -> None:
    write_parquet(log, tmp_path / "log.parquet")
    out = score(tmp_path / "log.parquet", tmp_path / "out.parquet").path
    pq.write_table(pq.read_table(out).slice(0, 10), out)
    with pytest.raises(ConfigurationError, match="remove the result and score again"):
        score(tmp_path / "log.parquet", out)


@pytest.mark.parametrize("harm", ["cut", "foreign", "other counts", "no counts"])
def test_a_damaged_part_of_a_whole_result_is_named(
    harm: str, log: pa.Table, tmp_path: Path
) -> None:
    write_parquet(log, tmp_path / "log.parquet")
    part = next(score(tmp_path / "log.parquet", tmp_path / "out").path.glob("part-*"))
    if harm == "cut":
        part.write_bytes(part.read_bytes()[:-9])
    else:
        said = {"other counts": '{"high": 1}', "no counts": "nonsense"}.get(harm)
        keys = {} if said is None else {"recall_signal.levels": said}
        pq.write_table(log.select(["id"]).replace_schema_metadata(keys), part)
    with pytest.raises(ConfigurationError, match=f"{part.name} of the result is damaged"):
        score(tmp_path / "log.parquet", tmp_path / "out")


@pytest.mark.parametrize(("harm", "left"), [("removed", 4), ("doubled", 6)])
def test_a_whole_result_that_has_other_parts_is_refused(
    harm: str, left: int, log: pa.Table, tmp_path: Path
) -> None:
    write_parquet(log, tmp_path / "log.parquet")
    out = score(tmp_path / "log.parquet", tmp_path / "out").path
    part = next(out.glob("part-*"))
    if harm == "removed":
        part.unlink()
    else:
        (out / "part-copy.parquet").write_bytes(part.read_bytes())
    before = files(out)
    words = rf"^out has lost parts .* \({left} are there\); remove it"
    with pytest.raises(ConfigurationError, match=words):
        score(tmp_path / "log.parquet", out)
    assert files(out) == before


def test_other_settings_start_anew(log: pa.Table, tmp_path: Path) -> None:
    write_parquet(log, tmp_path / "log.parquet")
    score(tmp_path / "log.parquet", tmp_path / "out.parquet")
    score(tmp_path / "log.parquet", tmp_path / "out.parquet", calibration=fitted())
    assert read(tmp_path / "out.parquet") == expected(log, fitted())
    score(tmp_path / "log.parquet", tmp_path / "out")
    with pytest.raises(ConfigurationError, match="is a folder already"):
        score(tmp_path / "log.parquet", tmp_path / "out", calibration=fitted())


def test_columns_are_chosen(log: pa.Table, tmp_path: Path) -> None:
    renamed = log.rename_columns(["id", "similarity", "term_coverage", "retriever"])
    write_parquet(renamed, tmp_path / "log.parquet")
    score(tmp_path / "log.parquet", tmp_path / "out.parquet", cosines="similarity", keep=["id"])
    right = [{**row} for row in expected(log)]
    for row in right:
        del row["retriever"]
    assert read(tmp_path / "out.parquet") == right
    for keep, words in (
        (["text"], "has no column text"),
        (["term_coverage"], "gets a new"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            score(tmp_path / "log.parquet", tmp_path / "no", cosines="similarity", keep=keep)


def test_kept_columns_are_compressed_whatever_they_hold(log: pa.Table, tmp_path: Path) -> None:
    dotted = log.add_column(0, "a.b", pa.array(map(str, range(ROWS))))
    both = pa.array([{"n": n, "of": [n]} for n in range(ROWS)])
    write_parquet(dotted.add_column(0, "both", both), tmp_path / "log.parquet")
    kept = ["a.b", "both", "cosines"]
    score(tmp_path / "log.parquet", tmp_path / "out.parquet", keep=kept)
    assert pq.read_table(tmp_path / "out.parquet")["both"].to_pylist() == both.to_pylist()
    group = pq.read_metadata(tmp_path / "out.parquet").row_group(0)
    columns = [group.column(at) for at in range(group.num_columns)]
    compressed = [column.path_in_schema for column in columns if column.compression == "ZSTD"]
    assert compressed == ["a.b", "both.n", "both.of.list.element", "cosines.list.element"]


UPPER = "B0C1A2D3-0000-4000-8000-0123456789AB"


@pytest.mark.parametrize(
    ("ids", "right"),
    [
        ([UPPER, None], None),
        (["10:30:00", "1:2:3"], None),
        (["2026-01-05"] * 21_000 + ["draft"], None),
        (["2026-01-05 10:00:00"], None),
        ([1, "x", None, True, 1.5], ["1", "x", None, "true", "1.5"]),
        ([2**70, 5], [str(2**70), "5"]),
        ([2**63, -1], [str(2**63), "-1"]),
        ([2**63, 2**64 - 1], [str(2**63), str(2**64 - 1)]),
        ([-1, None, 2**53 + 1], None),
        ([0.5, 1], None),
        ([True, None], None),
        ([[UPPER], ["10:30:00"]], None),
        ([{"at": "x"}], None),
    ],
    ids=stable_repr,
)
def test_what_json_lines_hold_is_kept_as_it_is_written(
    ids: list[Any], right: list[Any] | None, tmp_path: Path
) -> None:
    """DuckDB takes texts for dates, times and uuids, and writes those in its own way."""
    lines = (json.dumps({"id": value, "cosines": [0.9, 0.1]}) + "\n" for value in ids)
    (tmp_path / "log.jsonl").write_text("".join(lines))
    score(tmp_path / "log.jsonl", tmp_path / "out.parquet", keep=["id"])
    assert [row["id"] for row in read(tmp_path / "out.parquet")] == (right or ids)


@pytest.mark.parametrize(
    ("ids", "right"),
    [
        (["0x1F", "5"], None),
        (["01/02/2024", "03/04/2024"], None),
        (["10:30:00"], None),
        ([UPPER], None),
        (["12345678901234567890", "2"], None),
        (["true", "F"], None),
        (["007", "8"], None),
        (["5", "", "-6"], [5, None, -6]),
        (["5.25", "1e3"], [5.25, 1000.0]),
        (["true", "False"], [True, False]),
    ],
    ids=stable_repr,
)
def test_what_a_csv_file_holds_is_kept_as_it_is_written(
    ids: list[str], right: list[Any] | None, tmp_path: Path
) -> None:
    rows = (f'{value},"[0.9, 0.1]"\n' for value in ids)
    (tmp_path / "log.csv").write_text("id,cosines\n" + "".join(rows))
    score(tmp_path / "log.csv", tmp_path / "out.parquet")
    assert [row["id"] for row in read(tmp_path / "out.parquet")] == (right or ids)


@pytest.mark.parametrize("name", ["log.jsonl", "log.csv"])
def test_the_time_of_a_text_log_is_a_time(name: str, tmp_path: Path) -> None:
    row = {"ts": "2026-01-05 10:30:00", "day": "2026-01-05", "cosines": [0.9, 0.1]}
    text = json.dumps(row) + "\n"
    if name == "log.csv":
        text = 'ts,day,cosines\n2026-01-05 10:30:00,2026-01-05,"[0.9, 0.1]"\n'
    (tmp_path / name).write_text(text)
    score(tmp_path / name, tmp_path / "out.parquet")
    (made,) = read(tmp_path / "out.parquet")
    assert (made["ts"], made["day"]) == (datetime(2026, 1, 5, 10, 30), "2026-01-05")


def test_json_lines_of_many_keys_are_columns(tmp_path: Path) -> None:
    rows = [{f"k{n}": n, "cosines": [0.9, 0.1]} for n in range(250)]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    scored = score(tmp_path / "log.jsonl", tmp_path / "out.parquet", keep=["k249"])
    assert scored.levels == {"high": 250}
    assert read(scored.path)[-1]["k249"] == 249


def test_keyword_scores_are_used(tmp_path: Path) -> None:
    rows = [{"cosines": None, "scores": [3.0, 1.0, 1.0]}, {"cosines": [0.9, 0.1], "scores": []}]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    score(tmp_path / "log.jsonl", tmp_path / "out.parquet")
    assert [row["basis"] for row in read(tmp_path / "out.parquet")] == ["separation", "prominence"]


def test_cosines_may_be_decimals(tmp_path: Path) -> None:
    cosines = [[Decimal("0.9"), Decimal("0.1")], [Decimal("0.85")], [None], None]
    table = pa.table({"cosines": pa.array(cosines, pa.list_(pa.decimal128(9, 4)))})
    pq.write_table(table, tmp_path / "log.parquet")
    score(tmp_path / "log.parquet", tmp_path / "out.parquet")
    levels = [row["level"] for row in read(tmp_path / "out.parquet")]
    assert levels == ["high", "moderate", "unknown", "unknown"]


VIEWS = pa.array([[0.9, 0.1]], pa.list_view(pa.float32()))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"cosines": [["secret"]]}, r"cosines must hold .* as numbers, got list<item: string>"),
        ({"cosines": VIEWS}, r"cosines must hold .* got list_view<item: float>; .* or cast it"),
        (
            {"cosines": [[0.9]], "scores": [3.0]},
            "scores must hold a list of keyword scores .* double",
        ),
    ],
)
def test_columns_of_something_else_are_refused(columns: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        score_batch(pa.table(columns))


@pytest.mark.parametrize("encoded", [True, False])
def test_a_log_that_counts_candidates_tells_empty_from_unmeasured(encoded: bool) -> None:
    table = pa.table(
        {
            "cosines": pa.array([None, None, None, [0.9]], pa.list_(pa.float32())),
            "candidates": pa.array([0, 4, None, 1], pa.int32()),
            "advice": ["read"] * 4,
        }
    )
    rows = BatchScorer(encoded=encoded)(table).to_pylist()
    assert [(row["level"], row["reason"], row["result_count"]) for row in rows] == [
        ("none", None, 0),
        ("unknown", "no_scores", 4),
        ("unknown", "no_scores", 0),
        ("moderate", None, 1),
    ]
    assert "advice" not in rows[0]
    (batch,) = table.to_batches()
    assert score_batch(batch).to_pylist() == score_batch(table).to_pylist()


BAD = {
    "cut.jsonl": ('{"cosines": [0.9, 0.1]}\n{"cosines": [0.9, 0.', "cut.jsonl .* line 2"),
    "text.jsonl": ('{"cosines": [0.9]}\n{"cosines": "secret"}\n', "text.jsonl .* JSON lines"),
    "none.jsonl": ('{"id": 1}\n', "no column cosines"),
    "number.jsonl": ('{"cosines": 0.9}\n', "must hold a list"),
    "empty.jsonl": ("", "no row"),
    "empty.csv": ("cosines\n", "no row"),
    "none.csv": ("id\n1\n", "no column cosines"),
    "text.csv": ('id,cosines\n1,"[0.5, secret]"\n', "text.csv .* CSV"),
    "cut.parquet": ("PAR1", "cut.parquet cannot be read as Parquet"),
    "other.txt": ("x", "no known format"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_log_that_cannot_be_scored_is_refused(name: str, tmp_path: Path) -> None:
    text, words = BAD[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInputError, match=words) as caught:
        score(tmp_path / name, tmp_path / "out")
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_cut_line_in_a_compressed_file(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(BAD["cut.jsonl"][0].encode()))
    with pytest.raises(InvalidInputError, match=r"a\.jsonl\.gz cannot be read as JSON lines"):
        score(tmp_path / "a.jsonl.gz", tmp_path / "out")


def test_folders_that_cannot_be_scored_are_refused(log: pa.Table, tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    with pytest.raises(InvalidInputError, match="there is no log"):
        score(tmp_path / "absent", tmp_path / "out")
    with pytest.raises(InvalidInputError, match="no known format"):
        score(folder, tmp_path / "out")
    pq.write_table(log[:0], folder / "a.parquet")
    with pytest.raises(InvalidInputError, match="no row"):
        score(folder, tmp_path / "out")
    (folder / "c.csv").write_text("x")
    with pytest.raises(InvalidInputError, match="csv and parquet"):
        score(folder, tmp_path / "out")


def test_a_parquet_file_without_rows_is_named(log: pa.Table, tmp_path: Path) -> None:
    pq.write_table(log[:0], tmp_path / "log.parquet")
    with pytest.raises(InvalidInputError, match=r"^log\.parquet holds no row: nothing to score"):
        score(tmp_path / "log.parquet", tmp_path / "out")


def test_a_damaged_row_group_is_named(log: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    write_parquet(log, path)
    data = bytearray(path.read_bytes())
    data[4:2000] = bytes(1996)
    path.write_bytes(data)
    with pytest.raises(InvalidInputError, match="cannot be read as Parquet"):
        score(path, tmp_path / "out")


def test_wrong_settings_are_refused(log: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    write_parquet(log, path)
    with pytest.raises(ConfigurationError, match="jobs must be"):
        score(path, tmp_path / "out", jobs=0)
    with pytest.raises(ConfigurationError, match="lies in the log or holds it"):
        score(path, path)
    with pytest.raises(ConfigurationError, match="lies in the log or holds it"):
        score(tmp_path, tmp_path / "out")
    with pytest.raises(ConfigurationError, match="log must be a path, got NoneType"):
        score(None, tmp_path / "out")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="out must be a path, got an empty text"):
        score(path, "")
    with pytest.raises(ConfigurationError, match="a stream"):
        score(path, tmp_path / "out", calibration=Baseline())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"calibration": "cal.json"}, r"got str; of a file pass Calibration\.load\(path\)"),
        ({"thresholds": {"cosine_high": 0.9}}, "thresholds must be a Thresholds or None, got dict"),
        ({"cosines": 5}, "cosines must be the name of a column, got int"),
        ({"cosines": None}, "cosines must be the name of a column, got NoneType"),
        ({"scores": ""}, "scores must be the name of a column, got an empty text"),
        ({"term_coverage": ["c"]}, "term_coverage must be the name of a column, got list"),
        ({"keep": "id"}, "keep must be a list of names of columns, got a text"),
        ({"keep": ["id", 5]}, "keep must be a list of names of columns, got one with int"),
    ],
)
def test_a_wrong_setting_of_a_scorer_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        BatchScorer(**settings)


def test_a_pickled_scorer_is_not_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = BatchScorer(fitted(), scores=None, keep=["id"])
    monkeypatch.delattr(BatchScorer, "__post_init__")
    assert pickle.loads(pickle.dumps(scorer)) == scorer
    assert scorer.keep == ("id",)


def test_two_runs_do_not_write_one_result(log: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    write_parquet(log, path)

    def again(done: int, _total: int) -> None:
        with pytest.raises(ConfigurationError, match="another process is writing out"):
            score(path, tmp_path / "out")

    score(path, tmp_path / "out", progress=again)


def test_a_refused_run_leaves_no_lock(log: pa.Table, tmp_path: Path) -> None:
    """And takes none away that another one holds."""
    bad = tmp_path / "bad.parquet"
    pq.write_table(pa.table({"cosines": [[0.9]], "term_coverage": [2.0]}), bad)
    with pytest.raises(InvalidInputError, match="term_coverage"):
        score(bad, tmp_path / "out")
    assert not (tmp_path / ".out.lock").exists()
    write_parquet(log, tmp_path / "log.parquet")

    def refused(_done: int, _total: int) -> None:
        with pytest.raises(ConfigurationError, match="another process"):
            score(bad, tmp_path / "out")
        assert (tmp_path / ".out.lock").exists()

    score(tmp_path / "log.parquet", tmp_path / "out", progress=refused)
    assert not (tmp_path / ".out.lock").exists()


def test_a_lock_that_was_removed_meanwhile_is_none(
    log: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its holder ended between the opening and the locking; a third may hold the new file."""
    write_parquet(log, tmp_path / "log.parquet")
    flock, lock = fcntl.flock, tmp_path / ".out.lock"

    def late(file: int, how: int) -> None:
        lock.unlink()
        if made:
            lock.touch()
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    for made in (False, True):
        with pytest.raises(ConfigurationError, match="another process is writing out"):
            score(tmp_path / "log.parquet", tmp_path / "out")
        assert lock.exists() is made


def test_a_process_that_dies_is_reported(log: pa.Table, tmp_path: Path) -> None:
    """An unguarded program starts itself again in each process, which ends there."""
    folder = partitioned(log, tmp_path / "log")
    program = tmp_path / "program.py"
    program.write_text(
        "from recall_signal.logs import score\n"
        f"score({str(folder)!r}, {str(tmp_path / 'out')!r}, jobs=2)\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "not guarded by" in done.stderr


def test_missing_packages_name_the_extra(
    log: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_json(log[:3], tmp_path / "log.jsonl")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingDependencyError, match=r"recall-signal\[logs\]"):
        score(tmp_path / "log.jsonl", tmp_path / "out")


def test_a_process_makes_its_parts_for_as_long_as_somebody_waits(
    log: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_parquet(log, tmp_path / "log.parquet")
    found = find_log(tmp_path / "log.parquet", BatchScorer())
    unit = found.units()[1]
    job = score_module.Job(found, BatchScorer(), tmp_path / "parts")
    monkeypatch.setattr(score_module, "_started", [])
    score_module._start(job)
    assert score_module._work(unit) == unit.size == 200
    (part,) = (tmp_path / "parts").iterdir()
    assert pq.ParquetFile(part).metadata.num_rows == 200

    def leave(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(os, "_exit", leave)
    monkeypatch.setattr(score_module, "parent_process", lambda: Thread())
    monkeypatch.setattr(Thread, "join", lambda _: None)
    with pytest.raises(SystemExit):
        score_module._end_with_parent()


def is_running(process: str) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def is_at_work(process: str) -> bool:
    """Return True for one that has its log open."""
    with suppress(OSError):  # a file is closed, or the process has ended meanwhile
        files = Path(f"/proc/{process}/fd").iterdir()
        return any(file.readlink().suffix == ".jsonl" for file in files)
    return False


@pytest.mark.timing
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_processes_end_with_the_one_that_started_them(tmp_path: Path, how: int) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    for name in "ab":
        line = json.dumps({"cosines": [0.9, 0.5, 0.4]}) + "\n"
        (folder / f"{name}.jsonl").write_text(line * 400_000)
    program = tmp_path / "program.py"
    program.write_text(
        "from recall_signal.logs import score\n"
        f"if __name__ == '__main__': score({str(folder)!r}, {str(tmp_path / 'out')!r}, jobs=2)\n"
    )
    with subprocess.Popen([sys.executable, str(program)]) as run:
        children = Path(f"/proc/{run.pid}/task/{run.pid}/children")
        workers: set[str] = set()
        while len(workers) < 3 and run.poll() is None:  # two, and the tracker of resources
            workers |= {*children.read_text().split()}
            sleep(0.01)
        while run.poll() is None and not any(map(is_at_work, workers)):
            sleep(0.01)
        run.send_signal(how)
    end = monotonic() + 15.0
    while monotonic() < end and any(map(is_running, workers)):
        sleep(0.05)
    assert not any(map(is_running, workers))


def test_a_finished_text_file_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two files of three and one parts; the run ends after the first part, and after the first
    file."""
    monkeypatch.setattr(score_module, "TEXT_ROWS", 2500)
    monkeypatch.setattr(sources_module, "BATCH", 2048)
    folder = tmp_path / "log"
    folder.mkdir()
    for name, count in (("a", 5100), ("b", 10)):
        lines = (json.dumps({"id": n, "cosines": [0.9, n / count]}) for n in range(count))
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    whole = score(folder, tmp_path / "whole")
    for more in (1, 2):
        left = [more]

        def dying(*all_: Any, left: list[int] = left) -> int:
            if not left[0]:
                raise Killed
            left[0] -= 1
            return write_part(*all_)

        monkeypatch.setattr(score_module, "write_part", dying)
        with pytest.raises(Killed):
            score(folder, tmp_path / "out")
    monkeypatch.setattr(score_module, "write_part", write_part)
    assert files(score(folder, tmp_path / "out").path) == files(whole.path)


@pytest.mark.parametrize(
    ("error", "raised"),
    [(BrokenProcessPool(), ConfigurationError), (KeyboardInterrupt(), KeyboardInterrupt)],
    ids=["died", "interrupted"],
)
def test_a_pool_that_ends_ends_the_run(
    error: BaseException,
    raised: type[BaseException],
    log: pa.Table,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Pool(ThreadPoolExecutor):
        def __init__(self, jobs: int, *_: Any) -> None:
            super().__init__(jobs)

    def work(_unit: Any) -> int:
        raise error

    monkeypatch.setattr(score_module, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr(score_module, "_work", work)
    write_parquet(log, tmp_path / "log.parquet")
    with pytest.raises(raised):
        score(tmp_path / "log.parquet", tmp_path / "out", jobs=2)
    assert not (tmp_path / "out").exists()
