"""Code that blocks an event loop: models that do, and steps over much data."""

import asyncio
import functools
import threading
import time
from contextlib import suppress
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from llama_index.core.schema import NodeWithScore, TextNode

import langchain_recall_signal as in_langchain
import llama_index_recall_signal as in_llama_index
from langchain_recall_signal import _chain, _tool
from langchain_recall_signal._encoders import EncoderEmbeddings
from llama_index_recall_signal import _tool as li_tool
from llama_index_recall_signal._encoders import EncoderEmbedding
from recall_signal._steps.blocking import Watched, holds_loop
from recall_signal._steps.timeouts import CallLimits
from recall_signal._wrapper.model_calls import Model
from recall_signal.agents._corrective import CorrectivePolicy
from recall_signal.agents._tool import tool_answer
from recall_signal.selection import Answer
from tests.faults.test_steps import Encoder
from tests.frameworks import Framework
from tests.llama_index.fakes import ListRetriever

BLOCKS, LIMIT, HELD = 0.6, 0.1, 0.05


class Blocking:
    """Answers by blocking; `aselect` never awaits."""

    def select(self, request: Any) -> Answer:
        return Answer({"keep": list(request.labels[:1])}, "m")

    async def aselect(self, request: Any) -> Answer:
        time.sleep(BLOCKS)
        return self.select(request)


class BlockingLater(Blocking):
    async def aselect(self, request: Any) -> Answer:
        await asyncio.sleep(0)
        time.sleep(BLOCKS)
        return self.select(request)


async def longest_hold(work: Any) -> tuple[Any, float]:
    """The value of a coroutine, and for how long the loop was held meanwhile."""
    longest, last = 0.0, time.monotonic()

    async def tick() -> None:
        nonlocal longest, last
        while True:
            await asyncio.sleep(0.001)
            now = time.monotonic()
            longest, last = max(longest, now - last), now

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0.01)
    try:
        value = await work
        await asyncio.sleep(0.005)
    finally:
        ticking.cancel()
    return value, longest


async def quick(make: Any, limit: float = HELD) -> Any:
    """The value of a call that holds the loop for a moment at most; a busy machine gets tries."""
    for _ in range(4):
        value, held = await longest_hold(make())
        if held <= limit:
            return value
    raise AssertionError(f"the loop was held for {held * 1000:.0f} ms")


@pytest.mark.timing
@pytest.mark.parametrize("selector", [Blocking(), BlockingLater()])
async def test_c6_a_selector_that_never_awaits_does_not_hold_the_loop(
    framework: Framework, selector: Any
) -> None:
    """C6: its code shows that it blocks."""
    retriever = framework.around(lambda: ["t0", "t1"], selector=selector, selector_timeout=LIMIT)
    response = await quick(lambda: framework.recall(retriever, "async"))
    assert response.selection.reason == "timeout"


