"""A RAG chain that says "not in my sources" instead of making something up.

    python examples/rag_chain.py

Runs offline: the model is scripted. Put a real chat model in its place.
"""

import json
from importlib.resources import files
from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_recall_signal import DemoEmbeddings, RecallRetriever, create_recall_chain
from recall_signal import parse_report

SCRIPT = [
    "Warm the door with a hair dryer for ten minutes before you lock it.",
    "Not in my sources: they name Slate's database, but not its version.",
]
QUESTIONS = (
    "Gaston won't shut properly this cold morning, is there a trick?",
    "Which version of PostgreSQL is Slate on?",  # near what is stored, but not stored
    "best submarine films",
)


def build(model: Runnable[Any, Any]) -> Runnable[Any, AIMessage]:
    lines = (files("recall_signal") / "demo/memories.jsonl").read_text("utf-8").splitlines()
    store = InMemoryVectorStore(DemoEmbeddings())
    store.add_documents([Document(json.loads(line)["text"]) for line in lines])
    retriever = RecallRetriever.from_vectorstore(store, k=5).calibrated()  # no labels needed
    return create_recall_chain(
        retriever, model, on_absent="refuse", refusal="Not in my sources; no model was asked."
    )


if __name__ == "__main__":
    chain = build(FakeListChatModel(responses=SCRIPT))
    for question in QUESTIONS:
        message = chain.invoke(question)
        report = parse_report(message)
        print(f"{question}\n  {message.text}")
        if report is not None:
            print(f"  [{report.advice}: {report.confidence.level}]")
