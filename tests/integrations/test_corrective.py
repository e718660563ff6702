"""The corrective graph of LangGraph and the corrective workflow of LlamaIndex: the same ways."""

import asyncio
import json
from typing import Any

import pytest
from workflows.errors import WorkflowCancelledByUser

from recall_signal import ConfigurationError
from recall_signal.agents._prompts import NEAR_MISS, UNMEASURED
from recall_signal.reranking import RerankerOptions
from tests.faults.test_steps import FOREIGN
from tests.frameworks import QUERY, STRONG, Framework

GOOD, OTHER = QUERY, "best submarine films"
AGAINST = [-1.0, *[0.0] * 15]
NOTHING = "Likely nothing relevant is stored, and the web search"


def store(framework: Framework, **settings: Any) -> Any:
    """`GOOD` is strongly matched, everything else not at all."""
    retriever = framework.over(STRONG, 2, **settings)
    inner = retriever.retriever
    is_langchain = framework.name == "langchain"
    encoder = inner.vectorstore.embedding if is_langchain else inner._embed_model.encoder
    encoder.vectors.update(dict.fromkeys((OTHER, "worse"), AGAINST))
    return retriever


def unmeasured(framework: Framework) -> Any:
    return framework.around(lambda: ["t0", "t1"])


def told(given: dict[str, Any]) -> str:
    """An answer that shows the sources it was made from."""
    if "nodes" in given:
        texts = [item.node.get_content() for item in given["nodes"]]
    else:
        texts = [document.page_content for document in given["documents"]]
    return f"{given['source']}: {' '.join(texts)}"


def web(query: str) -> list[str]:
    return [f"web on {query}"]


def fail(_: Any) -> Any:
    raise OSError("secret")


def make(framework: Framework, retriever: Any, *steps: Any, **settings: Any) -> Any:
    steps = (*steps, *(told, web)[len(steps) :])
    if framework.name == "langchain":
        return framework.package.corrective_graph(retriever, *steps, **settings).compile()
    return framework.package.CorrectiveWorkflow(retriever, *steps, **settings)


async def run(
    framework: Framework, made: Any, question: str = GOOD
) -> tuple[dict[str, Any], list[tuple[str, str, int]]]:
    """The outcome, the same sync and async in LangGraph, and the decisions on the way to it."""
    if framework.name == "langchain":
        given = {"question": question}
        seen = [update["recall"] for update in made.stream(given, stream_mode="custom")]
        state: dict[str, Any] = made.invoke(given)
        assert await made.ainvoke(given) == state
    else:
        handler = made.run(question=question)
        decision = framework.package.RecallDecision
        seen = [event async for event in handler.stream_events() if isinstance(event, decision)]
        state = (await handler).model_dump()
    assert json.loads(json.dumps(state, allow_nan=False)) == state
    keys = ("level", "decision", "rewrites")
    return state, [
        tuple(one[key] if isinstance(one, dict) else getattr(one, key) for key in keys)
        for one in seen
    ]


async def test_a_strong_match_is_answered_from_the_store(framework: Framework) -> None:
    state, decisions = await run(framework, make(framework, store(framework)))
    assert state["answer"] == "memory: t0 t1"
    assert [document["id"] for document in state["documents"]] == ["id0", "id1"]
    assert (state["source"], state["caution"], state["web_error"]) == ("memory", None, None)
    assert decisions == [("high", "answer", 0)]


async def test_a_weak_match_goes_to_the_web(framework: Framework) -> None:
    state, decisions = await run(framework, make(framework, store(framework)), OTHER)
    assert state["answer"] == f"web: web on {OTHER}"
    assert (state["source"], state["caution"], state["web_error"]) == ("web", None, None)
    assert decisions == [("none", "web_search", 0)]


async def test_an_empty_page_goes_to_the_web(framework: Framework) -> None:
    state, _ = await run(framework, make(framework, framework.around(list)))
    assert (state["source"], state["recall"]["confidence"]["result_count"]) == ("web", 0)


async def test_a_bare_retriever_is_wrapped(framework: Framework) -> None:
    state, _ = await run(framework, make(framework, unmeasured(framework).retriever))
    assert state["recall"]["confidence"]["level"] == "unknown"


@pytest.mark.parametrize(
    ("score", "question", "caution"),
    [(-3.0, GOOD, NEAR_MISS), (-3.0, OTHER, None), (3.0, GOOD, None)],
)
async def test_a_near_miss_is_answered_with_a_caution(
    framework: Framework, score: float, question: str, caution: str | None
) -> None:
    options = RerankerOptions(lambda query, texts: [score] * len(texts), scale="logit")
    retriever = store(framework, reranker=options, use_rerank=True)
    state, _ = await run(framework, make(framework, retriever), question)
    assert state["caution"] == caution


@pytest.mark.parametrize(
    ("on_unknown", "source"), [("answer", "memory"), ("web_search", "web"), ("rewrite", "web")]
)
async def test_unknown_has_a_branch_of_its_own(
    framework: Framework, on_unknown: str, source: str
) -> None:
    settings: Any = {"rewrite": lambda given: "new", "on_unknown": on_unknown}
    state, decisions = await run(framework, make(framework, unmeasured(framework), **settings))
    assert (state["source"], decisions[0][:2]) == (source, ("unknown", on_unknown))
    assert state["caution"] == (UNMEASURED if source == "memory" else None)


