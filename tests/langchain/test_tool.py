"""`create_recall_tool`: what the model reads, and what the program gets."""

import asyncio
import json
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langgraph.checkpoint.memory import MemorySaver
from langgraph.errors import GraphInterrupt
from langgraph.graph import START, MessagesState, StateGraph

from langchain_recall_signal import RecallRetriever, create_recall_chain, create_recall_tool
from recall_signal import parse_report
from tests.langchain.agent_fakes import LEVELS, Answering, Boom, memory

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


def behind(way: str, retriever: RecallRetriever) -> Any:
    """A retriever as LangChain's own combinators hold it."""
    field = ConfigurableField(id="choice")
    held: dict[str, Any] = {
        "configuration": retriever.with_config(tags=["t"]),
        "retry": retriever.with_retry(),
        "fallbacks": retriever.with_fallbacks([memory()]),
        "fields": retriever.configurable_fields(k=field),
        "alternatives": retriever.configurable_alternatives(field, other=memory(k=1)),
        "all": retriever.configurable_fields(k=field).with_retry().with_fallbacks([memory()]),
    }
    return held[way]


@pytest.mark.parametrize(
    "way", ["configuration", "retry", "fallbacks", "fields", "alternatives", "all"]
)
async def test_a_retriever_behind_a_combinator_keeps_its_signal(way: str) -> None:
    tool = create_recall_tool(behind(way, memory()), "memory", "The team's memory")
    chain = create_recall_chain(behind(way, memory()), Answering(), on_absent="refuse")
    for question in ("high", "none"):
        for message in (called(tool, question), await acalled(tool, question)):
            assert message.text.startswith(HEADERS[question])
        for answer in (chain.invoke(question), await chain.ainvoke(question)):
            report = parse_report(answer)
            assert report is not None
            assert (report.confidence.level, report.advice) == (question, LEVELS[question])


async def test_a_configuration_chooses_the_retriever() -> None:
    for way, choice, count in (("fields", 2, 2), ("alternatives", "other", 1)):
        tool = create_recall_tool(behind(way, memory()), "memory", "The team's memory")
        chosen: Any = {"configurable": {"choice": choice}}
        call = {"type": "tool_call", "name": "memory", "id": "1", "args": {"query": "high"}}
        for message in (tool.invoke(call, chosen), await tool.ainvoke(call, chosen)):
            assert len(message.artifact["documents"]) == count


async def test_a_fallback_is_asked_where_the_retriever_fails() -> None:
    failing = RecallRetriever(retriever=RunnableLambda(fail_always))
    tool = create_recall_tool(failing.with_fallbacks([memory()]), "memory", "The team's memory")
    for message in (called(tool, "high"), await acalled(tool, "high")):
        assert message.text.startswith(HEADERS["high"])


def fail_always(_: str) -> list[Document]:
    raise Boom
