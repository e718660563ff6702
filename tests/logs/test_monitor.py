"""The monitor of a log: figures that merge exactly, and what changed in plain words."""

from __future__ import annotations

import json
import shutil
import warnings
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pydantic import TypeAdapter

from recall_signal import ConfigurationError, InvalidInputError
from recall_signal.logs import LogWriter, append_canaries
from recall_signal.monitoring import Day, log_html, log_metrics, monitor
from recall_signal.monitoring import _state as state_module
from recall_signal.monitoring import _watch as watch_module
from recall_signal.monitoring._days import SavedDay, bin_counts, quantile_of_counts
from recall_signal.monitoring._reading import list_parts, read_part, top_cosines
from recall_signal.monitoring._state import State, read_log
from recall_signal.monitoring._traffic import compare_days
from tests.logs.made import (
    Query,
    date_of,
    normal_tops,
    record,
    write,
    write_day,
    write_days,
)
from tests.logs.scoring import fitted

COSINES = st.floats(-1.0, 1.0, width=32)


@settings(deadline=None)
@given(arrays(np.float64, st.integers(1, 200), elements=COSINES), st.floats(0.0, 1.0))
def test_a_quantile_is_off_by_a_bin_at_most(tops: Any, share: float) -> None:
    found = quantile_of_counts(bin_counts(tops), share)
    low = np.quantile(tops, share, method="lower") - 0.0011
    high = np.quantile(tops, share, method="higher") + 0.0011
    assert low <= found <= high


def test_values_that_are_no_cosines_are_counted_at_the_edges() -> None:
    counts = bin_counts(np.array([-5.0, -1.001, 1.0, 1.0005, 7.0]))
    assert (counts.sum(), counts[0], counts[-1]) == (5, 2, 2)
    assert np.isfinite(quantile_of_counts(np.zeros(2002, np.int64), 0.5))


def test_a_value_of_any_size_is_counted_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counts = bin_counts(np.array([1e308, -1e308]))
    assert (counts[0], counts[-1]) == (1, 1)


NO_COSINES = st.sampled_from([float("nan"), float("inf"), float("-inf")])
LISTS = st.lists(st.none() | st.lists(st.none() | COSINES | NO_COSINES, max_size=5), max_size=12)


@settings(deadline=None)
@given(LISTS, st.integers(0, 3), st.sampled_from([pa.float32(), pa.float64()]))
def test_the_top_of_ragged_lists(lists: Any, start: int, kind: pa.DataType) -> None:
    column = pa.array([[9.0], *lists, [9.0]], pa.list_(kind)).slice(1, len(lists)).slice(start)
    found = top_cosines(column)
    expected = [
        max((c for c in cosines or () if c is not None and np.isfinite(c)), default=np.nan)
        for cosines in column.to_pylist()
    ]
    np.testing.assert_array_equal(found, expected)


def test_lists_of_one_size_and_nulls_have_tops() -> None:
    """Older releases of Arrow write them to Parquet, and do not read them back."""
    sized = pa.array([None, [0.5, 0.25], [None, 0.5]], pa.list_(pa.float32(), 2))
    for lists in (sized, sized.slice(1)):
        assert top_cosines(lists).tolist()[-2:] == [0.5, 0.5]
    assert np.isnan(top_cosines(sized)[0])
    assert np.isnan(top_cosines(pa.nulls(2))).all()


def test_what_lies_under_a_null_is_not_read() -> None:
    values = pa.array([0.1, 0.9, 0.2, 0.3], pa.float32())
    mask = pa.array([False, True, False])
    column = pa.ListArray.from_arrays(pa.array([0, 1, 3, 4], pa.int32()), values, mask=mask)
    np.testing.assert_allclose(top_cosines(column), [0.1, np.nan, 0.3], atol=1e-7)


