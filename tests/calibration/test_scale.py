"""Scales are weighted means of quantiles, and quantiles are numpy's."""

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_signal._statistics import quantile
from recall_signal.calibration._scale import (
    PAST_WEIGHT,
    PROBE_TAIL,
    PSEUDO_WEIGHT,
    SHORTEST_UNIT,
    STREAM_HIGH,
    STREAM_LOW,
    STREAM_SHARE,
    Scale,
    null_scale,
    past_scale,
    stream_scale,
)
from tests.calibration.toys import UNHURRIED

cosines = st.floats(-1, 1)
tops = st.lists(cosines, min_size=1, max_size=60)
RAMP = [n / 100 for n in range(101)]


@UNHURRIED
@given(tops, st.floats(0, 1))
def test_quantiles_are_those_of_numpy(values: list[float], share: float) -> None:
    assert quantile(values, share) == pytest.approx(np.quantile(values, share), abs=1e-12)


def test_the_null_scale_lies_between_the_tail_of_probes_and_the_floor_of_pieces() -> None:
    alone, pieces = null_scale(RAMP, []), [0.55] * 5
    assert alone.cut == pytest.approx(PROBE_TAIL)
    assert alone.unit == pytest.approx(PROBE_TAIL - 0.5)
    both = null_scale(RAMP, pieces)
    assert both.cut == pytest.approx(PROBE_TAIL + PSEUDO_WEIGHT * (0.55 - PROBE_TAIL))
    assert both.unit == pytest.approx(both.cut - 0.5)


def test_past_queries_move_the_cut_and_the_step_with_it() -> None:
    null, past = Scale(0.3, 0.2), [0.5 + top / 2 for top in RAMP]
    moved = past_scale(null, past)
    assert moved.cut == pytest.approx(0.3 + PAST_WEIGHT * (stream_scale(past).cut - 0.3))
    assert moved.unit - null.unit == pytest.approx(moved.cut - null.cut)


def test_the_stream_scale_needs_no_order() -> None:
    cut = STREAM_LOW + STREAM_SHARE * (STREAM_HIGH - STREAM_LOW)
    assert astuple(stream_scale(RAMP)) == pytest.approx((cut, cut - STREAM_LOW))
    assert stream_scale(RAMP[::-1]) == stream_scale(RAMP)


@pytest.mark.parametrize("noise", [0.0, 1e-8])
def test_equal_values_make_no_usable_scale(noise: float) -> None:
    values = [0.3 + noise * n / 20 for n in range(20)]
    assert not null_scale(values, values).usable
    assert not stream_scale(values).usable
    assert Scale(0.3, SHORTEST_UNIT).usable


def test_pieces_below_the_probes_make_no_usable_scale() -> None:
    assert null_scale(RAMP, [-1.0] * 5).unit < 0.0


@UNHURRIED
@given(tops, tops, st.floats(-1, 1), st.floats(0.01, 2))
def test_scales_follow_an_affine_map(
    probes: list[float], pieces: list[float], a: float, b: float
) -> None:
    def moved(values: list[float]) -> list[float]:
        return [a + b * value for value in values]

    null, moved_null = null_scale(probes, pieces), null_scale(moved(probes), moved(pieces))
    for here, there in (
        (null, moved_null),
        (past_scale(null, pieces), past_scale(moved_null, moved(pieces))),
        (stream_scale(probes), stream_scale(moved(probes))),
    ):
        assert there.cut == pytest.approx(a + b * here.cut, abs=1e-12)
        assert there.unit == pytest.approx(b * here.unit, abs=1e-12)
