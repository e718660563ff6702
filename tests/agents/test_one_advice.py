"""One page, one advice: every channel of both frameworks says and does the same."""

from pathlib import Path
from typing import Any

import pytest

from recall_signal import parse_report
from recall_signal.agents._prompts import UNMEASURED
from tests.agents.matrix import CASES, DROP, RAISED, Boom, Case, case_of, table
from tests.frameworks import FRAMEWORKS, QUERY, STRONG, Framework

# Every agent of LlamaIndex looks at all of its attributes, pydantic's retired ones included.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::workflows.context.state_store.UnserializableKeyWarning"),
]

REPORTS = Path(__file__).parents[2] / "docs" / "reports.md"


def test_the_table_of_the_docs_is_this_one() -> None:
    """Printed by `python -m tests.agents.matrix`."""
    assert table() in REPORTS.read_text("utf-8")


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, framework: Framework) -> Case:
    return case_of(request.param, framework.name)


@pytest.fixture
def retriever(case: Case, framework: Framework) -> Any:
    return case.make(framework)


async def test_the_wrapper_its_entries_and_its_event(
    framework: Framework, way: str, case: Case, retriever: Any
) -> None:
    with framework.events() as (call, events):
        try:
            response = await framework.recall(retriever, way, **call)
        except Boom:
            assert case.raises
            return
    assert response.confidence.level == case.level
    assert (response.advice, response.shown) == (case.advice, case.shown)
    assert case.says in response.advice_text
    assert ("external source" in response.advice_text) == (case.advice == "fallback")
    assert [item.entry["advice"] for item in framework.page(response)] == [case.advice] * case.shown
    assert response.to_dict()["advice"] == case.advice
    assert events[-1] == response.to_dict()


async def test_the_tool_and_the_route(
    framework: Framework, way: str, case: Case, retriever: Any
) -> None:
    tool = framework.package.create_recall_tool(retriever, "memory", "x")
    content, artifact = await framework.call_tool(tool, way)
    header = content.split("\n")[0]
    assert header.startswith(f"[recall: {case.level}]")
    assert case.says in header
    elsewhere = "external source" in header or "another source" in header
    assert elsewhere == (case.advice == "fallback")
    assert artifact["recall"]["advice"] == case.advice
    assert len(artifact["documents"]) == case.shown
    over_a_protocol = {"structured_content": artifact}
    assert parse_report(over_a_protocol) == parse_report(artifact)
    if framework.name == "langchain":
        route = framework.package.route_on_recall(
            relevant="relevant", absent="absent", unknown="unknown"
        )
        for state in (
            {"recall": artifact["recall"]},
            {"messages": [{"type": "tool", "artifact": artifact}]},
            {"messages": [{"type": "tool", "artifact": over_a_protocol}]},
        ):
            assert route(state) == case.done.route


async def test_the_agent(framework: Framework, way: str, case: Case, retriever: Any) -> None:
    offered, recall = await framework.run_agent(retriever, way)
    assert ("offered" if offered else "hidden") == case.done.web
    assert recall["advice"] == case.advice


async def test_the_agent_with_a_tool_of_a_server(
    framework: Framework, way: str, case: Case, retriever: Any
) -> None:
    """Its reports are one level down, as the clients of the protocol hand them on."""
    offered, recall = await framework.run_agent(retriever, way, through_a_protocol=True)
    assert ("offered" if offered else "hidden") == case.done.web
    assert recall["advice"] == case.advice


async def test_an_agent_may_hide_the_web_after_unknown(framework: Framework, way: str) -> None:
    for case in CASES.values():
        offered, _ = await framework.run_agent(case.make(framework), way, on_unknown="hide")
        assert offered == (case.advice == "fallback")


