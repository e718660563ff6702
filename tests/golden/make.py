"""Builds what `golden.json` holds: `python -m tests.golden.make --write` writes it anew."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_recall_signal import DemoEmbeddings, RecallRetriever

from .core_results import calibrations, core
from .langchain_results import langchain
from .llama_results import llama_index

GOLDEN = Path(__file__).with_name("golden.json")

DEMO_PAGE, DEMO_POOL = 5, 50
"""The settings of `recall-signal demo`."""


def demo_levels() -> dict[str, Any]:
    """What the demo's retriever says to each question that `golden.json` was made with."""
    memories = _demo_lines("memories.jsonl")
    store = InMemoryVectorStore(DemoEmbeddings())
    store.add_documents([Document(id=m["id"], page_content=m["text"]) for m in memories])
    retriever = RecallRetriever.from_vectorstore(store, k=DEMO_PAGE, pool_size=DEMO_POOL)
    return {id_: _demo(retriever, text) for id_, text in demo_questions().items()}


def demo_questions() -> dict[str, str]:
    """Id to text: the copy in `golden.json`, so that the demo may ask something else by now."""
    if GOLDEN.exists():
        return {id_: entry["question"] for id_, entry in golden()["demo_levels"].items()}
    return {question["id"]: question["text"] for question in _demo_lines("questions.jsonl")}


def demo_memories() -> str:
    """What the levels of the demo rest on, as a hash: where it differs, they may as well."""
    texts = [[memory["id"], memory["text"]] for memory in _demo_lines("memories.jsonl")]
    return sha256(json.dumps(texts).encode()).hexdigest()


def _demo(retriever: RecallRetriever, text: str) -> dict[str, Any]:
    response = retriever.recall(text)
    confidence = response.confidence
    return {
        "question": text,
        "level": confidence.level,
        "top_score": confidence.top_score,
        "prominence": confidence.prominence,
        "basis": confidence.basis,
        "page": [document.id for document in response.documents],
    }


def _demo_lines(name: str) -> list[dict[str, Any]]:
    text = (files("recall_signal") / "demo" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def reports() -> dict[str, Any]:
    """Both frameworks."""
    return {"langchain": langchain(), "llama_index": llama_index()}


SECTIONS: dict[str, Callable[[], Any]] = {
    "calibrations": calibrations,
    "core": core,
    "reports": reports,
    "demo_memories": demo_memories,
    "demo_levels": demo_levels,
}


def build(section: str) -> Any:
    """One section as it is read back from a file."""
    return json.loads(json.dumps(SECTIONS[section]()))


@cache
def golden() -> dict[str, Any]:
    """What the file holds."""
    values: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return values


def main(arguments: list[str]) -> None:
    """Write the file, or say how large it would be."""
    built = {section: build(section) for section in SECTIONS}
    text = json.dumps(built, indent=1, ensure_ascii=False) + "\n"
    if arguments == ["--write"]:
        GOLDEN.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{GOLDEN.name}: {len(text)} characters\n")


if __name__ == "__main__":
    main(sys.argv[1:])
