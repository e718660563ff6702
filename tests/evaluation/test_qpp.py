"""The baselines by hand, and what they say where they are not defined."""

import numpy as np
import pytest

from recall_signal import assess_many
from recall_signal.evaluation import _qpp as qpp

NAN = float("nan")
POOLS = np.array([[0.9, 0.5, 0.3, 0.1], [0.4, 0.2, NAN, NAN]])


def test_top_and_gap() -> None:
    assert qpp.top(POOLS).tolist() == [0.9, 0.4]
    assert qpp.gap(POOLS) == pytest.approx([0.4, 0.2])


def test_z_score() -> None:
    std = np.std([0.5, 0.3, 0.1])
    assert qpp.z_score(POOLS) == pytest.approx([0.6 / std, NAN], nan_ok=True)


def test_prominence_is_the_products() -> None:
    expected = assess_many(POOLS).prominence
    assert qpp.prominence(POOLS) == pytest.approx(expected, abs=5e-4)
    assert qpp.prominence(POOLS, 2) == pytest.approx([0.8, 1.0])


def test_prominence_ranks_pools_without_background() -> None:
    assert qpp.prominence(np.array([[0.5, -0.5]])) == pytest.approx([1.0 / 1e-3])


def test_nqc() -> None:
    values = POOLS[0]
    assert qpp.nqc(POOLS) == pytest.approx([values.std() / values.mean(), 0.1 / 0.3])
    assert np.isnan(qpp.nqc(np.array([[0.5, -0.5]])))[0]


def test_wig() -> None:
    pool = np.array([[0.9, 0.8, 0.7, 0.6, 0.5, 0.1]])
    assert qpp.wig(pool) == pytest.approx([0.7 - 0.6])


def test_background_z() -> None:
    background = np.array([[0.1, 0.3, NAN], [0.2, 0.2, 0.2]])
    expected = [(0.9 - 0.2) / 0.1, NAN]
    assert qpp.background_z(POOLS, background) == pytest.approx(expected, nan_ok=True)


def test_a_single_candidate() -> None:
    alone = np.array([[0.7]])
    for undefined in (qpp.gap, qpp.z_score, qpp.prominence):
        assert np.isnan(undefined(alone))[0]
    assert qpp.nqc(alone) == pytest.approx([0.0])
    assert qpp.wig(alone) == pytest.approx([0.0])
