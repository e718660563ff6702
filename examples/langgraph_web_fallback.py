"""A LangGraph that goes to the web where the store has likely nothing relevant.

    pip install langgraph
    python examples/langgraph_web_fallback.py

Runs offline: the model is scripted and the web is a stub. Put real ones in their place.
"""

import json
from importlib.resources import files
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_recall_signal import DemoEmbeddings, RecallRetriever, corrective_graph

QUESTIONS = (
    "Gaston won't shut properly this cold morning, is there a trick?",
    "best submarine films",
)


def answer(given: dict[str, Any]) -> str:
    """Where a chat model would be."""
    return f"From {given['source']}: {given['documents'][0].page_content}"


def rewrite(given: dict[str, Any]) -> str:
    """Where a chat model would be."""
    return f"notes on {given['question']}"


def search_web(query: str) -> list[dict[str, str]]:
    """Where a search service would be."""
    return [{"content": f"a page about {query}", "url": "https://example.org"}]


def memory() -> RecallRetriever:
    lines = (files("recall_signal") / "demo/memories.jsonl").read_text("utf-8").splitlines()
    store = InMemoryVectorStore(DemoEmbeddings())
    store.add_documents([Document(json.loads(line)["text"]) for line in lines])
    retriever = RecallRetriever.from_vectorstore(store, k=5)
    return retriever.with_calibration(retriever.calibrate())  # its own scale, no labels


if __name__ == "__main__":
    graph = corrective_graph(memory(), answer, search_web, rewrite=rewrite).compile()
    print(graph.get_graph().draw_mermaid())
    for question in QUESTIONS:
        print(question)
        for kind, seen in graph.stream({"question": question}, stream_mode=["custom", "values"]):
            if kind == "custom":
                print(f"  {seen['recall']['level']} -> {seen['recall']['decision']}")
        print(f"  {seen['answer']}")
