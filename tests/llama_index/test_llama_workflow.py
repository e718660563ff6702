"""The corrective workflow: every way through it, bounded, resumable, side by side."""

import asyncio
import json
import time
from typing import Any

import pytest
from llama_fakes import QUERY, Embedding, ListRetriever, RecordingLLM, index_of, scored
from llama_index.core.base.response.schema import Response
from llama_index.core.llms import ChatMessage, ChatResponse
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.tools import FunctionTool, ToolOutput
from llama_index.core.workflow import Context
from workflows.errors import WorkflowCancelledByUser

from llama_index_recall_signal import (
    CorrectiveAnswer,
    CorrectiveStart,
    CorrectiveWorkflow,
    RecallDecision,
    RecallRetriever,
)
from recall_signal import ConfigurationError
from recall_signal.agents.corrective import NEAR_MISS
from recall_signal.reranking import RerankerOptions
from recall_signal.testing import vectors_with_cosines

UNIT = [1.0, *[0.0] * 15]
AGAINST = [-1.0, *[0.0] * 15]
GOOD, OTHER = QUERY, "best submarine films"


def store() -> RecallRetriever:
    """``GOOD`` is strongly matched, everything else not at all."""
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


async def decisions(workflow: CorrectiveWorkflow, question: str) -> list[tuple[str, str, int]]:
    handler = workflow.run(start_event=CorrectiveStart(question=question))
    seen = [event async for event in handler.stream_events() if isinstance(event, RecallDecision)]
    await handler
    return [(event.level, event.decision, event.rewrites) for event in seen]


async def test_a_strong_match_is_answered_from_the_store() -> None:
    result = await run(CorrectiveWorkflow(store(), told, web))
    assert result.answer == "memory: stored text 0; stored text 1"
    assert str(result) == result.answer
    assert (result.source, result.rewrites, result.caution) == ("memory", 0, None)
    assert result.recall["confidence"]["level"] == "high"
    assert [document["id"] for document in result.documents] == ["n0", "n1"]


async def test_a_weak_match_goes_to_the_web() -> None:
    result = await run(CorrectiveWorkflow(store(), told, web), OTHER)
    assert result.answer == "web: web on best submarine films"
    assert (result.source, result.web_error) == ("web", None)
    assert result.recall["confidence"]["level"] == "none"


async def test_a_near_miss_is_answered_with_a_caution() -> None:
    def reranked(score: float) -> RecallRetriever:
        options = RerankerOptions(lambda query, texts: [score] * len(texts), scale="logit")
        return RecallRetriever(store().retriever, reranker=options, use_rerank=True)

    result = await run(CorrectiveWorkflow(reranked(-3.0), told, web))
    assert result.recall["confidence"]["match"] == "near_miss"
    assert (result.source, result.caution) == ("memory", NEAR_MISS)
    assert (await run(CorrectiveWorkflow(reranked(-3.0), told, web), OTHER)).caution is None
    assert (await run(CorrectiveWorkflow(reranked(3.0), told, web))).caution is None


async def test_a_bare_retriever_is_wrapped() -> None:
    workflow = CorrectiveWorkflow(ListRetriever([]), told, web)
    assert (await run(workflow)).source == "web"


async def test_a_rewrite_that_helps_is_answered_from_the_store() -> None:
    seen: list[dict[str, Any]] = []

    async def rewrite(given: dict[str, Any]) -> str:
        seen.append(given)
        return f" {GOOD} "

    workflow = CorrectiveWorkflow(store(), told, web, rewrite=rewrite)
    result = await run(workflow, OTHER)
    assert (result.source, result.query, result.question) == ("memory", GOOD, OTHER)
    assert result.rewrites == 1
    assert seen[0]["question"] == OTHER
    assert seen[0]["recall"]["confidence"]["level"] == "none"
    assert await decisions(workflow, OTHER) == [("none", "rewrite", 0), ("high", "answer", 1)]


@pytest.mark.parametrize("most", [0, 1, 2, 5])
async def test_rewrites_are_bounded(most: int) -> None:
    count = 0

    def rewrite(given: dict[str, Any]) -> str:
        nonlocal count
        count += 1
        return (OTHER, "worse")[count % 2]

    workflow = CorrectiveWorkflow(store(), told, web, rewrite=rewrite, max_rewrites=most)
    seen = await decisions(workflow, OTHER)
    assert count == most
    assert seen == [*(("none", "rewrite", n) for n in range(most)), ("none", "web_search", most)]


