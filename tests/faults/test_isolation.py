"""What hangs in one wrapper costs no other one anything, and is bounded in its own."""

import asyncio
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import RunnableLambda
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeWithScore, TextNode

import langchain_recall_signal as in_langchain
import llama_index_recall_signal as in_llama_index
from langchain_recall_signal import _events
from recall_signal._steps.timeouts import MAX_ABANDONED_CALLS, CallLimits, Workers
from tests.faults.test_steps import encoding
from tests.frameworks import Framework, Keeping

VECTOR = [1.0, 0.5]


class Waiting:
    """Vectors that come when `over` is set."""

    def __init__(self) -> None:
        self.over, self.calls = threading.Event(), list[str]()

    def __call__(self, texts: list[str]) -> list[list[float]]:
        self.calls.append(threading.current_thread().name)
        self.over.wait(30)
        return [VECTOR] * len(texts)


class PlainEmbeddings(Embeddings):
    """Synchronous, as most of LangChain's."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def embed_documents(self, texts: list[str]) -> Any:
        return self.answer(texts)

    def embed_query(self, text: str) -> list[float]:
        return VECTOR


class HandingEmbeddings(PlainEmbeddings):
    async def aembed_documents(self, texts: list[str]) -> Any:
        return await asyncio.to_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        return await asyncio.get_running_loop().run_in_executor(None, self.embed_query, text)


class PlainEmbedding(BaseEmbedding):
    """Synchronous, as LlamaIndex makes it asynchronous."""

    answer: Any

    def _get_text_embedding(self, text: str) -> Any:
        return self.answer([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return VECTOR

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return VECTOR


class HandingEmbedding(PlainEmbedding):
    async def _aget_text_embedding(self, text: str) -> Any:
        return await asyncio.to_thread(self._get_text_embedding, text)

    async def _aget_text_embeddings(self, texts: list[str]) -> Any:
        return await asyncio.to_thread(self.answer, texts)


def encoder_of(framework: Framework, kind: str, answer: Any) -> dict[str, Any]:
    if kind == "ours":
        return encoding(framework, answer)
    if framework.name == "langchain":
        made = PlainEmbeddings if kind == "plain" else HandingEmbeddings
        return {"embeddings": made(answer)}
    return {"embed_model": (PlainEmbedding if kind == "plain" else HandingEmbedding)(answer=answer)}


async def cancelled(work: Any, begun: Any) -> None:
    """Start work and cancel it once it has begun."""
    task = asyncio.ensure_future(work)
    async with asyncio.timeout(20):
        while not begun():
            await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("kind", ["ours", "plain", "handing over"])
async def test_c2_an_encoder_that_hangs_takes_no_thread_from_another_wrapper(
    framework: Framework, kind: str
) -> None:
    """C2: all of a program share the loop's threads, here two."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
    waiting = Waiting()
    hanging = framework.around(lambda: ["t0", "t1"], **encoder_of(framework, kind, waiting))
    try:
        for number in range(1, 5):
            calls = waiting.calls
            work = framework.recall(hanging, "async")
            await cancelled(work, lambda n=number, c=calls: len(c) >= n)
        healthy = framework.around(
            lambda: ["t0", "t1"],
            selector=Keeping(0),
            **encoder_of(framework, kind, lambda texts: [VECTOR] * len(texts)),
        )
        async with asyncio.timeout(20):
            response = await framework.recall(healthy, "async")
        assert response.selection.applied
        assert response.confidence.top_score is not None
    finally:
        waiting.over.set()
    assert all(name.startswith(("recall-signal", "asyncio")) for name in waiting.calls)


async def test_c2_a_store_that_hangs_takes_no_thread_from_another_wrapper() -> None:
    """C2: what is read of a store has threads of the wrapper's own."""
    name = await Workers().call(lambda: threading.current_thread().name)
    assert name == "recall-signal-call"


def test_workers_are_not_copied() -> None:
    workers = Workers()
    assert [type(part) for part in (workers.__reduce__()[0](),)] == [Workers]


