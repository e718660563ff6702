"""The log of a retriever: its columns, its parts, and what survives."""

from __future__ import annotations

import asyncio
import json
import logging
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from copy import copy, deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from llama_index.core.instrumentation.events.exception import ExceptionEvent

import langchain_recall_signal as in_langchain
import llama_index_recall_signal as in_llama_index
from recall_signal import ConfigurationError, SelectionReport
from recall_signal._words import Vocabulary
from recall_signal._words._text import hash_of
from recall_signal.logs import COLUMNS, LogOptions, LogWriter, log_schema, parquet_options, recover
from recall_signal.logs import _spool as spool
from recall_signal.logs import _worker as worker
from recall_signal.logs._schema import require_arrow
from tests.calibration.toys import WORDS, calibration
from tests.frameworks import QUERY, STRONG, Framework
from tests.logs.made import Query, parts, rows, run_id, write

APPLIED = SelectionReport(applied=True, model="m", kept=1, dropped=2, dropped_memory_ids=["a", "b"])


async def test_both_frameworks_log_every_query(framework: Any, way: str, tmp_path: Path) -> None:
    with LogWriter(tmp_path) as log, framework.logged(log) as call:
        for _ in range(2):
            await framework.recall(framework.over(), way, **call)
    first, second = rows(tmp_path)
    assert first["cosines"] == pytest.approx(STRONG, abs=1e-6)
    assert (first["level"], first["basis"], first["advice"]) == ("high", "prominence", "read")
    assert (first["k"], first["candidates"], first["selection_applied"]) == (4, 4, False)
    assert first["retriever"].endswith("VectorStore")
    assert first["encoder"]
    assert 0 < first["latency_ms"] < 10_000
    assert abs((datetime.now(UTC) - first["ts"]).total_seconds()) < 60
    assert first["run_id"] != second["run_id"]


async def test_learning_is_no_query(framework: Any, way: str, tmp_path: Path) -> None:
    """A fit and a check search through the same retriever; LlamaIndex sends their events too."""
    retriever = framework.over()
    with LogWriter(tmp_path) as log, framework.logged(log) as call:
        if way == "sync":
            fitted = retriever.calibrate()
            retriever = retriever.with_calibration(fitted)
            log.check(retriever)
        else:
            fitted = await retriever.acalibrate()
            retriever = retriever.with_calibration(fitted)
            await log.acheck(retriever)
        await framework.recall(retriever, way, **call)
    (row,) = rows(tmp_path)
    assert row["calibration"]
    assert row["calibration_status"] in ("ready", "no_valid_threshold")


async def test_both_frameworks_log_whether_words_count(framework: Any, tmp_path: Path) -> None:
    """They do where the corpus has the question's language."""
    fits = [calibration(), calibration(words=WORDS)]
    german = Vocabulary(function_words=(hash_of("der"), hash_of("ist")), length=200.0)
    fits.append(calibration(words=replace(WORDS, vocabulary=german)))
    with LogWriter(tmp_path) as log, framework.logged(log) as call:
        for fit in (None, *fits):
            await framework.recall(framework.over(calibration=fit), "sync", **call)
    assert [row["words_count"] for row in rows(tmp_path)] == [None, None, True, False]


async def test_texts_are_opt_in(framework: Any, tmp_path: Path) -> None:
    for texts in (False, True):
        folder = tmp_path / str(texts)
        with LogWriter(folder, texts=texts) as log, framework.logged(log) as call:
            await framework.recall(framework.over(), "sync", **call)
        (row,) = rows(folder)
        assert row.get("query") == (QUERY if texts else None)
        assert any(QUERY.encode() in part.read_bytes() for part in parts(folder)) == texts


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (Query(), {"cosines": [0.9, 0.5, 0.4], "level": "high", "calibration": None}),
        (Query([0.5, None, 0.25]), {"cosines": [0.5, None, 0.25], "candidates": 3}),
        (Query([float("nan"), 0.25]), {"cosines": [None, 0.25]}),
        (Query([None, None]), {"cosines": None, "reason": "no_scores", "basis": None}),
        (Query([]), {"cosines": [], "level": "none", "candidates": 0}),
        (Query(selection=APPLIED), {"kept": 1, "dropped": 2, "selection_reason": None}),
        (Query(seconds=None), {"latency_ms": None}),
        (Query(seconds=0.25), {"latency_ms": 250.0}),
        (Query(encoder="a\ud800"), {"encoder": "a?"}),
        (
            Query(calibration={"id": "abc", "created": "2026", "status": "ready"}),
            {"calibration": "abc", "calibration_status": "ready"},
        ),
    ],
)
def test_rows(query: Query, expected: dict[str, Any], tmp_path: Path) -> None:
    with LogWriter(tmp_path) as log:
        write(log, query, Query())
    row, _ = rows(tmp_path)
    shown = {name: row[name] for name in expected}
    cosines = shown.pop("cosines", None)
    if cosines is not None:
        assert cosines == pytest.approx(expected["cosines"], nan_ok=False)
    elif "cosines" in expected:
        assert expected["cosines"] is None
    assert shown == {name: value for name, value in expected.items() if name != "cosines"}


