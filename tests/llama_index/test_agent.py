"""Fallback tools that an agent is offered after a weak recall, and at no other time."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ToolCallResult
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.tools import FunctionTool, QueryEngineTool, RetrieverTool
from llama_index.core.workflow import Context

from llama_index_recall_signal import (
    RecallAgent,
    RecallQueryEngine,
    RecallRetriever,
    RecallRouterQueryEngine,
    create_recall_tool,
)
from recall_signal import ConfigurationError
from tests.llama_index.agent_fakes import (
    LOOK,
    STRONG,
    WEAK,
    WEB,
    Call,
    ScriptedLLM,
    agent,
    notes,
    unmeasured,
    web,
)
from tests.llama_index.fakes import QUERY, ListRetriever, RecordingLLM, index_with_cosines

# Every agent of LlamaIndex looks at all of its attributes, pydantic's retired ones included.
# With newer pydantic its chat memory is left out of a saved context, which it warns of as well.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::workflows.context.state_store.UnserializableKeyWarning"),
]


@pytest.fixture(params=[True, False], ids=["streaming", "plain"])
def streaming(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


async def test_after_a_weak_recall_the_web_is_offered(streaming: bool) -> None:
    runner, llm = agent([[LOOK], [WEB]], notes(WEAK), web(), streaming=streaming)
    context: Any = Context(runner)
    result = await runner.run(QUERY, ctx=context)
    assert str(result) == "done"
    assert llm.offered == [["notes"], ["notes", "web"], ["notes", "web"]]
    assert llm.heard[0].startswith("[recall: none]")
    assert llm.heard[-1] == f"web on {QUERY}"
    kept = await context.store.get("recall")
    assert (kept["confidence"]["level"], kept["tool"]) == ("none", "notes")
    assert await context.store.get("recall_fallbacks") == 1
    assert json.loads(json.dumps(context.to_dict()))


async def test_after_a_strong_recall_it_is_not(streaming: bool) -> None:
    runner, llm = agent([[LOOK]], notes(STRONG), web(), streaming=streaming)
    await runner.run(QUERY)
    assert llm.offered == [["notes"], ["notes"]]


async def test_a_better_search_takes_it_away_again() -> None:
    again: Call = ("more", {"query": QUERY})
    runner, llm = agent(
        [[LOOK], [again]],
        notes(WEAK),
        notes(STRONG, "more"),
        web(),
        retriever_tools=["notes", "more"],
    )
    await runner.run(QUERY)
    assert ["web" in names for names in llm.offered] == [False, True, False]


async def test_in_one_step_the_best_level_speaks() -> None:
    more: Call = ("more", {"query": QUERY})
    runner, llm = agent(
        [[LOOK, more], [more, LOOK]],
        notes(WEAK),
        notes(STRONG, "more"),
        web(),
        retriever_tools=["notes", "more"],
    )
    await runner.run(QUERY)
    assert ["web" in names for names in llm.offered] == [False, False, False]


@pytest.mark.parametrize("on_unknown", ["hide", "offer"])
async def test_unknown_by_choice(on_unknown: Any) -> None:
    runner, llm = agent([[LOOK]], unmeasured(), web(), on_unknown=on_unknown)
    await runner.run(QUERY)
    assert ["web" in names for names in llm.offered] == [False, on_unknown == "offer"]


async def test_a_call_of_what_is_not_offered_is_refused() -> None:
    asked: list[str] = []
    runner, llm = agent([[WEB], [LOOK, WEB]], notes(STRONG), web(lambda query: asked.append(query)))
    handler = runner.run(QUERY)
    results = [e async for e in handler.stream_events() if isinstance(e, ToolCallResult)]
    assert str(await handler) == "done"
    assert asked == []
    refused = [result for result in results if result.tool_name == "not_offered"]
    assert len(refused) == 2
    assert all(result.tool_output.is_error for result in refused)
    assert llm.heard[0].startswith("web is not available now")
    assert not any("not_offered" in names for names in llm.offered)


async def test_a_search_of_the_same_step_does_not_open_it() -> None:
    asked: list[str] = []
    runner, _ = agent([[LOOK, WEB]], notes(WEAK), web(lambda query: asked.append(query)))
    await runner.run(QUERY)
    assert asked == []


async def test_the_count_is_bounded_also_in_one_step() -> None:
    asked: list[str] = []
    script = [[LOOK], [WEB, WEB, WEB], [WEB]]
    runner, llm = agent(
        script, notes(WEAK), web(lambda query: asked.append(query)), max_fallbacks=2
    )
    context: Any = Context(runner)
    await runner.run(QUERY, ctx=context)
    assert len(asked) == 2
    assert ["web" in names for names in llm.offered] == [False, True, False, False]
    assert await context.store.get("recall_fallbacks") == 2


async def test_a_new_turn_starts_anew() -> None:
    runner, llm = agent([[LOOK], [WEB], [], [WEB]], notes(WEAK), web())
    context: Any = Context(runner)
    await runner.run(QUERY, ctx=context)
    await runner.run(QUERY, ctx=context)
    assert ["web" in names for names in llm.offered] == [False, True, True, False, False]
    assert llm.heard[-1].startswith("web is not available now")


async def test_a_saved_context_goes_on_elsewhere() -> None:
    first, _ = agent([[LOOK], [WEB]], notes(WEAK), web())
    context: Any = Context(first)
    await first.run(QUERY, ctx=context)
    saved = json.dumps(context.to_dict())
    second, llm = agent([[LOOK]], notes(WEAK), web())
    restored: Any = Context.from_dict(second, json.loads(saved))
    await second.run("something else", ctx=restored)
    assert ["web" in names for names in llm.offered] == [False, True]
    assert (await restored.store.get("recall"))["turn"] == "something else"


async def test_a_tool_that_raises_has_no_signal() -> None:
    def fail(query: str) -> str:
        raise OSError("gone")

    broken = FunctionTool.from_defaults(fail, name="notes", description="d")
    runner, llm = agent([[LOOK]], broken, web(), on_unknown="offer")
    context: Any = Context(runner)
    await runner.run(QUERY, ctx=context)
    kept = await context.store.get("recall")
    assert kept["confidence"]["reason"] == "retrieval_failed"
    assert ["web" in names for names in llm.offered] == [False, True]


async def test_a_web_search_that_raises_is_counted_and_survived() -> None:
    def fail(query: str) -> str:
        raise OSError("gone")

    runner, llm = agent([[LOOK], [WEB], [WEB]], notes(WEAK), web(fail), max_fallbacks=1)
    assert str(await runner.run(QUERY)) == "done"
    assert ["web" in names for names in llm.offered] == [False, True, False, False]


def tool_of(kind: str, retriever: RecallRetriever) -> Any:
    named: dict[str, Any] = {"name": "notes", "description": "d"}
    engine = RecallQueryEngine.from_args(retriever, llm=RecordingLLM())
    if kind == "retriever":
        return RetrieverTool.from_defaults(retriever, **named)
    if kind == "tool":
        return create_recall_tool(retriever, **named)
    if kind == "function":
        return FunctionTool.from_defaults(lambda query: retriever.retrieve(query), **named)
    router = RecallRouterQueryEngine(engine, engine) if kind == "router" else engine
    return QueryEngineTool.from_defaults(router, **named)


@pytest.mark.parametrize("cosines", [STRONG, WEAK])
@pytest.mark.parametrize("key", ["recall", "signal"])
@pytest.mark.parametrize("kind", ["engine", "router", "retriever", "tool", "function"])
async def test_tools_that_carry_the_signal(kind: str, key: str, cosines: list[float]) -> None:
    retriever = RecallRetriever(index_with_cosines(cosines).as_retriever(), metadata_key=key)
    settings = {"metadata_key": key} if kind == "function" else {}
    argument = "query" if kind in ("tool", "function") else "input"
    tool = tool_of(kind, retriever)
    runner, llm = agent([[("notes", {argument: QUERY})]], tool, web(), **settings)
    context: Any = Context(runner)
    await runner.run(QUERY, ctx=context)
    level = (await context.store.get("recall"))["confidence"]["level"]
    assert ["web" in names for names in llm.offered] == [False, level in ("low", "none")]
    assert level in ("high", "none")


async def test_an_empty_page_of_a_retriever_tool_is_a_fallback() -> None:
    retriever = RecallRetriever(ListRetriever([]))
    runner, llm = agent(
        [[("notes", {"input": QUERY})]], tool_of("retriever", retriever), web(), on_unknown="hide"
    )
    await runner.run(QUERY)
    assert ["web" in names for names in llm.offered] == [False, True]


async def test_two_agents_at_once_keep_to_themselves() -> None:
    pairs = [agent([[LOOK], [WEB]], notes((STRONG, WEAK)[n % 2]), web()) for n in range(6)]
    await asyncio.gather(*(runner.run(QUERY) for runner, _ in pairs))
    offers = [["web" in names for names in llm.offered] for _, llm in pairs]
    assert offers == [[False, False, False], [False, True, True]] * 3


class OfEachRun(ScriptedLLM):
    """Looks, then searches the web, then is done: in each run, whatever others do meanwhile."""

    def _next(self, messages: Sequence[ChatMessage]) -> ChatResponse:
        turn = sum(message.role == MessageRole.TOOL for message in messages)
        self.script.insert(0, [[LOOK], [WEB], []][min(turn, 2)])
        return super()._next(messages)


async def test_one_agent_serves_runs_at_the_same_time() -> None:
    llm = OfEachRun(script=[])
    tools = [notes(WEAK), web()]
    runner = RecallAgent(llm=llm, tools=tools, retriever_tools=["notes"], fallback_tools=["web"])
    await asyncio.gather(runner.run(QUERY), runner.run(QUERY))
    assert sum("web" in names for names in llm.offered) == 4


async def after_a_turn_of_two_agents() -> tuple[AgentWorkflow, Any, ScriptedLLM]:
    """A front that hands over to a searcher, whose weak recall has opened the web."""
    searcher, llm = agent(
        [[LOOK], [], [WEB]], notes(WEAK), web(), name="searcher", description="searches"
    )
    pass_on: list[Call] = [("handoff", {"to_agent": "searcher", "reason": "r"})]
    front = FunctionAgent(
        name="front",
        description="front",
        llm=ScriptedLLM(script=[pass_on, pass_on]),
        can_handoff_to=["searcher"],
    )
    workflow = AgentWorkflow(agents=[front, searcher], root_agent="front")
    context: Any = Context(workflow)
    await workflow.run(QUERY, ctx=context)
    assert ["web" in names for names in llm.offered] == [False, True]
    return workflow, context, llm


async def test_in_a_workflow_of_agents_an_old_turn_opens_nothing() -> None:
    workflow, context, llm = await after_a_turn_of_two_agents()
    await workflow.run("something else", ctx=context)
    assert "web" not in llm.offered[2]


async def test_the_same_words_again_are_another_turn() -> None:
    """Also where another agent has the first word, so that the run's start is not seen."""
    workflow, context, llm = await after_a_turn_of_two_agents()
    await context.store.set("current_agent_name", "front")
    await workflow.run(QUERY, ctx=context)
    assert "web" not in llm.offered[2]
    assert llm.heard[-1].startswith("web is not available now")


