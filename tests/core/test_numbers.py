"""The one rule for numbers, and the statistics that rooms share."""

from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_signal import ConfigurationError, InvalidInputError
from recall_signal._numbers import finite_column, finite_or_none, require_number, require_share
from recall_signal._statistics import auroc, quantile
from tests.ids import stable_repr


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), Fraction(1, 2), Decimal("0.5")])
def test_any_number_becomes_a_built_in_float(value: Any) -> None:
    number = finite_or_none(value, "expected")
    assert number == 0.5
    assert type(number) is float


@pytest.mark.parametrize("value", [None, nan, inf, -inf, 10**400, np.nan, Decimal("NaN")])
def test_what_no_float_can_hold_is_missing(value: Any) -> None:
    assert finite_or_none(value, "expected") is None


@pytest.mark.parametrize(
    "value", ["0.5", b"0.5", bytearray(b"1"), [0.5], {}, 1j, object()], ids=stable_repr
)
def test_anything_else_is_refused_by_its_type(value: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"a score is wanted, got {type(value).__name__}$"):
        finite_or_none(value, "a score is wanted")


@pytest.mark.parametrize(
    "column",
    [
        [np.float64(inf), np.float64(-inf)],
        [np.float32(3e38)] * 3,
        [np.float16(6e4)] * 3,
        [0.5, np.float64(inf), -inf],
        [10**400, 0.5],
        [Decimal("NaN"), Fraction(1, 2)],
    ],
    ids=stable_repr,
)
def test_a_column_of_any_numbers_is_read_without_a_warning(column: list[Any]) -> None:
    """A warning is an error in these tests; a sum of numpy's scalars may warn."""
    right = [finite_or_none(value, "expected") for value in column]
    assert finite_column(column, "expected") == right


@pytest.mark.parametrize("value", [True, "7", None, nan, inf, 10**400, [1]], ids=stable_repr)
def test_a_setting_is_a_finite_number(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="size must be a finite number, got"):
        require_number("size", value)


@pytest.mark.parametrize("value", [0.0, 1.0, 1, True, nan, "0.5", None], ids=stable_repr)
def test_a_share_lies_between_0_and_1(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="prior must be a share between 0 and 1"):
        require_share("prior", value)
    with pytest.raises(ConfigurationError, match=r"excluded and above 0\.1"):
        require_share("bound", 0.05, 0.1)


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), np.float64(0.5), Fraction(1, 2)])
def test_a_share_becomes_a_built_in_float(value: Any) -> None:
    share = require_share("prior", value)
    assert (share, type(share)) == (0.5, float)


@pytest.mark.parametrize("value", [10**400, 1 - Fraction(1, 10**30)], ids=stable_repr)
def test_a_share_that_is_none_as_a_float_is_refused(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="prior must be a share between 0 and 1"):
        require_share("prior", value)


scores = st.lists(st.integers(0, 9).map(lambda n: n / 8), min_size=1, max_size=12)


@given(scores, scores)
def test_auroc_is_the_share_of_ordered_pairs(higher: list[float], lower: list[float]) -> None:
    won = sum((h > low) + (h == low) / 2 for h in higher for low in lower)
    assert auroc(higher, lower) == pytest.approx(won / (len(higher) * len(lower)), abs=1e-12)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30), st.floats(0, 1))
def test_quantiles_are_those_of_numpy(values: list[float], share: float) -> None:
    assert quantile(values, share) == pytest.approx(np.quantile(values, share), abs=1e-12)
