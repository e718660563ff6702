"""`route_on_recall`: total, whatever shape a state has."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    ToolMessage,
    message_to_dict,
    messages_to_dict,
)
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode
from pydantic import BaseModel

from langchain_recall_signal import create_recall_tool, route_on_recall
from recall_signal import ConfigurationError
from recall_signal.agents._fallbacks import tool_report
from recall_signal.report_parsing import advice_in
from tests.langchain.agent_fakes import calls, memory

ROUTE = route_on_recall(relevant="answer", absent="web", unknown="ask")
EXPECTED = {
    "high": "answer",
    "moderate": "answer",
    "low": "web",
    "none": "web",
    "empty": "web",
    "unmeasured": "ask",
}


class PydanticState(BaseModel):
    recall: Any = None
    messages: list[Any] = []
    documents: list[Any] = []


@dataclass
class DataclassState:
    recall: Any = None
    messages: list[Any] = field(default_factory=list)


def tool_message(question: str, call_id: str = "1") -> ToolMessage:
    tool = create_recall_tool(memory(), "memory", "x")
    call = {"type": "tool_call", "name": "memory", "id": call_id, "args": {"query": question}}
    message: ToolMessage = tool.invoke(call)
    return message


@pytest.mark.parametrize("question", EXPECTED)
def test_every_form_of_a_signal_goes_the_same_way(question: str) -> None:
    response = memory().recall(question)
    artifact = tool_message(question).artifact
    forms: list[Any] = [
        response,
        response.confidence,
        response.to_dict(),
        response.confidence.model_dump(),
        {"confidence": response.confidence},
        artifact,
        json.loads(json.dumps(artifact)),
    ]
    if response.documents:
        forms += [response.documents[0].metadata["recall"], response.documents]
    for form in forms:
        for state in ({"recall": form}, PydanticState(recall=form), DataclassState(recall=form)):
            assert ROUTE(state) == EXPECTED[question]


@pytest.mark.parametrize("question", EXPECTED)
def test_messages_with_artifacts(question: str) -> None:
    message = tool_message(question)
    turn = [HumanMessage("q"), AIMessage(""), message]
    forms: list[list[Any]] = [
        turn,
        messages_to_dict(turn),
        [m.model_dump() for m in turn],
        [*turn, AIMessage("done")],
        [*turn, AIMessage(""), ToolMessage("noon", tool_call_id="2")],
        [{"role": "user"}, {"role": "tool", "artifact": message.artifact}],
    ]
    for form in forms:
        for state in ({"messages": form}, PydanticState(messages=form), form):
            assert ROUTE(state) == EXPECTED[question]


def test_a_signal_of_an_earlier_turn_does_not_count() -> None:
    assert ROUTE({"messages": [tool_message("high"), HumanMessage("next")]}) == "ask"


def test_the_last_step_counts_and_in_it_the_best_level() -> None:
    first, second, third = (tool_message(q, q) for q in ("high", "low", "boom"))
    assert ROUTE([first, AIMessage(""), second, third]) == "web"
    assert ROUTE([second, AIMessage(""), first, second]) == "answer"
    assert ROUTE([third]) == "web"  # it failed, so there is nothing to read


def test_documents_are_looked_at_last() -> None:
    documents = memory().invoke("low")
    assert ROUTE({"documents": documents}) == "web"
    assert ROUTE({"documents": [d.model_dump() for d in documents]}) == "web"
    assert ROUTE(PydanticState(documents=documents)) == "web"
    assert ROUTE({"recall": None, "messages": [], "documents": documents}) == "web"
    assert ROUTE({"documents": [Document("no signal")]}) == "ask"
    assert ROUTE({"recall": memory().recall("high"), "documents": documents}) == "answer"


EMPTY = ToolMessage("none", artifact=[], name="page", tool_call_id="2")
"""Of a tool that gives its page itself, such as LangChain's own retriever tool."""


@pytest.mark.parametrize(
    "state",
    [
        {"documents": []},
        {"recall": None, "messages": [], "documents": []},
        PydanticState(),
        {"messages": [EMPTY]},
        [HumanMessage("q"), AIMessage(""), EMPTY],
        {"messages": messages_to_dict([EMPTY]), "documents": [Document("no signal")]},
        [{"role": "tool", "artifact": []}],
    ],
    ids=lambda state: type(state).__name__,
)
def test_an_empty_page_is_absent(state: Any) -> None:
    assert ROUTE(state) == "web"


def test_an_empty_page_is_so_for_the_middleware_as_well() -> None:
    assert advice_in(tool_report([[]], failed=False)) == "fallback"


def test_a_report_goes_before_an_empty_list_of_somebody_else() -> None:
    found, page = tool_message("high"), memory().invoke("high")
    reported = ToolMessage("found", artifact=page, name="page", tool_call_id="1")
    assert ROUTE({"messages": [EMPTY], "documents": memory().invoke("high")}) == "web"
    assert ROUTE({"messages": [found], "documents": []}) == "answer"
    assert ROUTE([found, AIMessage(""), EMPTY]) == "answer"
    assert ROUTE([reported, AIMessage(""), EMPTY]) == "web"
    assert ROUTE([EMPTY, AIMessage(""), reported]) == "answer"
    assert ROUTE([reported, EMPTY]) == ROUTE([EMPTY, reported]) == "answer"
    assert ROUTE([EMPTY, HumanMessage("next")]) == "ask"


