"""What a model reads, and what a program gets, from the retrieval tool."""

import json
from typing import Any

import numpy as np
import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.tools import AsyncBaseTool, ToolOutput
from llama_index.core.tools.calling import acall_tool, call_tool

from llama_index_recall_signal import RecallRetriever, RecallTool, create_recall_tool
from tests.llama_index.fakes import QUERY, ListRetriever, index_with_cosines

STRONG = [0.9, 0.5, 0.45, 0.4]
WEAK = [0.2, 0.195, 0.19, 0.185]


def tool_around(retriever: BaseRetriever, **settings: Any) -> RecallTool:
    return create_recall_tool(RecallRetriever(retriever, **settings), "notes", "What we know.")


async def ask(tool: RecallTool, way: str) -> ToolOutput:
    return tool(QUERY) if way == "sync" else await tool.acall(QUERY)


both_ways = pytest.mark.parametrize("way", ["sync", "async"])


@both_ways
async def test_the_artifact_is_plain_json(way: str) -> None:
    odd = TextNode(
        id_="n", text="one", metadata={"n": np.float32(0.5), "when": {1, 2}, "nested": {"a": [1]}}
    )
    retriever = ListRetriever([NodeWithScore(node=odd, score=np.float32(0.5))])
    artifact = (await ask(tool_around(retriever), way)).raw_output
    assert json.loads(json.dumps(artifact, allow_nan=False)) == artifact
    assert artifact["v"] == 1
    (document,) = artifact["documents"]
    assert (document["id"], document["page_content"]) == ("n", "one")
    assert document["metadata"]["nested"] == {"a": [1]}
    assert artifact["recall"]["confidence"]["result_count"] == 1


def test_the_model_is_shown_one_argument() -> None:
    tool = tool_around(ListRetriever([]))
    assert isinstance(tool, AsyncBaseTool)
    assert isinstance(tool.retriever, RecallRetriever)
    function = tool.metadata.to_openai_tool()["function"]
    assert function["name"] == "notes"
    assert function["description"].startswith("What we know. The first line of a result says")
    assert function["parameters"]["required"] == ["query"]


async def test_the_frameworks_own_callers_reach_it() -> None:
    tool = tool_around(index_with_cosines(STRONG).as_retriever())
    one, other = call_tool(tool, {"query": QUERY}), await acall_tool(tool, {"query": QUERY})
    assert one.content == other.content
    assert one.content.startswith("[recall: high]")
