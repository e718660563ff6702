"""The corrective workflow: every way through it, bounded, resumable, side by side."""

import asyncio
import json
import time
from math import inf, nan
from typing import Any

import pytest
from llama_index.core.base.response.schema import Response
from llama_index.core.llms import ChatMessage, ChatResponse
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.tools import FunctionTool, ToolOutput
from llama_index.core.workflow import Context
from workflows.errors import WorkflowCancelledByUser

from llama_index_recall_signal import (
    CorrectiveAnswer,
    CorrectiveWorkflow,
    RecallRetriever,
)
from recall_signal import ConfigurationError
from recall_signal.testing import vectors_with_cosines
from tests.llama_index.fakes import QUERY, Embedding, ListRetriever, RecordingLLM, index_of, scored

UNIT = [1.0, *[0.0] * 15]
AGAINST = [-1.0, *[0.0] * 15]
GOOD, OTHER = QUERY, "best submarine films"


def store() -> RecallRetriever:
    """`GOOD` is strongly matched, everything else not at all."""
    vectors = vectors_with_cosines(UNIT, [0.9, 0.5, 0.45, 0.4])
    nodes = [
        TextNode(id_=f"n{n}", text=f"stored text {n}", metadata={"n": n}, embedding=v.tolist())
        for n, v in enumerate(vectors)
    ]
    known = {GOOD: UNIT, OTHER: AGAINST, "worse": AGAINST}
    return RecallRetriever(index_of(nodes, embedding=Embedding(known)).as_retriever())


def unmeasured() -> ListRetriever:
    return ListRetriever(scored(None, None))


def told(given: dict[str, Any]) -> str:
    """An answer that shows what it was made from."""
    texts = [item.node.get_content() for item in given["nodes"]]
    return f"{given['source']}: {'; '.join(texts)}"


def web(query: str) -> list[str]:
    return [f"web on {query}"]


async def run(workflow: CorrectiveWorkflow, question: str = GOOD) -> CorrectiveAnswer:
    result: CorrectiveAnswer = await workflow.run(question=question)
    return result


NODE = TextNode(id_="w", text="a", metadata={"url": "x"})


@pytest.mark.parametrize(
    ("found", "texts"),
    [
        ("one", ["one"]),
        (["one", "two"], ["one", "two"]),
        (NODE, ["a"]),
        ([NODE, NodeWithScore(node=NODE, score=0.5)], ["a", "a"]),
    ],
)
async def test_what_a_web_search_may_return(found: Any, texts: list[str]) -> None:
    result = await run(CorrectiveWorkflow(store(), told, lambda _: found), OTHER)
    assert [document["page_content"] for document in result.documents] == texts


async def test_a_tool_searches_the_web() -> None:
    workflow = CorrectiveWorkflow(store(), told, FunctionTool.from_defaults(web, name="web"))
    assert (await run(workflow, OTHER)).answer == "web: web on best submarine films"


async def test_a_tool_that_reports_an_error_has_failed() -> None:
    def fail(query: str) -> str:
        return "no"

    def mark(output: Any) -> ToolOutput:
        return ToolOutput(tool_name="w", content="x", raw_input={}, raw_output="x", is_error=True)

    tool = FunctionTool.from_defaults(fail, name="w", callback=mark)
    result = await run(CorrectiveWorkflow(store(), told, tool), OTHER)
    assert result.web_error == "InvalidResultError"


async def test_a_model_answers_and_rewrites_by_our_prompts() -> None:
    llm, other = RecordingLLM(), RecordingLLM(answer=OTHER)
    result = await run(CorrectiveWorkflow(store(), llm, web, rewrite=other), OTHER)
    assert (result.answer, result.source) == ("answer", "web")
    (rewriting,), (answering,) = other.prompts, llm.prompts
    assert OTHER in rewriting
    assert "stored text" not in rewriting
    assert f"Question: {OTHER}" in answering
    assert "[1]\n> web on best submarine films" in answering


