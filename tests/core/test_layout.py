"""The house rules that a reader relies on: what is private, and how loosely things are typed."""

import ast
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = [
    ROOT / "core/recall_signal",
    ROOT / "integrations/langchain_recall_signal",
    ROOT / "integrations/llama_index_recall_signal",
]

API = {
    "advice",
    "assess",
    "assess_many",
    "confidence",
    "encoders",
    "errors",
    "pool",
    "reasons",
    "report_parsing",
    "reports",
    "scores",
    "telemetry",
    "thresholds",
}
"""The modules of core's root, named after what they export; all others begin with `_`."""

ANY_PER_1000_LINES = 13
ISINSTANCE_PER_1000_LINES = 10


def sources() -> list[Path]:
    return [path for package in PACKAGES for path in sorted(package.rglob("*.py"))]


def names_of_any(tree: ast.Module) -> set[str]:
    """`Any`, and each alias of it that the module makes."""
    names = {"Any"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "typing":
            names |= {alias.asname or "Any" for alias in node.names if alias.name == "Any"}
        elif isinstance(node, ast.Assign) and _is_any(node.value, names):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and node.value and _is_any(node.value, names):
            names |= {node.target.id} if isinstance(node.target, ast.Name) else set()
    return names


def _is_any(node: ast.expr, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def counted(source: str) -> Counter[str]:
    """Lines, and uses of `Any` (aliases of it count) and of `isinstance`."""
    tree = ast.parse(source)
    loose = names_of_any(tree)
    found = Counter(lines=len(source.splitlines()))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found["Any"] += node.id in loose
            found["isinstance"] += node.id == "isinstance"
    return found


@pytest.fixture(scope="module")
def per_1000_lines() -> dict[str, float]:
    total = sum((counted(path.read_text("utf-8")) for path in sources()), Counter[str]())
    return {name: 1000 * total[name] / total["lines"] for name in ("Any", "isinstance")}


def test_what_is_not_api_is_private() -> None:
    public = [
        path.relative_to(ROOT).as_posix()
        for path in sources()
        if not any(part.startswith("_") for part in path.relative_to(ROOT).parts)
    ]
    assert public == [f"core/recall_signal/{name}.py" for name in sorted(API)]


def test_types_are_loose_at_the_borders_only(per_1000_lines: dict[str, float]) -> None:
    assert per_1000_lines["Any"] <= ANY_PER_1000_LINES


def test_types_are_seldom_asked_for(per_1000_lines: dict[str, float]) -> None:
    assert per_1000_lines["isinstance"] <= ISINSTANCE_PER_1000_LINES


def test_aliases_of_any_count() -> None:
    source = "from typing import Any\nJson = Any\ndef f(x: Json, y: list[Any]) -> None: ...\n"
    assert counted(source) == {"lines": 3, "Any": 4, "isinstance": 0}


def test_no_compiled_file_names_an_index() -> None:
    for path in sorted((ROOT / ".ci").glob("*.txt")):
        text = path.read_text("utf-8")
        assert "://" not in text, path.name
        assert not [line for line in text.splitlines() if line.startswith("-")], path.name


def test_tests_that_read_a_clock_run_alone() -> None:
    """Beside others on a busy machine they would fail now and then."""
    clocks = {"monotonic", "perf_counter", "process_time"}
    unmarked = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                called = [sub.func for sub in ast.walk(node) if isinstance(sub, ast.Call)]
                reads = {ast.unparse(func).rpartition(".")[2] for func in called} & clocks
                marks = {ast.unparse(mark) for mark in node.decorator_list}
                if node.name.startswith("test_") and reads and "pytest.mark.timing" not in marks:
                    unmarked.append(f"{path.name}: {node.name}")
    assert unmarked == []
