"""The baselines by hand, and what they say where they are not defined."""

import numpy as np
import pytest

from recall_signal import assess_many
from recall_signal.evaluation import statistics

NAN = float("nan")
POOLS = np.array([[0.9, 0.5, 0.3, 0.1], [0.4, 0.2, NAN, NAN]])


def test_top_and_gap() -> None:
    assert statistics.top(POOLS).tolist() == [0.9, 0.4]
    assert statistics.gap(POOLS) == pytest.approx([0.4, 0.2])


def test_z_score() -> None:
    std = np.std([0.5, 0.3, 0.1])
    assert statistics.z_score(POOLS) == pytest.approx([0.6 / std, NAN], nan_ok=True)


def test_prominence_is_the_products() -> None:
    expected = assess_many(POOLS).prominence
    assert statistics.prominence(POOLS) == pytest.approx(expected, abs=5e-4)
    assert statistics.prominence(POOLS, 2) == pytest.approx([0.8, 1.0])


def test_prominence_ranks_pools_without_background() -> None:
    assert statistics.prominence(np.array([[0.5, -0.5]])) == pytest.approx([1.0 / 1e-3])


def test_nqc() -> None:
    values = POOLS[0]
    assert statistics.nqc(POOLS) == pytest.approx([values.std() / values.mean(), 0.1 / 0.3])
    assert np.isnan(statistics.nqc(np.array([[0.5, -0.5]])))[0]


def test_wig() -> None:
    pool = np.array([[0.9, 0.8, 0.7, 0.6, 0.5, 0.1]])
    assert statistics.wig(pool) == pytest.approx([0.7 - 0.6])


def test_background_z() -> None:
    background = np.array([[0.1, 0.3, NAN], [0.2, 0.2, 0.2]])
    expected = [(0.9 - 0.2) / 0.1, NAN]
    assert statistics.background_z(POOLS, background) == pytest.approx(expected, nan_ok=True)


def test_a_single_candidate() -> None:
    alone = np.array([[0.7]])
    for undefined in (statistics.gap, statistics.z_score, statistics.prominence):
        assert np.isnan(undefined(alone))[0]
    assert statistics.nqc(alone) == pytest.approx([0.0])
    assert statistics.wig(alone) == pytest.approx([0.0])
