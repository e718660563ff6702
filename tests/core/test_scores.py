"""What each store's number is: made from vectors, turned back into the cosine, or refused."""

from collections.abc import Callable
from math import exp, inf, isfinite, log, nan, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recall_signal import NOT_CONVERTIBLE, ConfigurationError, InvalidInputError, ScoreKind
from recall_signal.scores import parse_score_kind, to_cosine, to_cosines
from tests.ids import stable_repr

UNHURRIED = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])

Vector = np.ndarray[Any, np.dtype[np.float64]]

COSINES = (-0.9, -0.5, -0.2, 0.0, 0.1, 0.293, 0.5, 0.646, 0.8, 0.95, 0.999)


def pair(cosine: float, norm: float = 1.0) -> tuple[Vector, Vector]:
    """A unit query and a vector of that norm at that angle, in no special direction."""
    basis, _ = np.linalg.qr(np.random.default_rng(5).normal(size=(16, 2)))
    query, across = basis.T
    return query, norm * (cosine * query + sqrt(1.0 - cosine * cosine) * across)


def angle(query: Vector, vector: Vector) -> float:
    return float(query @ vector / (np.linalg.norm(query) * np.linalg.norm(vector)))


def distance(query: Vector, vector: Vector) -> float:
    return float(np.linalg.norm(query - vector))


NUMBERS: dict[ScoreKind, Callable[[Vector, Vector], float]] = {
    ScoreKind.COSINE: angle,
    ScoreKind.COSINE_DISTANCE: lambda q, v: 1 - angle(q, v),
    ScoreKind.L2: distance,
    ScoreKind.SQUARED_L2: lambda q, v: distance(q, v) ** 2,
    ScoreKind.INNER_PRODUCT: lambda q, v: float(q @ v),
    ScoreKind.NEGATIVE_INNER_PRODUCT: lambda q, v: -float(q @ v),
    ScoreKind.HALF_COSINE: lambda q, v: (1 + angle(q, v)) / 2,
    ScoreKind.COSINE_PLUS_ONE: lambda q, v: 1 + angle(q, v),
    ScoreKind.INVERSE_L2: lambda q, v: 1 / (1 + distance(q, v)),
    ScoreKind.INVERSE_SQUARED_L2: lambda q, v: 1 / (1 + distance(q, v) ** 2),
    ScoreKind.EXP_NEG_SQUARED_L2: lambda q, v: exp(-(distance(q, v) ** 2)),
    ScoreKind.EXP_NEG_COSINE_DISTANCE: lambda q, v: exp(-(1 - angle(q, v))),
    ScoreKind.AZURE: lambda q, v: 1 / (1 + (1 - angle(q, v))),
    ScoreKind.SIGMOID_IP: lambda q, v: 1 / (1 + exp(-float(q @ v))),
}
"""The number that a store of each kind computes from a query's and a document's vector."""


def test_every_kind_is_either_convertible_or_refused_with_a_reason() -> None:
    assert {kind for kind in ScoreKind if kind.convertible} == set(NUMBERS)
    assert set(NUMBERS) | set(NOT_CONVERTIBLE) == set(ScoreKind)
    assert not set(NUMBERS) & set(NOT_CONVERTIBLE)
    assert all(len(reason) > 10 for reason in NOT_CONVERTIBLE.values())


@pytest.mark.parametrize("cosine", COSINES)
@pytest.mark.parametrize("kind", NUMBERS)
def test_the_cosine_comes_back_from_the_stores_number(kind: ScoreKind, cosine: float) -> None:
    number = NUMBERS[kind](*pair(cosine))
    for given_number in (number, np.float64(number)):
        back = to_cosine(given_number, kind)
        assert type(back) is float
        assert back == pytest.approx(cosine, abs=1e-9)
    assert to_cosine(np.float32(number), kind.value) == pytest.approx(cosine, abs=1e-5)


@pytest.mark.parametrize("kind", NUMBERS)
@UNHURRIED
@given(cosine=st.floats(-1.0, 1.0))
def test_any_cosine_comes_back(kind: ScoreKind, cosine: float) -> None:
    assert to_cosine(NUMBERS[kind](*pair(cosine)), kind) == pytest.approx(cosine, abs=1e-7)


@pytest.mark.parametrize("kind", NUMBERS)
def test_only_cosine_metrics_do_without_unit_vectors(kind: ScoreKind) -> None:
    back = to_cosine(NUMBERS[kind](*pair(0.3, norm=1.5)), kind)
    assert (back != pytest.approx(0.3, abs=1e-9)) == kind.needs_unit_norm


def test_kinds_without_a_formula_assume_nothing_about_norms() -> None:
    assert not any(kind.needs_unit_norm for kind in NOT_CONVERTIBLE)


# Refusals


@pytest.mark.parametrize("kind", NOT_CONVERTIBLE)
def test_a_kind_without_a_formula_gives_no_cosine(kind: ScoreKind) -> None:
    assert not kind.convertible
    assert to_cosine(0.5, kind) is None
    assert to_cosine(0.5, kind.value) is None
    assert to_cosines([0.5, 0.4], kind) == (None, "score_not_convertible")
    assert to_cosines([], kind) == (None, "score_not_convertible")


