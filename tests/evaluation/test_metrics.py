"""Every figure against a worked case, and against scikit-learn where that has it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import (
    balanced_accuracy_score,
    brier_score_loss,
    roc_auc_score,
    roc_curve,
)

from recall_signal.evaluation import _metrics as metrics

SCORES = np.array([0.9, 0.8, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2])
PRESENT = np.array([True, True, False, True, False, True, False, False])

cases = st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=4, max_size=60).filter(
    lambda rows: 0 < sum(label for _, label in rows) < len(rows)
)


def columns(rows: list[tuple[int, bool]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([float(v) for v, _ in rows]), np.array([label for _, label in rows])


def test_auroc_by_hand() -> None:
    # Pairs won: 0.9 beats 4, 0.8 beats 3 and ties one, 0.6 beats 3, 0.4 beats 2.
    assert metrics.auroc(SCORES, PRESENT) == pytest.approx((4 + 3.5 + 3 + 2) / 16)


def test_auroc_puts_missing_scores_last() -> None:
    scores = np.array([0.2, np.nan, 0.1, np.nan])
    present = np.array([True, True, False, False])
    assert metrics.auroc(scores, present) == pytest.approx((2 + 0.5) / 4)


@given(cases)
def test_auroc_is_scikit_learns(rows: list[tuple[int, bool]]) -> None:
    scores, present = columns(rows)
    assert metrics.auroc(scores, present) == pytest.approx(roc_auc_score(present, scores))


def test_interval_holds_the_area_and_narrows() -> None:
    rng = np.random.default_rng(0)
    widths = []
    for count in (50, 500):
        present = np.arange(count) % 2 == 0
        scores = rng.normal(size=count) + present
        low, high = metrics.auroc_interval(scores, present, seed=3)
        assert 0.5 < low < metrics.auroc(scores, present) < high < 1.0
        assert (low, high) == metrics.auroc_interval(scores, present, seed=3)
        widths.append(high - low)
    assert widths[1] < widths[0] / 2


def test_interval_is_the_naive_bootstraps() -> None:
    rng = np.random.default_rng(1)
    present = rng.random(80) < 0.4
    scores = np.round(rng.normal(size=80) + present, 1)
    positive, negative = scores[present], scores[~present]
    areas = []
    for _ in range(2000):
        p, n = rng.choice(positive, len(positive)), rng.choice(negative, len(negative))
        areas.append(np.mean((p[:, None] > n) + 0.5 * (p[:, None] == n)))
    expected = np.quantile(areas, [0.025, 0.975])
    assert metrics.auroc_interval(scores, present, draws=2000) == pytest.approx(expected, abs=0.01)


def test_interval_in_blocks_covers_every_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = metrics.auroc_interval(SCORES, PRESENT, draws=100)
    monkeypatch.setattr(metrics, "_BLOCK", 7 * 30)
    assert metrics.auroc_interval(SCORES, PRESENT, draws=100) == pytest.approx(whole, abs=0.1)


def test_fpr_at_tpr_by_hand() -> None:
    # All four present ones need a threshold of 0.4, which lets 0.8 and 0.5 through.
    assert metrics.fpr_at_tpr(SCORES, PRESENT) == 0.5
    assert metrics.fpr_at_tpr(SCORES, PRESENT, tpr=0.5) == 0.25


@given(cases)
def test_fpr_at_tpr_is_on_scikit_learns_curve(rows: list[tuple[int, bool]]) -> None:
    scores, present = columns(rows)
    fpr, tpr, _ = roc_curve(present, scores, drop_intermediate=False)
    assert metrics.fpr_at_tpr(scores, present) == pytest.approx(fpr[tpr >= 0.95 - 1e-12].min())


@given(cases)
def test_balanced_accuracy_is_scikit_learns(rows: list[tuple[int, bool]]) -> None:
    scores, present = columns(rows)
    found = scores >= 6
    expected = balanced_accuracy_score(present, found)
    assert metrics.balanced_accuracy(found, present) == pytest.approx(expected)


@given(cases)
def test_oracle_is_the_best_of_all_cuts(rows: list[tuple[int, bool]]) -> None:
    scores, present = columns(rows)
    best, cut = metrics.oracle(scores, present)
    every = [metrics.balanced_accuracy(scores >= c, present) for c in (*np.unique(scores), np.inf)]
    assert best == pytest.approx(max(every))
    assert metrics.balanced_accuracy(scores >= cut, present) == pytest.approx(best)


def test_oracle_where_scores_run_the_wrong_way() -> None:
    assert metrics.oracle(-SCORES[[0, -1]], PRESENT[[0, -1]]) == (0.5, float("inf"))


def test_brier_by_hand_and_scikit_learns() -> None:
    assert metrics.brier(np.array([0.8, 0.4]), np.array([True, False])) == pytest.approx(0.1)
    expected = brier_score_loss(PRESENT, SCORES)
    assert metrics.brier(SCORES, PRESENT) == pytest.approx(expected)


def test_balanced_weights_even_out_the_classes() -> None:
    present = np.array([True, False, False, False])
    weights = metrics.balanced_weights(present)
    assert weights.tolist() == pytest.approx([1 / 2, 1 / 6, 1 / 6, 1 / 6])
    probabilities = np.array([0.5, 0.0, 0.0, 0.3])
    expected = (0.25 + 0.09 / 3) / 2
    assert metrics.brier(probabilities, present, weights) == pytest.approx(expected)


def test_reliability_is_scikit_learns() -> None:
    rng = np.random.default_rng(2)
    probabilities = rng.permutation(np.linspace(0.01, 0.99, 200))
    present = rng.random(200) < probabilities
    observed, predicted = calibration_curve(present, probabilities, n_bins=10, strategy="quantile")
    curve = metrics.reliability(probabilities, present)
    assert curve.predicted == pytest.approx(predicted)
    assert curve.observed == pytest.approx(observed)
    assert curve.weight == pytest.approx(np.full(10, 0.1))
    expected = np.mean(np.abs(observed - predicted))
    assert metrics.ece(probabilities, present) == pytest.approx(expected)


def test_ece_by_hand() -> None:
    probabilities = np.array([0.1, 0.1, 0.9, 0.9])
    present = np.array([False, True, True, True])
    assert metrics.ece(probabilities, present, bins=2) == pytest.approx((0.4 + 0.1) / 2)


def test_equal_probabilities_share_a_bin() -> None:
    curve = metrics.reliability(np.full(6, 0.5), np.arange(6) < 3)
    assert curve.predicted == pytest.approx([0.5])
    assert curve.observed == pytest.approx([0.5])
    assert curve.weight == pytest.approx([1.0])


def test_risk_coverage_by_hand() -> None:
    confidence = np.array([0.9, 0.7, 0.5, 0.3])
    correct = np.array([True, False, True, False])
    curve = metrics.risk_coverage(confidence, correct)
    assert curve.coverage.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert curve.risk == pytest.approx([0, 1 / 2, 1 / 3, 1 / 2])
    # Errors answered: 0, 0, 1, 1, 2 of four, at coverage 0, 1/4, 1/2, 3/4, 1; trapezoids.
    assert curve.augrc == pytest.approx((0 + 0.5 + 1 + 1.5) / 16)


@given(cases)
def test_augrc_is_its_closed_form(rows: list[tuple[int, bool]]) -> None:
    # Traub et al. (2024): (1 - AUROC of the confidence) acc (1 - acc) + (1 - acc)^2 / 2.
    confidence, correct = columns(rows)
    accuracy = correct.mean()
    ranking = roc_auc_score(correct, confidence)
    expected = (1 - ranking) * accuracy * (1 - accuracy) + (1 - accuracy) ** 2 / 2
    assert metrics.risk_coverage(confidence, correct).augrc == pytest.approx(expected)


def test_ties_are_answered_in_no_order() -> None:
    correct = np.array([True, False])
    both = [metrics.risk_coverage(np.ones(2), c) for c in (correct, correct[::-1])]
    assert both[0].risk.tolist() == both[1].risk.tolist() == [0.5, 0.5]


def test_level_shares() -> None:
    levels = np.array(["high", "low", "high", "none"])
    kinds = np.array(["present", "off_topic", "present", "off_topic"])
    shares = metrics.level_shares(levels, kinds)
    assert shares == {
        "present": {"high": 1.0, "low": 0.0, "none": 0.0},
        "off_topic": {"high": 0.0, "low": 0.5, "none": 0.5},
    }
