"""The link between a wrapper's query and the calibration that watches it."""

from __future__ import annotations

import json
import logging
import textwrap
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from types import CellType, FunctionType, ModuleType
from typing import Any
from unittest import mock

import pytest

from recall_signal import (
    AutoCalibration,
    Baseline,
    Calibration,
    CalibrationError,
    RecallConfidence,
    assess,
)
from recall_signal._auto.calibrator import Carried
from recall_signal._auto.source import WatchedCalibration, watcher_of
from recall_signal._wrapper.instances import find_instance, holds_instance
from tests.calibration.auto_toys import LONG, Port, aquery, engine
from tests.calibration.toys import Toy, calibration


@dataclass
class Outcome:
    cosines: Any
    confidence: RecallConfidence
    encoder: str | None = None
    dimension: int | None = None

    @classmethod
    def of(cls, cosines: Sequence[float | None]) -> Outcome:
        return cls(cosines, assess(cosines))


@dataclass
class Watcher:
    """Notes what it is told."""

    status: Any = "waiting"
    calibration: Any = None
    notice: str | None = None
    running: int = 0
    learns: bool = True
    seen: list[Any] = field(default_factory=list)

    @property
    def judge(self) -> Any:
        return self.calibration

    def entry(self) -> dict[str, str | None]:
        return {}

    def refuse(self, reason: str) -> None:
        self.notice = reason

    def begin_query(self) -> None:
        self.running += 1

    def end_query(self) -> None:
        self.running -= 1

    def after_query(self, observed: Any) -> None:
        self.seen.append(("sync", observed))

    def after_async_query(self, observed: Any) -> None:
        self.seen.append(("async", observed))


def watched(watcher: Any) -> WatchedCalibration:
    return WatchedCalibration(watcher)


def test_until_it_is_ready_the_rationale_says_so() -> None:
    watcher = Watcher()
    source = watched(watcher)
    bare = assess([0.5, 0.4, 0.3])
    for status, said in (
        (
            "waiting",
            "Uncalibrated: the calibration starts after the first query without a filter or a "
            "tenant.",
        ),
        ("fitting", "Uncalibrated: the calibration is being learned."),
        ("off", "Uncalibrated: the background calibration is switched off"),
        ("not_measurable", "Uncalibrated: this retriever gave no cosines"),
        ("failed", "Uncalibrated: the calibration failed"),
        ("ready", "Uncalibrated: it changes."),
    ):
        watcher.status = status
        signal = assess([0.5, 0.4, 0.3], calibration=source.current())
        assert said in signal.rationale
        assert signal.model_copy(update={"rationale": bare.rationale}) == bare
    watcher.notice = "the encoder has changed since the calibration was made"
    assert "the encoder has changed" in assess([0.5], calibration=source.current()).rationale
    watcher.calibration = calibration()
    assert source.current() is watcher.calibration


def test_a_query_is_running_until_it_has_ended_in_any_way() -> None:
    watcher = Watcher()
    source = watched(watcher)
    running = source.running()
    running.__enter__()
    assert watcher.running == 1
    assert not running.__exit__(ConnectionError, ConnectionError(), None)
    assert watcher.running == 0


def test_plain_queries_join_by_their_figures() -> None:
    watcher = Watcher()
    source = watched(watcher)
    source.observe(Outcome.of([0.5, None, 0.7]), is_plain=True, is_async=False)
    source.observe(Outcome.of([0.6]), is_plain=True, is_async=True)
    for without in ([], [None], [float("nan")], [5.0]):
        source.observe(Outcome.of(without), is_plain=True, is_async=False)
    source.observe(Outcome.of([0.6]), is_plain=False, is_async=False)
    assert watcher.seen[:2] == [("sync", (0.7, None)), ("async", (0.6, None))]
    assert watcher.seen[2:] == [("sync", None)] * 4


async def test_an_engine_is_a_watcher() -> None:
    auto = engine(Port())
    source = WatchedCalibration(auto)
    assert "starts after the first query" in assess([0.5], calibration=source.current()).rationale
    await aquery(auto)
    assert await auto.await_until_calibrated(LONG)
    assert source.current() is auto.calibration


