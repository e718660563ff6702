"""Every reason that a user can see has its sentence, and its line in the docs."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import pytest

from recall_signal import REASONS
from recall_signal.confidence import unknown
from recall_signal.reports import SELECTION_REASONS, RerankReason

PACKAGES = ("recall_signal", "langchain_recall_signal", "llama_index_recall_signal")
KNOWN = {*REASONS, *SELECTION_REASONS, *get_args(RerankReason)}
LEVELS_PAGE = Path(__file__).parents[2] / "docs" / "levels.md"

Texts = defaultdict[str, set[str]]


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Every module of ours, without importing it."""
    for package in PACKAGES:
        spec = find_spec(package)
        assert spec is not None
        for folder in spec.submodule_search_locations or ():
            for path in sorted(Path(folder).rglob("*.py")):
                name = f"{package}/{path.relative_to(folder)}"
                yield name, ast.parse(path.read_text("utf-8"))


def options(value: ast.expr | None) -> list[ast.expr]:
    """What an expression may come to: both arms of a condition, each part of an `or`."""
    if isinstance(value, ast.IfExp):
        return options(value.body) + options(value.orelse)
    if isinstance(value, ast.BoolOp):
        return [option for part in value.values for option in options(part)]
    return [] if value is None else [value]


def assigned(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[str, ast.expr]]:
    for option in options(value):
        if isinstance(target, ast.Name):
            yield target.id, option
        elif isinstance(target, ast.Tuple) and isinstance(option, ast.Tuple):
            for part, its in zip(target.elts, option.elts, strict=True):
                yield from assigned(part, its)


def named(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """What the names of a module are set to, and what its functions return."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from assigned(target, node.value)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
            yield from assigned(node.target, node.value)
        elif isinstance(node, ast.FunctionDef):
            returns = (inner for inner in ast.walk(node) if isinstance(inner, ast.Return))
            yield from ((node.name, option) for one in returns for option in options(one.value))


def text_of(value: ast.expr | None) -> str | None:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    return None


def texts_named(tree: ast.Module) -> Texts:
    found: Texts = defaultdict(set)
    for name, option in named(tree):
        if (text := text_of(option)) is not None:
            found[name].add(text)
    return found


def given(tree: ast.Module) -> Iterator[ast.expr]:
    """What stands for a reason: `unknown(...)`, `reason=...`, `{"reason": ...}`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id == "unknown" and node.args:
                yield from options(node.args[0])
            for keyword in node.keywords:
                yield from options(keyword.value) if keyword.arg == "reason" else ()
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                yield from options(value) if text_of(key) == "reason" else ()


def reasons(trees: dict[str, ast.Module]) -> Texts:
    """Each reason in the code -> the modules that give it.

    A name stands for every text that its module sets it to; an attribute, such as a property of
    another module, for every text that anything of that name is set to or returns.
    """
    by_module = {module: texts_named(tree) for module, tree in trees.items()}
    found: Texts = defaultdict(set)
    for module, tree in trees.items():
        for value in given(tree):
            texts = {text_of(value)}
            if isinstance(value, ast.Name):
                texts |= by_module[module][value.id]
            elif isinstance(value, ast.Attribute) and value.attr != "reason":  # seen where made
                texts |= set().union(*(known[value.attr] for known in by_module.values()))
            for text in texts - {None}:
                found[str(text)].add(module)
    return found


def test_every_reason_in_the_code_has_its_sentence() -> None:
    found = reasons(dict(modules()))
    assert {reason: where for reason, where in found.items() if reason not in KNOWN} == {}
    assert {*REASONS} - found.keys() == set()


def test_a_reason_without_a_sentence_would_be_found() -> None:
    code = {
        "one": "NEW = 'a'\nunknown(NEW, 0)\nReading(None, reason=other.why if x == 'no' else 'b')",
        "two": "def why(): return 'c' or 'd'\ny, z = (1, 'e') if x else (2, 'f')",
        "three": "z = 'g'\nreport(reason=z)\nsignal.model_copy(update={'reason': 'h'})",
    }
    found = reasons({name: ast.parse(text) for name, text in code.items()})
    assert dict(found) == {
        **{reason: {"one"} for reason in "abcd"},
        **{reason: {"three"} for reason in "gh"},
    }


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_has_its_line_in_the_docs(reason: str) -> None:
    assert reason not in unknown(reason, 0).rationale
    assert not REASONS[reason].endswith(".")
    assert f"| `{reason}` | {REASONS[reason]} |\n" in LEVELS_PAGE.read_text("utf-8")