def test_days_are_read_as_they_were_written(tmp_path: Path) -> None:
    rows = [Query([0.9, 0.1]), Query([0.5, None]), Query([None]), Query([])]
    with LogWriter(tmp_path) as log:
        write(log, *rows)
    (part,) = list_parts(tmp_path)
    tally = read_part(part)
    ((retriever, date), day), *_ = tally.items()
    assert (retriever, date) == ("FAISS", f"{datetime.now(UTC):%Y-%m-%d}")
    assert (day.rows, day.measured) == (4, 2)
    assert day.levels == {"high": 1, "low": 1, "none": 1, "unknown": 1}
    assert day.advice == {"read": 4}
    assert day.encoder == "demo"
    assert day.calibration is None
    assert day.quantile(0.9) == pytest.approx(0.9, abs=0.001)
    assert (
        TypeAdapter(SavedDay).validate_json(json.dumps(day.to_dict())).day().to_dict()
        == day.to_dict()
    )


def test_any_table_with_the_needed_columns_is_a_log(tmp_path: Path) -> None:
    """Of another writer: no names, times without a zone, one part over two days."""
    times = pa.array([0, 86_400_000, 86_400_001], pa.timestamp("ms"))
    columns = {"ts": times, "cosines": [[0.1], [0.2, None], None], "level": [1, 2, None]}
    table = pa.table(columns)
    pq.write_table(table, tmp_path / "own.parquet")
    report = monitor(tmp_path / "own.parquet")
    (series,) = report.series
    assert {name: day.rows for name, day in series.days.items()} == {
        "1970-01-01": 1,
        "1970-01-02": 2,
    }
    assert series.days["1970-01-02"].answerable is None
    assert series.days["1970-01-02"].levels == {"2": 1}
    assert log_html(report).startswith("<!doctype html>")
    assert "recall_signal_queries 2" in log_metrics(report)
    assert not (tmp_path / "_monitor.json").exists()


@pytest.mark.parametrize(
    ("columns", "words"),
    [({"ts": [1]}, "no column cosines"), ({"cosines": [[0.1]]}, "no column ts")],
)
def test_a_table_that_is_no_log(columns: Any, words: str, tmp_path: Path) -> None:
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    with pytest.raises(InvalidInputError, match=words):
        monitor(tmp_path)


def test_what_is_no_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="is no log"):
        monitor(tmp_path / "nowhere")
    with pytest.raises(InvalidInputError, match="no part"):
        monitor(tmp_path)
    (tmp_path / "x.parquet").write_bytes(b"PAR1 no PAR1")
    with pytest.raises(InvalidInputError, match=r"x.parquet cannot be read"):
        monitor(tmp_path)
    with pytest.raises(ConfigurationError, match="since"):
        monitor(tmp_path, since=0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"log": None}, "log must be a path, got NoneType"),
        ({"log": ""}, "log must be a path, got an empty text"),
        ({"state": 5}, "state must be a path, got int"),
        ({"calibration": "c.json"}, r"calibration must be .* got str; .*Calibration\.load"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=message):
        monitor(**{"log": tmp_path, **settings})


def test_hidden_files_are_passed_over(tmp_path: Path) -> None:
    write_day(tmp_path, date_of(0), [0.5])
    for folder in ("_open", ".hidden"):
        write_day(tmp_path / folder, date_of(0), [0.5])
    assert len(list_parts(tmp_path)) == 1


def test_figures_do_not_depend_on_the_order(tmp_path: Path) -> None:
    parts = [
        read_part(write_day(tmp_path, date_of(n % 2), normal_tops(n), name=str(n), probability=p))
        for n, p in enumerate((0.1, 0.7, 1 / 3))
    ]
    states = []
    for order in permutations(parts):
        state = State()
        for n, tally in enumerate(order):
            state.add(str(n), 1, tally)
        states.append(json.dumps(state.to_dict()))
    assert len(set(states)) == 1