async def test_a_model_is_told_the_caution_and_that_there_are_no_sources() -> None:
    llm = RecordingLLM()
    await run(CorrectiveWorkflow(ListRetriever([]), llm, lambda _: []))
    (prompt,) = llm.prompts
    assert "the web search found nothing. No sources were found." in prompt


@pytest.mark.parametrize(
    "said",
    ["yes", Response("yes"), ChatResponse(message=ChatMessage("yes", role="assistant"))],
)
async def test_what_an_answer_may_be(said: Any) -> None:
    class Answers:
        async def __call__(self, given: dict[str, Any]) -> Any:
            return said

    assert (await run(CorrectiveWorkflow(store(), Answers(), web))).answer == "yes"


@pytest.mark.parametrize("said", [Response(None), ChatResponse(message=ChatMessage())])
async def test_an_empty_answer_is_empty(said: Any) -> None:
    assert (await run(CorrectiveWorkflow(store(), lambda _: said, web))).answer == ""


async def test_a_run_is_saved_while_the_web_is_searched_and_resumed_elsewhere() -> None:
    started = asyncio.Event()

    async def slow(query: str) -> list[str]:
        started.set()
        await asyncio.sleep(60)
        return []

    first = CorrectiveWorkflow(store(), told, slow, rewrite=lambda _: "worse")
    handler = first.run(question=OTHER)
    await asyncio.wait_for(started.wait(), 20)
    saved = json.dumps(handler.ctx.to_dict())
    await handler.cancel_run()
    with pytest.raises(WorkflowCancelledByUser):
        await handler

    def never(query: str) -> Any:
        raise AssertionError("it was rewritten and searched before")

    second = CorrectiveWorkflow(store(), told, web, rewrite=never)
    context: Any = Context.from_dict(second, json.loads(saved))
    result: CorrectiveAnswer = await second.run(ctx=context)
    assert (result.answer, result.question) == ("web: web on worse", OTHER)
    assert result.rewrites == 1


async def test_runs_at_the_same_time_keep_to_themselves() -> None:
    workflow = CorrectiveWorkflow(store(), told, web, rewrite=lambda given: given["question"])
    results = await asyncio.gather(*(run(workflow, (GOOD, OTHER)[n % 2]) for n in range(10)))
    assert [result.source for result in results] == ["memory", "web"] * 5
    assert [result.question for result in results] == [GOOD, OTHER] * 5


async def test_synchronous_steps_hold_up_nobody() -> None:
    async def tick() -> int:
        count = 0
        while not done.is_set():
            count += 1
            await asyncio.sleep(0.005)
        return count

    def slow(query: str) -> list[str]:
        time.sleep(0.5)
        return ["late"]

    done = asyncio.Event()
    ticking = asyncio.create_task(tick())
    await run(CorrectiveWorkflow(store(), told, slow), OTHER)
    done.set()
    assert await ticking > 5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"answer": "text"}, "answer must be an LLM or a function, got str"),
        ({"web_search": RecordingLLM()}, "web_search must be a tool or a function"),
        ({"rewrite": RecordingLLM}, "rewrite must be an LLM or a function"),
    ],
)
def test_a_step_of_another_type_is_refused(settings: dict[str, Any], message: str) -> None:
    given = {"retriever": store(), "answer": told, "web_search": web, **settings}
    with pytest.raises(ConfigurationError, match=message):
        CorrectiveWorkflow(**given)


@pytest.mark.parametrize(
    ("timeout", "shown"),
    [("secret", "str"), (True, "bool"), (0, "0"), (-1.5, "-1.5"), (nan, "nan"), (inf, "inf")],
)
def test_a_time_limit_is_seconds_above_zero(timeout: Any, shown: str) -> None:
    with pytest.raises(ConfigurationError, match=f"timeout must be seconds above 0.*got {shown}$"):
        CorrectiveWorkflow(store(), told, web, timeout=timeout)


@pytest.mark.parametrize("timeout", [None, 3, 0.5])
def test_a_sound_time_limit_is_taken(timeout: float | None) -> None:
    CorrectiveWorkflow(store(), told, web, timeout=timeout)
