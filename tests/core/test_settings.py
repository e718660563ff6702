"""Settings that both wrappers share."""

import pytest

from recall_signal import ConfigurationError, Thresholds
from recall_signal.settings import SignalFields, id_in


class Unprintable:
    """A value that cannot be written down."""

    def __str__(self) -> str:
        raise RuntimeError("no name")


def test_an_id_comes_from_the_metadata_where_it_has_one() -> None:
    assert id_in({"key": 7}, "key", "own") == "7"
    assert id_in({}, "key", "own") == "own"
    assert id_in({"key": 7}, None, "own") == "own"


def test_an_id_that_cannot_be_written_down_is_none() -> None:
    assert id_in({"key": Unprintable()}, "key", "own") == "own"


def test_both_what_belongs_to_an_encoder_and_what_does_not_are_checked() -> None:
    bound, free = Thresholds(encoder="a"), Thresholds()
    SignalFields(thresholds=bound).check_encoder("a")
    SignalFields(thresholds=bound).check_encoder(None)
    SignalFields(thresholds=free).check_encoder("b")
    with pytest.raises(ConfigurationError, match="'a' and cannot be used with 'b'"):
        SignalFields(thresholds=bound).check_encoder("b")
