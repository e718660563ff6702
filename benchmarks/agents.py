"""Which questions go to the web: the signal, the corrective-RAG recipe's rule, and a fixed cut.

    python benchmarks/agents.py [--encoders use,minilm-int8,potion,e5]

The demo's memories and the 72 main ones of its 96 questions, through real LangGraph, with a
scripted model and a local stub for the web, so every run gives the same table. A stored question
should be answered from
memory, an off-topic one should go to the web. A near-miss asks for a fact that is not stored about
a topic that is; scores of topic cannot tell it apart, so it is counted on its own. "On page" are
the stored questions for which the retriever did bring a memory that answers.

The recipe asks a model about each document of the page. The model is scripted, and its judgement
comes from the question's own labels, which no real grader has:

    lenient   a document is relevant if it is about the topic that is asked for
    strict    a document is relevant if it answers

Both are right about every document of an off-topic question. The recipe's rule
sends a page with one irrelevant document to the web; "none relevant" asks for a page without a
relevant one, and with a grader that is never wrong it is the best that grading can do.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from encoders import ENCODERS
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph.graph import END, START, StateGraph
from rich.console import Console
from rich.table import Table

from langchain_recall_signal import RecallRetriever, corrective_graph
from langchain_recall_signal._graph import CorrectiveState

K = 5
CUT = 0.7
KINDS = ("stored", "missed", "off_topic", "near_miss")
"""A stored question is `missed` where no memory that answers it is on the page."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question, and the labels that only the table and the grader know."""

    text: str
    kind: str
    answers: frozenset[str]
    topics: frozenset[str]


@dataclass(frozen=True, slots=True)
class Memory:
    """The demo's memories behind a retriever."""

    retriever: RecallRetriever
    questions: tuple[Question, ...]

    @classmethod
    def load(cls, encoder: str = "use") -> Memory:
        """With the questions that come along, behind one of the benchmarks' encoders."""
        notes = [*_lines("memories")]
        topic = {note["id"]: note["topic"] for note in notes}
        store = InMemoryVectorStore(_embeddings(encoder))
        store.add_documents(
            [
                Document(note["text"], id=note["id"], metadata={"topic": topic[note["id"]]})
                for note in notes
            ]
        )
        retriever = RecallRetriever.from_vectorstore(store, k=K)
        questions = []
        for q in _lines("questions"):
            if q["section"] != "main":
                continue
            answers = frozenset(q["answers"])
            missed = answers and not any(d.id in answers for d in retriever.invoke(q["text"]))
            kind = "missed" if missed else q["kind"]
            topics = frozenset(topic[id_] for id_ in (*answers, *q.get("about", ())))
            questions.append(Question(q["text"], kind, answers, topics))
        return cls(retriever, tuple(questions))


class ScriptedModel(BaseChatModel):
    """Answers always the same, and counts how often it is asked."""

    asked: list[int] = [0]  # noqa: RUF012  (pydantic copies it)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        self.asked[0] += 1
        return ChatResult(generations=[ChatGeneration(message=AIMessage("an answer"))])


def search_web(query: str) -> list[str]:
    """A stub: there is always something on the web."""
    return [f"A page of the web about: {query}"]


Grader = Callable[[Question, Document], bool]
Rule = Callable[[list[bool]], bool]


def lenient(question: Question, document: Document) -> bool:
    """About the topic that is asked for."""
    return document.metadata["topic"] in question.topics


def strict(question: Question, document: Document) -> bool:
    """Answers the question."""
    return document.id in question.answers


@dataclass(frozen=True, slots=True)
class Row:
    """Results of one way of deciding."""

    name: str
    memory: dict[str, int]
    web: dict[str, int]
    calls: float

    @property
    def wrong(self) -> int:
        """Wrong turns among the stored and the off-topic questions."""
        return self.web["stored"] + self.web["missed"] + self.memory["off_topic"]


@dataclass
class Way:
    """A graph and the model in it.

    Attributes:
        name: For the table.
        build: From a model to a graph with the state of a corrective graph.
        graded: Calls of the grader, which is asked outside of the model.
    """

    name: str
    build: Callable[[BaseChatModel, Way], StateGraph[CorrectiveState]]
    graded: int = 0
    asking: Question | None = field(default=None, repr=False)

    def run(self, questions: tuple[Question, ...]) -> Row:
        """Ask everything."""
        model = ScriptedModel(asked=[0])
        graph = self.build(model, self).compile()
        counts = {source: dict.fromkeys(KINDS, 0) for source in ("memory", "web")}
        for question in questions:
            self.asking = question
            state = graph.invoke({"question": question.text})
            counts[state["source"]][question.kind] += 1
        calls = (model.asked[0] + self.graded) / len(questions)
        return Row(self.name, counts["memory"], counts["web"], calls)


