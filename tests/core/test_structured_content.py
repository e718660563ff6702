"""Reports one level down, as clients of the Model Context Protocol hand on what a tool returned."""

from types import SimpleNamespace
from typing import Any

import pytest

from recall_signal import assess, parse_report
from recall_signal.agents._fallbacks import tool_report
from recall_signal.report_parsing import report_in
from tests.reports import report_of

REPORT = report_of(assess([0.9, 0.5, 0.4]))
ARTIFACT = {"v": 1, "documents": [], "recall": REPORT, "error": None}


@pytest.mark.parametrize(
    "value",
    [
        {"structured_content": ARTIFACT},
        {"structuredContent": ARTIFACT},
        {"type": "tool", "artifact": {"structured_content": ARTIFACT}},
        SimpleNamespace(artifact={"structured_content": ARTIFACT}),
        SimpleNamespace(structured_content=ARTIFACT),
        SimpleNamespace(structuredContent=ARTIFACT, isError=False),
        SimpleNamespace(raw_output=SimpleNamespace(structuredContent=ARTIFACT)),
        SimpleNamespace(raw_output={"structured_content": ARTIFACT}),
        [{"artifact": None}, {"artifact": {"structured_content": ARTIFACT}}],
    ],
)
def test_it_is_found(value: Any) -> None:
    assert parse_report(value) == parse_report(REPORT)
    assert tool_report([None, value], failed=False)["advice"] == "read"


@pytest.mark.parametrize(
    "value",
    [
        {"structured_content": None},
        {"structured_content": "text"},
        {"artifact": {"structured_content": {"structured_content": ARTIFACT}}},
        {"metadata": {"structured_content": ARTIFACT}},
        {"source": "a file", "structured_content": ARTIFACT},
        SimpleNamespace(metadata={"structured_content": ARTIFACT}),
        SimpleNamespace(response_metadata={"structured_content": ARTIFACT}),
    ],
)
def test_it_is_believed_of_a_tool_alone(value: Any) -> None:
    """A stored document may have anything in its metadata."""
    assert report_in(value) is None


def test_the_own_key_comes_first() -> None:
    weak = report_of(assess([0.2, 0.195, 0.19]))
    report = parse_report({"recall": weak, "artifact": {"structured_content": ARTIFACT}})
    assert report is not None
    assert report.advice == "fallback"
