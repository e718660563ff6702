"""LlamaIndex' own client of the protocol, which takes version 2 of the SDK."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from llama_index.tools.mcp import McpToolSpec

from recall_signal import parse_report
from tests.frameworks import QUERY, STRONG, WEAK, Framework
from tests.mcp.clients import ANSWER, serving


@asynccontextmanager
async def tool_of(retriever: Any) -> AsyncIterator[Any]:
    async with serving(retriever) as session:
        (tool,) = await McpToolSpec(session.client).to_tool_list_async()
        yield tool


@pytest.mark.parametrize(
    ("make", "advice"),
    [
        (lambda framework: framework.over(STRONG), "read"),
        (lambda framework: framework.over(WEAK), "fallback"),
        (lambda framework: framework.around(list), "fallback"),
        (lambda framework: framework.around(lambda: ["a"]), "undecided"),
    ],
)
async def test_the_raw_output_carries_the_report(
    framework: Framework, make: Any, advice: str
) -> None:
    async with tool_of(make(framework)) as tool:
        output = await tool.acall(query=QUERY)
    structured = output.raw_output.structured_content
    ANSWER.validate(json.loads(json.dumps(structured, allow_nan=False)))
    report = parse_report(output)
    assert report is not None
    assert report == parse_report(structured)
    assert report.advice == advice


async def test_options_reach_the_server(framework: Framework) -> None:
    async with tool_of(framework.over()) as tool:
        assert tool.metadata.name == "recall"
        output = await tool.acall(query=QUERY, k=2)
        wrong = await tool.acall(query=QUERY, k=99)
    assert len(output.raw_output.structured_content["results"]) == 2
    assert wrong.raw_output.is_error