def test_the_watcher_of_a_wrapper_is_shared_where_it_serves() -> None:
    port, baseline, fitted = Port(), Baseline(), calibration(encoder="toy")

    def make(given: Any, previous: object = None, listening: Baseline | None = None) -> Any:
        return watcher_of(given, listening, previous, lambda: port, "toy")

    assert make(None) is None
    watch = make(fitted)
    assert make(fitted, watch) is watch
    assert make(fitted, watch, baseline) is not watch
    assert make(replace(fitted), watch) is not watch
    auto = make("auto")
    assert make(AutoCalibration(), auto) is auto
    assert make(AutoCalibration(window=40), auto) is not auto
    assert make("auto", watch) is not watch
    assert make("auto", Carried(fitted)).calibration is fitted
    assert make("auto", Carried(calibration(encoder="another"))).calibration is None
    assert WatchedCalibration(watch).entry() == watch.entry()


class Model:
    """A language model."""


@dataclass
class Holder:
    part: Any = None


class Private:
    def __init__(self, part: Any) -> None:
        self.__pydantic_private__ = {"_part": part}


class Text:
    """A framework's document."""

    def __init__(self) -> None:
        self.metadata = {"key": [1]}


def is_text(part_class: type) -> bool:
    return part_class is Text


def nested(depth: int) -> Any:
    part: Any = Model()
    for _ in range(depth):
        part = Holder(part)
    return part


@pytest.mark.parametrize(
    ("root", "found"),
    [
        (Model(), True),
        (Holder(Model()), True),
        (Holder([Holder({"key": (Model(),)})]), True),
        (Private(Model()), True),
        (nested(5), True),
        (nested(8), False),
        (Holder(Model), False),
        (Holder("text"), False),
        (Holder([[*map(str, range(1000))], [Holder(1.5)] * 1000, Holder(Model())]), True),
        (Holder([Text()] * 1000 + [Model()]), True),
        (Holder([Text() for _ in range(20_000)]), False),
        (Holder({n: [Model()] for n in range(1000)}), False),
        (object(), False),
    ],
)
def test_a_language_model_is_found_among_the_parts(root: Any, found: bool) -> None:
    assert holds_instance(root, (Model,), is_text) is found
    assert (find_instance(root, Model, is_text) is not None) is found


MODEL, MODELS = Model(), ModuleType("models")
MODELS.inner = MODELS  # type: ignore[attr-defined]
MODELS.model = MODEL  # type: ignore[attr-defined]


def names_a_model(query: str) -> list[object]:
    return [repr((MODEL, text)) for text in [query]]


def calls_one_that_does(query: str) -> object:
    return (lambda text: names_a_model(text))(query)


def names_a_module(_: str) -> object:
    return MODELS.inner.model


def makes_a_model(_: str) -> object:
    return Model()


def has_a_default(_: str, model: object = MODEL) -> object:
    return model


def has_a_keyword(_: str, *, model: object = MODEL) -> object:
    return model


def closed_over(model: object) -> Callable[[str], object]:
    return lambda _: model


never_filled = FunctionType(closed_over(None).__code__, globals(), closure=(CellType(),))


def imports_a_model(_: str) -> object:
    from tests.calibration.test_auto_source import MODEL as model

    return model


def plain(query: str) -> str:
    return json.dumps(textwrap.dedent(query)) + str(MODELS)


class Rewriter:
    words = mock.call  # wraps itself without end

    def __call__(self, _: str) -> object:
        return MODEL


class Rewriting(Rewriter):
    """Its base names the model."""


class Keeps:
    model = MODEL

    def rewrite(self, query: str) -> str:
        return query


class Makes:
    @cached_property
    def model(self) -> Model:
        return Model()


class Shows:
    @property
    def model(self) -> Model:
        return MODEL


