"""A report that another release wrote, or nobody of ours, reads the same in both frameworks."""

import json
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context

from langchain_recall_signal import SelectorCompressor, route_on_recall
from llama_index_recall_signal import CorrectiveWorkflow, RecallSelectorPostprocessor
from llama_index_recall_signal._workflow_events import (
    AnswerEvent,
    FoundEvent,
    RewriteEvent,
    SearchWebEvent,
)
from recall_signal import assess
from recall_signal.reports import NOT_CONFIGURED, metadata_entry
from recall_signal.selection import SelectionOptions
from tests.llama_index.agent_fakes import LOOK, agent, web
from tests.llama_index.fakes import QUERY, ListRetriever, scored

pytest.importorskip("langgraph")
pytest.importorskip("langchain")

from langgraph.checkpoint.memory import InMemorySaver

from langchain_recall_signal import RecallMiddleware, corrective_graph
from recall_signal.report_parsing import level_in
from tests.reports import report_of

# As in test_agent.py.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::workflows.context.state_store.UnserializableKeyWarning"),
]

STRONG = report_of(assess([0.9, 0.5, 0.45, 0.4]), NOT_CONFIGURED, "store")
WEAK = report_of(assess([0.2, 0.195, 0.19, 0.185]), NOT_CONFIGURED, "store")


