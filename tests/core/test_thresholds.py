"""The cuts: numbers only, in order, and the same after a round trip."""

import json
from dataclasses import FrozenInstanceError, asdict, fields
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from recall_signal import ConfigurationError, Thresholds, assess
from tests.ids import stable_repr

CUTS = [field.name for field in fields(Thresholds) if field.name != "encoder"]


def test_the_defaults_are_the_published_cuts() -> None:
    assert asdict(Thresholds()) == {
        "prominence_high": 0.40,
        "prominence_moderate": 0.25,
        "prominence_low": 0.12,
        "cosine_high": 0.85,
        "cosine_moderate": 0.50,
        "cosine_low": 0.30,
        "separation_high": 2.0,
        "separation_moderate": 1.0,
        "separation_low": 0.3,
        "encoder": None,
    }


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.float64(2), np.int64(2)])
@pytest.mark.parametrize("name", ["prominence_high", "separation_high"])
def test_any_real_number_becomes_a_built_in_float(name: str, value: Any) -> None:
    cut = getattr(Thresholds(**{name: value}), name)
    assert cut == 2.0
    assert type(cut) is float


@pytest.mark.parametrize(
    "value",
    [True, False, np.True_, float("nan"), float("inf"), -float("inf"), "0.4", None, [0.4], 1j],
    ids=stable_repr,
)
@pytest.mark.parametrize("name", CUTS)
def test_what_is_not_a_finite_number_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=rf"Thresholds\.{name} must be a finite number"):
        Thresholds(**{name: value})


@pytest.mark.parametrize("value", [10**400, Decimal("NaN")], ids=["huge int", "decimal"])
def test_a_number_that_no_float_can_hold_is_refused_by_name(value: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"Thresholds\.cosine_high"):
        Thresholds(cosine_high=value)


def test_a_refusal_does_not_quote_text() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Thresholds(cosine_low="my password")  # type: ignore[arg-type]
    assert "password" not in str(caught.value)
    assert "str" in str(caught.value)


@pytest.mark.parametrize("group", ["prominence", "cosine", "separation"])
@pytest.mark.parametrize(("low", "moderate", "high"), [(0.5, 0.4, 0.6), (0.1, 0.6, 0.5), (3, 2, 1)])
def test_the_cuts_of_a_group_must_rise(
    group: str, low: float, moderate: float, high: float
) -> None:
    cuts: dict[str, Any] = {
        f"{group}_low": low,
        f"{group}_moderate": moderate,
        f"{group}_high": high,
    }
    with pytest.raises(ConfigurationError, match=rf"Thresholds\.{group}_\* must rise"):
        Thresholds(**cuts)


@pytest.mark.parametrize(
    "cuts",
    [
        {"cosine_low": 1.5, "cosine_moderate": 1.5, "cosine_high": 1.5},
        {"cosine_high": 1.0001},
        {"cosine_high": 2},
        {"cosine_low": -1.0},
        {"cosine_low": -3, "cosine_moderate": -2, "cosine_high": -1.5},
        {"prominence_low": -0.01},
        {"prominence_low": 0.0},
        {"prominence_low": -0.0},
        {"prominence_low": 0, "prominence_moderate": 0, "prominence_high": 0},
        {"separation_low": 0.0},
        {"separation_low": -0.3},
        {"separation_low": 0, "separation_moderate": 0, "separation_high": 0},
        {"prominence_low": -3, "prominence_moderate": -2, "prominence_high": -1},
        {"prominence_high": 1000},
    ],
)
def test_a_cut_that_nothing_or_everything_reaches_is_refused(cuts: dict[str, Any]) -> None:
    """B6: a cut has to separate something."""
    group = next(iter(cuts)).partition("_")[0]
    with pytest.raises(ConfigurationError, match=rf"Thresholds\.{group}_\* must lie .* got low="):
        Thresholds(**cuts)


