"""LangChain's own client of the protocol: its tools, their artifacts, and an agent with them."""

import json
from typing import Any

import pytest
from langchain_core.tools import ToolException
from langchain_mcp_adapters.tools import load_mcp_tools

from langchain_recall_signal import route_on_recall
from recall_signal import parse_report
from tests.frameworks import QUERY, STRONG, WEAK, Framework
from tests.mcp.clients import ANSWER, serving

ROUTE = route_on_recall(relevant="read", absent="web", unknown="judge")


def called(**arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "name": "recall", "id": "1", "args": arguments}


def fail() -> list[str]:
    raise OSError("secret")


@pytest.mark.parametrize(
    ("make", "advice", "route"),
    [
        (lambda framework: framework.over(STRONG), "read", "read"),
        (lambda framework: framework.over(WEAK), "fallback", "web"),
        (lambda framework: framework.around(lambda: ["a", "b"]), "undecided", "judge"),
        (lambda framework: framework.around(list), "fallback", "web"),
        (lambda framework: framework.around(fail), "fallback", "web"),
    ],
    ids=["strong", "weak", "unmeasured", "empty", "failed"],
)
async def test_a_tool_message_carries_the_report(
    framework: Framework, make: Any, advice: str, route: str
) -> None:
    async with serving(make(framework)) as session:
        (tool,) = await load_mcp_tools(session.client)
        message = await tool.ainvoke(called(query=QUERY))
    assert message.status == "success"
    structured = message.artifact["structured_content"]
    ANSWER.validate(json.loads(json.dumps(structured, allow_nan=False)))
    report = parse_report(message)
    assert report is not None
    assert report.advice == advice
    assert report == parse_report(structured)
    assert ROUTE(structured) == route
    assert ROUTE({"messages": [message]}) == route
    (block,) = message.content
    assert block["text"].startswith(f"[recall: {report.confidence.level}] ")


async def test_wrong_arguments_reach_the_model(framework: Framework) -> None:
    async with serving(framework.over()) as session:
        (tool,) = await load_mcp_tools(session.client)
        tool.handle_tool_error = True
        message = await tool.ainvoke(called(query=QUERY, k=99))
        assert message.status == "error"
        assert "k: input should be less than or equal to 20, got 99" in str(message.content)
        tool.handle_tool_error = False
        with pytest.raises(ToolException, match="k: input should be less"):
            await tool.ainvoke(called(query=QUERY, k=99))


async def test_the_arguments_are_those_of_the_schema(framework: Framework) -> None:
    async with serving(framework.over()) as session:
        (tool,) = await load_mcp_tools(session.client)
    assert set(tool.args) == {"query", "k", "use_rerank"}
