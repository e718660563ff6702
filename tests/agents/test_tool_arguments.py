"""Arguments of the retrieval tools beside the question, and what the model learns of a tool."""

import re
from typing import Any

import numpy as np
import pytest
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ValidationError

from recall_signal import ConfigurationError
from recall_signal.agents._tool_settings import LEVELS_EXPLAINED, tool_settings
from recall_signal.confidence import LEVELS
from recall_signal.reranking import RerankerOptions
from tests.frameworks import FRAMEWORKS, QUERY, STRONG, Framework, Keeping


def reversing(query: str, texts: list[str]) -> list[float]:
    return [float(n) for n in range(len(texts))]


def retriever(framework: Framework) -> Any:
    return framework.over(
        STRONG,
        selector=Keeping(0),
        reranker=RerankerOptions(reversing, scale="logit"),
    )


def schema_of(framework: Framework, tool: Any) -> dict[str, Any]:
    """What a provider of models gets."""
    made = (
        convert_to_openai_tool(tool)
        if framework.name == "langchain"
        else tool.metadata.to_openai_tool()
    )
    function: dict[str, Any] = made["function"]
    return function


async def call(framework: Framework, tool: Any, way: str, **arguments: Any) -> Any:
    """The artifact of a call with these arguments."""
    arguments = {"query": QUERY, **arguments}
    if framework.name == "langchain":
        made = {"type": "tool_call", "name": tool.name, "id": "1", "args": arguments}
        message = tool.invoke(made) if way == "sync" else await tool.ainvoke(made)
        return message.artifact
    output = tool.call(**arguments) if way == "sync" else await tool.acall(**arguments)
    return output.raw_output


def ids(artifact: Any) -> list[str]:
    return [document["id"] for document in artifact["documents"]]


@pytest.mark.parametrize(
    ("allow", "allowed"),
    [
        ((), []),
        (("k",), ["k"]),
        (["use_rerank", "k"], ["k", "use_rerank"]),
        ({"k", "use_rerank", "select"}, ["k", "use_rerank", "select"]),
    ],
)
def test_what_is_allowed_is_in_the_schema(
    framework: Framework, allow: Any, allowed: list[str]
) -> None:
    create = framework.package.create_recall_tool
    function = schema_of(
        framework,
        create(retriever(framework), "memory", "x", allow=allow, max_k=np.int64(7)),
    )
    properties = function["parameters"]["properties"]
    assert list(properties) == ["query", *allowed]
    assert function["parameters"]["required"] == ["query"]
    if "k" in allowed:
        k = properties["k"]
        assert (k["type"], k["minimum"], k["maximum"]) == ("integer", 1, 7)
    if "select" in allowed:
        assert properties["select"]["type"] == "boolean"


async def test_arguments_hold_for_the_call(framework: Framework, way: str) -> None:
    tool = framework.package.create_recall_tool(
        retriever(framework), "memory", "x", allow=("k", "use_rerank", "select")
    )
    assert ids(await call(framework, tool, way)) == ["id0"]
    assert ids(await call(framework, tool, way, select=False)) == ["id0", "id1", "id2", "id3"]
    assert ids(await call(framework, tool, way, select=False, k=2)) == ["id0", "id1"]
    given = {"k": 2, "use_rerank": True, "select": False}
    assert ids(await call(framework, tool, way, **given)) == ["id1", "id0"]
    for k in (2.0, np.int64(2)):
        assert ids(await call(framework, tool, way, select=False, k=k)) == ["id0", "id1"]
    unset = dict.fromkeys(given)
    assert ids(await call(framework, tool, way, **unset)) == ["id0"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"k": 6},
        {"k": 0},
        {"k": -1},
        {"k": 0.0},
        {"k": float("nan")},
        {"k": float("inf")},
        {"k": 2.5},
        {"k": "2"},
        {"k": True},
        {"use_rerank": "yes"},
        {"use_rerank": 1},
        {"select": True},
        {"kk": 2},
    ],
)
async def test_other_arguments_are_refused(
    framework: Framework, way: str, arguments: dict[str, Any]
) -> None:
    tool = framework.package.create_recall_tool(
        retriever(framework), "memory", "x", allow=("k", "use_rerank"), max_k=5
    )
    with pytest.raises((ValueError, TypeError)):
        await call(framework, tool, way, **arguments)


