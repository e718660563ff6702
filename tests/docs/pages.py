"""Pages whose Python blocks are run, and the names that their blocks take for granted."""

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from langchain_core.language_models import FakeListChatModel
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core.llms import MockLLM
from opentelemetry.trace import get_tracer

from langchain_recall_signal import DemoEmbeddings, RecallRetriever
from recall_signal import Pool
from tests.logs.made import write_days

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]

Names = dict[str, Any]

DEMO = files("recall_signal") / "demo"
NOTES = [
    "Bisque firings block a kiln for 18 hours, glaze firings for 22.",
    "Odile grants a fourth open booking before an exhibition.",
    "The kiln at Harrowmere is fired on Saturdays.",
]


def langchain_names() -> Names:
    store = InMemoryVectorStore.from_texts(NOTES, DemoEmbeddings())
    return {
        "store": store,
        "inner": store.as_retriever(),
        "retriever": RecallRetriever.from_vectorstore(store, k=2),
        "RecallRetriever": RecallRetriever,
        "question": "How long does a glaze firing take?",
        "chat_model": FakeListChatModel(responses=["{}"]),
        "model": FakeListChatModel(responses=["In my notes."]),
    }


def report_names() -> Names:
    names = langchain_names()
    return {**names, "document": names["retriever"].invoke(names["question"])[0]}


def telemetry_names() -> Names:
    return {**langchain_names(), "tracer": get_tracer("an application")}


def llama_index_names() -> Names:
    def web_search(query: str) -> str:
        """Search the web."""
        return f"a page about {query}"

    return {"llm": MockLLM(), "web_search": web_search}


def calibration_names() -> Names:
    names = langchain_names()
    retriever = names["retriever"]

    def search(question: str) -> Pool:
        return retriever.recall(question).pool

    labelled = [(f"{text} {number}", number % 2 == 0) for text in NOTES for number in range(10)]
    return {**names, "search": search, "labelled": labelled, "pool": search(NOTES[0])}


def evaluation_names() -> Names:
    """Lay the two files that the page reads into the working folder."""
    with Path("corpus.jsonl").open("wb") as corpus:
        corpus.write((DEMO / "memories.jsonl").read_bytes())
    rows = [json.loads(line) for line in (DEMO / "questions.jsonl").read_text("utf-8").splitlines()]
    with Path("queries.jsonl").open("w", encoding="utf-8") as queries:
        for row in rows:
            stored = {"kind": "present"} if row["answers"] else {}
            queries.write(json.dumps({**row, **stored, "relevant": row["answers"]}) + "\n")
    return {}


def monitoring_names() -> Names:
    """Lay a log of thirty quiet days into the working folder."""
    write_days(Path("logs/manuals"), 30)
    return {}


SETUP: dict[str, Callable[[], Names]] = {
    "agents-llama-index.md": llama_index_names,
    "agents.md": langchain_names,
    "calibration.md": calibration_names,
    "detection.md": evaluation_names,
    "langchain.md": langchain_names,
    "mcp.md": langchain_names,
    "logs.md": langchain_names,
    "monitoring.md": monitoring_names,
    "selection.md": langchain_names,
    "reports.md": report_names,
    "telemetry.md": telemetry_names,
}
"""Page -> what a reader of it has at hand already."""