def test_the_schema_of_every_part_is_the_documented_one(tmp_path: Path) -> None:
    with LogWriter(tmp_path, retriever="manuals", texts=True) as log:
        write(log, Query(query="a\ud800"))
    (part,) = parts(tmp_path)
    found = pq.ParquetFile(part)
    assert found.schema_arrow.equals(log_schema(texts=True))
    assert found.schema_arrow.metadata[b"recall_signal.log_version"] == b"1"
    assert found.schema_arrow.metadata[b"recall_signal.sample"] == b"1.0"
    assert found.read().to_pylist()[0]["query"] == "a?"
    assert found.read().to_pylist()[0]["retriever"] == "manuals"
    assert part.parent.name == f"day={datetime.now(UTC):%Y-%m-%d}"
    column = found.metadata.row_group(0).column(len(COLUMNS) - 1)
    assert "BYTE_STREAM_SPLIT" in column.encodings
    assert "column_encoding" not in parquet_options(pa.schema([("level", pa.string())]))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({"max_rows": 2}, [2, 2, 1]), ({"max_bytes": 1}, [5]), ({"max_age": 1e-9}, [5]), ({}, [5])],
)
def test_parts_are_closed(settings: dict[str, Any], expected: list[int], tmp_path: Path) -> None:
    log = LogWriter(tmp_path, **settings)
    write(log, *[Query()] * 5)
    log.flush()
    closed = [pq.read_metadata(part).num_rows for part in parts(tmp_path)]
    full = settings.keys() & {"max_bytes", "max_age"}
    assert sorted(closed) == sorted(expected if full else [n for n in expected if n == 2])
    log.rotate()
    assert len(rows(tmp_path)) == 5
    log.close()
    assert len(parts(tmp_path)) == len(expected)


def test_a_day_has_its_own_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    day = 86_400_000_000_000
    times = iter([20_000 * day + day - 1, 20_001 * day, 20_000 * day + 5])
    monkeypatch.setattr("recall_signal.logs._writer.time_ns", lambda: next(times))
    log = LogWriter(tmp_path)
    write(log, Query(), Query())
    log.flush()
    write(log, Query())
    log.close()
    found = {part: pq.ParquetFile(part).read().num_rows for part in parts(tmp_path)}
    assert sorted(part.parent.name for part in found) == [
        "day=2024-10-04",
        "day=2024-10-04",
        "day=2024-10-05",
    ]


def test_the_sample_is_the_same_everywhere(tmp_path: Path) -> None:
    kept = []
    for name, share in (("a", 0.3), ("b", 0.3), ("c", 0.6)):
        with LogWriter(tmp_path / name, sample=share) as log:
            write(log, *[Query()] * 500)
        kept.append({row["run_id"] for row in rows(tmp_path / name)})
    assert kept[0] == kept[1] < kept[2]
    assert 110 < len(kept[0]) < 190