class Absent:
    """Stands for something that is not there."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


ABSENT = Absent()


class NamesWhatIsAbsent:
    absent = ABSENT

    def rewrite(self, _: str) -> object:
        return ABSENT, self.absent


def names_what_is_absent(_: str) -> object:
    return ABSENT, MODEL


def makes_a_rewriter(query: str) -> object:
    return Rewriter()(query)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        (names_a_model, True),
        (calls_one_that_does, True),
        (names_a_module, True),
        (makes_a_model, True),
        (has_a_default, True),
        (has_a_keyword, True),
        (closed_over(MODEL), True),
        (closed_over(names_a_model), True),
        (imports_a_model, True),
        (partial(plain, model=MODEL), True),  # type: ignore[call-arg]
        (partial(names_a_model), True),
        (lru_cache(names_a_model), True),
        (contextmanager(names_a_model), True),  # type: ignore[arg-type]
        (Holder(MODEL).__eq__, True),
        (Rewriter().__call__, True),
        (Rewriting(), True),
        (Keeps().rewrite, True),
        (Makes(), True),
        (Shows(), True),
        (makes_a_rewriter, True),
        (closed_over(Model), True),
        (names_what_is_absent, True),
        (NamesWhatIsAbsent(), False),
        (plain, False),
        (never_filled, False),
        (closed_over("text"), False),
        (closed_over(logging.getLogger()), False),
        (json.dumps, False),
        (len, False),
    ],
)
def test_a_language_model_is_found_in_what_code_names(code: Any, found: bool) -> None:
    assert holds_instance(Holder({"step": code}), (Model,), is_text) is found
    assert find_instance(Holder([MODELS, plain]), Model, is_text) is None


def test_a_corpus_that_code_names_is_not_entered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODELS, "model", {n: [str(n)] * 3 for n in range(100_000)})
    assert not holds_instance(names_a_module, (Model,), is_text)


def test_too_many_parts_may_hold_a_language_model(caplog: pytest.LogCaptureFixture) -> None:
    root = Holder([Holder([n]) for n in range(12_000)])
    assert holds_instance(root, (Model,), is_text)
    assert "a Holder has too many parts to look through: it may hold a Model" in caplog.text
    assert find_instance(root, Model, is_text) is None


def test_parts_that_hold_each_other_end() -> None:
    first = Holder()
    first.part = Holder(first)
    assert not holds_instance(first, (Model,), is_text)


def test_a_frozen_calibration_is_checked_after_a_tenants_query_as_well() -> None:
    watcher = Watcher(learns=False)
    watched(watcher).observe(Outcome.of([0.5, 0.4]), is_plain=False, is_async=False)
    assert len(watcher.seen) == 1


def test_a_calibration_judges_the_cosines_of_its_own_encoder_only() -> None:
    watcher = Watcher(status="ready", calibration=calibration(encoder="one"))
    source = watched(watcher)
    assert source.current("one") is source.current() is watcher.calibration
    said = assess([0.5, 0.4, 0.3], calibration=source.current("other")).rationale
    assert "Uncalibrated: these cosines are of another encoder" in said
    for encoder in ("other", "one"):
        outcome = Outcome([0.5], assess([0.5]), encoder)
        source.observe(outcome, is_plain=True, is_async=False)
    assert watcher.seen == [("sync", None), ("sync", (0.5, None))]
    assert watcher.notice is None


def test_a_calibration_is_not_in_force_for_vectors_of_another_length() -> None:
    fitted = Calibration.fit(Toy(), encoder="one").with_fingerprint([[1.0] * 8] * 8)
    watcher = Watcher(status="ready", calibration=fitted)
    source = watched(watcher)
    assert source.current("one", 8) is source.current("one") is fitted
    assert watcher.notice is None
    said = assess([0.5, 0.4, 0.3], calibration=source.current("one", 7)).rationale
    assert "Uncalibrated: these cosines are of another encoder" in said
    assert "of another encoder" in (watcher.notice or "")
    fitted.require_encoder("one", 8)
    fitted.require_encoder(None)
    with pytest.raises(CalibrationError, match="vectors of length 7"):
        fitted.require_encoder("one", 7)


def test_nothing_that_fails_after_a_query_loses_its_page() -> None:
    @dataclass
    class Broken(Watcher):
        @property  # type: ignore[misc]
        def calibration(self) -> Any:
            raise ArithmeticError

        @calibration.setter
        def calibration(self, _: Any) -> None:
            pass

    watched(Broken()).observe(Outcome.of([0.5]), is_plain=True, is_async=False)
