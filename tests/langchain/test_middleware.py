"""`RecallMiddleware` in real agents, with a scripted model."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, create_retriever_tool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command, interrupt

from langchain_recall_signal import RecallMiddleware, create_recall_tool
from recall_signal import ConfigurationError
from tests.langchain.agent_fakes import (
    LEVELS,
    Boom,
    ScriptedModel,
    calls,
    look_then_web,
    memory,
    step_by_step,
)

pytest.importorskip("langchain")
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware

from langchain_recall_signal._middleware import _calls_before


@tool
def web(query: str) -> str:
    """Search the web."""
    return f"web: {query}"


@tool
def clock(query: str) -> str:
    """The time."""
    return "noon"


def recall_tool(name: str = "memory") -> BaseTool:
    return create_recall_tool(memory(), name, "The team's memory")


def agent_of(
    policy: Any = look_then_web,
    tools: list[Any] | None = None,
    checkpointer: Any = None,
    more: tuple[AgentMiddleware, ...] = (),
    retriever_tools: tuple[str, ...] = ("memory",),
    **settings: Any,
) -> tuple[Any, ScriptedModel]:
    model = ScriptedModel(policy=policy)
    middleware = RecallMiddleware(
        retriever_tools=list(retriever_tools), fallback_tools=["web"], **settings
    )
    agent = create_agent(
        model,
        [recall_tool(), web, clock] if tools is None else tools,
        middleware=[middleware, *more],
        checkpointer=checkpointer,
    )
    return agent, model


def ask(question: str) -> Any:
    return {"messages": [HumanMessage(question)]}


HIDDEN, OFFERED = ["memory", "clock"], ["memory", "web", "clock"]


@pytest.mark.parametrize("question", [*LEVELS, "empty", "boom", "unmeasured"])
async def test_the_fallback_is_offered_after_a_weak_recall_only(question: str) -> None:
    for mode in ("sync", "async"):
        agent, model = agent_of()
        state = (
            agent.invoke(ask(question)) if mode == "sync" else await agent.ainvoke(ask(question))
        )
        weak = LEVELS.get(question) != "read"
        assert model.offers == [HIDDEN, *([OFFERED, OFFERED] if weak else [HIDDEN])]
        assert state["messages"][-1].content == ("from web" if weak else "from memory")
        expected = {"empty": "none", "boom": "unknown", "unmeasured": "unknown"}
        assert state["recall"]["confidence"]["level"] == expected.get(question, question)
        assert state["recall"]["tool"] == "memory"
        assert state["recall_fallbacks"] == int(weak)


@pytest.mark.parametrize("question", ["boom", "unmeasured"])
def test_unknown_offers_by_choice(question: str) -> None:
    agent, model = agent_of(on_unknown="offer")
    assert agent.invoke(ask(question))["messages"][-1].content == "from web"
    assert model.offers == [HIDDEN, OFFERED, OFFERED]
    agent, model = agent_of(on_unknown="offer", policy=step_by_step())
    agent.invoke(ask("high"))
    assert model.offers == [HIDDEN]  # no recall is not an unknown one


def test_a_better_recall_takes_the_fallback_away_again() -> None:
    policy = step_by_step(calls(("memory", "none")), calls(("memory", "high")))
    agent, model = agent_of(policy)
    agent.invoke(ask("?"))
    assert model.offers == [HIDDEN, OFFERED, HIDDEN]


def test_a_weaker_recall_of_a_later_step_replaces_a_better_one() -> None:
    policy = step_by_step(calls(("memory", "high")), calls(("memory", "none")))
    agent, model = agent_of(policy)
    state = agent.invoke(ask("?"))
    assert model.offers == [HIDDEN, HIDDEN, OFFERED]
    assert state["recall"]["confidence"]["level"] == "none"


def test_other_tools_leave_the_decision_alone() -> None:
    policy = step_by_step(calls(("memory", "none")), calls(("clock", "")))
    agent, model = agent_of(policy)
    agent.invoke(ask("?"))
    assert model.offers == [HIDDEN, OFFERED, OFFERED]


@pytest.mark.parametrize(
    ("queries", "level"),
    [
        (("none", "high"), "high"),
        (("high", "none"), "high"),
        (("low", "none"), "low"),
        (("boom", "none"), "none"),
        (("none", "unmeasured"), "none"),
        (("unmeasured", "boom"), "unknown"),
    ],
)
async def test_the_best_measured_level_of_one_step_counts(
    queries: tuple[str, str], level: str
) -> None:
    policy = step_by_step(calls(("memory", queries[0]), ("archive", queries[1])))
    tools = [recall_tool(), recall_tool("archive"), web]
    for mode in ("sync", "async"):
        agent, model = agent_of(policy, tools, retriever_tools=("memory", "archive"))
        state = agent.invoke(ask("?")) if mode == "sync" else await agent.ainvoke(ask("?"))
        assert state["recall"]["confidence"]["level"] == level
        assert ("web" in model.offers[-1]) == (level in ("low", "none", "unknown"))


def test_a_hidden_tool_that_is_called_all_the_same_does_not_run() -> None:
    agent, _ = agent_of(step_by_step(calls(("web", "high")), calls(("memory", "high"))))
    state = agent.invoke(ask("?"))
    refused = next(m for m in state["messages"] if isinstance(m, ToolMessage))
    assert refused.status == "error"
    assert refused.name == "web"
    assert "not available now" in refused.content
    assert state["recall_fallbacks"] == 0
    assert state["messages"][-1].content == "done"


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_the_number_of_fallbacks_is_bounded(limit: int) -> None:
    def greedy(messages: Any, offered: list[str]) -> AIMessage:
        if not any(isinstance(m, ToolMessage) for m in messages):
            return calls(("memory", "none"))
        if "web" not in offered:
            return AIMessage("done")
        return calls(("web", "a"), ("web", "b"))

    for mode in ("sync", "async"):
        agent, _ = agent_of(greedy, max_fallbacks=limit)
        state = agent.invoke(ask("?")) if mode == "sync" else await agent.ainvoke(ask("?"))
        ran = [m for m in state["messages"] if getattr(m, "name", "") == "web"]
        assert sum(m.status == "success" for m in ran) == limit == state["recall_fallbacks"]
        assert sum(m.status == "error" for m in ran) == len(ran) - limit


@pytest.fixture
def saver(tmp_path: Path) -> Path:
    return tmp_path / "agent.sqlite"


def test_a_turn_starts_anew_and_a_restart_does_not(saver: Path) -> None:
    thread = {"configurable": {"thread_id": "1"}}
    with SqliteSaver.from_conn_string(str(saver)) as checkpointer:
        agent, _ = agent_of(checkpointer=checkpointer)
        state = agent.invoke(ask("none"), thread)
        assert state["recall_fallbacks"] == 1
    with SqliteSaver.from_conn_string(str(saver)) as checkpointer:
        agent, model = agent_of(checkpointer=checkpointer)
        kept = agent.get_state(thread).values["recall"]
        assert kept == state["recall"]
        state = agent.invoke(ask("high"), thread)
        assert model.offers == [HIDDEN, HIDDEN]
        assert state["recall"]["confidence"]["level"] == "high"
        assert state["recall_fallbacks"] == 0


@tool("web")
def approved_web(query: str) -> str:
    """Search the web, if somebody says yes."""
    return f"web: {interrupt('may I?')}"


def test_interrupted_and_resumed_after_a_restart(saver: Path) -> None:
    thread = {"configurable": {"thread_id": "1"}}
    tools = [recall_tool(), approved_web, clock]
    with SqliteSaver.from_conn_string(str(saver)) as checkpointer:
        agent, model = agent_of(tools=tools, checkpointer=checkpointer)
        state = agent.invoke(ask("none"), thread)
        assert state["__interrupt__"][0].value == "may I?"
        assert state["recall_fallbacks"] == 0
        assert model.offers == [HIDDEN, OFFERED]
    with SqliteSaver.from_conn_string(str(saver)) as checkpointer:
        agent, model = agent_of(tools=tools, checkpointer=checkpointer)
        state = agent.invoke(Command(resume="yes"), thread)
        assert [m.content for m in state["messages"]][-2:] == ["web: yes", "from web"]
        assert state["recall_fallbacks"] == 1
        assert state["recall"]["confidence"]["level"] == "none"


async def test_the_same_asynchronously(saver: Path) -> None:
    thread: Any = {"configurable": {"thread_id": "1"}}
    tools = [recall_tool(), approved_web, clock]
    async with AsyncSqliteSaver.from_conn_string(str(saver)) as checkpointer:
        agent, _ = agent_of(tools=tools, checkpointer=checkpointer)
        state = await agent.ainvoke(ask("none"), thread)
        assert state["__interrupt__"]
        state = await agent.ainvoke(Command(resume="yes"), thread)
        assert state["messages"][-1].content == "from web"
        state = await agent.ainvoke(ask("moderate"), thread)
        assert state["messages"][-1].content == "from memory"


async def test_two_agents_at_once() -> None:
    agent, _ = agent_of()
    questions = ["none", "high", "low", "moderate"] * 6
    with ThreadPoolExecutor(8) as pool:
        states = list(pool.map(lambda q: agent.invoke(ask(q)), questions))
    states += await asyncio.gather(*(agent.ainvoke(ask(q)) for q in questions))
    for question, state in zip(questions * 2, states, strict=True):
        assert state["recall"]["confidence"]["level"] == question
        expected = "from web" if LEVELS[question] == "fallback" else "from memory"
        assert state["messages"][-1].content == expected


@tool("web")
def broken_web(query: str) -> str:
    """Search the web."""
    raise Boom


@tool("memory")
def broken_memory(query: str) -> str:
    """Search the memory."""
    raise Boom


@pytest.mark.parametrize("tools", [[recall_tool(), broken_web], [broken_memory, web]])
async def test_what_a_tool_raises_is_its_own_affair(tools: list[BaseTool]) -> None:
    agent, _ = agent_of(tools=tools)
    with pytest.raises(Boom):
        agent.invoke(ask("none"))
    with pytest.raises(Boom):
        await agent.ainvoke(ask("none"))


class Handled(AgentMiddleware):
    """Turns what a tool raises into a message."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        try:
            return handler(request)
        except Boom:
            name, call = request.tool_call["name"], request.tool_call["id"]
            return ToolMessage("failed", name=name, tool_call_id=call, status="error")


