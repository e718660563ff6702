"""One cosine, and what each store and framework makes of it: the published table, row by row.

Each column says what the store's own number is (computed here from vectors), and which number a
user gets to see as "relevance". The conversion has to give the cosine back; the relevance, which
is what a threshold is usually put on, is another number nearly everywhere.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, sqrt
from typing import Any

import numpy as np
import pytest

from recall_signal import ScoreKind
from recall_signal.scores import to_cosine
from recall_signal.testing import vectors_with_cosines

Vector = np.ndarray[Any, np.dtype[np.float64]]

COSINES = (-0.2, 0.0, 0.293, 0.5, 0.646, 0.8, 0.999)
QUERY = np.random.default_rng(17).standard_normal(24)
QUERY /= np.linalg.norm(QUERY)


def squared_distance(one: Vector, other: Vector) -> float:
    return float(np.sum((one - other) ** 2))


def cosine(one: Vector, other: Vector) -> float:
    return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))


def of_a_distance(raw: float) -> float:
    """What LangChain's euclidean relevance function makes of a number."""
    return 1.0 - raw / sqrt(2.0)


def as_it_is(raw: float) -> float:
    return raw


@dataclass(frozen=True)
class Column:
    """A store: its number, what that number is, and the relevance shown, for each cosine."""

    name: str
    kind: ScoreKind
    number: Callable[[Vector, Vector], float]
    relevance: Callable[[float], float]
    shown: tuple[float, ...]


TABLE = [
    Column(
        "L2 read rightly",
        ScoreKind.L2,
        lambda q, v: sqrt(squared_distance(q, v)),
        of_a_distance,
        (-0.10, 0.00, 0.16, 0.29, 0.41, 0.55, 0.97),
    ),
    Column(
        "squared L2 read as L2",
        ScoreKind.SQUARED_L2,
        squared_distance,
        of_a_distance,
        (-0.70, -0.41, 0.00, 0.29, 0.50, 0.72, 1.00),
    ),
    Column(
        "the cosine moved into [0, 1]",
        ScoreKind.HALF_COSINE,
        lambda q, v: (1.0 + cosine(q, v)) / 2.0,
        as_it_is,
        (0.40, 0.50, 0.65, 0.75, 0.82, 0.90, 1.00),
    ),
    Column(
        "an inverse of squared L2",
        ScoreKind.INVERSE_SQUARED_L2,
        lambda q, v: 1.0 / (1.0 + squared_distance(q, v)),
        as_it_is,
        (0.29, 0.33, 0.41, 0.50, 0.59, 0.71, 1.00),
    ),
    Column(
        "an exponential of squared L2",
        ScoreKind.EXP_NEG_SQUARED_L2,
        lambda q, v: exp(-squared_distance(q, v)),
        as_it_is,
        (0.09, 0.14, 0.24, 0.37, 0.49, 0.67, 1.00),
    ),
    Column(
        "an inverse of the cosine distance",
        ScoreKind.AZURE,
        lambda q, v: 1.0 / (1.0 + (1.0 - cosine(q, v))),
        as_it_is,
        (0.45, 0.50, 0.59, 0.67, 0.74, 0.83, 1.00),
    ),
]
COLUMNS = [pytest.param(column, id=str(column.kind)) for column in TABLE]


def document(true_cosine: float) -> Vector:
    """A unit vector with this cosine to the query."""
    (vector,) = vectors_with_cosines(QUERY, [true_cosine])
    return vector


@pytest.mark.parametrize("row", range(len(COSINES)), ids=[str(c) for c in COSINES])
@pytest.mark.parametrize("column", COLUMNS)
class TestTheTable:
    def test_the_stores_number_gives_the_cosine_back(self, column: Column, row: int) -> None:
        number = column.number(QUERY, document(COSINES[row]))
        assert to_cosine(number, column.kind) == pytest.approx(COSINES[row], abs=1e-9)

    def test_the_relevance_is_the_published_one(self, column: Column, row: int) -> None:
        number = column.number(QUERY, document(COSINES[row]))
        assert column.relevance(number) == pytest.approx(column.shown[row], abs=0.0051)

    def test_the_relevance_is_not_the_cosine(self, column: Column, row: int) -> None:
        """Except where two curves happen to cross."""
        number = column.number(QUERY, document(COSINES[row]))
        crossings = {
            ("l2", 0.0),
            ("inverse_squared_l2", 0.5),
            ("squared_l2", 0.999),
            ("half_cosine", 0.999),
            ("inverse_squared_l2", 0.999),
            ("exp_neg_squared_l2", 0.999),
            ("azure", 0.999),
        }
        is_near = abs(column.relevance(number) - COSINES[row]) < 0.01
        assert is_near == ((str(column.kind), COSINES[row]) in crossings)


@pytest.mark.parametrize(
    ("kind", "threshold"),
    [("l2", 0.75), ("squared_l2", 0.646), ("half_cosine", 0.0), ("inverse_squared_l2", 0.5)],
)
def test_one_threshold_means_another_cosine_in_each_store(kind: str, threshold: float) -> None:
    """A relevance of at least 0.5: from "anything not opposed" to "nearly the same"."""
    column = next(column for column in TABLE if column.kind == kind)
    grid = np.linspace(-1.0, 1.0, 2001)
    passing = [c for c in grid if column.relevance(column.number(QUERY, document(c))) >= 0.5]
    assert min(passing) == pytest.approx(threshold, abs=2e-3)
