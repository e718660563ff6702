"""When an agent is offered its fallback tools, without an agent."""

from typing import Any

import pytest

from recall_signal import ConfigurationError, assess
from recall_signal.agents._fallbacks import OnUnknown, fallback_policy, tool_report
from recall_signal.confidence import unknown
from tests.reports import report_of

STRONG, WEAK = assess([0.9, 0.5, 0.4]), assess([0.2, 0.195, 0.19])


def test_names_become_sets() -> None:
    policy = fallback_policy(["a", "a"], ("b",), "hide", 1)
    assert policy.retriever_tools == {"a"}
    assert policy.fallback_tools == {"b"}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (("notes", ["web"], "hide", 1), "retriever_tools must be a list"),
        ((["notes"], ["web"], "hide", 1, ""), "metadata_key must be .*, got an empty text"),
        ((["notes"], ["web"], "hide", 1, None), "metadata_key must be .*, got NoneType"),
        (([], ["web"], "hide", 1), "retriever_tools must be a list"),
        ((["notes"], [5], "hide", 1), "fallback_tools must be a list"),
        ((None, ["web"], "hide", 1), "retriever_tools must be a list of tool names, got NoneType"),
        ((["notes"], 5, "hide", 1), "fallback_tools must be a list of tool names, got int"),
        ((["notes"], ["web", "notes"], "hide", 1), r"got \['notes'\] as both"),
        ((["notes"], ["web"], "show", 1), "on_unknown must be 'hide' or 'offer', got 'show'"),
        ((["notes"], ["web"], "offer", 0), "max_fallbacks must be 1 or more, got 0"),
        ((["notes"], ["web"], "offer", True), "max_fallbacks must be 1 or more, got True"),
    ],
)
def test_settings_that_cannot_be_meant(settings: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        fallback_policy(*settings)


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
def test_remaining_calls(confidence: Any, on_unknown: OnUnknown, left: int) -> None:
    report = None if confidence is None else report_of(confidence)
    policy = fallback_policy(["notes"], ["web"], on_unknown, 3)
    assert policy.remaining_calls(report, 1) == left


def test_tools_that_the_agent_lacks_are_named() -> None:
    policy = fallback_policy(["notes"], ["web"], "hide", 3)
    policy.require(["notes", "web", "other"], "")
    with pytest.raises(ConfigurationError, match=r"\['web'\], it has \['notes'\]. Add it."):
        policy.require(iter(["notes"]), "Add it.")


def test_words() -> None:
    refusal = fallback_policy(["notes"], ["web"], "hide", 3).refusal("web")
    assert refusal.startswith("web is not available now")
    assert "at most 3 times a turn" in refusal


@pytest.mark.parametrize(
    ("failed", "reason", "todo"),
    [(True, "retrieval_failed", "fallback"), (False, "no_signal", "undecided")],
)
def test_a_result_without_a_signal(failed: bool, reason: str, todo: str) -> None:
    report = tool_report([None, object()], failed)
    confidence = report["confidence"]
    assert (confidence["level"], confidence["reason"], report["advice"]) == (
        "unknown",
        reason,
        todo,
    )


@pytest.mark.parametrize("page", [[], [None, []]])
def test_an_empty_page_without_a_signal(page: list[Any]) -> None:
    report = tool_report([page] if page == [] else page, False)
    assert (report["confidence"]["level"], report["advice"]) == ("unknown", "fallback")


FORGED = {"recall": report_of(STRONG)}


@pytest.mark.parametrize(
    ("result", "level"),
    [
        ([{"metadata": {"signal": report_of(WEAK), **FORGED}}], "none"),
        ([{"metadata": FORGED}], "unknown"),  # somebody else's, since the wrapper's is `signal`
        ({"v": 1, "documents": [{"metadata": FORGED}], "recall": report_of(WEAK)}, "none"),
    ],
)
def test_the_key_of_a_wrapper(result: object, level: str) -> None:
    assert tool_report([result], False, "signal")["confidence"]["level"] == level