async def test_nothing_is_allowed_unless_it_is_said(framework: Framework, way: str) -> None:
    tool = framework.package.create_recall_tool(retriever(framework), "memory", "x")
    for arguments in ({"k": 1}, {"use_rerank": True}, {"select": False}):
        with pytest.raises((ValueError, TypeError)):
            await call(framework, tool, way, **arguments)


@pytest.mark.parametrize(
    ("argument", "part", "other"),
    [("use_rerank", "reranker", Keeping(0)), ("select", "selector", reversing)],
)
def test_an_argument_without_its_part_is_refused(
    framework: Framework, argument: str, part: str, other: Any
) -> None:
    create = framework.package.create_recall_tool
    parts = {"selector": other} if part == "reranker" else {"reranker": other}
    for bare in (framework.over(), framework.over(**parts)):
        with pytest.raises(ConfigurationError, match=f"'{argument}' needs .* with a {part}"):
            create(bare, "memory", "x", allow=("k", argument))


@pytest.mark.parametrize("value", [1, None])
async def test_an_unknown_argument_of_a_tool_is_a_wrong_setting(way: str, value: Any) -> None:
    framework = FRAMEWORKS["llama_index"]
    tool = framework.package.create_recall_tool(framework.over(), "memory", "x")
    with pytest.raises(ConfigurationError, match="foo: there is no such setting"):
        await call(framework, tool, way, foo=value)


def test_an_unknown_setting_of_a_wrapper_is_refused(framework: Framework) -> None:
    with pytest.raises(ConfigurationError, match="RecallRetriever: foo: there is no such setting"):
        framework.over(foo=1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"allow": "k"}, "allow must be a collection of k, use_rerank, select, got 'k'"),
        ({"allow": ("k", "filter")}, "allow must be a collection"),
        ({"allow": None}, "allow must be a collection .*, got None"),
        ({"allow": [{"k": 1}]}, "allow must be a collection"),
        ({"max_k": 0}, "max_k must be a whole number of at least 1, got 0"),
        ({"max_k": True}, "max_k must be a whole number"),
        ({"max_k": "5"}, "got '5'"),
    ],
)
def test_wrong_settings_are_refused(
    framework: Framework, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        framework.package.create_recall_tool(framework.over(), "memory", "x", **settings)


@pytest.mark.parametrize(
    ("description", "given"), [(None, "NoneType"), (5, "int"), ("", "an empty text"), (" ", "an e")]
)
def test_a_description_must_say_something(
    framework: Framework, description: Any, given: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"description must say what is .* got {given}"):
        framework.package.create_recall_tool(framework.over(), "memory", description)


def test_the_description_says_what_the_levels_mean(framework: Framework) -> None:
    create = framework.package.create_recall_tool
    function = schema_of(framework, create(framework.over(), "memory", " The team's memory. "))
    assert function["description"] == f"The team's memory. {LEVELS_EXPLAINED}"
    assert [level for level in LEVELS if re.search(rf"\b{level}\b", LEVELS_EXPLAINED)] == [*LEVELS]
    assert "never" in LEVELS_EXPLAINED


def test_a_long_description_is_left_as_it_is(framework: Framework) -> None:
    """Function-calling APIs refuse more than 1024 characters."""
    long = "x" * 1000
    tool = framework.package.create_recall_tool(framework.over(), "memory", long)
    assert schema_of(framework, tool)["description"] == long
    assert len(tool_settings("memory", "x" * (1023 - len(LEVELS_EXPLAINED))).description) == 1024


def test_a_schema_forbids_what_is_not_in_it() -> None:
    """For servers, which hand it out as it is."""
    schema = tool_settings("memory", "x", ("k",)).arguments.model_json_schema()
    assert schema["additionalProperties"] is False
    assert schema["properties"]["k"]["maximum"] == 20


@pytest.mark.parametrize("wrong", [{"query": ["a secret"]}, {"more": "a secret"}])
async def test_a_wrong_argument_is_not_quoted(
    framework: Framework, way: str, wrong: dict[str, Any]
) -> None:
    tool = framework.package.create_recall_tool(framework.over(), "memory", "x")
    with pytest.raises((ValidationError, ConfigurationError)) as refused:
        await call(framework, tool, way, **wrong)
    assert "secret" not in str(refused.value)