@pytest.mark.parametrize("given", [OTHER, " ", OSError("secret"), 7])
async def test_a_rewrite_that_gives_nothing_new_goes_to_the_web(given: Any) -> None:
    def rewrite(_: dict[str, Any]) -> Any:
        if isinstance(given, Exception):
            raise given
        return given

    workflow = CorrectiveWorkflow(store(), told, web, rewrite=rewrite, max_rewrites=5)
    result = await run(workflow, OTHER)
    assert (result.source, result.rewrites, result.query) == ("web", 1, OTHER)


@pytest.mark.parametrize(
    ("on_unknown", "source"), [("answer", "memory"), ("web_search", "web"), ("rewrite", "web")]
)
async def test_unknown_has_its_own_branch(on_unknown: Any, source: str) -> None:
    workflow = CorrectiveWorkflow(
        unmeasured(), told, web, rewrite=lambda _: "new", on_unknown=on_unknown
    )
    result = await run(workflow)
    assert result.recall["confidence"]["level"] == "unknown"
    assert result.source == source
    assert (result.caution or "").startswith("How well") == (source == "memory")


async def test_a_web_search_that_fails_leaves_what_the_store_had(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail(query: str) -> Any:
        raise OSError(query)

    result = await run(CorrectiveWorkflow(store(), told, fail), OTHER)
    assert result.answer.startswith("memory: stored text")
    assert (result.source, result.web_error) == ("memory", "OSError")
    assert result.caution == (
        "Likely nothing relevant is stored, and the web search failed (OSError)."
    )
    assert OTHER not in caplog.text


@pytest.mark.parametrize("nothing", [[], "", {"results": []}, [{"content": " "}]])
async def test_a_web_search_that_finds_nothing_says_so(nothing: Any) -> None:
    result = await run(CorrectiveWorkflow(store(), told, lambda _: nothing), OTHER)
    assert (result.source, result.web_error) == ("memory", None)
    assert result.caution == (
        "Likely nothing relevant is stored, and the web search found nothing."
    )


async def test_nothing_measured_and_nothing_found_are_both_said() -> None:
    workflow = CorrectiveWorkflow(unmeasured(), told, lambda _: [], on_unknown="web_search")
    caution = (await run(workflow)).caution
    assert caution is not None
    assert caution.startswith("How well these sources match")
    assert caution.endswith("Also, the web search found nothing.")


NODE = TextNode(id_="w", text="a", metadata={"url": "x"})


@pytest.mark.parametrize(
    ("found", "texts"),
    [
        ("one", ["one"]),
        (["one", "two"], ["one", "two"]),
        ({"results": [{"title": "t", "content": "one"}]}, ["one"]),
        ([{"snippet": "one", "metadata": {"a": 1}}, {"text": "two"}], ["one", "two"]),
        (NODE, ["a"]),
        ([NODE, NodeWithScore(node=NODE, score=0.5)], ["a", "a"]),
    ],
)
async def test_what_a_web_search_may_return(found: Any, texts: list[str]) -> None:
    result = await run(CorrectiveWorkflow(store(), told, lambda _: found), OTHER)
    assert [document["page_content"] for document in result.documents] == texts


@pytest.mark.parametrize("found", [7, [7], [{"title": "t"}], {"content": 7}])
async def test_what_it_may_not(found: Any) -> None:
    result = await run(CorrectiveWorkflow(store(), told, lambda _: found), OTHER)
    assert result.web_error == "InvalidResultError"


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


async def test_what_the_answer_raises_passes() -> None:
    def fail(given: dict[str, Any]) -> str:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await run(CorrectiveWorkflow(store(), fail, web))


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
    result = await second.run(ctx=context)
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
        ({"max_rewrites": 6}, "max_rewrites must be from 0 to 5, got 6"),
        ({"max_rewrites": True}, "max_rewrites must be from 0 to 5"),
        ({"on_unknown": "ask"}, "on_unknown must be one of answer, rewrite, web_search"),
        ({"on_unknown": "rewrite"}, "needs rewrite="),
        ({"answer": "text"}, "answer must be an LLM or a function, got str"),
        ({"web_search": RecordingLLM()}, "web_search must be a tool or a function"),
        ({"rewrite": RecordingLLM}, "rewrite must be an LLM or a function"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    given = {"retriever": store(), "answer": told, "web_search": web, **settings}
    with pytest.raises(ConfigurationError, match=message):
        CorrectiveWorkflow(**given)
