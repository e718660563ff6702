"""`create_recall_tool`: what the model reads, and what the program gets."""

import asyncio
import json
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import MemorySaver
from langgraph.errors import GraphInterrupt
from langgraph.graph import START, MessagesState, StateGraph

from langchain_recall_signal import RecallRetriever, create_recall_tool
from tests.langchain.agent_fakes import memory

HEADERS = {
    "high": "[recall: high] 4 results on this topic: read.",
    "moderate": "[recall: moderate] 4 results on this topic: read.",
    "low": "[recall: low] 4 results came back, but likely nothing relevant.",
    "none": "[recall: none] 4 results came back, but likely nothing relevant.",
    "empty": "[recall: none] Nothing came back",
    "boom": "[recall: unknown] Retrieval failed (Boom)",
    "unmeasured": "[recall: unknown] 4 results came back, match strength not measured",
}


def called(tool: Any, query: str) -> ToolMessage:
    return tool.invoke({"type": "tool_call", "name": "memory", "id": "1", "args": {"query": query}})


async def acalled(tool: Any, query: str) -> ToolMessage:
    call = {"type": "tool_call", "name": "memory", "id": "1", "args": {"query": query}}
    return await tool.ainvoke(call)


def recall_tool(retriever: RecallRetriever | None = None) -> Any:
    return create_recall_tool(retriever or memory(), "memory", "The team's memory")


def test_without_a_tool_call_there_is_only_the_content() -> None:
    assert recall_tool().invoke({"query": "high"}).startswith("[recall: high]")


def test_the_schema_has_one_field() -> None:
    tool = recall_tool()
    assert list(tool.args) == ["query"]
    assert tool.name == "memory"
    assert tool.description.startswith("The team's memory The first line of a result says")
    assert tool.tool_call_schema.model_json_schema()["required"] == ["query"]


def retriever_of(*documents: Document, **settings: Any) -> RecallRetriever:
    return RecallRetriever(retriever=RunnableLambda(lambda q: list(documents)), **settings)


async def test_an_interrupt_of_langgraph_is_no_failure() -> None:
    def ask(query: str) -> list[Document]:
        raise GraphInterrupt(())

    tool = recall_tool(RecallRetriever(retriever=RunnableLambda(ask)))
    with pytest.raises(GraphInterrupt):
        called(tool, "q")
    with pytest.raises(GraphInterrupt):
        await acalled(tool, "q")


def test_the_artifact_survives_a_checkpoint() -> None:
    def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [called(recall_tool(retriever), "q")]}

    odd = {"big": 2**70, "half": "\ud800", "set": {1}, "nan": float("nan"), "raw": b"x"}
    retriever = retriever_of(Document("half \ud800", metadata=odd))
    graph = StateGraph(MessagesState)
    graph.add_node("tool", node)
    graph.add_edge(START, "tool")
    compiled = graph.compile(checkpointer=MemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    sent = compiled.invoke({"messages": []}, thread)["messages"][-1]
    kept = compiled.get_state(thread).values["messages"][-1]
    assert kept.artifact == sent.artifact
    assert kept.content == sent.content
    metadata = kept.artifact["documents"][0]["metadata"]
    assert metadata["big"] == hex(2**70)
    assert (metadata["half"], metadata["set"], metadata["nan"]) == ("?", [1], None)
    assert metadata["raw"] is None


def test_the_search_is_a_child_of_the_tool_s_run() -> None:
    events: list[str] = []

    async def watch() -> None:
        async for event in recall_tool().astream_events({"query": "high"}, version="v2"):
            events.append(event["event"])

    asyncio.run(watch())
    assert "on_tool_start" in events
    assert "on_retriever_end" in events
    assert "on_custom_event" in events


def test_metadata_that_holds_itself_costs_no_time() -> None:
    held: list[Any] = []
    held += [held] * 3
    page = [Document(page_content="t", metadata={"held": held})]
    retriever = RecallRetriever(retriever=RunnableLambda(lambda question: page))
    artifact = called(create_recall_tool(retriever, "memory", "x"), "q").artifact
    assert len(json.dumps(artifact)) < 1_000_000
