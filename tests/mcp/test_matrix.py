"""The cell of the matrix that needs a server: what its tool says, reports and leads to."""

from typing import Any

import pytest

import langchain_recall_signal as in_langchain
from recall_signal import parse_report
from tests.agents.matrix import CASES, Case, case_of
from tests.frameworks import QUERY, Framework
from tests.mcp.clients import serving


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, framework: Framework) -> Case:
    return case_of(request.param, framework.name)


@pytest.fixture
def retriever(case: Case, framework: Framework) -> Any:
    return case.make(framework)


async def test_the_tool_of_a_server(framework: Framework, case: Case, retriever: Any) -> None:
    async with serving(retriever) as session:
        reply = await session.call(query=QUERY)
    header = reply.text.split("\n")[0]
    assert header.startswith(f"[recall: {case.level}]")
    assert case.says in header
    assert len(reply.page["results"]) == case.shown
    report = parse_report({"structured_content": reply.page})
    assert report is not None
    assert (report.confidence.level, report.advice) == (case.level, case.advice)
    route = in_langchain.route_on_recall(relevant="relevant", absent="absent", unknown="unknown")
    message = {"type": "tool", "artifact": {"structured_content": reply.page}}
    assert route({"messages": [message]}) == case.done.route
