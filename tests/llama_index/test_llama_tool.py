"""What a model reads, and what a program gets, from the retrieval tool."""

import asyncio
import json
from typing import Any

import numpy as np
import pytest
from llama_fakes import QUERY, ListRetriever, index_with_cosines, scored
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import AsyncBaseTool, ToolOutput
from llama_index.core.tools.calling import acall_tool, call_tool

from llama_index_recall_signal import RecallRetriever, RecallTool, create_recall_tool
from recall_signal import ConfigurationError
from recall_signal.selection import Answer, SelectionOptions, SelectionRequest

STRONG = [0.9, 0.5, 0.45, 0.4]
WEAK = [0.2, 0.195, 0.19, 0.185]


def tool_around(retriever: BaseRetriever, **settings: Any) -> RecallTool:
    return create_recall_tool(RecallRetriever(retriever, **settings), "notes", "What we know.")


async def ask(tool: RecallTool, way: str) -> ToolOutput:
    return tool(QUERY) if way == "sync" else await tool.acall(QUERY)


both_ways = pytest.mark.parametrize("way", ["sync", "async"])


def header(output: ToolOutput) -> str:
    return output.content.split("\n", 1)[0]


@both_ways
async def test_found_and_worth_reading(way: str) -> None:
    output = await ask(tool_around(index_with_cosines(STRONG).as_retriever()), way)
    assert header(output).startswith("[recall: high] 2 results on this topic: read.")
    assert "> stored text 0" in output.content
    assert "nested" not in output.content
    assert not output.is_error
    assert (output.tool_name, output.raw_input) == ("notes", {"query": QUERY})


@both_ways
async def test_found_but_likely_irrelevant(way: str) -> None:
    output = await ask(tool_around(index_with_cosines(WEAK).as_retriever()), way)
    assert header(output).startswith(
        "[recall: none] 2 results came back, but likely nothing relevant. Prefer an external"
    )


@both_ways
async def test_nothing_stored(way: str) -> None:
    output = await ask(tool_around(ListRetriever([])), way)
    assert output.content.startswith("[recall: none] Nothing stored came back")
    assert output.raw_output["documents"] == []
    assert output.raw_output["recall"]["confidence"]["level"] == "none"
    assert output.raw_output["error"] is None


@both_ways
async def test_match_strength_not_measured(way: str) -> None:
    output = await ask(tool_around(ListRetriever(scored(None, None))), way)
    assert header(output).startswith("[recall: unknown] 2 results came back, match strength not")


class Dropping:
    """A selector that keeps nothing."""

    def select(self, request: SelectionRequest) -> Answer:
        return Answer('{"keep": []}', "dropper")


@both_ways
async def test_a_selector_that_removed_all(way: str) -> None:
    options = SelectionOptions(on_empty="drop", min_results=1)
    tool = tool_around(
        index_with_cosines(STRONG).as_retriever(), selector=Dropping(), selector_options=options
    )
    output = await ask(tool, way)
    assert "a selector removed all of them" in output.content
    assert output.raw_output["recall"]["selection"]["dropped"] == 2


class Failing(BaseRetriever):
    def __init__(self, error: BaseException) -> None:
        self.error = error
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        raise self.error


@both_ways
async def test_a_failure_is_said(way: str, caplog: pytest.LogCaptureFixture) -> None:
    output = await ask(tool_around(Failing(OSError(f"secret {QUERY}"))), way)
    assert output.content.startswith("[recall: unknown] Retrieval failed (OSError)")
    assert output.is_error
    assert output.raw_output["error"] == "OSError"
    assert output.raw_output["documents"] == []
    for shown in (output.content, json.dumps(output.raw_output), caplog.text):
        assert "secret" not in shown


@both_ways
async def test_a_cancellation_is_passed_on(way: str) -> None:
    with pytest.raises(asyncio.CancelledError):
        await ask(tool_around(Failing(asyncio.CancelledError())), way)


@both_ways
async def test_the_artifact_is_plain_json(way: str) -> None:
    odd = TextNode(
        id_="n", text="one", metadata={"n": np.float32(0.5), "when": {1, 2}, "nested": {"a": [1]}}
    )
    retriever = ListRetriever([NodeWithScore(node=odd, score=np.float32(0.5))])  # type: ignore[arg-type]
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
    assert (function["name"], function["description"]) == ("notes", "What we know.")
    assert function["parameters"]["required"] == ["query"]


async def test_the_frameworks_own_callers_reach_it() -> None:
    tool = tool_around(index_with_cosines(STRONG).as_retriever())
    one, other = call_tool(tool, {"query": QUERY}), await acall_tool(tool, {"query": QUERY})
    assert one.content == other.content
    assert one.content.startswith("[recall: high]")


async def test_calls_at_the_same_time_keep_their_own_signals() -> None:
    strong = tool_around(index_with_cosines(STRONG).as_retriever())
    weak = tool_around(index_with_cosines(WEAK).as_retriever())
    outputs = await asyncio.gather(*((strong, weak)[n % 2].acall(QUERY) for n in range(10)))
    levels = [output.raw_output["recall"]["confidence"]["level"] for output in outputs]
    assert levels == ["high", "none"] * 5


def test_a_bare_retriever_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="got ListRetriever; wrap it first"):
        create_recall_tool(ListRetriever([]), "notes", "What we know.")  # type: ignore[arg-type]


def test_a_name_that_no_model_could_be_told_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="got 'team notes'"):
        create_recall_tool(RecallRetriever(ListRetriever([])), "team notes", "What we know.")
