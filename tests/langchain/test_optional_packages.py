"""LangGraph and langchain are loaded when they are asked for, and missed with a pip line."""

import subprocess
import sys
from typing import Any

import pytest

import langchain_recall_signal
from recall_signal import MissingDependencyError

LAZY = {
    "CorrectiveState": "langgraph",
    "RecallMiddleware": "langchain",
    "RecallState": "langchain",
    "corrective_graph": "langgraph",
}

EXTRA = r"pip install 'recall-signal\[langchain\]'"


def test_the_import_loads_neither() -> None:
    code = (
        "import sys, langchain_recall_signal as l;"
        "assert not {'langchain', 'langgraph'} & set(sys.modules);"
        "l.create_recall_tool, l.route_on_recall;"
        "assert not {'langchain', 'langgraph'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", langchain_recall_signal.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(langchain_recall_signal, name).__name__ == name


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        langchain_recall_signal.Nothing  # noqa: B018


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("_graph", "_middleware"):
        monkeypatch.delitem(sys.modules, f"langchain_recall_signal.{module}", raising=False)


@pytest.mark.parametrize(("name", "package"), LAZY.items())
def test_a_missing_package_is_named(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget(monkeypatch)
    for module in [m for m in sys.modules if m.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=EXTRA) as caught:
        getattr(langchain_recall_signal, name)
    assert isinstance(caught.value, ImportError)
    assert caught.value.extra == "langchain"


def test_another_import_that_fails_is_not_dressed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """F5: only a missing extra is called one."""
    forget(monkeypatch)
    monkeypatch.setitem(sys.modules, "recall_signal.agents._corrective", None)
    with pytest.raises(ImportError) as caught:
        langchain_recall_signal.corrective_graph  # noqa: B018
    assert not isinstance(caught.value, MissingDependencyError)


def test_a_loaded_name_is_the_same_object_each_time() -> None:
    first: Any = langchain_recall_signal.RecallMiddleware
    assert first is langchain_recall_signal.RecallMiddleware
