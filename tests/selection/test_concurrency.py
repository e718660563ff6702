"""Many callers at once, callers that give up, and what must never be said."""

import asyncio
import gc
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from recall_signal.selection import SelectionOptions
from tests.selection.fakes import (
    AsyncScripted,
    Scripted,
    Sleeper,
    page,
    plain,
    report,
    selector_threads,
    wrapped,
)
from tests.selection.prompts import QUESTION, TEXTS, keeping, labels_in, saying

# Cancellation


@pytest.mark.parametrize("limit", [10.0, None])
async def test_a_cancelled_caller_leaves_nothing_behind(limit: float | None) -> None:
    asked = asyncio.Event()
    ended = []

    async def wait(prompt: str) -> str:
        asked.set()
        try:
            await asyncio.sleep(10)
        finally:
            ended.append(prompt)
        return "{}"

    model = AsyncScripted(reply=saying(""), areply=wait)
    before = set(threading.enumerate())
    task = asyncio.create_task(wrapped(model, selector_timeout=limit).arecall(QUESTION))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()
    assert ended == model.prompts
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert not [t for t in set(threading.enumerate()) - before if t.name.startswith("recall")]


async def test_a_cancelled_caller_does_not_wait_for_a_thread(sleeper: Sleeper) -> None:
    task = asyncio.create_task(wrapped(Scripted(reply=sleeper)).arecall(QUESTION))
    while not selector_threads():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == {asyncio.current_task()}
    sleeper.over.set()


async def test_a_timeout_around_it_propagates() -> None:
    async def sleep(prompt: str) -> str:
        await asyncio.sleep(10)
        return "{}"

    retriever = wrapped(AsyncScripted(reply=saying(""), areply=sleep))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await retriever.arecall(QUESTION)
    assert asyncio.all_tasks() == {asyncio.current_task()}


# Concurrency


def choosing(prompt: str) -> str:
    """Keeps the place that the question names."""
    return keeping(int(prompt.split("place ")[1][0]))(prompt)


def assert_own_choices(responses: list[Any], prompts: list[str]) -> None:
    for number, response in enumerate(responses):
        assert plain(response.documents) == plain([page()[number % 5]])
        assert report(response)["dropped"] == 4
    labels = [label for prompt in prompts for label in labels_in(prompt)]
    assert len(labels) == len(set(labels)) == 100


def test_threads_do_not_mix_up_their_labels() -> None:
    model = Scripted(reply=choosing)
    retriever = wrapped(model)
    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(lambda n: retriever.recall(f"place {n % 5}?"), range(20)))
    assert_own_choices(found, model.prompts)


@pytest.mark.parametrize("kind", [Scripted, AsyncScripted])
async def test_tasks_do_not_mix_up_their_labels(kind: type[Scripted]) -> None:
    model = kind(reply=choosing)
    retriever = wrapped(model)
    found = await asyncio.gather(*(retriever.arecall(f"place {n % 5}?") for n in range(20)))
    assert_own_choices(found, model.prompts)


# Silence


@pytest.mark.parametrize("name", ["answer", "error", "timeout", "late error"])
async def test_no_text_reaches_a_log_or_a_report(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Not by way of an exception that quotes the prompt either."""
    said = {"answer": saying(" ".join(TEXTS)), "error": lambda prompt: ValueError(prompt)}

    async def late(prompt: str) -> str:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            if name == "late error":
                await asyncio.sleep(0.1)
                raise ValueError(prompt) from None
            raise
        return prompt

    model = AsyncScripted(reply=said.get(name, saying("")), areply=None if name in said else late)
    retriever = wrapped(model, selector_options=SelectionOptions(timeout=0.1))
    with caplog.at_level(logging.DEBUG):
        response = await retriever.arecall(QUESTION)
        if name in said:
            retriever.recall(QUESTION)
        await asyncio.sleep(0.2)
        gc.collect()
    assert response.selection.applied is False
    said_somewhere = caplog.text + str(response.to_dict())
    assert not [text for text in (QUESTION, *TEXTS) if text in said_somewhere]
    if name == "error":
        assert "the selector failed: ValueError" in caplog.text