def by_signal(retriever: RecallRetriever) -> Callable[..., StateGraph[CorrectiveState]]:
    """The product: the level decides, no model is asked before the answer."""

    def build(model: BaseChatModel, _: Way) -> StateGraph[CorrectiveState]:
        return corrective_graph(retriever, model, search_web)

    return build


def by_cut(retriever: RecallRetriever, cut: float) -> Callable[..., StateGraph[CorrectiveState]]:
    """The best cosine against one number for every encoder."""

    def build(model: BaseChatModel, _: Way) -> StateGraph[CorrectiveState]:
        def decide(state: CorrectiveState) -> bool:
            top = retriever.recall(state["question"]).confidence.top_score
            return top is None or top < cut

        return _two_ways(model, decide, rewrites=False)

    return build


def by_grader(
    retriever: RecallRetriever, grader: Grader, to_web: Rule
) -> Callable[..., StateGraph[CorrectiveState]]:
    """The recipe: grade each document, and rewrite the question before the web is searched."""

    def build(model: BaseChatModel, way: Way) -> StateGraph[CorrectiveState]:
        def decide(state: CorrectiveState) -> bool:
            assert way.asking is not None
            grades = [grader(way.asking, d) for d in retriever.invoke(state["question"])]
            way.graded += len(grades)
            return to_web(grades)

        return _two_ways(model, decide, rewrites=True)

    return build


def _two_ways(
    model: BaseChatModel, decide: Callable[[CorrectiveState], bool], *, rewrites: bool
) -> StateGraph[CorrectiveState]:
    def judge(state: CorrectiveState) -> dict[str, Any]:
        return {"source": "web" if decide(state) else "memory"}

    def web(state: CorrectiveState) -> dict[str, Any]:
        if rewrites:
            model.invoke(state["question"])
        return {"documents": [{"page_content": text} for text in search_web(state["question"])]}

    graph = StateGraph(CorrectiveState)
    graph.add_node("judge", judge)
    graph.add_node("web", web)
    graph.add_node("answer", lambda state: {"answer": model.invoke(state["question"]).content})
    graph.add_edge(START, "judge")
    graph.add_conditional_edges(
        "judge", lambda state: state["source"], {"web": "web", "memory": "answer"}
    )
    graph.add_edge("web", "answer")
    graph.add_edge("answer", END)
    return graph


def rows(memory: Memory) -> list[Row]:
    """Every way of deciding, on every question."""
    bare = memory.retriever
    calibrated = bare.with_calibration(bare.calibrate())
    any_wrong: Rule = lambda grades: not all(grades)  # noqa: E731
    none_right: Rule = lambda grades: not any(grades)  # noqa: E731
    ways = [
        Way("signal, calibrated", by_signal(calibrated)),
        Way("signal, uncalibrated", by_signal(bare)),
        Way(f"top cosine below {CUT}", by_cut(bare, CUT)),
        Way("recipe, lenient grader", by_grader(bare, lenient, any_wrong)),
        Way("recipe, strict grader", by_grader(bare, strict, any_wrong)),
        Way("none relevant, perfect grader", by_grader(bare, strict, none_right)),
    ]
    return [way.run(memory.questions) for way in ways]


def table(found: list[Row], questions: tuple[Question, ...], encoder: str = "use") -> Table:
    """The figures, one way of deciding a line."""
    total = {kind: sum(q.kind == kind for q in questions) for kind in KINDS}
    stored = total["stored"] + total["missed"]
    made = Table(title=f"{encoder}: {len(questions)} questions, pages of {K}", title_justify="left")
    made.add_column("what decides")
    for head in (
        f"stored:\nmemory\n(of {stored})",
        f"on page:\nmemory\n(of {total['stored']})",
        f"off-topic:\nweb\n(of {total['off_topic']})",
        f"wrong\nturns\n(of {stored + total['off_topic']})",
        f"near-miss:\nweb\n(of {total['near_miss']})",
        "LLM calls\na question",
    ):
        made.add_column(head, justify="right")
    for row in found:
        figures = (
            row.memory["stored"] + row.memory["missed"],
            row.memory["stored"],
            row.web["off_topic"],
            row.wrong,
            row.web["near_miss"],
        )
        made.add_row(row.name, *map(str, figures), f"{row.calls:.1f}")
    return made


def _lines(name: str) -> Iterator[dict[str, Any]]:
    text = (files("recall_signal") / "demo" / f"{name}.jsonl").read_text(encoding="utf-8")
    yield from map(json.loads, text.splitlines())


def _embeddings(encoder: str) -> Embeddings:
    """An encoder of the benchmarks in LangChain's terms; `use` is the demo's own."""
    made: Embeddings = type("Encoder", (ENCODERS[encoder], Embeddings), {})()
    return made


def main() -> None:
    """Run everything and print a table for each encoder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--encoders", default="use", help=f"of {', '.join(ENCODERS)}")
    for encoder in parser.parse_args().encoders.split(","):
        memory = Memory.load(encoder)
        Console(width=110).print(table(rows(memory), memory.questions, encoder))


if __name__ == "__main__":
    main()
