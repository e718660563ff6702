"""The settings of a calibration that looks after itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recall_signal import ConfigurationError
from recall_signal._auto.settings import AutoCalibration, as_auto, is_switched_off


def test_auto_is_the_default_settings() -> None:
    assert as_auto("auto") == AutoCalibration() == AutoCalibration(None, 500, 1000, 200)
    mine = AutoCalibration(path=Path("c.json"), window=50)
    assert as_auto(mine) is mine
    assert as_auto(None) is None
    assert as_auto(3) is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"path": 3}, "path must name a file or be None, got int"),
        ({"path": ""}, "path must name a file"),
        ({"path": "n" * 300}, r"the system takes no such name \(OSError\)"),
        ({"path": "a\0b"}, r"the system takes no such name \(ValueError\)"),
        ({"window": 10**30}, "got 1000"),
        ({"window": 29}, "window must be a whole number from 30 to 1000000000, got 29"),
        ({"window": "500"}, "from 30 to 1000000000, got str"),
        ({"check_every": 0}, "check_every must be a whole number from 1 to 1000000000, got 0"),
        ({"check_every": True}, "got True"),
        (
            {"max_searches": 19.5},
            r"max_searches must be a whole number from 20 .* got 19.5",
        ),
    ],
)
def test_a_setting_out_of_its_range_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        AutoCalibration(**settings)


def test_another_text_is_refused_without_being_quoted() -> None:
    with pytest.raises(ConfigurationError, match=r"AutoCalibration\(path=...\)") as error:
        as_auto("my/secret.json")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("value", "off"), [(None, False), ("", False), ("on", False), ("off", True), (" OFF ", True)]
)
def test_the_environment_switches_it_off(
    value: str | None, off: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RECALL_SIGNAL_AUTO", raising=False)
    if value is not None:
        monkeypatch.setenv("RECALL_SIGNAL_AUTO", value)
    assert is_switched_off() is off