async def test_c7_calls_that_hold_every_thread_are_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """C7: without a time limit further calls wait, and the log says for what."""
    over, limits = threading.Event(), CallLimits(threads=4, abandoned=4)
    begun = list[int]()

    def hang() -> None:
        begun.append(1)
        over.wait(30)

    for number in range(1, 5):
        await cancelled(limits.thread_within(None, hang), lambda n=number: len(begun) >= n)
    assert caplog.records == []
    later = [asyncio.create_task(limits.thread_within(None, lambda: 7)) for _ in range(2)]
    await asyncio.sleep(0.01)
    assert [record.getMessage() for record in caplog.records] == [
        "4 calls that nobody waits for are still running: further ones wait for a thread"
    ]
    over.set()
    assert await asyncio.gather(*later) == [7, 7]


async def resist() -> None:
    """Go on after any cancellation, until the loop is closed."""
    for _ in range(200):
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0.05)
        if asyncio.get_running_loop() in OVER:
            return


OVER: set[asyncio.AbstractEventLoop] = set()


@contextmanager
def resisting() -> Iterator[set[Any]]:
    """Give the tasks that were there before; at the end nothing resists any more."""
    OVER.clear()
    try:
        yield asyncio.all_tasks()
    finally:
        OVER.add(asyncio.get_running_loop())


async def tasks_left(ask: Any) -> int:
    """How many tasks are left by 24 cancelled calls."""
    with resisting() as before:
        for _ in range(24):
            call = asyncio.create_task(ask())
            await asyncio.sleep(0.01)
            call.cancel()
            await asyncio.wait({call})
        left = asyncio.all_tasks() - before
    await asyncio.wait(left)
    return len(left)


async def test_c7_handlers_that_resist_are_bounded() -> None:
    """C7: LangChain gathers the handlers, so each event has two tasks."""

    class Resisting(AsyncCallbackHandler):
        async def on_custom_event(self, *_: Any, **__: Any) -> None:
            await resist()

    async def search(_: str) -> list[Any]:
        return []

    inner = RunnableLambda(search)
    retriever = in_langchain.RecallRetriever(retriever=inner)
    config: Any = {"callbacks": [Resisting()]}
    assert 0 < await tasks_left(lambda: retriever.ainvoke("q", config)) <= 2 * MAX_ABANDONED_CALLS


async def test_c7_encoders_that_resist_are_bounded_in_a_postprocessor() -> None:
    """C7: one set of limits for each postprocessor, not for each call."""

    class Resisting(PlainEmbedding):
        async def _aget_text_embeddings(self, texts: list[str]) -> Any:
            await resist()

    step = in_llama_index.RecallPostprocessor(embed_model=Resisting(answer=None))
    nodes = [NodeWithScore(node=TextNode(text="t0"))]
    left = await tasks_left(lambda: step.apostprocess_nodes(nodes, query_str="q"))
    assert 0 < left <= 2 * MAX_ABANDONED_CALLS  # LlamaIndex gathers the embeddings


async def test_a_handler_that_never_ends_does_not_hold_the_page(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No future can hold a `StopIteration`, so LangChain waits for ever for such a handler."""

    class Stopping(BaseCallbackHandler):
        def on_custom_event(self, *_: Any, **__: Any) -> None:
            raise StopIteration

    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    monkeypatch.setattr(_events, "SENDING", 0.05)
    inner: Any = RunnableLambda(lambda _: [])
    retriever = in_langchain.RecallRetriever(retriever=inner)
    async with asyncio.timeout(10):
        assert await retriever.ainvoke("q", {"callbacks": [Stopping()]}) == []
    if sys.version_info < (3, 12):  # since then a future refuses it, and nobody waits
        assert "was not sent: TimeoutError" in caplog.text


async def test_a_cancellation_is_not_delayed_by_a_task_that_resists() -> None:
    with resisting() as before:
        limits = CallLimits()
        call = asyncio.create_task(limits.await_within(None, resist()))
        await asyncio.sleep(0.01)
        call.cancel()
        for _ in range(30):  # turns of the loop, which take no time
            await asyncio.sleep(0)
        assert call.cancelled()
        left = asyncio.all_tasks() - before - {call}
        assert left
    await asyncio.wait(left)
