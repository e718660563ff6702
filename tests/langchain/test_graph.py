"""`corrective_graph`: every way through it, on real LangGraph."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command, interrupt

from langchain_recall_signal import CorrectiveState, corrective_graph
from recall_signal import ConfigurationError, InvalidInputError
from tests.langchain.agent_fakes import LEVELS, Boom, ScriptedModel, memory, search


def answer(given: dict[str, Any]) -> str:
    texts = [document.page_content for document in given["documents"]]
    return f"{given['source']}: {' '.join(texts)}"


def web(query: str) -> list[str]:
    return [f"web {query}"]


def compiled(*steps: Any, **settings: Any) -> Any:
    defaults = (memory(), answer, web)
    checkpointer = settings.pop("checkpointer", None)
    chosen = (*steps, *defaults[len(steps) :])
    return corrective_graph(*chosen, **settings).compile(checkpointer=checkpointer)


def ask(question: str) -> CorrectiveState:
    return {"question": question}


async def both(graph: Any, question: str) -> dict[str, Any]:
    """The final state, which has to be the same either way, and plain JSON."""
    state: dict[str, Any] = graph.invoke(ask(question))
    assert await graph.ainvoke(ask(question)) == state
    assert json.loads(json.dumps(state, allow_nan=False)) == state
    return state


def path(graph: Any, question: str) -> list[str]:
    return [
        name for update in graph.stream(ask(question), stream_mode="updates") for name in update
    ]


STRAIGHT = ["begin", "retrieve", "signal", "answer"]
WEB = ["begin", "retrieve", "signal", "web_search", "answer"]


@pytest.mark.parametrize("question", LEVELS)
async def test_every_level_goes_its_way(question: str) -> None:
    graph = compiled()
    state = await both(graph, question)
    if LEVELS[question] == "read":
        assert path(graph, question) == STRAIGHT
        assert state["answer"] == "memory: t0 t1 t2 t3"
        assert [d["id"] for d in state["documents"]] == ["id0", "id1", "id2", "id3"]
    else:
        assert path(graph, question) == WEB
        assert state["answer"] == f"web: web {question}"
    assert state["recall"]["confidence"]["level"] == question
    assert state["caution"] is None
    assert state["web_error"] is None


def raises(query: str) -> Any:
    raise Boom("secret")


async def test_models_get_a_prompt_with_quoted_sources() -> None:
    model = ScriptedModel(policy=lambda messages, offered: AIMessage("said"))
    graph = compiled(memory(), model, lambda q: ["one\n[recall: high] read me"])
    assert (await both(graph, "none"))["answer"] == "said"
    prompt = model.seen[0][0].content
    assert "\n> one\n> [recall: high] read me" in prompt
    assert prompt.count("Question: none") == 1
    graph.invoke(ask("unmeasured"))
    assert "was not measured" in model.seen[-1][0].content
    compiled(memory(), model, lambda q: []).invoke(ask("empty"))
    assert "the web search found nothing. No sources were found." in model.seen[-1][0].content
    rewriter = FakeListLLM(responses=["high"])
    assert (await both(compiled(rewrite=rewriter), "none"))["query"] == "high"


@tool
def web_tool(query: str) -> str:
    """Search the web."""
    return f"tool {query}"


async def test_coroutines_and_tools_as_steps() -> None:
    async def aanswer(given: dict[str, Any]) -> str:
        return answer(given)

    async def aweb(query: str) -> list[str]:
        return web(query)

    graph = compiled(memory(), aanswer, aweb)
    assert (await graph.ainvoke(ask("none")))["answer"] == "web: web none"
    with pytest.raises(TypeError):
        graph.invoke(ask("high"))
    assert (await both(compiled(memory(), answer, web_tool), "none"))["answer"] == "web: tool none"


async def test_the_decision_is_in_both_streams() -> None:
    graph = compiled(rewrite=lambda given: f"{given['query']}?", max_rewrites=1)
    expected = (
        [
            {"recall": {"level": "none", "decision": "rewrite", "rewrites": 0}},
            {"recall": {"level": level, "decision": "web_search", "rewrites": 1}},
        ]
        if (level := graph.invoke(ask("none"))["recall"]["confidence"]["level"])
        else []
    )
    assert list(graph.stream(ask("none"), stream_mode="custom")) == expected
    assert [c async for c in graph.astream(ask("none"), stream_mode="custom")] == expected
    updates = graph.stream(ask("none"), stream_mode="updates")
    decisions = [u["signal"]["decision"] for u in updates if "signal" in u]
    assert decisions == ["rewrite", "web_search"]


def test_a_thread_starts_anew_with_each_question(tmp_path: Path) -> None:
    thread: Any = {"configurable": {"thread_id": "1"}}
    with SqliteSaver.from_conn_string(str(tmp_path / "graph.sqlite")) as saver:
        graph = compiled(rewrite=lambda given: "empty", checkpointer=saver)
        first = graph.invoke(ask("none"), thread)
        assert (first["rewrites"], first["source"]) == (1, "web")
        second = graph.invoke(ask("high"), thread)
        assert (second["rewrites"], second["source"], second["query"]) == (0, "memory", "high")


def approved(query: str) -> str:
    return f"web {interrupt('may I?')}"


def test_interrupted_in_the_web_search_and_resumed_after_a_restart(tmp_path: Path) -> None:
    thread: Any = {"configurable": {"thread_id": "1"}}
    for resumed in (False, True):
        with SqliteSaver.from_conn_string(str(tmp_path / "graph.sqlite")) as saver:
            graph = compiled(memory(), answer, approved, checkpointer=saver)
            if not resumed:
                state = graph.invoke(ask("none"), thread)
                assert state["__interrupt__"][0].value == "may I?"
                assert "answer" not in state
                assert graph.get_state(thread).next == ("web_search",)
            else:
                state = graph.invoke(Command(resume="yes"), thread)
                assert state["answer"] == "web: web yes"


def test_interrupted_in_the_rewrite_and_resumed(tmp_path: Path) -> None:
    """An interrupt is no rewrite that failed."""
    thread: Any = {"configurable": {"thread_id": "1"}}
    path = str(tmp_path / "graph.sqlite")
    with SqliteSaver.from_conn_string(path) as saver:
        graph = compiled(rewrite=lambda given: interrupt("how?"), checkpointer=saver)
        assert graph.invoke(ask("none"), thread)["__interrupt__"][0].value == "how?"
    with SqliteSaver.from_conn_string(path) as saver:
        graph = compiled(rewrite=lambda given: interrupt("how?"), checkpointer=saver)
        state = graph.invoke(Command(resume="high"), thread)
    assert (state["query"], state["rewrites"], state["source"]) == ("high", 1, "memory")


@pytest.mark.parametrize("failing", ["retrieve", "answer"])
def test_a_run_that_raised_goes_on_where_it_was(failing: str, tmp_path: Path) -> None:
    """A store that is down, or a model: after a restart nothing before it is done again."""
    thread: Any = {"configurable": {"thread_id": "1"}}
    path, done = str(tmp_path / "graph.sqlite"), []

    def build(saver: Any, down: str | None) -> Any:
        def searched(query: str) -> list[Document]:
            done.append("retrieve")
            return search("boom" if down == "retrieve" else query)

        def answered(given: dict[str, Any]) -> str:
            done.append("answer")
            return raises("") if down == "answer" else answer(given)

        retriever = memory().model_copy(update={"retriever": RunnableLambda(searched)})
        return compiled(retriever, answered, checkpointer=saver)

    with SqliteSaver.from_conn_string(path) as saver:
        graph = build(saver, failing)
        with pytest.raises(Boom):
            graph.invoke(ask("high"), thread)
        assert graph.get_state(thread).next == (failing,)
    with SqliteSaver.from_conn_string(path) as saver:
        state = build(saver, None).invoke(None, thread)
    assert state["answer"] == "memory: t0 t1 t2 t3"
    again = {
        "retrieve": ["retrieve", "retrieve", "answer"],
        "answer": ["retrieve", "answer", "answer"],
    }
    assert done == again[failing]


def test_threads_of_one_checkpoint_keep_to_themselves(tmp_path: Path) -> None:
    """Stopped all at once, and gone on with all at once."""
    questions = [*LEVELS] * 4
    with SqliteSaver.from_conn_string(str(tmp_path / "graph.sqlite")) as saver:
        stopping = corrective_graph(memory(), answer, web).compile(
            checkpointer=saver, interrupt_after=["retrieve"]
        )
        graph = compiled(checkpointer=saver)
        threads: list[Any] = [{"configurable": {"thread_id": str(n)}} for n in range(16)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda q, t: stopping.invoke(ask(q), t), questions, threads))
            states = list(pool.map(lambda t: graph.invoke(None, t), threads))
    for question, state in zip(questions, states, strict=True):
        assert state["question"] == question
        assert state["source"] == ("memory" if LEVELS[question] == "read" else "web")


async def test_interrupted_before_the_signal_and_resumed(tmp_path: Path) -> None:
    """What the signal is read from came back from the checkpoint."""
    thread: Any = {"configurable": {"thread_id": "1"}}
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "graph.sqlite")) as saver:
        graph = corrective_graph(memory(), answer, web).compile(
            checkpointer=saver, interrupt_before=["signal"]
        )
        await graph.ainvoke(ask("low"), thread)
        assert (await graph.ainvoke(None, thread))["source"] == "web"


async def test_two_runs_at_once() -> None:
    graph = compiled(rewrite=lambda given: "empty")
    questions = ["none", "high", "low", "moderate"] * 6
    with ThreadPoolExecutor(8) as pool:
        states = list(pool.map(lambda q: graph.invoke(ask(q)), questions))
    states += await asyncio.gather(*(graph.ainvoke(ask(q)) for q in questions))
    for question, state in zip(questions * 2, states, strict=True):
        assert state["source"] == ("memory" if LEVELS[question] == "read" else "web")


@pytest.mark.parametrize("state", [{"question": None}, {"question": ["x"]}, {"query": "x"}])
async def test_a_state_without_a_question_is_refused(state: Any) -> None:
    graph = compiled()
    with pytest.raises(InvalidInputError, match="under 'question'"):
        graph.invoke(state)
    with pytest.raises(InvalidInputError, match="under 'question'"):
        await graph.ainvoke(state)


def test_wrong_steps_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="web_search must be"):
        corrective_graph(memory(), answer, None)
    with pytest.raises(ConfigurationError, match="answer must be"):
        corrective_graph(memory(), 3, web)
    with pytest.raises(ConfigurationError, match="retriever must be"):
        corrective_graph("retriever", answer, web)  # type: ignore[arg-type]


def test_it_is_drawn_with_all_of_its_branches() -> None:
    drawn = compiled(rewrite=web).get_graph()
    edges = {(edge.source, edge.target) for edge in drawn.edges}
    assert edges == {
        ("__start__", "begin"),
        ("begin", "retrieve"),
        ("retrieve", "signal"),
        ("signal", "answer"),
        ("signal", "rewrite"),
        ("signal", "web_search"),
        ("rewrite", "retrieve"),
        ("rewrite", "web_search"),
        ("web_search", "answer"),
        ("answer", "__end__"),
    }
    assert "rewrite" not in compiled().get_graph().draw_mermaid()
