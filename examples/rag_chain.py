"""A RAG chain that says "not in my sources" instead of making something up.

    python examples/rag_chain.py

Runs offline: the model is scripted. Put a real chat model in its place.
"""

import json
from importlib.resources import files
from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableBranch, RunnableLambda, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_recall_signal import DemoEmbeddings, RecallRetriever
from recall_signal import advice

SCRIPT = [
    "Warm the door with a hair dryer for ten minutes before you lock it.",
    "Not in my sources: they name Slate's database, but not its version.",
]
PROMPT = ChatPromptTemplate.from_template(
    "Answer from these sources alone, or say that it is not in them.\n{sources}\n\n{question}"
)
QUESTIONS = (
    "Gaston won't shut properly this cold morning, is there a trick?",
    "Which version of PostgreSQL is Slate on?",  # near what is stored, but not stored
    "best submarine films",
)


def sources(step: dict[str, Any]) -> str:
    return "\n".join(f"- {document.page_content}" for document in step["found"].documents)


def refuse(step: dict[str, Any]) -> str:
    return f"Not in my sources. ({step['found'].confidence.level}: the model was not asked)"


def build(model: Runnable[Any, Any]) -> Runnable[str, str]:
    lines = (files("recall_signal") / "demo/memories.jsonl").read_text("utf-8").splitlines()
    store = InMemoryVectorStore(DemoEmbeddings())
    store.add_documents([Document(json.loads(line)["text"]) for line in lines])
    retriever = RecallRetriever.from_vectorstore(store, k=5)
    retriever = retriever.with_calibration(retriever.calibrate())  # its own scale, no labels
    answer = RunnablePassthrough.assign(sources=sources) | PROMPT | model | StrOutputParser()
    is_weak = RunnableLambda(lambda step: advice(step["found"].confidence) == "fallback")
    look_up = {"question": RunnablePassthrough(), "found": retriever.as_report_runnable()}
    return look_up | RunnableBranch((is_weak, refuse), answer)


if __name__ == "__main__":
    chain = build(FakeListChatModel(responses=SCRIPT))
    for question in QUESTIONS:
        print(f"{question}\n  {chain.invoke(question)}")
