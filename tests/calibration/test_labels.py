"""Platt and isotonic fits agree with scikit-learn, Venn-Abers with its definition."""

from math import inf, isfinite
from random import Random
from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from recall_signal import ConfigurationError
from recall_signal.calibration import _probability as module
from recall_signal.calibration._probability import (
    Platt,
    VennAbers,
    fit_platt,
    fit_venn_abers,
    logit,
    sigmoid,
)
from tests.calibration.toys import UNHURRIED


def sample(n: int, seed: int, gap: float = 1.0) -> tuple[list[float], list[bool]]:
    random = Random(seed)
    labels = [True, False, *(random.random() < 0.7 for _ in range(n - 2))]
    return [random.gauss(gap * label, 1.0) for label in labels], labels


# Sigmoid and logit


def test_sigmoid_holds_at_the_ends() -> None:
    assert [sigmoid(x) for x in (-inf, -1e300, 0.0, 1e300, inf)] == [0.0, 0.0, 0.5, 1.0, 1.0]


@UNHURRIED
@given(st.floats(-13, 13))
def test_logit_undoes_sigmoid(x: float) -> None:
    assert logit(sigmoid(x)) == pytest.approx(x, abs=1e-6)


def test_logit_is_finite_for_0_and_1() -> None:
    assert isfinite(logit(0.0))
    assert logit(1.0) == pytest.approx(-logit(0.0))


# Platt


def reference(statistics: list[float], labels: list[bool]) -> LogisticRegression:
    """The same problem for scikit-learn: every point twice, weighed by its smoothed target."""
    t, y = np.array(statistics), np.array(labels)
    high, low = (y.sum() + 1) / (y.sum() + 2), 1 / ((~y).sum() + 2)
    target = np.where(y, high, low)
    weight = np.where(y, 0.5 / y.sum(), 0.5 / (~y).sum())
    standard = ((t - t.mean()) / t.std()).reshape(-1, 1)
    model = LogisticRegression(C=1e3, tol=1e-10, max_iter=1000)
    return model.fit(
        np.concatenate([standard, standard]),
        np.repeat([1, 0], len(t)),
        np.concatenate([weight * target, weight * (1 - target)]),
    )


