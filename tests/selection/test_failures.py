"""Models that fail: the page comes back, in time, and the report says why."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError as PoolCancelled
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from recall_signal.selection import Answer, SelectorError
from tests.selection.fakes import (
    AsyncScripted,
    Custom,
    Scripted,
    Sleeper,
    ToolCalling,
    assert_untouched,
    page,
    selector_threads,
    wrapped,
)
from tests.selection.prompts import NAME, QUESTION, keeping, saying

LIMIT, IN_TIME = 0.3, 0.5


class RateLimitError(Exception):
    """As the providers' clients raise it."""


def timed(call: Callable[[], Any]) -> Any:
    """What a call returns, which must come in time; a busy machine gets three tries."""
    for _ in range(3):
        start = time.monotonic()
        result = call()
        taken = time.monotonic() - start
        if taken <= IN_TIME:
            return result
    raise AssertionError(f"took {taken:.2f} s")


async def atimed(call: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    for _ in range(3):
        start = time.monotonic()
        result = await call()
        taken = time.monotonic() - start
        if taken <= IN_TIME:
            return result
    raise AssertionError(f"took {taken:.2f} s")


# Exceptions

ERRORS: dict[str, tuple[BaseException, str]] = {
    "runtime": (RuntimeError("down"), "llm_error"),
    "rate limit": (RateLimitError("429"), "llm_error"),
    "connection": (ConnectionResetError(104, "reset"), "llm_error"),
    "attribute": (AttributeError("text"), "llm_error"),
    "recursion": (RecursionError(), "llm_error"),
    "memory": (MemoryError(), "llm_error"),
    "not implemented": (NotImplementedError(), "llm_error"),
    "end of a script": (StopIteration(), "llm_error"),
    "end of an async script": (StopAsyncIteration(), "llm_error"),
    "of our own": (SelectorError("no"), "llm_error"),
    "a cancelled pool": (PoolCancelled(), "llm_error"),
    "a cancelled call of its own": (asyncio.CancelledError(), "llm_error"),
    "its own timeout": (TimeoutError("read"), "timeout"),
}

errors = pytest.mark.parametrize(("error", "reason"), ERRORS.values(), ids=ERRORS.keys())
limits = pytest.mark.parametrize("limit", [5.0, None], ids=["limit", "no limit"])


@errors
@limits
@pytest.mark.parametrize("kind", [Scripted, AsyncScripted, ToolCalling])
async def test_an_exception_costs_nothing_but_the_selection(
    error: BaseException, reason: str, limit: float | None, kind: type[Scripted]
) -> None:
    retriever = wrapped(kind(reply=saying(error)), selector_timeout=limit)
    assert_untouched(retriever.recall(QUESTION), reason, page())
    assert_untouched(await retriever.arecall(QUESTION), reason, page())


@errors
async def test_a_custom_selector_may_raise_as_well(error: BaseException, reason: str) -> None:
    retriever = wrapped(Custom(lambda request: error))
    assert_untouched(retriever.recall(QUESTION), reason, page())
    assert_untouched(await retriever.arecall(QUESTION), reason, page())


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
@limits
def test_the_end_of_the_program_is_not_held_up(
    stop: type[BaseException], limit: float | None
) -> None:
    with pytest.raises(stop):
        wrapped(Scripted(reply=saying(stop())), selector_timeout=limit).recall(QUESTION)


REFUSALS: dict[str, AIMessage] = {
    "nothing": AIMessage(""),
    "no blocks": AIMessage([]),
    "a refusal field": AIMessage("", additional_kwargs={"refusal": "I cannot judge this."}),
    "a refusal block": AIMessage([{"type": "refusal", "refusal": "I cannot judge this."}]),
    "content filter": AIMessage("", response_metadata={"finish_reason": "content_filter"}),
    "cut off": AIMessage('{"keep": [', response_metadata={"finish_reason": "length"}),
    "reasoning only": AIMessage([{"type": "reasoning", "reasoning": "Let me see."}]),
}


@pytest.mark.parametrize("kind", [Scripted, ToolCalling])
def test_a_text_that_was_cut_off_is_not_taken(kind: type[Scripted]) -> None:
    def cut(prompt: str) -> AIMessage:
        return AIMessage(keeping(0)(prompt), response_metadata={"finish_reason": "length"})

    assert_untouched(wrapped(kind(reply=cut)).recall(QUESTION), "invalid_output", page())


@pytest.mark.parametrize("reply", REFUSALS.values(), ids=REFUSALS.keys())
@pytest.mark.parametrize("kind", [Scripted, ToolCalling])
def test_a_refusal_is_invalid_output(reply: AIMessage, kind: type[Scripted]) -> None:
    assert_untouched(wrapped(kind(reply=saying(reply))).recall(QUESTION), "invalid_output", page())


# Time


@pytest.mark.timing
def test_a_model_that_sleeps_is_not_waited_for(sleeper: Sleeper) -> None:
    retriever = wrapped(Scripted(reply=sleeper), selector_timeout=LIMIT)
    assert_untouched(timed(lambda: retriever.recall(QUESTION)), "timeout", page())


@pytest.mark.timing
@pytest.mark.parametrize("kind", [Scripted, AsyncScripted])
async def test_an_async_caller_does_not_wait_either(kind: type[Scripted], sleeper: Sleeper) -> None:
    async def sleep(prompt: str) -> str:
        await asyncio.sleep(10)
        return "{}"

    more = {"areply": sleep} if kind is AsyncScripted else {}
    retriever = wrapped(kind(reply=sleeper, **more), selector_timeout=LIMIT)
    ticks = asyncio.create_task(count_ticks())
    assert_untouched(await atimed(lambda: retriever.arecall(QUESTION)), "timeout", page())
    ticks.cancel()
    assert await ticks > 5  # the loop went on meanwhile
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def count_ticks() -> int:
    count = 0
    try:
        while True:
            await asyncio.sleep(0.01)
            count += 1
    except asyncio.CancelledError:
        return count


async def stubborn(prompt: str) -> str:
    """Does not let itself be cancelled at once."""
    for _ in range(3):
        try:
            await asyncio.sleep(0.4)
        except asyncio.CancelledError:
            continue
    return keeping(0)(prompt)


@pytest.mark.timing
async def test_a_model_that_resists_cancellation_is_not_waited_for() -> None:
    model = AsyncScripted(reply=saying(""), areply=stubborn)
    retriever = wrapped(model, selector_timeout=LIMIT)
    assert_untouched(await atimed(lambda: retriever.arecall(QUESTION)), "timeout", page())
    others = asyncio.all_tasks() - {asyncio.current_task()}
    assert others
    await asyncio.wait(others)


@pytest.mark.timing
@pytest.mark.parametrize("kind", [Scripted, "chain", "custom"])
def test_a_whole_program_ends_in_time(kind: Any, sleeper: Sleeper) -> None:
    """A thread pool would be waited for at the end of `asyncio.run`."""
    selector: Any = Scripted(reply=sleeper)
    if kind == "chain":
        selector = selector | (lambda message: message.content)
    elif kind == "custom":
        selector = SyncOnly(sleeper)
    retriever = wrapped(selector, selector_timeout=LIMIT)
    assert_untouched(timed(lambda: asyncio.run(retriever.arecall(QUESTION))), "timeout", page())


PROGRAM = """
import time
from tests.selection.fakes import {kind}, report, wrapped
from tests.selection.prompts import QUESTION

def sleep(prompt):
    time.sleep(300)

response = wrapped({kind}(reply=sleep), selector_timeout=0.1).recall(QUESTION)
print(report(response)["reason"])
"""


@pytest.mark.parametrize("kind", ["Scripted", "ToolCalling"])
def test_an_interpreter_does_not_wait_for_a_model(kind: str) -> None:
    """No thread of ours, nor one of LangChain's own pools, holds up the end."""
    program = [sys.executable, "-c", PROGRAM.format(kind=kind)]
    ended = subprocess.run(
        program,
        cwd=Path(__file__).parents[2],
        timeout=60,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.strip() == "timeout"


class SyncOnly:
    def __init__(self, sleep: Callable[[], object]) -> None:
        self.sleep = sleep

    def select(self, request: Any) -> Answer:
        self.sleep()
        return Answer("{}", NAME)


def test_an_answer_after_the_end_of_the_loop_is_nobodys(sleeper: Sleeper) -> None:
    retriever = wrapped(Scripted(reply=sleeper), selector_timeout=0.05)
    asyncio.run(retriever.arecall(QUESTION))
    sleeper.over.set()
    for thread in selector_threads():
        thread.join(5)
    assert not selector_threads()