def test_reports_under_another_key() -> None:
    other = memory().model_copy(update={"metadata_key": "mine"})
    page = other.invoke("low")
    message = ToolMessage("found", artifact=page, tool_call_id="1")
    route = route_on_recall(relevant="answer", absent="web", unknown="ask", metadata_key="mine")
    for state in ({"documents": page}, [message]):
        assert ROUTE(state) == "ask"
        assert route(state) == "web"
    assert route([tool_message("low")]) == "web"


@pytest.mark.parametrize("key", ["", None, 5])
def test_a_key_is_checked(key: Any) -> None:
    with pytest.raises(ConfigurationError, match="metadata_key must be the key"):
        route_on_recall(relevant="a", absent="b", unknown="c", metadata_key=key)


class Hostile:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError


CYCLIC: dict[str, Any] = {}
CYCLIC["recall"] = CYCLIC


@pytest.mark.parametrize(
    "state",
    [
        None,
        5,
        "high",
        [],
        {},
        {"recall": "high"},
        {"recall": {"level": "superb"}},
        {"recall": {"level": ["high"]}},
        {"recall": {"confidence": 3}},
        {"recall": {"confidence": {"level": None}}},
        {"recall": {"confidence": {"level": "unknown", "match": ["near_miss"]}}},
        {"recall": []},
        {"messages": 5},
        {"messages": [None, 5, {}]},
        {"messages": [{"type": "tool", "artifact": 3}]},
        Hostile(),
        {"recall": Hostile()},
        CYCLIC,
    ],
    ids=lambda state: type(state).__name__,
)
def test_a_missing_or_broken_signal_is_unknown(state: Any) -> None:
    assert ROUTE(state) == "ask"


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["recall", "confidence", "level", "messages", "type", "artifact"]),
            st.one_of(inner, st.sampled_from(["tool", "high", "none"])),
        ),
    ),
)


@given(JSON)
def test_it_never_raises(state: Any) -> None:
    assert ROUTE(state) in ("answer", "web", "ask")


class State(TypedDict, total=False):
    question: str
    recall: Any
    went: str


def compiled(checkpointer: Any = None, **options: Any) -> Any:
    graph = StateGraph(State)
    graph.add_node("look", lambda state: {"recall": memory().recall(state["question"]).to_dict()})
    graph.add_edge(START, "look")
    for name in ("answer", "web", "ask"):
        graph.add_node(name, lambda state, name=name: {"went": name})
        graph.add_edge(name, END)
    graph.add_conditional_edges("look", ROUTE, ROUTE.path_map)
    return graph.compile(checkpointer=checkpointer, **options)


@pytest.mark.parametrize("question", EXPECTED)
async def test_in_a_real_graph(question: str) -> None:
    graph = compiled()
    assert graph.invoke({"question": question})["went"] == EXPECTED[question]
    assert (await graph.ainvoke({"question": question}))["went"] == EXPECTED[question]


def test_after_a_restart(tmp_path: Path) -> None:
    for question in EXPECTED:
        thread: Any = {"configurable": {"thread_id": question}}
        path = str(tmp_path / "graph.sqlite")
        with SqliteSaver.from_conn_string(path) as saver:
            compiled(saver, interrupt_after=["look"]).invoke({"question": question}, thread)
        with SqliteSaver.from_conn_string(path) as saver:
            again = compiled(saver)
            assert ROUTE(again.get_state(thread).values) == EXPECTED[question]
            assert again.invoke(None, thread)["went"] == EXPECTED[question]


def test_behind_a_tool_node() -> None:
    tool = create_recall_tool(memory(), "memory", "x")
    graph = StateGraph(PydanticMessages)
    graph.add_node("tools", ToolNode([tool]))
    graph.add_edge(START, "tools")
    state = graph.compile().invoke({"messages": [HumanMessage("q"), calls(("memory", "low"))]})
    assert ROUTE(state) == "web"


class PydanticMessages(TypedDict):
    messages: list[Any]


def test_it_is_drawn_with_its_three_branches() -> None:
    edges = {(edge.source, edge.target) for edge in compiled().get_graph().edges}
    assert {("look", "answer"), ("look", "web"), ("look", "ask")} <= edges
    same = route_on_recall(relevant="a", absent="b", unknown="b")
    assert same.path_map == {"a": "a", "b": "b"}


@pytest.mark.parametrize("name", ["", None, 5])
@pytest.mark.parametrize("which", ["relevant", "absent", "unknown"])
def test_names_are_checked(which: str, name: Any) -> None:
    names = {"relevant": "a", "absent": "b", "unknown": "c", which: name}
    with pytest.raises(ConfigurationError, match=which):
        route_on_recall(**names)


def test_a_serialised_message_is_read_as_well() -> None:
    message = tool_message("low")
    assert ROUTE([message_to_dict(message)]) == "web"
    assert ROUTE([dumpd(message)["kwargs"]]) == "web"