def test_the_outermost_cuts_that_can_be_reached() -> None:
    cuts = Thresholds(
        cosine_low=-0.999,
        cosine_high=1,
        prominence_low=1e-9,
        prominence_high=999,
        separation_low=1e-9,
    )
    assert assess([1.0, 0.5], thresholds=cuts).level == "moderate"
    assert assess([-0.999, -1.0], thresholds=cuts).level == "low"
    assert assess([0.5, 0.5, 0.5], thresholds=cuts).level == "none"
    assert assess([None, None], scores=[3.0, 3.0], thresholds=cuts).level == "none"


def test_equal_cuts_are_allowed() -> None:
    assert Thresholds(cosine_low=0.5, cosine_moderate=0.5, cosine_high=0.5).cosine_high == 0.5


def test_the_encoder_is_a_name_or_none() -> None:
    assert Thresholds(encoder="minilm").encoder == "minilm"
    with pytest.raises(ConfigurationError, match="encoder must be a name or None, got int"):
        Thresholds(encoder=7)  # type: ignore[arg-type]


def test_it_is_frozen_and_comparable() -> None:
    cuts = Thresholds()
    with pytest.raises(FrozenInstanceError):
        cuts.cosine_low = 0.1  # type: ignore[misc]
    assert cuts == Thresholds()
    assert hash(cuts) == hash(Thresholds())


def test_a_round_trip_through_json_changes_nothing() -> None:
    cuts = Thresholds(prominence_high=0.5, separation_low=0.1, encoder="minilm")
    data = json.loads(json.dumps(cuts.to_dict(), allow_nan=False))
    assert data["v"] == 1
    assert Thresholds.from_dict(data) == cuts


def test_absent_cuts_keep_their_defaults() -> None:
    assert Thresholds.from_dict({}) == Thresholds()
    assert Thresholds.from_dict({"cosine_high": 0.9}) == Thresholds(cosine_high=0.9)


def test_reading_leaves_the_given_dict_alone() -> None:
    data = Thresholds().to_dict()
    Thresholds.from_dict(data)
    assert data == Thresholds().to_dict()


def test_unknown_keys_are_named() -> None:
    with pytest.raises(ConfigurationError, match="no field 'cosine_hihg', 'zeal'"):
        Thresholds.from_dict({"zeal": 1, "cosine_hihg": 0.9})


@pytest.mark.parametrize("version", [2, 0, "1", None, True, np.True_, 1.0, [1]])
def test_another_version_is_refused(version: Any) -> None:
    with pytest.raises(ConfigurationError, match="knows version 1"):
        Thresholds.from_dict({"v": version})


@pytest.mark.parametrize("data", ["abc", 5, None, [1], [("v", 1)], {"v"}], ids=stable_repr)
def test_what_is_no_mapping_is_refused_by_its_type(data: Any) -> None:
    with pytest.raises(ConfigurationError, match=rf"needs a mapping .* got {type(data).__name__}$"):
        Thresholds.from_dict(data)


def test_keys_that_are_no_names_are_unknown_fields() -> None:
    with pytest.raises(ConfigurationError, match="no field 'zeal', 5, None"):
        Thresholds.from_dict({5: 1, "zeal": 1, None: 1})  # type: ignore[dict-item]


def test_wrong_values_are_refused_when_read() -> None:
    with pytest.raises(ConfigurationError, match="cosine_low"):
        Thresholds.from_dict({"cosine_low": "0.1"})


def test_cuts_of_another_encoder_are_refused() -> None:
    cuts = Thresholds(encoder="a")
    with pytest.raises(ConfigurationError, match="for the encoder 'a' and cannot be used with 'b'"):
        cuts.require_encoder("b")


@pytest.mark.parametrize(("own", "used"), [("a", "a"), ("a", None), (None, "b"), (None, None)])
def test_cuts_without_a_known_other_encoder_are_not(own: str | None, used: str | None) -> None:
    Thresholds(encoder=own).require_encoder(used)
