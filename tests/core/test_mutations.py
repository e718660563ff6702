"""A wrong conversion would be noticed: every formula is made wrong in turn, and a test fails.

Two ways: the functions in the tables of formulas are wrapped, and every sign, operator and
factor in the module's own source is changed. What survives is a hole in the tests.
"""

import ast
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from recall_signal import ScoreKind, scores
from tests.core import test_score_table as table
from tests.core.test_scores import COSINES, NUMBERS, pair

Formula = Callable[[float], float | None]
Place = tuple[str, ScoreKind]


def assertions_hold(to_cosine: Callable[[float, ScoreKind], float | None]) -> bool:
    """Whether the published table and the round trip of every kind still come out right."""
    checks = table.TestTheTable()
    try:
        for column in table.TABLE:
            for row in range(len(table.COSINES)):
                checks.test_the_stores_number_gives_the_cosine_back(column, row)
        for kind, number in NUMBERS.items():
            for cosine in COSINES:
                assert to_cosine(number(*pair(cosine)), kind) == pytest.approx(cosine, abs=1e-9)
    except (AssertionError, ArithmeticError, ValueError):
        return False
    return True


def tables() -> dict[str, dict[ScoreKind, Formula]]:
    """The module's tables of formulas, by name."""
    return {
        name: value
        for name, value in vars(scores).items()
        if isinstance(value, dict) and value and all(map(callable, value.values()))
    }


def on_result(change: Callable[[float], float]) -> Callable[[Formula], Formula]:
    def mutate(formula: Formula) -> Formula:
        def wrong(score: float) -> float | None:
            right = formula(score)
            return None if right is None else change(right)

        return wrong

    return mutate


def on_score(change: Callable[[float], float]) -> Callable[[Formula], Formula]:
    return lambda formula: lambda score: formula(change(score))


CHANGES: dict[str, Callable[[float], float]] = {
    "sign": lambda value: -value,
    "square": lambda value: value * value,
    "factor 2": lambda value: 2.0 * value,
    "factor 1/2": lambda value: value / 2.0,
}
MUTATIONS = {
    f"{name} of the {where}": on(change)
    for where, on in (("result", on_result), ("score", on_score))
    for name, change in CHANGES.items()
}
PLACES: list[Place] = [(name, kind) for name, formulas in tables().items() for kind in formulas]


def test_every_formula_has_a_place_in_a_table() -> None:
    assert {kind for _, kind in PLACES} == {kind for kind in ScoreKind if kind.convertible}
    assert assertions_hold(scores.to_cosine)


@pytest.mark.parametrize("mutation", MUTATIONS)
@pytest.mark.parametrize(("name", "kind"), PLACES, ids=[f"{n}-{k}" for n, k in PLACES])
def test_a_formula_made_wrong_fails(
    name: str, kind: ScoreKind, mutation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    formulas = tables()[name]
    monkeypatch.setitem(formulas, kind, MUTATIONS[mutation](formulas[kind]))
    assert not assertions_hold(scores.to_cosine)


SWAPPED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}


def mutants() -> Iterator[tuple[str, ast.Module]]:
    """The module with one sign, operator or factor changed, for each there is.

    Comparisons are left out: they only decide which scores are refused.
    """
    source = ast.parse(Path(scores.__file__).read_text())
    for position, node in enumerate(_arithmetic(source)):
        for change in ("swap", "number", "sign"):
            mutant = deepcopy(source)
            if _changed(list(_arithmetic(mutant))[position], change):
                where = f"line {node.lineno}: {ast.unparse(node)}, {change}"
                yield where, ast.fix_missing_locations(mutant)


def _arithmetic(node: ast.AST) -> Iterator[Any]:
    """Every operation on numbers, outside of comparisons and annotations."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Compare) or _is_annotation(node, child):
            continue
        if isinstance(child, ast.UnaryOp | ast.BinOp) and not isinstance(
            getattr(child, "op", None), ast.BitOr | ast.Not
        ):
            yield child
        yield from _arithmetic(child)


def _is_annotation(node: ast.AST, child: ast.AST) -> bool:
    return child in (getattr(node, "annotation", None), getattr(node, "returns", None))


def _changed(node: Any, change: str) -> bool:
    """Change it in place; False where this change does not apply."""
    if change == "sign":
        if isinstance(node, ast.UnaryOp):
            node.op = ast.UAdd()
            return True
        node.left = ast.UnaryOp(ast.USub(), node.left)
        return True
    if isinstance(node, ast.UnaryOp):
        return False
    if change == "swap":
        node.op = SWAPPED[type(node.op)]()
        return True
    for side in ("left", "right"):
        number = getattr(node, side)
        if isinstance(number, ast.Constant):
            assert isinstance(number.value, int | float)
            setattr(node, side, ast.Constant(2.0 * number.value))
            return True
    return False


def loaded(tree: ast.Module) -> ModuleType:
    module = ModuleType("mutant")
    exec(compile(tree, "mutant", "exec"), vars(module))
    return module


MUTANTS = dict(mutants())


def test_the_source_is_found_and_mutated() -> None:
    assert len(MUTANTS) >= 2 * len(PLACES)
    unchanged = loaded(ast.parse(Path(scores.__file__).read_text()))
    assert assertions_hold(unchanged.to_cosine)


@pytest.mark.parametrize("where", MUTANTS)
def test_no_mutant_of_the_source_survives(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = loaded(MUTANTS[where])
    monkeypatch.setattr(table, "to_cosine", mutant.to_cosine)
    assert not assertions_hold(mutant.to_cosine)