def test_a_handled_failure_counts_and_is_unknown() -> None:
    agent, _ = agent_of(tools=[recall_tool(), broken_web], more=(Handled(),))
    state = agent.invoke(ask("none"))
    assert state["recall_fallbacks"] == 1
    agent, model = agent_of(tools=[broken_memory, web], more=(Handled(),))
    state = agent.invoke(ask("none"))
    assert state["recall"]["confidence"]["level"] == "unknown"
    assert state["recall"]["confidence"]["reason"] == "retrieval_failed"
    assert model.offers[:2] == [["memory"], ["memory", "web"]]


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("key", ["recall", "signal"])
@pytest.mark.parametrize(("question", "level"), [("low", "low"), ("high", "high"), ("empty", None)])
def test_the_framework_s_own_retriever_tool_carries_a_signal_in_its_documents(
    question: str, level: str | None, key: str, own: bool
) -> None:
    plain = create_retriever_tool(
        memory(metadata_key=key), "memory", "The memory", response_format="content_and_artifact"
    )
    given = create_recall_tool(memory(metadata_key=key), "memory", "The memory") if own else plain
    agent, model = agent_of(tools=[given, web, clock], metadata_key=key, on_unknown="hide")
    state = agent.invoke(ask(question))
    assert state["recall"]["confidence"]["level"] == (level or ("none" if own else "unknown"))
    assert model.offers[1] == (HIDDEN if level == "high" else OFFERED)


