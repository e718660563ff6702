"""Settings that make no sense are refused where they are given; none shows a secret."""

from math import inf, nan
from typing import Any

import numpy as np
import pytest

from recall_signal import (
    AutoCalibration,
    Calibration,
    ConfigurationError,
    InvalidInputError,
    Pool,
    Thresholds,
    assess,
    assess_many,
)
from recall_signal._names import plain_name
from tests.frameworks import Framework, Keeping


@pytest.mark.parametrize("timeout", [-1, 0, nan, inf, True, "3"])
@pytest.mark.parametrize("selector", [None, Keeping(0)])
def test_a_time_limit_is_seconds_above_zero(
    framework: Framework, timeout: Any, selector: Any
) -> None:
    with pytest.raises(ConfigurationError, match="selector_timeout"):
        framework.around(list, selector_timeout=timeout, selector=selector)


@pytest.mark.parametrize("timeout", [None, 3, 0.5])
def test_a_sound_time_limit_is_taken(framework: Framework, timeout: Any) -> None:
    framework.around(list, selector_timeout=timeout, selector=Keeping(0))


def test_b6_a_cut_on_separation_that_everything_passes() -> None:
    """B6: so has one on separation."""
    with pytest.raises(ConfigurationError, match="separation"):
        Thresholds.from_dict({"separation_low": -99})
    with pytest.raises(ConfigurationError, match="separation"):
        Thresholds(separation_low=0)


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 201])
def test_a_name_is_short_and_printable(name: str) -> None:
    with pytest.raises(ConfigurationError, match="printable name"):
        Thresholds(encoder=name)
    with pytest.raises(ConfigurationError, match="printable name"):
        Calibration.fit(lambda query: [0.5], encoder=name)
    shown = plain_name(name)
    assert shown.isprintable()
    assert len(shown) <= 200


@pytest.mark.parametrize("value", [True, np.True_])
def test_a_truth_value_is_no_cosine(value: Any) -> None:
    for given in ([value, 0.2], [0.2, value, None], Pool([value, 0.2])):
        with pytest.raises(InvalidInputError, match="got bool"):
            assess(given)
    with pytest.raises(InvalidInputError, match="numbers"):
        assess_many([[value, 0.2], [0.1, 0.2]])
    with pytest.raises(InvalidInputError, match="numbers"):
        assess_many(np.array([[value, value]]))
    with pytest.raises(InvalidInputError, match="numbers"):
        assess_many(np.array([[value, None]], dtype=object))
    with pytest.raises(InvalidInputError, match="got bool"):
        assess([], scores=[value])


@pytest.mark.parametrize("given", ["auto", AutoCalibration(), 5, {"v": 2}, Calibration])
def test_a_calibration_is_checked_where_it_enters(given: Any) -> None:
    for call in (
        lambda: assess([0.5], calibration=given),
        lambda: assess_many([[0.5]], calibration=given),
    ):
        with pytest.raises(ConfigurationError, match="calibration must be a Calibration"):
            call()


def test_f6_no_key_is_printed(framework: Framework) -> None:
    """F6: neither do any others."""

    class Model(Keeping):
        def __repr__(self) -> str:
            return "key sk-secret"

    retriever = framework.around(list, selector=Model(0), reranker=lambda query, texts: [])
    shown = repr(getattr(retriever, "settings", retriever))
    assert "sk-secret" not in shown