async def test_the_corrective_flow(
    framework: Framework, way: str, case: Case, retriever: Any
) -> None:
    try:
        result = await framework.run_corrective(retriever, way)
    except Boom:  # passes through, as the bare retriever raises it
        assert case.done.flow == RAISED
        return
    assert result["source"] == case.done.flow
    assert result["recall"]["advice"] == case.advice
    assert result["caution"] == (UNMEASURED if case.advice == "undecided" else None)
    assert len(result["documents"]) == (1 if case.advice == "fallback" else case.shown)


@pytest.mark.parametrize("streaming", [False, True])
async def test_the_chain_or_query_engine(
    framework: Framework, way: str, case: Case, retriever: Any, streaming: bool
) -> None:
    heard: list[Any] = []

    def elsewhere(question: str, response: Any) -> str:
        heard.append((question, response.advice, response.shown))
        return "elsewhere"

    for on_absent in ("answer", "refuse", elsewhere):
        settings = {"on_absent": on_absent, "refusal": "refused"}
        try:
            said = await framework.answer(retriever, way, streaming=streaming, **settings)
        except Boom:
            assert case.done.refusing == RAISED
            continue
        report = parse_report({"recall": said.report})
        assert report is not None
        assert (report.confidence.level, report.advice) == (case.level, case.advice)
        goes_elsewhere = case.advice == "fallback" and on_absent != "answer"
        if on_absent == "refuse":
            assert goes_elsewhere == (case.done.refusing == "the refusal")
        assert said.asked == (0 if goes_elsewhere else framework.asks(case.shown))
        if goes_elsewhere:
            assert said.text == ("refused" if on_absent == "refuse" else "elsewhere")
        else:
            assert said.text in ("answer", "Empty Response")
    calls = case.advice == "fallback" and not case.raises
    assert heard == [(QUERY, case.advice, case.shown)] * calls


@pytest.mark.parametrize("name", CASES)
async def test_the_router(way: str, name: str) -> None:
    llama: Any = FRAMEWORKS["llama_index"]
    case = case_of(name, "llama_index")
    try:
        report = await llama.run_engine(case.make(llama), way, router=True)
    except Boom:
        assert case.done.router == RAISED
        return
    assert (report["confidence"]["level"], report["advice"]) == (case.level, case.advice)
    assert report["route"] == case.done.router


@pytest.mark.parametrize("emptier", ["threshold", "selector", "selector, keeping"])
async def test_what_a_postprocessor_of_an_engine_leaves(way: str, emptier: str) -> None:
    llama: Any = FRAMEWORKS["llama_index"]
    for router in (False, True):
        report = await llama.run_engine(llama.over(STRONG), way, router=router, emptier=emptier)
        assert (report["confidence"]["level"], report["advice"]) == ("high", "fallback")
        left: dict[str, dict[str, Any]] = {
            "threshold": {"applied": False, "reason": "not_configured"},
            "selector": {"applied": True, "kept": 0, "dropped": 4},
            "selector, keeping": {"applied": False, "reason": "selected_none"},
        }
        assert left[emptier].items() <= report["selection"].items()
        assert report.get("route") in (None, "fallback")
    said = await llama.answer(llama.over(STRONG), way, emptier=emptier, on_absent="refuse")
    assert (said.report["advice"], said.asked) == ("fallback", 0)


@pytest.mark.parametrize("question", ["", "  \n"])
async def test_an_empty_question_is_not_measured(framework: Framework, question: str) -> None:
    retriever = framework.around(lambda: ["a", "b"])
    for response in (retriever.recall(question), await retriever.arecall(question)):
        assert (response.confidence.level, response.confidence.reason) == ("unknown", "empty_query")
        assert response.advice == "undecided"


async def test_a_selector_inside_reports_through_the_wrapper(
    framework: Framework, way: str
) -> None:
    response = await framework.recall(framework.selected_inside(DROP), way)
    assert response.selection.applied
    assert (response.selection.kept, response.selection.dropped) == (0, 2)
    assert "a selector removed all of them" in response.advice_text
    other = await framework.recall(framework.over(STRONG), way)
    assert other.selection.reason == "not_configured"
    assert QUERY not in response.advice_text