async def test_a_rewrite_that_helps_is_answered_from_the_store(framework: Framework) -> None:
    seen: list[dict[str, Any]] = []

    def rewrite(given: dict[str, Any]) -> str:
        seen.append(given)
        return f" {GOOD}\n"

    made = make(framework, store(framework), rewrite=rewrite)
    state, decisions = await run(framework, made, OTHER)
    assert (state["source"], state["query"], state["question"]) == ("memory", GOOD, OTHER)
    assert state["rewrites"] == 1
    assert seen[0]["recall"]["confidence"]["level"] == "none"
    assert decisions == [("none", "rewrite", 0), ("high", "answer", 1)]


@pytest.mark.parametrize("most", range(6))
async def test_rewrites_are_bounded(framework: Framework, most: int) -> None:
    """Each of them another query that does not help either."""
    made = make(
        framework,
        framework.around(list),
        rewrite=lambda given: f"{given['query']}!",
        max_rewrites=most,
    )
    state, decisions = await run(framework, made, "q")
    assert decisions == [
        *(("none", "rewrite", n) for n in range(most)),
        ("none", "web_search", most),
    ]
    assert (state["query"], state["rewrites"]) == (f"q{'!' * most}", most)


@pytest.mark.parametrize("said", [OTHER, f" {OTHER} ", "", "  ", 5, None, OSError("secret")])
async def test_a_rewrite_that_is_of_no_use_goes_on_to_the_web(
    framework: Framework, said: Any
) -> None:
    def rewrite(given: Any) -> Any:
        return fail(given) if isinstance(said, Exception) else said

    made = make(framework, store(framework), rewrite=rewrite, max_rewrites=5)
    state, _ = await run(framework, made, OTHER)
    assert (state["source"], state["rewrites"], state["query"]) == ("web", 1, OTHER)


@pytest.mark.parametrize(
    ("search_web", "error", "said"),
    [
        (fail, "OSError", "failed (OSError)"),
        (lambda query: 5, "InvalidResultError", "failed (InvalidResultError)"),
        (lambda query: [], None, "found nothing"),
        (lambda query: [{"content": " "}], None, "found nothing"),
    ],
)
async def test_a_web_search_without_a_result_leaves_what_the_store_had(
    framework: Framework,
    search_web: Any,
    error: str | None,
    said: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    state, _ = await run(framework, make(framework, store(framework), told, search_web), OTHER)
    assert state["answer"] == "memory: t3 t2"
    assert (state["source"], state["web_error"]) == ("memory", error)
    assert state["caution"] == f"{NOTHING} {said}."
    assert "secret" not in str(state) + caplog.text
    made = make(framework, unmeasured(framework), told, search_web, on_unknown="web_search")
    caution = (await run(framework, made))[0]["caution"]
    assert caution == f"{UNMEASURED} Also, the web search {said}."


@pytest.mark.parametrize("error", FOREIGN)
@pytest.mark.parametrize("is_async", [False, True])
async def test_c3_whatever_an_extra_step_raises_costs_only_itself(
    framework: Framework, error: type[BaseException], is_async: bool
) -> None:
    """C3: a panic, or a cancellation of its own, in the web search and in the rewrite."""

    def fails(_: Any) -> Any:
        raise error

    async def afails(_: Any) -> Any:
        raise error

    class Unreadable(list[Any]):
        def __iter__(self) -> Any:
            raise error

    step = afails if is_async else fails
    for searcher, rewrite in ((step, None), (web, step), (lambda query: Unreadable(), None)):
        made = make(framework, framework.around(list), told, searcher, rewrite=rewrite)
        if framework.name == "langchain":
            ask = made.ainvoke({"question": "q"})
            states = [await ask] if is_async else [await ask, made.invoke({"question": "q"})]
        else:
            states = [(await made.run(question="q")).model_dump()]
        for state in states:
            assert state["source"] == ("web" if rewrite else "memory")
            turned = {"RuntimeError", error.__name__}  # by a coroutine or a generator
            assert rewrite or state["web_error"] in turned


async def test_a_cancelled_step_stays_cancelled(framework: Framework) -> None:
    begun = asyncio.Event()

    async def hang(_: Any) -> Any:
        begun.set()
        await asyncio.sleep(60)

    made = make(framework, framework.around(list), told, hang)
    if framework.name == "langchain":
        running = asyncio.ensure_future(made.ainvoke({"question": "q"}))
        await begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return
    handler = made.run(question="q")
    await begun.wait()
    await handler.cancel_run()
    with pytest.raises(WorkflowCancelledByUser):
        await handler


async def test_what_the_retriever_or_the_answer_raises_passes(framework: Framework) -> None:
    broken = framework.around(lambda: fail(None))
    for made in (make(framework, broken), make(framework, store(framework), fail)):
        with pytest.raises(OSError, match="secret"):
            await run(framework, made)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_rewrites": 6}, "max_rewrites must be from 0 to 5, got 6"),
        ({"max_rewrites": -1}, "from 0 to 5"),
        ({"max_rewrites": True}, "from 0 to 5"),
        ({"on_unknown": "ask"}, "on_unknown must be one of answer, rewrite, web_search"),
        ({"on_unknown": "rewrite"}, "needs rewrite="),
        ({"on_unknown": "rewrite", "rewrite": str, "max_rewrites": 0}, "needs rewrite="),
        ({"rewrite": 5}, "rewrite must be "),
    ],
)
def test_wrong_settings_are_refused(
    framework: Framework, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make(framework, framework.over(), **settings)
