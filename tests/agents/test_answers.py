"""Answers of chains and query engines: who gives them, and what they report."""

import asyncio
from typing import Any

import pytest

from recall_signal import ConfigurationError, InvalidResultError, parse_report
from recall_signal.agents._absent import REFUSAL
from recall_signal.selection import SelectionOptions
from tests.frameworks import QUERY, STRONG, WEAK, Framework, Keeping


async def test_a_refusal_has_words_of_its_own(framework: Framework, way: str) -> None:
    said = await framework.answer(framework.over(WEAK), way, on_absent="refuse")
    assert (said.text, said.asked) == (REFUSAL, 0)
    assert "ikely" in REFUSAL  # a hint, no verdict


async def test_an_answer_names_the_calibration_and_the_selection(
    framework: Framework, way: str
) -> None:
    retriever = framework.over(STRONG, selector=Keeping(0, 2)).calibrated()
    said = await framework.answer(retriever, way)
    response = await framework.recall(retriever, way)
    assert said.report == response.to_dict()
    assert said.report["selection"]["kept"] == 2
    assert set(said.report["calibration"]) == {"id", "created", "status"}
    assert not {"rank", "cosine"} & said.report.keys()
    tool = framework.package.create_recall_tool(retriever, "memory", "x")
    _, artifact = await framework.call_tool(tool, way)
    with framework.events() as (call, events):
        await framework.recall(retriever, way, **call)
    for report in (artifact["recall"], events[-1]):
        assert report["calibration"] == said.report["calibration"]


class Elsewhere:
    """An object whose call is a coroutine."""

    async def __call__(self, question: str, response: Any) -> str:
        await asyncio.sleep(0)
        return f"elsewhere: {question}"


async def coroutine(question: str, response: Any) -> str:
    return f"elsewhere: {question}"


@pytest.mark.parametrize(
    "function", [coroutine, Elsewhere(), lambda question, response: coroutine(question, response)]
)
async def test_a_function_may_be_asynchronous(framework: Framework, function: Any) -> None:
    said = await framework.answer(framework.over(WEAK), "async", on_absent=function)
    assert (said.text, said.asked) == (f"elsewhere: {QUERY}", 0)
    with pytest.raises(ConfigurationError, match="use the asynchronous call"):
        await framework.answer(framework.over(WEAK), "sync", on_absent=function)


async def test_an_awaitable_that_is_no_coroutine(framework: Framework) -> None:
    def later(question: str, response: Any) -> Any:
        return made

    made = asyncio.get_running_loop().create_future()
    made.set_result("later")
    said = await framework.answer(framework.over(WEAK), "async", on_absent=later)
    assert said.text == "later"
    with pytest.raises(ConfigurationError, match="use the asynchronous call"):
        await framework.answer(framework.over(WEAK), "sync", on_absent=later)


async def test_a_function_does_not_block_the_loop(framework: Framework) -> None:
    started = asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(question: str, response: Any) -> str:
        loop.call_soon_threadsafe(started.set)
        asyncio.run_coroutine_threadsafe(started.wait(), loop).result(5)
        return "slow"

    said = await framework.answer(framework.over(WEAK), "async", on_absent=slow)
    assert said.text == "slow"


async def test_what_a_function_raises_passes_through(framework: Framework, way: str) -> None:
    def fail(question: str, response: Any) -> str:
        raise LookupError("no web")

    with pytest.raises(LookupError, match="no web"):
        await framework.answer(framework.over(WEAK), way, on_absent=fail)


async def test_a_function_that_ends_as_an_iterator_does(framework: Framework, way: str) -> None:
    def ended(question: str, response: Any) -> str:
        return next(iter(()))

    for streaming in (False, True):
        with pytest.raises(InvalidResultError, match="on_absent raised StopIteration"):
            await framework.answer(framework.over(WEAK), way, on_absent=ended, streaming=streaming)


async def test_a_function_must_give_a_text(framework: Framework, way: str) -> None:
    with pytest.raises(InvalidResultError, match="got int"):
        await framework.answer(framework.over(WEAK), way, on_absent=lambda question, response: 5)


async def test_a_function_sees_the_page_that_is_left(framework: Framework, way: str) -> None:
    seen: list[Any] = []

    def look(question: str, response: Any) -> str:
        seen.append(response)
        return "x"

    options = SelectionOptions(on_empty="drop")
    retriever = framework.over(STRONG, selector=Keeping(), selector_options=options)
    said = await framework.answer(retriever, way, on_absent=look)
    assert (seen[0].shown, seen[0].selection.kept) == (0, 0)
    assert parse_report(seen[0]) == parse_report({"recall": said.report})
    assert len(seen[0].pool.cosines) == 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"on_absent": "reject"},
            "on_absent must be 'answer', 'refuse', or a function .* 'reject'",
        ),
        ({"on_absent": None}, "got NoneType"),
        ({"on_absent": str}, "got type"),
        ({"on_absent": "refuse", "refusal": " "}, "refusal must be a text, got an empty text"),
        ({"refusal": 5}, "refusal must be a text, got int"),
    ],
)
async def test_wrong_settings_are_refused(
    framework: Framework, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        await framework.answer(framework.over(), "sync", **settings)
