"""How a framework is found, and LangChain's workbench."""

import sys
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from cli_fakes import WordEncoder

from langchain_recall_signal import workbench
from recall_signal import ConfigurationError, MissingDependencyError
from recall_signal.cli import frameworks
from recall_signal.cli.frameworks import Hit, Passage, load_framework


def offer(monkeypatch: pytest.MonkeyPatch, **entries: str) -> None:
    points = [EntryPoint(name, value, frameworks.GROUP) for name, value in entries.items()]
    monkeypatch.setattr(frameworks, "entry_points", lambda group: points)


def test_finds_langchain() -> None:
    assert load_framework("langchain") is workbench.build


def test_finds_what_others_offer(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, haystack="os:getcwd")
    import os

    assert load_framework("haystack") is os.getcwd  # type: ignore[comparison-overlap]


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
    monkeypatch.setitem(sys.modules, "langchain_recall_signal.workbench", None)
    with pytest.raises(MissingDependencyError, match=r"recall-signal\[langchain\]") as caught:
        load_framework("langchain")
    assert isinstance(caught.value.__cause__, ImportError)


def test_langchain_answers(embedded: list[str]) -> None:
    encoder = WordEncoder()
    texts = ["red apples", "green pears", "a blue plum"]
    passages = [Passage(f"p{n}", text, f"f:{n}") for n, text in enumerate(texts)]
    bench: Any = workbench.build(passages, encoder, k=2, pool_size=3)
    assert embedded == texts
    assert bench.retriever.retriever.vectorstore.embeddings.name == "words"
    answer = bench.recall("green pears")
    assert answer.confidence.level == "high"
    assert answer.confidence.result_count == 3
    assert answer.hits[0] == Hit("p1", "green pears", "f:1", pytest.approx(1.0, abs=1e-6))
    assert len(answer.hits) == 2
