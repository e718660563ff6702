"""When an agent is offered its fallback tools, without an agent."""

from typing import Any

import pytest

from recall_signal import ConfigurationError, assess
from recall_signal.agents.fallbacks import OnUnknown, check_settings, refusal, room, unread_report
from recall_signal.confidence import unknown

STRONG, WEAK = assess([0.9, 0.5, 0.4]), assess([0.2, 0.195, 0.19])


def test_names_become_sets() -> None:
    assert check_settings(["a", "a"], ("b",), "hide", 1) == ({"a"}, {"b"})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (("notes", ["web"], "hide", 1), "retriever_tools must be a list"),
        (([], ["web"], "hide", 1), "retriever_tools must be a list"),
        ((["notes"], [5], "hide", 1), "fallback_tools must be a list"),
        ((["notes"], ["web", "notes"], "hide", 1), r"got \['notes'\] as both"),
        ((["notes"], ["web"], "show", 1), "on_unknown must be 'hide' or 'offer', got 'show'"),
        ((["notes"], ["web"], "offer", 0), "max_fallbacks must be 1 or more, got 0"),
        ((["notes"], ["web"], "offer", True), "max_fallbacks must be 1 or more, got True"),
    ],
)
def test_settings_that_cannot_be_meant(settings: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        check_settings(*settings)


@pytest.mark.parametrize(
    ("confidence", "on_unknown", "left"),
    [
        (None, "offer", 0),
        (STRONG, "offer", 0),
        (WEAK, "hide", 2),
        (unknown("no_scores", 3), "hide", 0),
        (unknown("no_scores", 3), "offer", 2),
    ],
)
def test_room(confidence: Any, on_unknown: OnUnknown, left: int) -> None:
    assert room(confidence, 1, on_unknown=on_unknown, max_fallbacks=3) == left


def test_words() -> None:
    assert refusal("web", 3).startswith("web is not available now")
    assert "at most 3 times a turn" in refusal("web", 3)
    confidence = unread_report()["confidence"]
    assert (confidence["level"], confidence["reason"]) == ("unknown", "no_signal")
