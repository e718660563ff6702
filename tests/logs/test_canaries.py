"""Canaries in a log: asked, appended, read back, and what they say."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recall_signal import Calibration, ConfigurationError, Pool
from recall_signal.calibration._canaries import Canaries, Sighting, canary_queries
from recall_signal.calibration._fingerprint import FINGERPRINT_TEXTS
from recall_signal.logs import CanaryRecord, LogWriter, append_canaries, read_canaries
from recall_signal.logs import _writer as writer
from recall_signal.monitoring._canary_test import (
    CanaryChange,
    Reference,
    compare_canaries,
    judge_canaries,
)
from recall_signal.monitoring._findings import canary_findings
from tests.logs.made import canary_lines, record


def search(query: str) -> Pool:
    return Pool([min(0.95, len(query) / 100), 0.1])


async def test_both_frameworks_ask_them(framework: Any, way: str, tmp_path: Path) -> None:
    retriever = framework.over()
    with LogWriter(tmp_path, retriever="manuals") as log:
        made = log.check(retriever) if way == "sync" else await log.acheck(retriever)
    assert len(made.tops) == 48
    assert made.retriever == "manuals"
    assert made.encoder
    assert made.fingerprint is not None
    assert read_canaries(tmp_path) == [made]
    assert canary_lines(tmp_path)[0]["v"] == 1


def test_the_first_twelve_are_those_of_a_calibration(tmp_path: Path) -> None:
    with LogWriter(tmp_path) as log:
        made = log.check(search)
    assert made.fingerprint is None
    seen = Canaries(tuple(Sighting(int(name, 16), top) for name, top in [*made.tops.items()][:12]))
    asked: list[str] = []

    def listening(query: str) -> Pool:
        asked.append(query)
        return search(query)

    with LogWriter(tmp_path) as log:
        log.check(listening)
    assert tuple(asked[:12]) == canary_queries()
    assert len(seen.seen) == 12


def test_failed_searches_are_left_out(tmp_path: Path) -> None:
    asked: list[str] = []

    def failing(query: str) -> Pool:
        asked.append(query)
        if len(asked) % 2:
            raise ConnectionError
        return search(query) if len(asked) % 4 else Pool([])

    with LogWriter(tmp_path) as log:
        made = log.check(failing)
    assert len(asked) == 25  # the thirteenth failure ends it
    assert len(made.tops) == 6  # every second of the others found nothing


class Port:
    """A port with an encoder that fails."""

    encoder_name = "e"
    is_async_only = only_on_request = False

    def search(self, query: str, _ahead: Sequence[str] = (), /) -> Pool:
        return search(query)

    async def asearch(self, query: str, _ahead: Sequence[str] = (), /) -> Pool:
        return search(query)

    def embed_texts(self, texts: Any) -> Any:
        assert tuple(texts) == FINGERPRINT_TEXTS
        raise ConnectionError

    async def aembed_texts(self, texts: Any) -> Any:
        raise ConnectionError


def test_an_encoder_that_fails_leaves_the_canaries(tmp_path: Path) -> None:
    with LogWriter(tmp_path) as log:
        made = log.check(Port())
    assert (made.fingerprint, made.encoder, len(made.tops)) == (None, "e", 48)


def test_lines_that_a_crash_has_cut_are_passed_over(tmp_path: Path) -> None:
    first, second = record(0), record(1)
    append_canaries(tmp_path, second)
    file = tmp_path / "_canaries.jsonl"
    file.write_bytes(file.read_bytes() + b'{"v":1,"ts":"2026')
    append_canaries(tmp_path, first)
    file.write_bytes(file.read_bytes() + b'[1]\n\xff\n{"ts": 5, "tops": {}}\n{"tops": NaN}\n')
    assert read_canaries(tmp_path) == [first, second]
    assert read_canaries(tmp_path / "nowhere") == []


def waited_for(what: Any) -> bool:
    for _ in range(500):
        if what():
            return True
        time.sleep(0.02)
    return False


def test_a_watched_retriever_is_asked_once_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "LOOK", 0.01)
    failures = [ConnectionError()]
    real = LogWriter.check

    def check(self: LogWriter, retriever: Any) -> CanaryRecord:
        if failures:
            raise failures.pop()
        return real(self, retriever)

    monkeypatch.setattr(LogWriter, "check", check)
    with LogWriter(tmp_path) as log, LogWriter(tmp_path) as other:
        log.watch(search)
        assert waited_for(lambda: read_canaries(tmp_path))
        other.watch(search)
        time.sleep(0.1)
        assert len(read_canaries(tmp_path)) == 1
        threads = [daily.thread for daily in (*log._daily, *other._daily)]
    assert waited_for(lambda: not any(thread.is_alive() for thread in threads))


def test_watch_refuses_what_it_cannot_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LogWriter(tmp_path) as log:
        for name, words in (("is_async_only", "acheck"), ("only_on_request", "48")):
            port = Port()
            setattr(port, name, True)
            with pytest.raises(ConfigurationError, match=words):
                log.watch(port)
        with pytest.raises(ConfigurationError, match="got int"):
            log.watch(5)  # type: ignore[arg-type]
        monkeypatch.setenv("RECALL_SIGNAL_AUTO", "off")
        log.watch(search)
        assert log._daily == []
    assert read_canaries(tmp_path) == []


@pytest.mark.parametrize(
    ("rose", "fell", "encoder", "count", "expected"),
    [
        (0.0, 0.0, 1, 48, None),
        (0.3, 0.05, 1, 48, None),
        (0.45, 0.05, 1, 48, "corpus_grown"),
        (1.0, 0.0, 1, 48, "corpus_grown"),
        (0.45, 0.2, 1, 48, None),
        (0.3, 0.3, 1, 48, "corpus_replaced"),
        (0.7, 0.2, 1, 48, "corpus_replaced"),
        (0.0, 0.0, 2, 48, "encoder"),
        (0.5, 0.5, 2, 48, "encoder"),
        (0.5, 0.5, None, 48, "encoder_or_corpus"),
        (0.9, 0.05, None, 48, "encoder_or_corpus"),
        (0.67, 0.0, None, 48, "corpus_grown"),
        (0.5, 0.0, 1, 12, None),  # a dozen need more
        (0.67, 0.0, 1, 12, "corpus_grown"),
        (1.0, 0.0, 1, 8, None),
    ],
)
def test_a_change_of_canaries(
    rose: float, fell: float, encoder: int | None, count: int, expected: CanaryChange | None
) -> None:
    reference = Reference.of_record(record(0, count=count))
    found = compare_canaries(reference, record(1, rose, fell, count=count, encoder=encoder))
    assert found.change == expected
    assert found.compared == count


def fitted(**changed: Any) -> Calibration:
    made = Calibration.fit(search, documents=[f"text {n} of some length" for n in range(40)])
    return replace(made, created="2026-01-03T00:00:00+00:00", **changed)


def canaries_of(made: CanaryRecord) -> Canaries:
    seen = [Sighting(int(name, 16), top) for name, top in made.tops.items()][:12]
    return Canaries(tuple(seen), fingerprint=made.fingerprint)


def test_the_calibration_remembers_what_was_before_the_log() -> None:
    """The corpus was exchanged between the fit and the first canaries of the log."""
    calibration = fitted(canaries=canaries_of(record(0)))
    created = calibration.created
    records = [record(n, 0.0, 1.0, created=created) for n in range(3)]
    assert [one.change for one in judge_canaries(records)] == [None] * 3
    assert {one.change for one in judge_canaries(records, calibration)} == {"corpus_replaced"}
    quiet = [record(n, created=created) for n in range(3)]
    assert {one.change for one in judge_canaries(quiet, calibration)} == {None}
    forgetful = fitted(canaries=None)
    assert {one.change for one in judge_canaries(records, forgetful)} == {None}


@pytest.mark.parametrize(
    ("made", "kind", "words", "lasts"),
    [
        ([record(0), record(1, encoder=2), record(2, encoder=2)], "encoder", "2026-01-06", True),
        (
            [record(0), record(1, 0.75)],
            "corpus",
            "grew to about 4.0 times their number around 2026-01-06",
            True,
        ),
        ([record(0), record(1, 1.0)], "corpus", "grew to about several times", True),
        ([record(0), record(1, 0.5, 0.5, encoder=None)], "encoder", "or the stored texts", True),
        ([record(0), record(1, 0.3, 0.5), record(2)], "corpus", "replaced or cut", False),
        (
            [record(0, created="2026-01-01"), record(1, 0.75, created="2026-01-01"), record(2)],
            "corpus",
            "since the calibration of 2026-01-01",
            False,
        ),
    ],
)
def test_findings_in_words(made: list[CanaryRecord], kind: str, words: str, lasts: bool) -> None:
    (found,) = canary_findings(judge_canaries(made), made, None)
    assert (found.kind, found.day, found.lasts) == (kind, "2026-01-06", lasts)
    assert words in found.text
    assert (" Calibrate again." in found.text) == lasts
    assert ("(--calibration FILE): these canaries do not name theirs." in found.text) == lasts


def without_names(refit: str) -> tuple[list[CanaryRecord], Calibration]:
    """The encoder changes on the fourth day, and a calibration is fitted under the new one."""
    records = [record(n, encoder=1 if n < 3 else 2) for n in range(6)]
    return records, replace(fitted(canaries=canaries_of(records[-1])), created=refit)


@pytest.mark.parametrize(
    "refit",
    [
        "2026-01-09T00:00:00+00:00",
        "2026-01-09T12:00:00+00:00",  # behind that day's canaries
        "2026-01-11T00:00:00+00:00",  # no canaries since
    ],
)
def test_a_refit_ends_it_where_canaries_do_not_name_their_calibration(refit: str) -> None:
    made, calibration = without_names(refit)
    (found,) = canary_findings(judge_canaries(made, calibration), made, calibration)
    assert (found.day, found.lasts) == ("2026-01-08", False)


def test_a_change_since_the_refit_is_told_where_canaries_do_not_name_it() -> None:
    made, calibration = without_names("2026-01-09T00:00:00+00:00")
    made += [record(6, encoder=3)]
    *_, found = canary_findings(judge_canaries(made, calibration), made, calibration)
    assert (found.day, found.lasts) == ("2026-01-11", True)
    assert found.text.endswith("since the calibration of 2026-01-09). Calibrate again.")