@pytest.mark.parametrize(
    "garbage", [{"x": 1}, {"turn": QUERY, "user_messages": 1, "confidence": 5}, "text", [1], 5]
)
@pytest.mark.parametrize("on_unknown", ["hide", "offer"])
async def test_garbage_in_the_store_is_no_signal(garbage: Any, on_unknown: Any) -> None:
    async def spoil(ctx: Context) -> str:
        await ctx.store.set("recall", garbage)
        return "spoilt"

    spoiler = FunctionTool.from_defaults(spoil, name="spoil", description="d")
    runner, llm = agent(
        [[LOOK], [("spoil", {})]], notes(WEAK), web(), spoiler, on_unknown=on_unknown
    )
    assert str(await runner.run(QUERY)) == "done"
    known = garbage == {"x": 1}  # then it is of no turn that anybody knows
    assert ("web" in llm.offered[2]) == (on_unknown == "offer" and not known)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"retriever_tools": []}, "retriever_tools must be a list of tool names, got an empty one"),
        ({"retriever_tools": [3, "a"]}, "got one with int; pass each tool's .name"),
        ({"retriever_tools": "notes"}, r"got a text; pass \[name\]"),
        ({"retriever_tools": None}, "retriever_tools must be a list of tool names, got NoneType"),
        ({"fallback_tools": "web"}, "fallback_tools must be a list of tool names"),
        ({"fallback_tools": ["notes"]}, r"got \['notes'\] as both"),
        ({"fallback_tools": ["bing"]}, r"does not have the tools \['bing'\]"),
        ({"on_unknown": "ask"}, "on_unknown must be 'hide' or 'offer'"),
        ({"max_fallbacks": 0}, "max_fallbacks must be 1 or more"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        agent([], notes(WEAK), web(), **settings)
    with pytest.raises(ConfigurationError, match="does not have"):
        agent([])


def test_the_name_for_what_is_not_offered_is_taken() -> None:
    own = FunctionTool.from_defaults(lambda: "x", name="not_offered")
    with pytest.raises(ConfigurationError, match="cannot be named not_offered"):
        agent([], notes(WEAK), web(), own)
