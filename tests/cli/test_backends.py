"""How a framework is found, and its backend."""

import sys
from dataclasses import replace
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from langchain_recall_signal import _workbench as langchain_backend
from llama_index_recall_signal import _workbench as llama_backend
from recall_signal import (
    CalibrationError,
    ConfigurationError,
    MissingDependencyError,
    SelectionReport,
)
from recall_signal.calibration._scale import Scale
from recall_signal.cli import _backends as frameworks
from recall_signal.cli._backends import Hit, Passage, load_framework
from recall_signal.cli._demo._run import ScriptedSelector
from recall_signal.reports import NOT_CONFIGURED
from recall_signal.selection import SelectionOptions
from tests.cli.fakes import WordEncoder


def offer(monkeypatch: pytest.MonkeyPatch, **entries: str) -> None:
    points = [EntryPoint(name, value, frameworks.GROUP) for name, value in entries.items()]
    monkeypatch.setattr(frameworks, "entry_points", lambda group: points)


def test_finds_langchain() -> None:
    assert load_framework("langchain") is langchain_backend.build


def test_finds_what_others_offer(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, haystack="os:getcwd")
    import os

    found: object = load_framework("haystack")
    assert found is os.getcwd


def test_a_name_that_nobody_offers(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, haystack="os:getcwd", langchain="os:getcwd")
    with pytest.raises(ConfigurationError, match="one of haystack, langchain, got 'other'"):
        load_framework("other")


@pytest.mark.parametrize("name", ["langchain", "llama-index"])
def test_a_known_framework_that_is_not_there(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    offer(monkeypatch)
    with pytest.raises(MissingDependencyError, match=rf"pip install 'recall-signal\[{name}\]'"):
        load_framework(name)


def test_an_integration_whose_framework_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_recall_signal._workbench", None)
    with pytest.raises(MissingDependencyError, match=r"recall-signal\[langchain\]") as caught:
        load_framework("langchain")
    assert isinstance(caught.value.__cause__, ImportError)


def test_finds_llama_index() -> None:
    assert load_framework("llama-index") is llama_backend.build


TEXTS = ["red apples", "green pears", "a blue plum"]
PASSAGES = [Passage(f"p{n}", text, f"f:{n}") for n, text in enumerate(TEXTS)]

both = pytest.mark.parametrize("name", ["langchain", "llama-index"])


@both
def test_answers(name: str, embedded: list[str]) -> None:
    bench = load_framework(name)(PASSAGES, WordEncoder(), k=2, pool_size=3)
    assert embedded == TEXTS
    answer = bench.recall("green pears")
    assert answer.confidence.level == "high"
    assert answer.confidence.result_count == 3
    near_one: Any = pytest.approx(1.0, abs=1e-6)
    assert answer.hits[0] == Hit("p1", "green pears", "f:1", near_one)
    assert len(answer.hits) == 2
    assert answer.selection == NOT_CONFIGURED


@both
def test_a_selector_trims_the_page(name: str, embedded: list[str]) -> None:
    scripted = ScriptedSelector({"green pears": ["green pears"]})
    bench = load_framework(name)(PASSAGES, WordEncoder(), 2, 3, selector=scripted)
    answer = bench.recall("green pears")
    assert [hit.id for hit in answer.hits] == ["p1"]
    assert (answer.selection.applied, answer.selection.model) == (True, "scripted model")
    assert bench.recall("red").selection == SelectionReport(applied=False, reason="invalid_output")
    options = SelectionOptions(min_results=3)
    bench = load_framework(name)(
        PASSAGES, WordEncoder(), 2, 3, selector=scripted, selector_options=options
    )
    assert bench.recall("green pears").selection.reason == "too_few_results"


@both
def test_calibrates_and_uses_it(name: str, embedded: list[str]) -> None:
    passages = [Passage(f"p{n}", f"fruit number {n} is ripe", "f") for n in range(40)]
    build = load_framework(name)
    seen: list[tuple[int, int]] = []
    fitted = build(passages, WordEncoder(), 2, 40).calibrate(
        progress=lambda done, total: seen.append((done, total))
    )
    assert fitted.encoder == "words"
    assert seen[-1][0] == seen[-1][1] > 100
    usable = replace(fitted, status="ok", scale=Scale(0.5, 0.1))
    backend = build(passages, WordEncoder(), 2, 40)
    answer = backend.with_calibration(usable).recall("fruit number 7 is")
    assert answer.confidence.basis == "calibration"
    assert answer.confidence.probability is not None
    with pytest.raises(CalibrationError, match="cannot be used with 'words'"):
        backend.with_calibration(replace(usable, encoder="other"))


def test_both_say_the_same(embedded: list[str]) -> None:
    answers = [
        load_framework(name)(PASSAGES, WordEncoder(), 2, 3).recall("a red plum")
        for name in ("langchain", "llama-index")
    ]
    assert answers[0] == answers[1]
