"""Nothing loops: whatever a model, a rewriter or a store does, the steps are counted."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.errors import GraphRecursionError

from langchain_recall_signal import RecallMiddleware, corrective_graph, create_recall_tool
from recall_signal.confidence import LEVELS as BEST_FIRST
from tests.langchain.agent_fakes import LEVELS, Boom, ScriptedModel, calls, memory, step_by_step

pytest.importorskip("langchain")
from langchain.agents import create_agent

QUESTIONS = [*LEVELS, "empty", "unmeasured"]
MEASURED = {"empty": "none", "unmeasured": "unknown"}
WEB = ("web", "x")

a_query = st.sampled_from(QUESTIONS)


@tool
def web(query: str) -> str:
    """Search the web."""
    return f"web: {query}"


@given(
    st.lists(st.one_of(a_query, st.just(""), st.just(Boom())), min_size=6, max_size=6),
    st.integers(0, 5),
    st.sampled_from(["answer", "rewrite", "web_search"]),
    st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_a_corrective_graph_ends_whatever_its_steps_do(
    words: list[Any], most: int, on_unknown: Any, fails: bool
) -> None:
    """At most one search more than rewrites, one web search, one answer, and no step twice."""

    def rewrite(given: dict[str, Any]) -> str:
        said = words[len(rewritten)]
        rewritten.append(said)
        if isinstance(said, Exception):
            raise said
        return str(said)

    def search_web(query: str) -> list[str]:
        if fails:
            raise Boom
        return [query]

    rewritten: list[Any] = []
    if on_unknown == "rewrite" and not most:
        on_unknown = "answer"
    graph = corrective_graph(
        memory(),
        lambda given: "said",
        search_web,
        rewrite=rewrite,
        max_rewrites=most,
        on_unknown=on_unknown,
    ).compile()
    for first in QUESTIONS:
        rewritten.clear()
        updates = graph.stream(
            {"question": first}, {"recursion_limit": 3 * most + 6}, stream_mode="updates"
        )
        names = [name for update in updates for name in update]
        assert len(rewritten) <= most
        assert names.count("retrieve") <= most + 1
        assert len(names) <= 3 * most + 5
        assert names[-1] == "answer"
        assert names.count("web_search") <= 1
        assert all(one != other for one, other in pairwise(names))


step = st.lists(
    st.one_of(st.just(WEB), st.tuples(st.sampled_from(["memory", "archive"]), a_query)),
    min_size=1,
    max_size=4,
)


def expected_runs(steps: list[list[tuple[str, str]]], most: int) -> list[int]:
    """Calls of the web that may run, step by step: the rule, once more."""
    level, used, ran = None, 0, []
    for one in steps:
        room = most - used if level in ("low", "none", "unknown") else 0
        wanted = sum(name == "web" for name, _ in one)
        ran.append(min(wanted, max(room, 0)))
        used += ran[-1]
        found = [MEASURED.get(query, query) for name, query in one if name != "web"]
        level = min(found, key=BEST_FIRST.index) if found else level
    return ran


@given(st.lists(step, max_size=6), st.integers(1, 3))
@settings(deadline=None, max_examples=60)
def test_whatever_a_model_calls_the_fallbacks_are_counted(
    steps: list[list[tuple[str, str]]], most: int
) -> None:
    middleware = RecallMiddleware(
        retriever_tools=["memory", "archive"], fallback_tools=["web"], max_fallbacks=most
    )
    tools = [create_recall_tool(memory(), name, "x") for name in ("memory", "archive")]
    model = ScriptedModel(policy=step_by_step(*(calls(*one) for one in steps)))
    agent = create_agent(model, [*tools, web], middleware=[middleware])
    state = agent.invoke({"messages": [HumanMessage("?")]})
    ran: list[int] = []
    for message in state["messages"]:
        if isinstance(message, AIMessage):
            ran.append(0)
        elif isinstance(message, ToolMessage) and message.name == "web":
            ran[-1] += message.status == "success"
    assert ran[:-1] == expected_runs(steps, most)
    assert state["recall_fallbacks"] == sum(ran) <= most


async def test_a_model_that_never_stops_is_stopped_by_the_framework() -> None:
    """What it calls in vain does not run; the agent's own loop has its recursion limit."""
    asked: list[str] = []

    @tool("web")
    def counted(query: str) -> str:
        """Search the web."""
        asked.append(query)
        return query

    middleware = RecallMiddleware(retriever_tools=["memory"], fallback_tools=["web"])
    model = ScriptedModel(policy=lambda messages, offered: calls(("memory", "none"), WEB))
    tools = [create_recall_tool(memory(), "memory", "x"), counted]
    agent = create_agent(model, tools, middleware=[middleware])
    limit: Any = {"recursion_limit": 30}
    with pytest.raises(GraphRecursionError):
        agent.invoke({"messages": [HumanMessage("?")]}, limit)
    assert asked == ["x"] * 3
    with pytest.raises(GraphRecursionError):
        await agent.ainvoke({"messages": [HumanMessage("?")]}, limit)
    assert asked == ["x"] * 6


def test_a_store_that_always_finds_something_else_ends_too() -> None:
    graph = corrective_graph(
        RunnableLambda(lambda query: [Document(query)]),
        lambda given: "said",
        lambda query: [],
        rewrite=lambda given: given["query"] + "!",
        max_rewrites=5,
        on_unknown="rewrite",
    ).compile()
    state = graph.invoke({"question": "q"}, {"recursion_limit": 21})
    assert (state["rewrites"], state["answer"]) == (5, "said")