IMPOSSIBLE = [
    (ScoreKind.L2, -0.1),
    (ScoreKind.INVERSE_L2, 0.0),
    (ScoreKind.INVERSE_L2, -0.5),
    (ScoreKind.INVERSE_L2, 1.5),
    (ScoreKind.INVERSE_SQUARED_L2, 0.0),
    (ScoreKind.EXP_NEG_SQUARED_L2, 0.0),
    (ScoreKind.EXP_NEG_SQUARED_L2, -1.0),
    (ScoreKind.EXP_NEG_COSINE_DISTANCE, 0.0),
    (ScoreKind.AZURE, 0.0),
    (ScoreKind.AZURE, -1.0),
    (ScoreKind.SIGMOID_IP, 0.0),
    (ScoreKind.SIGMOID_IP, 1.0),
]


@pytest.mark.parametrize(("kind", "score"), IMPOSSIBLE)
def test_an_impossible_score_spoils_the_whole_list(kind: ScoreKind, score: float) -> None:
    assert to_cosine(score, kind) is None
    assert to_cosines([0.5, score], kind) == (None, "score_out_of_range")


def test_a_distance_may_be_negative_by_rounding() -> None:
    assert to_cosine(-1e-7, ScoreKind.L2) == pytest.approx(1.0)
    assert to_cosine(1 + 1e-7, ScoreKind.INVERSE_L2) == pytest.approx(1.0)


def test_a_cosine_is_not_clipped() -> None:
    assert to_cosine(1.7, "cosine") == 1.7
    assert to_cosine(5.0, "squared_l2") == -1.5
    assert to_cosines([1.7], "cosine") == ([1.7], None)


@pytest.mark.parametrize(
    ("kind", "score"),
    [
        ("l2", 1e200),
        ("half_cosine", 1e308),
        ("inverse_l2", 5e-324),
        ("inverse_squared_l2", 5e-324),
        ("azure", 5e-324),
    ],
)
def test_a_finite_score_never_becomes_an_infinite_cosine(kind: str, score: float) -> None:
    cosine = to_cosine(score, kind)
    assert cosine is None or isfinite(cosine)
    assert to_cosines([score], kind)[1] in {None, "score_out_of_range"}


@pytest.mark.parametrize("kind", NUMBERS)
@UNHURRIED
@given(score=st.floats(-1e100, 1e100).filter(lambda s: s == 0 or abs(s) > 1e-100))
def test_any_usual_score_gives_a_float_or_none(kind: ScoreKind, score: float) -> None:
    cosine = to_cosine(score, kind)
    assert cosine is None or (type(cosine) is float and isfinite(cosine))


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("missing", [None, nan, inf, -inf, np.float32("nan")])
def test_a_missing_score_stays_missing_without_spoiling_the_rest(
    kind: ScoreKind, missing: Any
) -> None:
    assert to_cosine(missing, kind) is None
    cosines, reason = to_cosines([0.5, missing], kind)
    assert reason is None
    assert cosines == [to_cosine(0.5, kind), None]


def test_no_scores_give_no_cosines_and_no_reason() -> None:
    assert to_cosines([], "cosine") == ([], None)


def test_arrays_are_taken() -> None:
    cosines, reason = to_cosines(np.array([0.0, 2.0], dtype=np.float32), "squared_l2")
    assert (cosines, reason) == ([1.0, 0.0], None)
    assert all(type(cosine) is float for cosine in cosines or [])


def test_numbers_of_another_type_become_floats_among_floats_too() -> None:
    cosines, reason = to_cosines([1, 0.5], "cosine")
    assert (cosines, reason) == ([1.0, 0.5], None)
    assert all(type(cosine) is float for cosine in cosines or [])


@pytest.mark.parametrize("score", ["0.5", b"0.5", True, [0.5], {}, 1j, object()], ids=stable_repr)
def test_a_score_that_is_not_a_number_is_refused_by_its_type(score: Any) -> None:
    name = type(score).__name__
    with pytest.raises(InvalidInputError, match=f"must be a number or None, got {name}"):
        to_cosine(score, "cosine")
    with pytest.raises(InvalidInputError):
        to_cosines([score], "cosine")


# Names of kinds


@pytest.mark.parametrize("kind", ScoreKind)
def test_a_kind_is_found_by_its_name(kind: ScoreKind) -> None:
    assert parse_score_kind(kind) is kind
    assert parse_score_kind(kind.value) is kind


@pytest.mark.parametrize(
    "kind", ["cosin", "COSINE", "cosine_dist", "cosine_similarity", "ip", None, 7]
)
def test_an_unknown_kind_is_refused_with_the_list_of_kinds(kind: Any) -> None:
    for refuse in (parse_score_kind, lambda k: to_cosine(0.5, k), lambda k: to_cosines([], k)):
        with pytest.raises(ConfigurationError, match="score_kind must be one of") as caught:
            refuse(kind)
        assert repr(kind) in str(caught.value)
        assert all(known.value in str(caught.value) for known in ScoreKind)


@pytest.mark.parametrize("kind", ["sk-SECRET123", "", "the moon", ["cosine"], b"cosine"])
def test_of_what_looks_like_no_name_only_the_type_is_shown(kind: Any) -> None:
    for refuse in (parse_score_kind, lambda k: to_cosine(0.5, k), lambda k: to_cosines([], k)):
        with pytest.raises(ConfigurationError, match=f"unknown, got {type(kind).__name__}$"):
            refuse(kind)


def test_the_logistic_kind_is_the_inverse_of_the_sigmoid() -> None:
    assert to_cosine(0.75, ScoreKind.SIGMOID_IP) == pytest.approx(log(3.0))


def test_a_score_that_no_float_can_hold_gives_no_cosine() -> None:
    assert to_cosine(10**400, "cosine") is None
