"""Graphs and agents that one process leaves in a checkpoint and another one goes on with.

Run as a script it is the other process: `agent_resume.py kind checkpoint.sqlite thread ...`
goes on with each thread and prints what came of it as JSON.
"""

import json
import sys
from typing import Annotated, Any, TypedDict

from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph, add_messages

from langchain_recall_signal import (
    RecallMiddleware,
    corrective_graph,
    create_recall_tool,
    route_on_recall,
)
from tests.langchain.agent_fakes import ScriptedModel, look_then_web, memory

QUESTIONS = ["high", "moderate", "low", "none", "empty", "unmeasured"]
REWRITTEN = {"low": "none", "none": "none", "empty": "empty", "unmeasured": "moderate"}
"""One leads to what is stored, one is of no use, the others give nothing new."""


def told(given: dict[str, Any]) -> str:
    texts = [document.page_content for document in given["documents"]]
    return f"{given['source']}: {' '.join(texts)} ({given['caution']})"


def searched(query: str) -> list[str]:
    if query == "empty":
        raise OSError
    return [f"web {query}"]


def corrective(saver: Any, **options: Any) -> Any:
    return corrective_graph(
        memory(),
        told,
        searched,
        rewrite=lambda given: REWRITTEN[given["query"]],
        on_unknown="rewrite",
    ).compile(checkpointer=saver, **options)


class EdgeState(TypedDict, total=False):
    question: str
    form: str
    recall: Any
    messages: Annotated[list[Any], add_messages]
    documents: list[Any]
    went: str


def _look(state: EdgeState) -> dict[str, Any]:
    question = state["question"]
    if state["form"] == "messages":
        found = create_recall_tool(memory(), "memory", "x")
        call = {"type": "tool_call", "name": "memory", "id": "1", "args": {"query": question}}
        return {"messages": [found.invoke(call)]}
    response = memory().recall(question)
    if state["form"] == "documents":
        return {"documents": response.documents}
    return {"recall": response.to_dict()}


def edge(saver: Any, **options: Any) -> Any:
    route = route_on_recall(relevant="answer", absent="web", unknown="ask")
    graph = StateGraph(EdgeState)
    graph.add_node("look", _look)
    graph.add_edge(START, "look")
    for name in route.path_map:
        graph.add_node(name, lambda state, name=name: {"went": name})
    graph.add_conditional_edges("look", route, route.path_map)
    return graph.compile(checkpointer=saver, **options)


@tool
def web(query: str) -> str:
    """Search the web."""
    return f"web: {query}"


def agent(saver: Any, **options: Any) -> Any:
    from langchain.agents import create_agent

    middleware = RecallMiddleware(retriever_tools=["memory"], fallback_tools=["web"])
    return create_agent(
        ScriptedModel(policy=look_then_web),
        [create_recall_tool(memory(), "memory", "x"), web],
        middleware=[middleware],
        checkpointer=saver,
        **options,
    )


KINDS = {"corrective": corrective, "edge": edge, "agent": agent}


def thread(name: str) -> Any:
    return {"configurable": {"thread_id": name}}


def go_on(kind: str, path: str, *names: str) -> dict[str, Any]:
    """What came of each thread: the nodes that ran now, and the state in the end."""
    with SqliteSaver.from_conn_string(path) as saver:
        graph, done = KINDS[kind](saver), {}
        for name in names:
            updates = graph.stream(None, thread(name), stream_mode="updates")
            ran = [node for update in updates for node in update]
            state = dict(graph.get_state(thread(name)).values)
            state["messages"] = [str(m.content) for m in state.get("messages", [])]
            done[name] = {
                "ran": ran,
                "state": {**state, "documents": len(state.get("documents", ()))},
            }
        return done


if __name__ == "__main__":
    sys.stdout.write(json.dumps(go_on(*sys.argv[1:])))