def test_a_full_queue_drops_and_says(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = LogWriter(tmp_path, queue_rows=3, flush_seconds=60)
    with log._worker._turn:  # the disk hangs
        write(log, *[Query()] * 10)
        assert log.dropped == 7
    log.close()
    write(log, Query())
    log.close()
    assert (log.written, log.dropped) == (3, 8)
    assert "7 rows were dropped" in caplog.text
    assert len(rows(tmp_path)) == 3


def test_half_a_queue_wakes_the_thread(tmp_path: Path) -> None:
    log = LogWriter(tmp_path, queue_rows=8, flush_seconds=60)
    write(log, *[Query()] * 5)
    for _ in range(500):
        if log.written:
            break
        time.sleep(0.02)
    assert log.written == 5
    log.close()


def test_a_disk_that_fails_fails_no_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    log = LogWriter(tmp_path)
    write(log, Query())
    log.flush()

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        write(log, Query(), Query())
        log.flush()
    assert (log.written, log.dropped) == (1, 2)
    write(log, Query())
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        log.close()
    assert "OSError" in caplog.text
    assert QUERY not in caplog.text
    assert not parts(tmp_path)
    assert recover(str(tmp_path)) == 2  # the rows before the failure, and those after it
    assert len(rows(tmp_path)) == 2
    assert not list((tmp_path / "_open").iterdir())


def removed(folder: Path) -> None:
    shutil.rmtree(folder)


def moved(folder: Path) -> None:
    folder.rename(folder.with_name("old"))
    folder.touch()  # no folder is in its place


@pytest.mark.parametrize("ending", ["flush", "rotate", "close"])
@pytest.mark.parametrize("harm", [removed, moved])
def test_a_log_that_is_removed_under_its_writer_is_noticed(
    harm: Any, ending: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "log"
    log = LogWriter(folder, flush_seconds=60)
    write(log, Query(), Query())
    log.flush()
    harm(folder)
    getattr(log, ending)()
    assert (log.written, log.dropped) == (0, 2)
    assert "its open part was removed, and 2 rows with it" in caplog.text
    folder.unlink(missing_ok=True)
    write(log, Query())
    log.close()
    assert log.written == (0 if ending == "close" else 1) == len(rows(folder))
    assert log.written + log.dropped == 3


def test_a_stream_that_cannot_be_looked_at_is_taken_as_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: Path) -> os.stat_result:
        raise PermissionError

    with LogWriter(tmp_path) as log:
        write(log, Query())
        log.flush()
        monkeypatch.setattr(Path, "lstat", refused)
        log.flush()
        monkeypatch.undo()
    assert (len(rows(tmp_path)), log.dropped) == (1, 0)


def test_a_stream_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> int:
        raise PermissionError

    log = LogWriter(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refused)
        write(log, Query())
        log.flush()
    log._worker._start()  # of another thread, a moment too late
    log.close()
    assert (log.written, log.dropped) == (0, 1)


def test_rows_that_do_not_fit_are_dropped_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with LogWriter(tmp_path) as log:
        write(log, Query(), Query(seconds="soon"), Query(encoder=5), Query())  # type: ignore[arg-type]
        log.flush()
        assert (log.written, log.dropped) == (2, 2)
        write(log, Query(encoder=b"5"))  # type: ignore[arg-type]
    assert (log.written, log.dropped) == (2, 3)
    assert "a query is not in the log: TypeError" in caplog.text
    assert len(rows(tmp_path)) == 2


@pytest.mark.parametrize("cut", [0, 3, 200, 10_000])
def test_a_cut_stream_keeps_its_whole_batches(cut: int, tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    for _ in range(3):
        write(log, Query())
        log.flush()
    (stream,) = (tmp_path / "_open").glob("*.arrows")
    log._worker._let_go()
    data = stream.read_bytes()
    stream.write_bytes(data[: max(0, len(data) - cut)])
    expected = {0: 3, 3: 2, 200: 2, 10_000: 0}[cut]
    assert recover(tmp_path) == expected
    assert len(rows(tmp_path)) == expected
    assert recover(tmp_path) == 0
    assert not list((tmp_path / "_open").iterdir())
    log.close()


def left_stream(folder: Path) -> Path:
    """The stream of a writer that is no more, with three batches of a row."""
    log = LogWriter(folder)
    for _ in range(3):
        write(log, Query())
        log.flush()
    log._worker._let_go()
    (stream,) = (folder / "_open").glob("*.arrows")
    return stream


@pytest.mark.parametrize(
    ("batch", "at", "by", "kept"),
    [
        (0, 0, b"\1\2\3\4", 0),  # the head
        (0, 4, b"\xff\xff\xff\x7f", 0),
        (2, 0, b"\0" * 8, 1),  # as the end of a stream has it
        (2, 12, b"\xff" * 64, 1),
        (3, -600, b"\xff" * 600, 2),  # lists that end before they begin
    ],
    ids=["head", "length of the head", "end in the middle", "message", "values"],
)
def test_a_damaged_stream_is_kept_and_said(
    batch: int, at: int, by: bytes, kept: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stream = left_stream(tmp_path)
    data = bytearray(stream.read_bytes())
    starts = [0]
    with pa.ipc.open_stream(source := pa.BufferReader(bytes(data))) as reader:
        for _ in range(3):
            starts.append(source.tell())
            reader.read_next_batch()
    place = starts[batch] + at if at >= 0 else len(data) + at
    data[place : place + len(by)] = by
    stream.write_bytes(data)
    assert recover(tmp_path) == kept == len(rows(tmp_path))
    assert f"is damaged; its first {kept} rows are in the log" in caplog.text
    (aside,) = (tmp_path / "_open").iterdir()
    assert aside.name == f"{stream.stem}.damaged"
    assert aside.read_bytes() == data
    assert recover(tmp_path) == 0


def test_zeros_after_a_stream_are_no_damage(tmp_path: Path) -> None:
    """As a system may leave them that lost power."""
    stream = left_stream(tmp_path)
    stream.write_bytes(stream.read_bytes() + bytes(4096))
    assert recover(tmp_path) == 3
    assert not list((tmp_path / "_open").iterdir())


def test_a_stream_that_cannot_be_read_is_kept_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    log = LogWriter(tmp_path)
    write(log, Query())
    log.flush()

    def exhausted(_: Path) -> bytes:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", exhausted)
        log.rotate()
        assert "OSError" in caplog.text
        assert "is kept until it can be closed" in caplog.text
        with pytest.raises(OSError, match="Too many"):
            recover(tmp_path)
    assert recover(tmp_path) == 1
    log.close()


def test_a_stream_that_cannot_be_read_holds_up_no_other(tmp_path: Path) -> None:
    stream = left_stream(tmp_path)
    (stream.parent / "2026-01-05.000000-00000000.arrows").write_bytes(stream.read_bytes())
    (tmp_path / "day=2026-01-05").touch()  # in the place of the part's folder
    with pytest.raises(FileExistsError):
        recover(tmp_path)
    assert len(rows(tmp_path)) == 3


def test_a_part_that_was_made_twice_is_one(tmp_path: Path) -> None:
    """A process was killed after its part had its name and before the stream was removed."""
    log = LogWriter(tmp_path)
    write(log, Query())
    log.flush()
    (stream,) = (tmp_path / "_open").glob("*.arrows")
    data = stream.read_bytes()
    log.close()
    stream.write_bytes(data)
    old = tmp_path / "_open" / "x.tmp"
    old.touch()
    os.utime(old, (0, 0))
    (tmp_path / "_open" / "y.tmp").touch()
    assert recover(tmp_path) == 1
    assert len(rows(tmp_path)) == 1
    assert [path.name for path in (tmp_path / "_open").iterdir()] == ["y.tmp"]


def test_a_stream_that_another_takes_at_once_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody recovers the log between the making of the stream and its lock."""
    answers, real = iter([False]), spool._lock
    monkeypatch.setattr(spool, "_lock", lambda *given: next(answers, None) is None and real(*given))
    made = spool.Spool(tmp_path, log_schema(), "2026-01-05")
    assert len(list((tmp_path / "_open").iterdir())) == 2
    for _ in range(2):
        made.abandon()


def test_an_open_part_is_left_to_its_writer(tmp_path: Path) -> None:
    with LogWriter(tmp_path) as log:
        write(log, Query())
        log.flush()
        assert recover(tmp_path) == 0
        with LogWriter(tmp_path) as other:
            write(other, Query())
    assert len(rows(tmp_path)) == 2


ENDING = """
import sys
from recall_signal.logs import LogWriter
from tests.logs.made import Query, write
log = LogWriter(sys.argv[1], max_rows=40)
write(log, *[Query()] * 100)
raise SystemExit(3)
"""


def test_the_end_of_the_interpreter_loses_nothing(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    paths = os.pathsep.join(map(str, [root / "core", root / "integrations", root]))
    code = [sys.executable, "-W", "error", "-c", ENDING, str(tmp_path)]
    done = subprocess.run(code, capture_output=True, env={**os.environ, "PYTHONPATH": paths})
    assert (done.returncode, done.stderr) == (3, b"")
    assert len(rows(tmp_path)) == 100


def _writes_and_closes(log: LogWriter) -> None:
    write(log, Query(), Query())
    log.close()


def _writes_and_dies(log: LogWriter) -> None:
    write(log, Query(), Query())
    log.flush()
    write(log, Query())
    os.kill(os.getpid(), signal.SIGKILL)


def forked(work: Any, *given: Any) -> Any:
    child = multiprocessing.get_context("fork").Process(target=work, args=given)
    child.start()
    return child


def test_a_fork_has_its_own_part(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    write(log, Query())
    log.flush()
    with log._lock, log._worker._turn:  # held by a thread that the child does not have
        child = forked(_writes_and_closes, log)
    child.join(30)
    assert child.exitcode == 0
    write(log, Query())
    log.close()
    assert len(rows(tmp_path)) == 4


@pytest.mark.parametrize("ending", ["flush", "rotate", "close"])
def test_a_fork_that_wrote_nothing_waits_for_nobody(tmp_path: Path, ending: str) -> None:
    log = LogWriter(tmp_path, flush_seconds=60)
    write(log, Query())
    with log._lock, log._worker._turn:  # held by a thread that the child does not have
        child = forked(_ends, log, ending)
    child.join(30)
    assert child.exitcode == 0
    log.close()
    assert len(rows(tmp_path)) == 1  # its parent's, once


def _ends(log: LogWriter, ending: str) -> None:
    getattr(log, ending)()
    assert log.written == log.dropped == 0


def test_a_killed_process_loses_what_was_not_flushed(tmp_path: Path) -> None:
    log = LogWriter(tmp_path, flush_seconds=60)
    child = forked(_writes_and_dies, log)
    child.join(30)
    assert child.exitcode == -signal.SIGKILL
    write(log, Query(), Query())
    log.close()  # its thread recovered the other's part when it started
    assert len(rows(tmp_path)) == 4


def _forks_an_idle_child_and_dies(log: LogWriter, child: Any) -> None:
    write(log, Query(), Query())
    log.flush()
    if (pid := os.fork()) == 0:
        time.sleep(60)
        os._exit(0)
    child.send(pid)
    os.kill(os.getpid(), signal.SIGKILL)


def test_an_idle_fork_does_not_hold_the_stream_of_a_killed_parent(tmp_path: Path) -> None:
    log = LogWriter(tmp_path, flush_seconds=60)
    here, there = multiprocessing.Pipe()
    parent = forked(_forks_an_idle_child_and_dies, log, there)
    idle = here.recv()
    parent.join()  # with a time limit it would wait for its child as well
    try:
        assert recover(tmp_path) == 2
    finally:
        os.kill(idle, signal.SIGKILL)
    log.close()


def test_streams_are_let_go_of_once(tmp_path: Path) -> None:
    """As in a fork, seen by one process."""
    log = LogWriter(tmp_path)
    write(log, Query())
    log.flush()
    for _ in range(2):
        spool._let_go_in_fork()
    assert recover(tmp_path) == 1
    log._worker.forget()
    log.close()


def test_the_worker_of_another_process_is_left_alone(tmp_path: Path) -> None:
    """As after a fork, seen by one process."""
    log = LogWriter(tmp_path)
    write(log, Query())
    log.flush()
    old = log._worker
    log._pid = old.pid = -1
    old.close()
    assert not parts(tmp_path)
    write(log, Query())
    assert log._worker is not old
    assert log._after_fork() is log._worker
    old.pid = os.getpid()
    old.close()
    log.close()
    recover(tmp_path)
    assert len(rows(tmp_path)) == 2


def test_a_collector_of_garbage_may_run_in_the_thread_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LogWriter(tmp_path, flush_seconds=0.01)
    closing = log._worker.close
    monkeypatch.setattr(log._worker, "_say", closing)  # called by the thread
    write(log, Query())
    thread = log._worker._thread
    assert thread is not None
    thread.join(30)
    assert not thread.is_alive()
    assert len(rows(tmp_path)) == 1
    log.close()


def test_a_fork_that_ends_closes_nothing_of_its_parent(tmp_path: Path) -> None:
    log = LogWriter(tmp_path)
    write(log, Query())
    log.flush()
    child = forked(log._worker.close)
    child.join(30)
    assert child.exitcode == 0
    assert not parts(tmp_path)
    log.close()
    assert len(rows(tmp_path)) == 1


def test_threads_share_a_log(tmp_path: Path) -> None:
    with (
        LogWriter(tmp_path, flush_seconds=0.005, max_rows=50) as log,
        ThreadPoolExecutor(8) as pool,
    ):
        list(pool.map(lambda n: log.write(Query(), run_id(n)), range(400)))
    assert {row["run_id"] for row in rows(tmp_path)} == {run_id(n) for n in range(400)}


async def test_tasks_share_a_log(framework: Any, tmp_path: Path) -> None:
    retriever = framework.over()
    with LogWriter(tmp_path) as log, framework.logged(log) as call:
        await asyncio.gather(*[framework.recall(retriever, "async", **call) for _ in range(20)])
    assert len({row["run_id"] for row in rows(tmp_path)}) == 20


async def test_other_events_are_no_rows(tmp_path: Path) -> None:
    with LogWriter(tmp_path) as log:
        handler = in_langchain.RecallLogHandler(log)
        handler.on_custom_event("recall_signal", {"advice": "read"}, run_id=UUID(int=1))
        handler.on_custom_event("other", {}, run_id=UUID(int=1))
        other = in_llama_index.RecallLogHandler(log)
        other.handle(ExceptionEvent(exception=ValueError()))
    assert other.class_name() == "RecallLogHandler"
    assert rows(tmp_path) == []


@pytest.mark.parametrize(
    ("given", "named"), [("logs/notes", "str"), (None, "NoneType"), (LogWriter, "a class")]
)
def test_a_handler_of_no_log_is_refused(framework: Framework, given: Any, named: str) -> None:
    with pytest.raises(ConfigurationError, match=f"must be a LogWriter, got {named}; .*Writer"):
        framework.package.RecallLogHandler(given)


def test_a_handler_takes_whatever_rows_can_be_written_to(framework: Framework) -> None:
    framework.package.RecallLogHandler(Mock(spec=["write"]))


async def test_an_event_holds_nothing_but_reports(framework: Any, tmp_path: Path) -> None:
    with framework.events() as (call, reports):
        await framework.recall(framework.over(), "sync", **call)
    (report,) = reports
    again = pickle.loads(pickle.dumps(report))
    assert again == report
    assert type(again) is dict
    assert QUERY not in repr(report)
    assert QUERY not in json.dumps(report)


def test_copies_are_the_log_and_a_pickle_opens_it(tmp_path: Path) -> None:
    log = LogWriter(tmp_path, sample=0.5)
    assert copy(log) is log
    assert deepcopy(log) is log
    other = pickle.loads(pickle.dumps(log))
    assert (other.options, other.folder) == (log.options, log.folder)
    assert repr(other) == f"LogWriter({str(tmp_path)!r})"
    log.close()
    other.close()


def test_a_log_that_nobody_has_is_closed(tmp_path: Path) -> None:
    log = LogWriter(tmp_path, flush_seconds=60)
    write(log, Query())
    del log
    assert len(rows(tmp_path)) == 1


def test_queries_after_the_end_of_a_log_are_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with LogWriter(tmp_path) as log:
        write(log, Query())
    write(log, Query(), Query())
    assert (log.written, log.dropped, len(rows(tmp_path))) == (1, 2, 1)
    assert caplog.text.count("is closed, and queries that come now are not in it") == 1


def test_no_thread_at_the_end_of_the_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NoThread:
        def __init__(self, **_: object) -> None: ...

        def start(self) -> None:
            raise RuntimeError("can't start new thread at interpreter shutdown")

    monkeypatch.setattr(worker, "Thread", NoThread)
    with LogWriter(tmp_path) as log:
        write(log, Query(), Query())
    assert len(rows(tmp_path)) == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sample": 0.0}, "sample"),
        ({"sample": True}, "sample: .* got True"),
        ({"sample": "1"}, "sample: .* got str"),
        ({"max_age": "1"}, "max_age"),
        ({"flush_seconds": True}, "flush_seconds"),
        ({"max_rows": 0}, "max_rows"),
        ({"flush": 1}, "there is no such setting"),
        ({"retriever": ""}, "retriever"),
        ({"texts": "yes"}, "texts"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=message):
        LogWriter(tmp_path / "log", **settings)
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize(
    ("given", "named"), [(None, "NoneType"), ("", "an empty text"), (5, "int")]
)
def test_a_folder_is_a_path(given: Any, named: str) -> None:
    with pytest.raises(ConfigurationError, match=f"folder must be a path, got {named}; "):
        LogWriter(given)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.touch()
    with pytest.raises(ConfigurationError, match="cannot be made"):
        LogWriter(file)


def test_pyarrow_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"recall-signal\[logs\]"):
        require_arrow()


def test_options_have_defaults() -> None:
    assert LogOptions().sample == 1.0


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "recall_signal")