async def test_c6_a_model_is_run_in_a_thread_once_it_was_seen_to_block(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """C6: one whose code did not show it."""

    def sleep() -> None:
        time.sleep(0.02)

    async def hidden(asked: str, _: None) -> str:
        await asyncio.sleep(0)
        sleep()
        return asked

    model: Model[str, None, str] = Model(lambda asked, _: f"sync {asked}", hidden)
    limits = CallLimits()
    with suppress(TimeoutError):
        await model.within_async(limits, 0.01, "a", None)
    assert model.has_blocked
    assert "held the event loop" in caplog.text
    assert await model.within_async(limits, 5, "a", None) == "sync a"


async def test_a_model_that_waits_runs_on_the_loop() -> None:
    async def waiting(asked: str, _: None) -> Any:
        await asyncio.sleep(0)
        return asyncio.get_running_loop()

    model: Model[str, None, Any] = Model(lambda asked, _: None, waiting)
    assert await model.within_async(CallLimits(), 5, "a", None) is asyncio.get_running_loop()
    assert not model.has_blocked


async def _never(_: Any) -> None: ...


async def _sleeps() -> None:
    await asyncio.sleep(0)
    time.sleep(0)


async def _hands_over() -> None:
    await asyncio.to_thread(time.monotonic)
    await asyncio.get_running_loop().run_in_executor(None, time.monotonic)


async def _hands_over_and_waits() -> None:
    await asyncio.to_thread(time.monotonic)
    await asyncio.sleep(0)


async def _waits() -> None:
    time.monotonic()
    await asyncio.sleep(0)


async def _iterates(things: Any) -> None:
    async for _ in things:
        pass


class _Method:
    method = _never


def _decorated(function: Any) -> Any:
    @functools.wraps(function)
    async def wrapper(*args: Any) -> Any:
        return await function(*args)

    return wrapper


def _by_name(f: Any) -> Any:
    """As LlamaIndex's decorators do it."""

    async def wrapper(*args: Any) -> Any:
        return await f(*args) if args != (unset,) else None

    wrapper.__qualname__ = f.__qualname__
    if f is None:
        unset = 1
    return wrapper


@pytest.mark.parametrize(
    "function",
    [_never, _sleeps, _hands_over, _Method().method, _decorated(_never), _by_name(_never)],
)
def test_what_holds_a_loop_is_seen_in_its_code(function: Any) -> None:
    assert holds_loop(function)


def _circular() -> Any:
    def function() -> None: ...

    function.__wrapped__ = function  # type: ignore[attr-defined]
    return function


@pytest.mark.parametrize(
    "function",
    [
        _circular(),
        _waits,
        _hands_over_and_waits,
        _iterates,
        _decorated(_waits),
        _by_name(_waits),
        len,
        None,
        5,
        lambda: 1,
    ],
)
def test_what_waits_or_is_no_code_is_left_alone(function: Any) -> None:
    assert not holds_loop(function)


async def test_a_watched_coroutine_is_closed_with_its_watcher() -> None:
    closed = []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        except GeneratorExit:
            closed.append(True)
            raise

    watched = Watched(work).run()
    watched.send(None)
    watched.close()
    assert closed == [True]


LONG = "word " * 1_000_000
TEXTS = {
    "words": LONG,
    "invisible": "\u200b" * 5_000_000,
    "private": "\ue000" * 5_000_000,
    "marks": "a" + "\u0316\u0301" * 2_500_000,
    "ideographs": "学習" * 2_500_000,
}


def wrapped(framework: Framework, texts: list[str], metadata: dict[str, Any], **more: Any) -> Any:
    """A wrapper around these texts with this metadata each."""
    if framework.name == "langchain":
        documents = [
            Document(id=str(n), page_content=t, metadata=metadata) for n, t in enumerate(texts)
        ]
        inner = RunnableLambda(lambda _: documents, afunc=_returning(documents))
        return in_langchain.RecallRetriever(retriever=inner, **more)
    nodes = [
        NodeWithScore(node=TextNode(id_=str(n), text=t, metadata=metadata))
        for n, t in enumerate(texts)
    ]
    return in_llama_index.RecallRetriever(ListRetriever(nodes), **more)


def _returning(documents: list[Document]) -> Any:
    async def search(_: str) -> list[Document]:
        return documents

    return search


class Quick:
    def select(self, request: Any) -> Answer:
        return Answer({"keep": list(request.labels[:1])}, "m")

    async def aselect(self, request: Any) -> Answer:
        await asyncio.sleep(0)
        return self.select(request)


@pytest.mark.timing
@pytest.mark.parametrize("what", [*TEXTS, "metadata", "vectors"])
async def test_c10_no_step_holds_the_loop(framework: Framework, what: str) -> None:
    """C10: 500 candidates of 3,072 dimensions, 300,000 values of metadata each, 5 MB texts."""
    settings: dict[str, Any] = {"selector": Quick()}
    texts = [TEXTS.get(what, f"text {what}")] * 10
    metadata: dict[str, Any] = {"n": 1}
    if what == "metadata":
        metadata = {"floats": [0.5] * 300_000, "deep": {"more": [[1, 2]] * 1000}}
    if what == "vectors":
        texts = [f"text {n}" for n in range(500)]
        vectors = [[0.01 * (n % 7) + 0.001 * m for m in range(3072)] for n in range(500)]
        encoder = Encoder(lambda given: vectors[: len(given)])
        encoder.embed_query = lambda text: vectors[0]  # type: ignore[method-assign]
        settings = (
            {"embeddings": EncoderEmbeddings(encoder)}
            if framework.name == "langchain"
            else {"embed_model": EncoderEmbedding(encoder, embed_batch_size=512)}
        )
        settings["pool_size"] = 500
    retriever = wrapped(framework, texts, metadata, **settings)
    response = await quick(lambda: retriever.arecall("which word?"))
    assert response.selection.applied or what == "vectors"


LARGE_PAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "texts": ("word " * 100_000, {}),
    "metadata": ("t", {str(key): key for key in range(30_000)}),
    "nothing": ("t", {"n": 1}),
}


@pytest.mark.parametrize("what", LARGE_PAGES)
async def test_c10_a_large_page_is_written_out_in_a_thread(
    framework: Framework, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C10: by the tool, the corrective way and the chain; a small one pays no thread."""
    threads: list[str] = []

    def noting(function: Any) -> Any:
        def call(*args: Any) -> Any:
            threads.append(threading.current_thread().name)
            return function(*args)

        return call

    text, metadata = LARGE_PAGES[what]
    retriever = wrapped(framework, [text, f"{text}."], metadata)  # old ones merge equal texts
    monkeypatch.setattr(CorrectivePolicy, "retrieved", noting(CorrectivePolicy.retrieved))
    if framework.name == "langchain":
        monkeypatch.setattr(_tool, "tool_answer", noting(tool_answer))
        monkeypatch.setattr(_chain, "_context", noting(_chain._context))
    else:
        monkeypatch.setattr(li_tool, "tool_answer", noting(tool_answer))
    content, artifact = await framework.call_tool(
        framework.package.create_recall_tool(retriever, "memory", "x"), "async"
    )
    assert content.count("\n> ") >= 2
    assert len(artifact["documents"]) == 2
    assert (await framework.run_corrective(retriever, "async"))["documents"]
    if framework.name == "langchain":
        await framework.answer(retriever, "async")
    assert len(threads) == (3 if framework.name == "langchain" else 2)
    assert {name == "recall-signal-call" for name in threads} == {what != "nothing"}