def test_resumed_equals_uninterrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed at every part in turn, with a state saved after each; and days that come later."""
    write_days(tmp_path / "log", 12)
    whole = read_log(tmp_path / "log", tmp_path / "whole.json")
    monkeypatch.setattr(state_module, "SAVE_EVERY", -1.0)
    died = 0
    for allowed in range(1, 13):
        reads = iter(range(allowed))

        def dying(part: Path, reads: Any = reads) -> Any:
            if next(reads, None) is None:
                raise KeyboardInterrupt
            return read_part(part)

        monkeypatch.setattr(state_module, "read_part", dying)
        try:
            resumed = read_log(tmp_path / "log", tmp_path / "resumed.json")
        except KeyboardInterrupt:
            died += 1
    assert died == 4  # 1 + 2 + 3 + 4 parts, and then the last two
    assert resumed.to_dict() == whole.to_dict()
    assert (tmp_path / "resumed.json").read_bytes() == (tmp_path / "whole.json").read_bytes()


def test_removed_parts_keep_their_figures_and_changed_ones_are_read_anew(tmp_path: Path) -> None:
    log, state = tmp_path / "log", tmp_path / "state.json"
    write_days(log, 3)
    read_log(log, state)
    shutil.rmtree(log / f"day={date_of(0)}")
    assert read_log(log, state).by_retriever().keys() == {""}
    assert len(read_log(log, state).by_retriever()[""]) == 3
    write_day(log, date_of(1), [0.5])
    days = read_log(log, state).by_retriever()[""]
    assert {name: day.rows for name, day in days.items()} == {date_of(1): 1, date_of(2): 300}


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"v": 2}', '{"v": 1, "parts": {}, "days": []}'])
def test_a_state_of_something_else_is_left_alone(text: str, tmp_path: Path) -> None:
    write_day(tmp_path / "log", date_of(0), [0.5])
    file = tmp_path / "state.json"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match="state of a monitor"):
        monitor(tmp_path / "log", state=file)
    assert file.read_text() == text
    with pytest.raises(ConfigurationError, match="cannot be written"):
        monitor(tmp_path / "log", state=tmp_path / "no" / "state.json")


def test_progress_is_reported(tmp_path: Path) -> None:
    write_days(tmp_path, 2)
    seen: list[tuple[int, int]] = []
    monitor(tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 2), (1, 2), (2, 2)]


# What changed.


def test_a_quiet_log_is_quiet(tmp_path: Path) -> None:
    write_days(tmp_path, 30, probability=0.8)
    for number in range(30):
        append_canaries(tmp_path, record(number))
    report = monitor(tmp_path)
    assert report.status == "quiet"
    assert report.verdict == [f"Quiet: nothing changed since {date_of(23)}."]
    (series,) = report.series
    assert (series.rows, series.missing_days, len(series.comparisons)) == (9000, 0, 2)
    assert monitor(tmp_path).verdict == report.verdict


def test_a_young_log_says_what_is_missing(tmp_path: Path) -> None:
    write_days(tmp_path, 5)
    report = monitor(tmp_path)
    assert report.status == "quiet"
    assert f"nothing changed since the log began on {date_of(0)};" in report.verdict[0]
    assert "28 days before it (5 so far)" in report.verdict[0]
    assert "no canaries are logged" in report.verdict[0]


@pytest.mark.parametrize(
    ("tops", "given", "kind", "words"),
    [
        (normal_tops(99, mean=0.4), {"probability": 0.8}, "traffic", "became lower"),
        (normal_tops(99, mean=0.8), {"probability": 0.8}, "traffic", "became higher"),
        (normal_tops(99), {"probability": 0.5}, "answerable", "from about 80% to 50%"),
        (normal_tops(99), {"probability": 0.8, "encoder": "new"}, "encoder", "'demo' to 'new'"),
    ],
)
def test_a_change_of_traffic(
    tops: list[float], given: dict[str, Any], kind: str, words: str, tmp_path: Path
) -> None:
    write_days(tmp_path, 30, probability=0.8)
    write_day(tmp_path, date_of(30), tops, **given)
    report = monitor(tmp_path)
    (found,) = report.series[0].current
    assert (report.status, found.kind, found.day) == ("changed", kind, date_of(30))
    assert words in report.verdict[0]
    assert date_of(30) in report.verdict[0]
    # A week later it is history.
    for number in range(31, 38):
        write_day(
            tmp_path, date_of(number), normal_tops(number), encoder=given.get("encoder", "demo")
        )
    assert found in monitor(tmp_path).series[0].findings
    assert found not in monitor(tmp_path).series[0].current
    assert found in monitor(tmp_path, since=30).series[0].current


def test_a_share_without_probabilities_is_that_of_pages_to_read(tmp_path: Path) -> None:
    for number in range(30):
        advice = "fallback" if number == 29 else "read"
        write_day(tmp_path, date_of(number), normal_tops(number), advice=advice)
    (found,) = monitor(tmp_path).series[0].current
    assert "from about 100% to 0%" in found.text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"probability": 0.8}, {"probability": 0.64, "calibration": "new"}),
        ({"calibration": None}, {"probability": 0.8, "calibration": "new"}),
        ({"probability": None}, {"probability": 0.8}),
    ],
)
def test_a_new_calibration_is_no_change_of_the_questions(
    before: dict[str, Any], after: dict[str, Any], tmp_path: Path
) -> None:
    """The share is judged again on the 29th day of it."""
    write_days(tmp_path, 30, **before)
    for number in range(30, 57):
        write_day(tmp_path, date_of(number), normal_tops(number), **after)
    report = monitor(tmp_path)
    assert (report.status, report.series[0].findings) == ("quiet", [])
    waits = "is compared once there are 28 days before it under the same calibration"
    assert waits in report.verdict[0]
    write_day(tmp_path, date_of(57), normal_tops(57), **after)
    assert waits in monitor(tmp_path).verdict[0]
    low = after | {"probability": 0.3}
    write_day(tmp_path, date_of(58), normal_tops(58), **low)
    (found,) = monitor(tmp_path).series[0].current
    assert (found.kind, found.day) == ("answerable", date_of(58))


def test_the_day_of_a_new_calibration_is_under_neither(tmp_path: Path) -> None:
    """It is passed over, and with the old calibration back its own days are the reference."""
    new: dict[str, Any] = {"probability": 0.5, "calibration": "new"}
    for number in range(32):
        tops = normal_tops(number)
        write_day(tmp_path, date_of(number), tops, probability=0.8)
        if number == 29:
            write_day(tmp_path, date_of(number), tops, name="2", **new)
    report = monitor(tmp_path)
    assert report.status == "quiet"
    shares = [one.answerable for one in report.series[0].comparisons]
    assert [share is not None for share in shares] == [True, False, True, True]


def test_calibrations_side_by_side_are_judged_together(tmp_path: Path) -> None:
    """Each decides as large a part every day; then one of them finds less."""
    for number in range(30):
        for name, probability in (("a", 0.8), ("b", 0.4 if number < 29 else 0.1)):
            tops = normal_tops(number)
            given = {"name": name, "calibration": name}
            write_day(tmp_path, date_of(number), tops, probability=probability, **given)
    (found,) = monitor(tmp_path).series[0].current
    assert "from about 60% to 45%" in found.text


@pytest.mark.parametrize(
    "rows",
    [50, 140],  # too few; a part of a day
)
def test_part_of_a_day_is_not_compared(rows: int) -> None:
    days = {date_of(n): Day(300, bin_counts(np.array(normal_tops(n)))) for n in range(28)}
    days[date_of(28)] = Day(rows, bin_counts(np.full(rows, 0.1)))
    assert compare_days(days) == []


def test_today_is_not_compared_before_it_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_days(tmp_path, 30)
    write_day(tmp_path, date_of(30), normal_tops(30, mean=0.9))

    class Clock(datetime):
        day = 30

        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return datetime.fromisoformat(date_of(cls.day))

    monkeypatch.setattr(watch_module, "datetime", Clock)
    assert monitor(tmp_path).status == "quiet"
    Clock.day = 31
    assert monitor(tmp_path).status == "changed"


def test_days_long_ago_are_no_reference() -> None:
    days = {date_of(n): Day(300, bin_counts(np.array(normal_tops(n)))) for n in range(28)}
    later = Day(300, bin_counts(np.full(300, 0.1)))
    assert compare_days({**days, date_of(60): later}) == []
    (found,) = compare_days({**days, date_of(40): later})
    assert found.traffic_changed
    assert found.answerable is None
    assert not found.share_changed


def test_canaries_of_a_log(tmp_path: Path) -> None:
    """They last until there is another calibration, and there may be no rows."""
    for number in range(12):
        append_canaries(
            tmp_path, record(number, encoder=1 if number < 3 else 2, created="2026-01-05")
        )
    report = monitor(tmp_path)
    assert report.status == "changed"
    assert "The encoder changed around 2026-01-08" in report.verdict[0]
    assert "since the calibration of 2026-01-05" in report.verdict[0]
    assert log_html(report)
    append_canaries(tmp_path, record(12, encoder=2, created="2026-01-17"))
    again = monitor(tmp_path)
    assert again.status == "quiet"
    assert len(again.series[0].findings) == 1


@pytest.mark.parametrize(("encoder", "said"), [("demo", False), ("another", True), (None, False)])
def test_a_calibration_of_another_encoder_than_the_log_is_said(
    encoder: str | None, said: bool, tmp_path: Path
) -> None:
    write_days(tmp_path, 2, encoder="demo")
    (verdict,) = monitor(tmp_path, calibration=replace(fitted(), encoder=encoder)).verdict
    words = f"the encoder another, and the queries of {date_of(1)} were embedded by demo"
    assert (words in verdict) is said


def test_retrievers_are_watched_apart(tmp_path: Path) -> None:
    for number in range(30):
        for at, name in enumerate(("manuals", "mails")):
            mean = 0.8 if (number, name) == (29, "mails") else 0.6
            tops = normal_tops(1000 * at + number, mean=mean)
            write_day(tmp_path, date_of(number), tops, name=name, retriever=name)
    append_canaries(tmp_path, record(0, retriever="manuals"))
    append_canaries(tmp_path, record(1, encoder=2, retriever="manuals"))
    mails, manuals = monitor(tmp_path).series
    assert [found.kind for found in mails.current] == ["traffic"]
    assert [found.kind for found in manuals.findings] == ["encoder"]
    verdict, other = monitor(tmp_path).verdict
    assert verdict.startswith("mails: The top cosines")
    assert other.startswith("manuals: The encoder")


def test_canaries_of_a_retriever_without_rows(tmp_path: Path) -> None:
    append_canaries(tmp_path, record(0, retriever="mails"))
    assert [one.retriever for one in monitor(tmp_path).series] == ["mails"]
    write_day(tmp_path, date_of(0), [0.5], retriever="manuals")
    report = monitor(tmp_path)
    assert [(one.retriever, one.rows, len(one.canaries)) for one in report.series] == [
        ("mails", 0, 1),
        ("manuals", 1, 0),
    ]
    assert report.verdict[1].startswith("manuals is quiet: nothing changed since")
    assert log_html(report)
    assert log_metrics(report)


# How it is shown.

HOSTILE = '<b>\x1b[31m\u202e"\\\n'


def test_reports_are_safe_to_show(tmp_path: Path) -> None:
    write_days(tmp_path, 28, retriever=HOSTILE, encoder=HOSTILE)
    low: dict[str, Any] = {"retriever": HOSTILE, "encoder": HOSTILE, "level": "low"}
    write_day(tmp_path, date_of(28), normal_tops(28), **low)
    write_day(tmp_path, date_of(29), normal_tops(5, mean=0.9), retriever=HOSTILE, encoder="new")
    append_canaries(tmp_path, record(0))
    append_canaries(tmp_path, record(1, 0.9))
    report = monitor(tmp_path)
    page = log_html(report)
    for wanted in ("<svg", "Quantiles of the top cosine", "Canaries that moved", "grew to about"):
        assert wanted in page
    for text in (page, log_metrics(report)):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "<b>" not in page
    for line in log_metrics(report).splitlines():
        assert line.startswith(("# HELP recall_signal_", "# TYPE recall_signal_", "recall_signal_"))
    assert page == log_html(monitor(tmp_path))


def test_metrics(tmp_path: Path) -> None:
    write_day(tmp_path, date_of(0), [0.5, 0.7], retriever="a")
    text = log_metrics(monitor(tmp_path))
    for line in (
        'recall_signal_queries{retriever="a"} 2',
        'recall_signal_level_share{retriever="a",level="high"} 1',
        'recall_signal_changed{retriever="a",kind="encoder"} 0',
        'recall_signal_answerable_share{retriever="a"} 1',
        "# TYPE recall_signal_top_cosine gauge",
        'recall_signal_last_day_seconds{retriever="a"} 1767571200',
    ):
        assert line in text.splitlines()


def test_names_that_look_alike_are_labels_apart(tmp_path: Path) -> None:
    """A collector refuses a file in which a series stands twice."""
    long = "a" * 2000
    names = ["a b", "a  b", " a b", "a\tb", "a\nb", 'a"b', "a\\b", "a\\nb", "a\x1bb", "a[U+001B]b"]
    names += ["a[U+001B]b (2)", long, f"{long}b", f"{long}c"]
    for at, name in enumerate(names):
        write_day(tmp_path, date_of(0), [0.5], name=str(at), retriever=name)
    text = log_metrics(monitor(tmp_path))
    samples = [line.rpartition(" ")[0] for line in text.split("\n") if line[:1] not in ("#", "")]
    assert len(samples) == len({*samples})
    for label in ("a b", "a  b", " a b", r"a\nb", r"a\"b", r"a\\b", r"a\\nb", "a[U+0009]b"):
        assert f'recall_signal_queries{{retriever="{label}"}}' in samples
    assert max(map(len, samples)) < 1200


# Logs and states that somebody else wrote, or a wrong clock.


def test_a_wrong_clock_does_not_silence_the_days_before(tmp_path: Path) -> None:
    write_days(tmp_path, 30)
    write_day(tmp_path, date_of(30), normal_tops(30, mean=0.9))
    assert monitor(tmp_path).status == "changed"
    write_day(tmp_path, "9000-01-01", [0.5])
    report = monitor(tmp_path)
    assert report.status == "changed"
    assert report.verdict[0].endswith("Rows dated in the future are left out: 1.")
    assert max(report.series[0].days) == date_of(30)


def test_a_log_of_the_future_alone_is_quiet(tmp_path: Path) -> None:
    write_day(tmp_path, "9000-01-01", [0.5])
    report = monitor(tmp_path)
    assert (report.status, report.series[0].rows) == ("quiet", 0)
    assert "left out: 1." in report.verdict[0]
    assert report.to_dict()
    assert log_html(report)


def test_the_state_of_another_log_is_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_day(tmp_path / name, date_of(ord(name) % 3), [0.5])
    monitor(tmp_path / "a", state=tmp_path / "state.json")
    before = (tmp_path / "state.json").read_bytes()
    with pytest.raises(ConfigurationError, match="another log"):
        monitor(tmp_path / "b", state=tmp_path / "state.json")
    assert (tmp_path / "state.json").read_bytes() == before


def test_a_log_that_can_only_be_read_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    write_days(tmp_path, 3)
    monkeypatch.setattr(state_module, "write", refuse)
    assert monitor(tmp_path).series[0].rows == 900
    with pytest.raises(ConfigurationError, match="cannot be written"):
        monitor(tmp_path, state=tmp_path / "own.json")


DAY_ONE = pa.array([0], pa.timestamp("us"))


@pytest.mark.parametrize(
    ("cosines", "measured"),
    [
        (pa.array([[0.5, 0.25]], pa.list_(pa.float32(), 2)), 1),
        (pa.array([None], pa.null()), 0),
        (pa.array([[None]], pa.list_(pa.null())), 0),
        (pa.array([[1, 0]], pa.large_list(pa.int64())), 1),
        (pa.array([[Decimal("0.5"), None]], pa.list_(pa.decimal128(9, 4))), 1),
    ],
)
def test_lists_of_every_kind_are_read(cosines: pa.Array, measured: int, tmp_path: Path) -> None:
    pq.write_table(pa.table({"ts": DAY_ONE, "cosines": cosines}), tmp_path / "x.parquet")
    (series,) = monitor(tmp_path).series
    (day,) = series.days.values()
    assert (day.rows, day.measured) == (1, measured)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"ts": DAY_ONE, "cosines": [["0.5"]]}, "column cosines of x.parquet must hold a list"),
        ({"ts": DAY_ONE, "cosines": [[[0.5]]]}, "must hold a list of cosines"),
        ({"ts": DAY_ONE, "cosines": [0.5]}, "must hold a list of cosines"),
        ({"ts": [1_790_000_000], "cosines": [[0.5]]}, "must hold times, got int64"),
    ],
)
def test_columns_of_something_else_are_refused(columns: Any, words: str, tmp_path: Path) -> None:
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    with pytest.raises(InvalidInputError, match=words):
        monitor(tmp_path)


@pytest.mark.parametrize("time", ["2026-10-01 10:00:00", "2026-10-01", "soon"])
def test_texts_that_are_no_times_with_a_zone_are_refused(time: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"ts": [time], "cosines": [[0.5]]}), tmp_path / "x.parquet")
    words = (
        r"column ts of x\.parquet holds a text that is no time with a zone, as in 2026-10-01T10:"
    )
    with pytest.raises(InvalidInputError, match=words) as caught:
        monitor(tmp_path)
    assert "soon" not in str(caught.value)


@pytest.mark.parametrize(
    ("times", "days"),
    [
        (pa.array(["2026-01-05T23:30:00-01:00"]), ["2026-01-06"]),
        (pa.array([1_767_571_200_000_000_001], pa.timestamp("ns")), ["2026-01-05"]),
        (pa.array([1_767_571_199], pa.timestamp("s", "Europe/Berlin")), ["2026-01-04"]),
        (pa.array([20_458], pa.date32()), ["2026-01-05"]),
        (pa.array([1_767_571_200_000], pa.date64()), ["2026-01-05"]),
    ],
)
def test_times_of_every_kind_have_their_day(
    times: pa.Array, days: list[str], tmp_path: Path
) -> None:
    pq.write_table(pa.table({"ts": times, "cosines": [[0.5]]}), tmp_path / "x.parquet")
    assert [*monitor(tmp_path).series[0].days] == days


def test_times_out_of_every_calendar_are_left_out_and_counted(tmp_path: Path) -> None:
    """As they come from a wrong unit; the file of a state is read again."""
    times = [-(10**17), -(10**13), 1_767_571_200_000, 10**15, 10**17]
    table = pa.table({"ts": pa.array(times, pa.timestamp("ms")), "cosines": [[0.5]] * 5})
    pq.write_table(table, tmp_path / "x.parquet")
    for _ in range(2):
        report = monitor(tmp_path)
        (series,) = report.series
        assert {name: day.rows for name, day in series.days.items()} == {"2026-01-05": 1}
        assert (series.earlier, series.later, series.began) == (2, 2, "2026-01-05")
        assert report.verdict[0].endswith(
            "Rows dated in the future are left out: 2. Rows dated before 1900 are left out: 2."
        )


def test_rows_without_a_time_are_of_no_day(tmp_path: Path) -> None:
    times = pa.array([None, 0, 1], pa.timestamp("us"))
    pq.write_table(
        pa.table({"ts": times, "cosines": [[0.9], [0.5], [0.5]]}), tmp_path / "x.parquet"
    )
    (series,) = monitor(tmp_path).series
    assert {name: day.rows for name, day in series.days.items()} == {"1970-01-01": 2}
