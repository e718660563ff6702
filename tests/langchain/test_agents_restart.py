"""Runs that stopped in one process and go on, from a SQLite checkpoint, in another."""

import json
import subprocess
import sys
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver

from tests.langchain import agent_resume
from tests.langchain.agent_resume import KINDS, QUESTIONS, thread

ROOT = Path(__file__).parents[2]
STOPS = ["retrieve", "signal", "rewrite", "web_search", "answer"]


def elsewhere(kind: str, path: Path, names: list[str]) -> dict[str, Any]:
    """The same in another process."""
    command = [sys.executable, "-m", agent_resume.__name__, kind, str(path), *names]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    done: dict[str, Any] = json.loads(run.stdout)
    return done


def test_a_corrective_graph_goes_on_from_every_node_by_every_branch(tmp_path: Path) -> None:
    """Stopped before each node, for each question: it ends as if it had never stopped."""
    path, stopped, taken = tmp_path / "graph.sqlite", {}, set()
    expected = {q: KINDS["corrective"](None).invoke({"question": q}) for q in QUESTIONS}
    with SqliteSaver.from_conn_string(str(path)) as saver:
        for stop in STOPS:
            graph = KINDS["corrective"](saver, interrupt_before=[stop])
            for question in QUESTIONS:
                name = f"{stop} {question}"
                graph.invoke({"question": question}, thread(name))
                if graph.get_state(thread(name)).next:
                    stopped[name] = (stop, question)
    done = elsewhere("corrective", path, list(stopped))
    for name, (stop, question) in stopped.items():
        ran, state = done[name]["ran"], done[name]["state"]
        assert ran[0] == stop
        taken |= set(pairwise(ran))
        known = {key: expected[question][key] for key in expected[question] if key != "documents"}
        assert {key: state[key] for key in known} == known
        assert state["documents"] == len(expected[question]["documents"])
    assert {edge for edge in taken if edge[0] in ("signal", "rewrite")} == {
        ("signal", "answer"),
        ("signal", "rewrite"),
        ("signal", "web_search"),
        ("rewrite", "retrieve"),
        ("rewrite", "web_search"),
    }
    assert {stop for stop, _ in stopped.values()} == set(STOPS)
    assert {state["source"] for state in expected.values()} == {"memory", "web"}
    assert expected["empty"]["web_error"] == "OSError"


def test_an_edge_of_ones_own_takes_every_branch(tmp_path: Path) -> None:
    """Whatever the state holds the signal in."""
    path, forms = tmp_path / "edge.sqlite", ("recall", "messages", "documents")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = KINDS["edge"](saver, interrupt_after=["look"])
        for form, question in product(forms, QUESTIONS):
            graph.invoke({"question": question, "form": form}, thread(f"{form} {question}"))
    done = elsewhere(
        "edge", path, [f"{form} {question}" for form, question in product(forms, QUESTIONS)]
    )
    for form in forms:
        assert {
            question: done[f"{form} {question}"]["state"]["went"] for question in QUESTIONS
        } == {
            "high": "answer",
            "moderate": "answer",
            "low": "web",
            "none": "web",
            "empty": "web",
            "unmeasured": "ask",
        }


def test_an_agent_is_offered_what_the_kept_signal_says(tmp_path: Path) -> None:
    """Stopped before its search, or between the search and what it then does."""
    pytest.importorskip("langchain")
    path, stops = tmp_path / "agent.sqlite", ("tools", "model")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        for stop, question in product(stops, QUESTIONS):
            agent, run = (
                KINDS["agent"](saver, interrupt_before=[stop]),
                thread(f"{stop} {question}"),
            )
            agent.invoke({"messages": [HumanMessage(question)]}, run)
            if stop == "model":
                agent.invoke(None, run)
            state = agent.get_state(run)
            assert state.next == (stop,)
            assert (state.values["recall"] is not None) == (stop == "model")
    done = elsewhere(
        "agent", path, [f"{stop} {question}" for stop, question in product(stops, QUESTIONS)]
    )
    for stop, question in product(stops, QUESTIONS):
        ran, state = done[f"{stop} {question}"]["ran"], done[f"{stop} {question}"]["state"]
        weak = question not in ("high", "moderate")
        assert state["messages"][-1] == ("from web" if weak else "from memory")
        assert state["recall_fallbacks"] == int(weak)
        assert ran.count("tools") == int(weak) + (stop == "tools")