@pytest.mark.parametrize("gap", [0.0, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("n", [10, 50, 400])
def test_platt_agrees_with_scikit_learn(n: int, gap: float) -> None:
    statistics, labels = sample(n, n, gap)
    t = np.array(statistics)
    model = reference(statistics, labels)
    expected = model.predict_proba(((t - t.mean()) / t.std()).reshape(-1, 1))[:, 1]
    line = fit_platt(statistics, labels)
    if model.coef_[0, 0] < 0:
        expected = np.full(n, 0.5)
    assert [line.probability(x) for x in statistics] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("factor", [1e-9, 1e-3, 1.0, 1e3, 1e9])
@pytest.mark.parametrize("gap", [1.0, 50.0])
def test_platt_knows_no_unit(factor: float, gap: float) -> None:
    statistics, labels = sample(40, 1, gap)
    other = [0.3 * factor + factor * t for t in statistics]
    here, there = fit_platt(statistics, labels), fit_platt(other, labels)
    assert [there.probability(t) for t in other] == pytest.approx(
        [here.probability(t) for t in statistics], abs=1e-9
    )


def test_platt_is_finite_where_the_classes_separate() -> None:
    line = fit_platt([0.0, 0.1, 0.9, 1.0], [False, False, True, True])
    assert 0.5 < line.probability(0.9) < 0.95


def test_platt_weighs_both_classes_the_same() -> None:
    line = fit_platt([0.0] * 90 + [1.0] * 10, [True, False] * 45 + [True, True, False] * 3 + [True])
    assert line.probability(0.0) < 0.5 < line.probability(1.0)


def test_an_outlier_does_not_upset_platt() -> None:
    statistics, labels = sample(40, 2)
    line = fit_platt([*statistics, 1e8], [*labels, False])
    assert isfinite(line.intercept)
    assert isfinite(line.slope)


@pytest.mark.parametrize("statistics", [[1.0, 1.0, 1.0, 1.0], [3.0, 2.0, 1.0, 0.0]])
def test_what_says_nothing_or_runs_the_other_way_is_even(statistics: list[float]) -> None:
    assert fit_platt(statistics, [False, False, True, True]) == Platt(0.0, 0.0)


def test_platt_stops_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_STEPS", 1)
    assert fit_platt(*sample(40, 3)).slope > 0.0


# Venn-Abers


def directly(statistics: list[float], labels: list[bool], t: float, label: bool) -> float:
    """The isotonic fit at t with (t, label) among the points, by the max-min formula."""
    points = sorted([*zip(statistics, labels, strict=True), (t, label)])

    def mean(low: float, high: float) -> float:
        inside = [y for x, y in points if low <= x <= high]
        return sum(inside) / len(inside)

    edges = sorted({x for x, _ in points})
    return max(min(mean(a, b) for b in edges if b >= t) for a in edges if a <= t)


labelled = st.lists(
    st.tuples(st.integers(0, 12).map(lambda n: n / 4), st.booleans()), min_size=2, max_size=14
).filter(lambda pairs: len({label for _, label in pairs}) == 2)


@UNHURRIED
@given(labelled, st.integers(-1, 26).map(lambda n: n / 8))
def test_venn_abers_is_what_it_is_defined_as(pairs: list[tuple[float, bool]], t: float) -> None:
    statistics, labels = [x for x, _ in pairs], [y for _, y in pairs]
    lower, upper = fit_venn_abers(statistics, labels).interval(t)
    assert lower == pytest.approx(directly(statistics, labels, t, False), abs=1e-12)
    assert upper == pytest.approx(directly(statistics, labels, t, True), abs=1e-12)


@pytest.mark.parametrize("n", [100, 300])
def test_venn_abers_agrees_with_scikit_learn(n: int) -> None:
    statistics, labels = sample(n, n)
    fitted = fit_venn_abers(statistics, labels)
    for t in (-3.0, -0.5, 0.2, 1.1, 4.0, *statistics[:5]):
        expected = [
            IsotonicRegression().fit([*statistics, t], [*labels, label]).predict([t])[0]
            for label in (0, 1)
        ]
        assert fitted.interval(t) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n", [100, 399, 900])
def test_venn_abers_rises_and_lies_in_its_interval(n: int) -> None:
    fitted = fit_venn_abers(*sample(n, n))
    at = [-5 + n / 50 for n in range(500)]
    intervals = [fitted.interval(t) for t in at]
    merged = [fitted.probability(t) for t in at]
    assert merged == sorted(merged)
    assert all(
        0.0 <= lower <= p <= upper <= 1.0
        for (lower, upper), p in zip(intervals, merged, strict=True)
    )
    assert len(fitted.edges) <= module.MOST_GROUPS


def test_venn_abers_is_wider_where_there_are_fewer_labels() -> None:
    few, many = fit_venn_abers(*sample(100, 5)), fit_venn_abers(*sample(900, 5))

    def width(fitted: VennAbers) -> float:
        return sum(upper - lower for lower, upper in map(fitted.interval, (-1.0, 0.5, 2.0)))

    assert width(many) < width(few)


@pytest.mark.timing
def test_many_labels_are_fitted_in_under_a_second() -> None:
    statistics, labels = sample(5000, 6)
    started = process_time()
    fit_platt(statistics, labels)
    fit_venn_abers(statistics, labels)
    assert process_time() - started < 1.0


@pytest.mark.parametrize(
    ("lower", "upper", "share"),
    [
        ((0.0,), (1.0, 1.0, 1.0), 0.5),
        ((0.0, 0.0, 0.0), (1.0, 1.0), 0.5),
        ((0.0, 0.8, 0.0), (1.0, 0.7, 1.0), 0.5),
        ((0.0, 0.0, 0.0), (1.0, 1.1, 1.0), 0.5),
        ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0), 1.0),
    ],
)
def test_step_functions_that_are_none_are_refused(
    lower: tuple[float, ...], upper: tuple[float, ...], share: float
) -> None:
    with pytest.raises(ConfigurationError):
        VennAbers((0.5,), lower, upper, share)