class Commanding(AgentMiddleware):
    """Hands on what a tool gave in another form."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self.form = form

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        message = handler(request)
        if self.form == "list":
            return [message]
        if self.form == "tuples":
            return Command(update=[("messages", [message])])
        return Command(update={"messages": [message]})


@pytest.mark.parametrize("form", ["command", "tuples", "list"])
def test_tools_that_give_commands(form: str) -> None:
    agent, _ = agent_of(more=(Commanding(form),))
    try:
        state = agent.invoke(ask("none"))
    except TypeError:
        if form == "command":
            raise
        pytest.skip("an older ToolNode takes commands as mappings only")
    assert state["recall"]["confidence"]["level"] == "none"


def test_what_the_provider_runs_is_hidden_too() -> None:
    builtin = {"type": "web_20250305", "name": "web"}
    policy = step_by_step(calls(("memory", "none")))
    agent, model = agent_of(policy, tools=[recall_tool(), builtin])
    agent.invoke(ask("?"))
    assert model.offers == [["memory"], ["memory", "web"]]
    bare = {"type": "function", "function": {"name": "web"}}
    agent, model = agent_of(policy, tools=[recall_tool(), bare])
    agent.invoke(ask("?"))
    assert [len(offer) for offer in model.offers] == [1, 2]


def test_settings_of_the_model_are_left_alone() -> None:
    class Settings(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            assert request.model_settings == {}
            return handler(request.override(tool_choice="auto", model_settings={"extra": 1}))

    agent, model = agent_of(more=(Settings(),))
    agent.invoke(ask("none"))
    assert all(s == {"extra": 1, "tool_choice": "auto"} for s in model.settings)


def test_the_decision_is_in_the_stream() -> None:
    agent, _ = agent_of()
    updates = list(agent.stream(ask("none"), stream_mode="updates"))
    seen = [u["tools"]["recall"] for u in updates if "recall" in (u.get("tools") or {})]
    assert [entry["confidence"]["level"] for entry in seen] == ["none"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"retriever_tools": []}, "retriever_tools"),
        ({"retriever_tools": "memory"}, "retriever_tools"),
        ({"retriever_tools": None}, "retriever_tools"),
        ({"fallback_tools": [""]}, "fallback_tools"),
        ({"fallback_tools": [web]}, "fallback_tools"),
        ({"fallback_tools": ["memory"]}, "as both"),
        ({"on_unknown": "ask"}, "on_unknown"),
        ({"max_fallbacks": 0}, "max_fallbacks"),
        ({"max_fallbacks": True}, "max_fallbacks"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        RecallMiddleware(**{"retriever_tools": ["memory"], "fallback_tools": ["web"], **settings})


async def test_names_that_the_agent_does_not_have_are_refused() -> None:
    agent, _ = agent_of(tools=[recall_tool(), clock])
    with pytest.raises(ConfigurationError, match=r"\['web'\].*\['clock', 'memory'\]"):
        agent.invoke(ask("none"))
    with pytest.raises(ConfigurationError, match="web"):
        await agent.ainvoke(ask("none"))


def test_tools_that_are_taken_away_later_are_no_mistake() -> None:
    class Less(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            late = len(request.messages) > 1
            return handler(request.override(tools=request.tools[:1] if late else request.tools))

    model = ScriptedModel(policy=look_then_web)
    middleware = RecallMiddleware(retriever_tools=["memory"], fallback_tools=["web"])
    agent = create_agent(model, [recall_tool(), web], middleware=[Less(), middleware])
    assert agent.invoke(ask("none"))["messages"][-1].content == "from memory"


def test_a_tool_without_an_id_in_the_state_is_let_through() -> None:
    """A call that another middleware made up is not in the message that asked for it."""

    class Renamed(AgentMiddleware):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(tool_call={**request.tool_call, "id": "other"}))

    model = ScriptedModel(policy=step_by_step(calls(("memory", "none")), calls(("web", "x"))))
    middleware = RecallMiddleware(retriever_tools=["memory"], fallback_tools=["web"])
    agent = create_agent(model, [recall_tool(), web], middleware=[Renamed(), middleware])
    assert agent.invoke(ask("?"))["recall_fallbacks"] == 1


def with_ids(*ids: Any) -> AIMessage:
    """One step that searches the web as often, with these ids."""
    return AIMessage(
        "", tool_calls=[{"name": "web", "args": {"query": "q"}, "id": one} for one in ids]
    )


def counting_web() -> tuple[BaseTool, list[str]]:
    asked: list[str] = []

    @tool("web")
    def counted(query: str) -> str:
        """Search the web."""
        asked.append(query)
        return query

    return counted, asked


@pytest.mark.parametrize("checkpointed", [False, True])
@pytest.mark.parametrize(
    ("ids", "limit", "ran"),
    [
        (("a", "a", "a"), 1, 1),
        (("a", "a", "a"), 3, 1),
        (("", "", ""), 2, 1),
        (("a", "a", "b"), 2, 2),
        (("a", "b", "a", "c"), 2, 2),
    ],
)
async def test_ids_that_repeat_do_not_widen_the_bound(
    ids: tuple[str, ...], limit: int, ran: int, checkpointed: bool
) -> None:
    for mode in ("sync", "async"):
        counted, asked = counting_web()
        thread: Any = {"configurable": {"thread_id": "1"}}
        policy = step_by_step(calls(("memory", "none")), with_ids(*ids))
        saver = InMemorySaver() if checkpointed else None
        agent, _ = agent_of(policy, [recall_tool(), counted], saver, max_fallbacks=limit)
        if mode == "sync":
            state = agent.invoke(ask("?"), thread)
        else:
            state = await agent.ainvoke(ask("?"), thread)
        assert len(asked) == state["recall_fallbacks"]
        assert len(asked) in (ran, ran - 1)  # an older ToolNode copies calls: then not the first


def test_the_first_of_calls_with_one_id_is_known_by_itself() -> None:
    step = with_ids("a", "b", "a", "c").tool_calls
    assert [_calls_before(call, step) for call in step] == [0, 1, None, 2]
    assert [_calls_before({**call}, step) for call in step] == [None, 1, None, 2]
    assert _calls_before({**step[0], "id": "other"}, step) == 0


def test_ids_that_repeat_after_a_restart_are_all_refused(saver: Path) -> None:
    """Which of them was the first cannot be told any more, so none of them runs."""
    thread: Any = {"configurable": {"thread_id": "1"}}
    policy = step_by_step(calls(("memory", "none")), with_ids("a", "a", "b"))
    model = ScriptedModel(policy=policy)
    counted, asked = counting_web()
    middleware = RecallMiddleware(retriever_tools=["memory"], fallback_tools=["web"])
    for _ in range(3):
        with SqliteSaver.from_conn_string(str(saver)) as checkpointer:
            agent = create_agent(
                model,
                [recall_tool(), counted],
                middleware=[middleware],
                checkpointer=checkpointer,
                interrupt_before=["tools"],
            )
            begun = agent.get_state(thread).values
            state = agent.invoke(None if begun else ask("?"), thread)
    assert state["recall_fallbacks"] == len(asked) == 1


GARBAGE = [
    {"x": 1},
    {"confidence": None},
    {"confidence": {"level": "HIGH"}},
    {"confidence": {"level": 7}},
    {"confidence": {"level": ["none"]}},
    "text",
    [1],
    5,
]


@pytest.mark.parametrize("garbage", GARBAGE)
@pytest.mark.parametrize("on_unknown", ["hide", "offer"])
def test_garbage_in_the_state_is_unknown(garbage: Any, on_unknown: Any) -> None:
    class Spoiling(AgentMiddleware):
        def before_model(self, state: Any, runtime: Any) -> dict[str, Any]:
            return {"recall": garbage}

    agent, model = agent_of(on_unknown=on_unknown, more=(Spoiling(),))
    state = agent.invoke(ask("none"))
    offered = on_unknown == "offer"
    assert model.offers == ([OFFERED] * 3 if offered else [HIDDEN] * 2)
    assert state["messages"][-1].content == ("from web" if offered else "from memory")
