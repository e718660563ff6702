"""The last resorts: places where nothing fails unless a part of this package is broken."""

import asyncio
from collections.abc import Generator
from typing import Any

import pytest

import langchain_recall_signal._search as lc_search
import llama_index_recall_signal._search as li_search
from llama_index_recall_signal._internals import with_larger_top_k
from recall_signal._auto.attempt import _acquired
from recall_signal._auto.state_file import FileLock
from recall_signal._steps.driver import contained_steps, drive_async
from recall_signal._steps.timeouts import CallLimits, Workers
from recall_signal.selection import SelectionOptions
from tests.faults.test_steps import Panic, raising
from tests.frameworks import FRAMEWORKS, STRONG, Framework, Keeping


async def test_a_result_that_cannot_be_read_is_the_page(
    framework: Framework, way: str, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    if framework.name == "langchain":
        monkeypatch.setattr(lc_search.Call, "_ties_are_settled", raising(Panic))
    else:
        monkeypatch.setattr(li_search, "_placed", raising(Panic))
    response = await framework.recall(framework.over(k=2), way)
    assert [item.id for item in framework.page(response)] == ["id0", "id1"]
    assert response.confidence.reason == "adapter_failed"
    assert "reading the search failed: Panic" in caplog.text


async def test_documents_that_cannot_be_compared_are_the_page(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lc_search.Call, "_ties_are_settled", lambda *_: False)
    monkeypatch.setattr(lc_search, "_placed", raising(GeneratorExit))
    framework = FRAMEWORKS["langchain"]
    response = await framework.recall(framework.over(STRONG, k=2), way)
    assert [item.id for item in framework.page(response)] == ["id0", "id1"]


async def test_a_panic_of_the_wider_search_costs_nothing(
    framework: Framework, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    retriever = framework.over(STRONG, k=2)
    if framework.name == "langchain":
        store = type(retriever.retriever.vectorstore)
        plain = store.similarity_search_with_score

        def panics_where_wide(store: Any, query: str, k: int = 4, **more: Any) -> Any:
            if k > 2:
                raise Panic
            return plain(store, query, k, **more)

        monkeypatch.setattr(store, "similarity_search_with_score", panics_where_wide)
    else:
        monkeypatch.setattr(li_search, "with_larger_top_k", _panicking(with_larger_top_k))
    response = await framework.recall(retriever, way)
    assert [item.id for item in framework.page(response)] == ["id0", "id1"]


def _panicking(make: Any) -> Any:
    def made(search: Any, limit: Any, size: Any, *more: Any) -> Any:
        view = make(search, limit, size, *more)
        if limit != size:
            vars(view)["_handle_recursive_retrieval"] = raising(Panic)
            vars(view)["_ahandle_recursive_retrieval"] = raising(Panic)
        return view

    return made


async def test_a_page_of_a_compressor_that_cannot_be_read(way: str) -> None:
    from langchain_recall_signal import SelectorCompressor
    from tests.selection.fakes import page

    compressor = SelectorCompressor(selector=Keeping(0), options=SelectionOptions(), id_key="n")
    documents = page()
    object.__setattr__(documents[0], "page_content", None)
    found = (
        compressor.compress_documents(documents, "?")
        if way == "sync"
        else await compressor.acompress_documents(documents, "?")
    )
    assert len(found) == len(documents)


def test_steps_are_closed_with_what_contains_them() -> None:
    closed = []

    def steps() -> Generator[int, Any, None]:
        try:
            yield 1
        finally:
            closed.append(True)

    around = contained_steps(steps())
    assert next(around) == 1
    around.close()
    assert closed == [True]


def test_steps_hear_of_failures_inside() -> None:
    def steps() -> Generator[int, Any, str]:
        try:
            yield 1
        except ValueError:
            return "heard"
        return ""

    around = contained_steps(steps())
    next(around)
    with pytest.raises(StopIteration) as stopped:
        around.throw(ValueError())
    assert stopped.value.value == "heard"


async def test_a_closed_coroutine_ends() -> None:
    def flow() -> Generator[int, Any, None]:
        yield 1

    async def perform(_: int) -> None:
        await asyncio.sleep(60)

    driving = drive_async(flow(), perform, lambda _: True)
    driving.send(None)
    driving.close()


def test_the_end_of_the_program_is_not_held_by_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = CallLimits(threads=1)
    turn = limits._turn(None)
    monkeypatch.setattr(turn, "result", raising(KeyboardInterrupt))
    monkeypatch.setattr(limits, "_turn", lambda _: turn)
    with pytest.raises(KeyboardInterrupt):
        limits.call_within(5, lambda: 7)
    monkeypatch.undo()
    assert limits.call_within(5, lambda: 7) == 7


async def test_foreign_async_code_fails_like_any_other() -> None:
    async def fails() -> None:
        raise GeneratorExit

    with pytest.raises(Exception, match="GeneratorExit"):
        await Workers().wait_for(fails)


def test_a_lock_that_cannot_be_made_keeps_nobody_from_fitting(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    lock = FileLock(tmp_path / "c.json")
    monkeypatch.setattr(lock, "acquire", raising(PermissionError))
    assert _acquired(lock)
    assert "its file cannot be locked (PermissionError)" in caplog.text