def changed(report: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The report with other fields in its confidence, without those that are `...`."""
    confidence = {**report["confidence"], **fields}
    kept = {name: value for name, value in confidence.items() if value is not ...}
    return {**report, "confidence": kept}


REPORTS: dict[str, tuple[Any, str]] = {
    "a newer strong one": (changed(STRONG, novelty=0.3), "high"),
    "a newer weak one": (changed({**WEAK, "v": 2, "more": []}, novelty=0.3), "none"),
    "strong with a field missing": (changed(STRONG, rationale=..., result_count=...), "high"),
    "weak with a field missing": (changed(WEAK, rationale=...), "none"),
    "nothing but the level": ({"confidence": {"level": "low"}}, "low"),
    "strong with wrong types": (changed(STRONG, top_score="best", match=["exact"]), "high"),
    "weak with wrong types": (changed(WEAK, result_count=None, basis=7), "none"),
    "a level of a wrong type": (changed(STRONG, level=["high"]), "unknown"),
    "a confidence of a wrong type": ({**STRONG, "confidence": 0.9}, "unknown"),
    "an unknown level": (changed(STRONG, level="superb"), "unknown"),
    "strong through JSON": (json.loads(json.dumps(changed(STRONG, novelty=[1]))), "high"),
    "weak through JSON": (json.loads(json.dumps(WEAK)), "none"),
    "an empty one": ({}, "unknown"),
    "None": (None, "unknown"),
}
TODO = {"high": "read", "low": "fallback", "none": "fallback", "unknown": "undecided"}
DECISION = {"read": "answer", "fallback": "web_search", "undecided": "web_search"}

each = pytest.mark.parametrize(("report", "level"), REPORTS.values(), ids=REPORTS)


def answer(given: dict[str, Any]) -> str:
    return "answered"


@dataclass
class Request:
    """What the middleware sees of a model call."""

    tools: list[Any]
    state: dict[str, Any]

    def override(self, tools: list[Any]) -> "Request":
        return Request(tools, self.state)


TOOLS = [SimpleNamespace(name="notes"), SimpleNamespace(name="web")]


@each
def test_langchain_routes(report: Any, level: str) -> None:
    route = route_on_recall(relevant="read", absent="fallback", unknown="undecided")
    artifact = {"documents": [], "recall": report}
    message = ToolMessage("found", tool_call_id="1", artifact=artifact)
    document = Document("text", metadata={"recall": report})
    for state in (
        {"recall": report},
        {"messages": [HumanMessage("q"), message]},
        {"documents": [document]},
    ):
        assert route(state) == TODO[level]


@each
def test_langchain_graph_from_a_checkpoint(report: Any, level: str) -> None:
    graph = corrective_graph(
        RunnableLambda(lambda query: []), answer, lambda query: [], on_unknown="web_search"
    )
    compiled = graph.compile(InMemorySaver(), interrupt_after=["retrieve"])
    thread: Any = {"configurable": {"thread_id": "1"}}
    compiled.invoke({"question": QUERY}, thread)
    compiled.update_state(thread, {"recall": report})
    assert compiled.invoke(None, thread)["decision"] == DECISION[TODO[level]]


@each
async def test_llama_index_workflow_from_a_saved_event(report: Any, level: str) -> None:
    workflow = CorrectiveWorkflow(
        ListRetriever(scored(None)), answer, lambda query: [], on_unknown="web_search"
    )
    recall = {} if report is None else report  # an event's `recall` is always a dict
    event = FoundEvent(question=QUERY, query=QUERY, recall=recall)
    restored = FoundEvent.model_validate_json(event.model_dump_json())
    assert level_in(restored.recall) == level
    sent: list[Any] = []
    stream: Any = SimpleNamespace(write_event_to_stream=sent.append)
    decided = await workflow.signal(stream, restored)
    kinds = {"answer": AnswerEvent, "rewrite": RewriteEvent, "web_search": SearchWebEvent}
    assert type(decided) is kinds[DECISION[TODO[level]]]
    assert [each.level for each in sent] == [level]


@each
@pytest.mark.parametrize("on_unknown", ["hide", "offer"])
async def test_both_agents_offer_the_same(report: Any, level: str, on_unknown: Any) -> None:
    todo = TODO[level]
    offered = todo == "fallback" or (todo == "undecided" and on_unknown == "offer")

    middleware = RecallMiddleware(
        retriever_tools=["notes"], fallback_tools=["web"], on_unknown=on_unknown
    )
    call: Any = SimpleNamespace(tool_call={"name": "notes", "id": "1"}, state={"messages": []})
    message = ToolMessage("found", tool_call_id="1", artifact={"recall": report})
    update = middleware.wrap_tool_call(call, lambda _: message).update
    for recall in (update["recall"], report):  # just noted, and as a checkpoint may hold it
        if recall is not None:  # nothing: there was no search
            request: Any = Request(TOOLS, {"recall": recall})
            shown = middleware.wrap_model_call(request, lambda seen: seen.tools)
            assert ("web" in [tool.name for tool in shown]) == offered

    notes = FunctionTool.from_defaults(
        lambda query: {"recall": report}, name="notes", description="d"
    )
    runner, llm = agent([[LOOK]], notes, web(), on_unknown=on_unknown)
    context: Any = Context(runner)
    await runner.run(QUERY, ctx=context)
    assert ["web" in names for names in llm.offered] == [False, offered]
    kept = await context.store.get("recall")
    assert kept["confidence"]["level"] == update["recall"]["confidence"]["level"] == level

    if report is not None:  # as a saved context may hold it

        async def restore(ctx: Context) -> str:
            await ctx.store.set("recall", {**report, "turn": QUERY})
            return "restored"

        restorer = FunctionTool.from_defaults(restore, name="restore", description="d")
        runner, llm = agent([[("restore", {})]], notes, web(), restorer, on_unknown=on_unknown)
        await runner.run(QUERY)
        assert ["web" in names for names in llm.offered] == [False, offered]


async def test_of_several_in_one_step_the_best_measured_one_speaks_in_both() -> None:
    newer = changed(STRONG, novelty=0.3)
    for reports, level in (([WEAK, newer, None], "high"), ([None, WEAK], "none"), ([{}], None)):
        route = route_on_recall(relevant="read", absent="fallback", unknown="undecided")
        messages = [
            ToolMessage("found", tool_call_id=str(n), artifact={"recall": report})
            for n, report in enumerate(reports)
        ]
        assert route([HumanMessage("q"), *messages]) == TODO[level or "unknown"]

        names = [f"notes{n}" for n in range(len(reports))]
        tools = [
            FunctionTool.from_defaults(
                lambda query, report=report: {"recall": report}, name=name, description="d"
            )
            for name, report in zip(names, reports, strict=True)
        ]
        step = [(name, {"query": QUERY}) for name in names]
        runner, _ = agent([step], *tools, web(), retriever_tools=names)
        context: Any = Context(runner)
        await runner.run(QUERY, ctx=context)
        kept = await context.store.get("recall")
        assert kept["confidence"]["level"] == (level or "unknown")


@pytest.mark.parametrize("name", REPORTS)
def test_both_selectors_skip_by_the_same_level(name: str) -> None:
    """That of a whole entry: what a store holds is not mended into one."""
    report, level = REPORTS[name]
    if name in ("a newer strong one", "strong through JSON", "weak through JSON"):
        report = metadata_entry(report, 0, 0.9)
    else:
        level = "unknown"

    class Never:
        def select(self, request: Any) -> Any:
            raise AssertionError

        async def aselect(self, request: Any) -> Any:
            raise AssertionError

    skipped: Any = frozenset({level})
    options = SelectionOptions(skip_levels=skipped, min_results=1)
    compressor = SelectorCompressor(selector=Never(), options=options)
    found = [Document("text", metadata={"recall": report})]
    said = [compressor.compress_documents(found, QUERY)[0].metadata["recall"]["selection"]]
    postprocessor = RecallSelectorPostprocessor(selector=Never(), options=options)
    nodes = [NodeWithScore(node=TextNode(text="text", metadata={"recall": report}))]
    kept = postprocessor.postprocess_nodes(nodes, query_str=QUERY)
    said.append(kept[0].node.metadata["recall"]["selection"])
    assert said == [{"applied": False, "reason": "skipped_by_level"}] * 2
