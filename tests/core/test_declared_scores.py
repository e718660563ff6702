"""Scores under a declared metadata key, and the warning of a wrapper that measures nothing."""

import logging
from typing import Any

import numpy as np
import pytest

from recall_signal._wrapper.declared_scores import scores_under
from recall_signal._wrapper.measurability import warn_unmeasurable


class Hostile(dict[str, Any]):
    def get(self, *args: Any) -> Any:
        raise RuntimeError("the secret of a store")


class Odd:
    def __float__(self) -> float:
        raise RuntimeError("the secret of a number")


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.5, 0.5), (1, 1.0), (np.float32(0.25), 0.25), (None, None), (float("nan"), None)],
)
def test_numbers_are_plain_floats(value: Any, expected: float | None, caplog: Any) -> None:
    scores = scores_under("s", [{"s": value}, {}])
    assert scores == [expected, None]
    assert all(score is None or type(score) is float for score in scores)
    assert not caplog.records


@pytest.mark.parametrize("value", ["0.5 secret", True, [0.5], Odd()])
def test_what_is_no_number_counts_as_unscored_and_its_type_is_named(
    value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert scores_under("s", [{"s": value}, {"s": 0.5}, {"s": value}]) == [None, 0.5, None]
    (record,) = caplog.records
    assert type(value).__name__ in record.getMessage()
    assert "secret" not in record.getMessage()


def test_metadata_that_cannot_be_read_costs_its_own_score_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert scores_under("s", [Hostile(s=1.0), {"s": 0.5}]) == [None, 0.5]
    assert "Hostile" in caplog.text
    assert "secret" not in caplog.text


def test_the_warning_names_the_reason_and_the_remedies(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("a_framework")
    warn_unmeasurable(log, {}, "no_score_access", "embeddings")
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("a_framework", "WARNING")
    for said in ("around dict", "no_score_access: ", "embeddings=", "score_key="):
        assert said in record.getMessage()
