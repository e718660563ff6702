"""The selector in traces, in event streams, and as a compressor."""

import asyncio
import logging
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.runnables import RunnableConfig, RunnableLambda

from langchain_recall_signal import RecallRetriever, SelectorCompressor
from recall_signal import ConfigurationError, RecallReport, assess
from recall_signal.reports import metadata_entry
from recall_signal.selection import Answer, SelectionOptions
from tests.reports import report_of
from tests.selection.fakes import (
    AsyncScripted,
    Custom,
    Listener,
    Scripted,
    Sleeper,
    ToolCalling,
    page,
    plain,
    selector_threads,
    wrapped,
)
from tests.selection.prompts import NAME, QUESTION, keeping, saying

# Traces

SELECTORS: dict[str, Any] = {
    "sync": (lambda: Scripted(reply=keeping(0)), "Scripted"),
    "async": (lambda: AsyncScripted(reply=keeping(0)), "AsyncScripted"),
    "structured": (lambda: ToolCalling(reply=keeping(0)), "ToolCalling"),
    "custom": (lambda: Custom(lambda r: Answer({"keep": [r.labels[0]]}, NAME)), None),
}


@pytest.mark.parametrize(("make", "model"), SELECTORS.values(), ids=SELECTORS.keys())
@pytest.mark.parametrize("timeout", [5.0, None])
async def test_the_model_is_a_child_of_the_retriever(
    make: Any, model: str | None, timeout: float | None
) -> None:
    retriever = wrapped(make(), selector_timeout=timeout).with_config({"run_name": "mine"})
    inside: RunnableLambda[str, Any] = RunnableLambda(lambda q, config: retriever.invoke(q, config))
    outer = inside.with_config({"run_name": "outer"})
    sync, not_sync = Listener(), Listener()
    outer.invoke(QUESTION, {"callbacks": [sync]})
    await retriever.ainvoke(QUESTION, {"callbacks": [not_sync]})
    assert sync.parents_of("recall_selector") == [["mine", "outer"]]
    assert not_sync.parents_of("recall_selector") == [["mine"]]
    if model:
        for listener, top in ((sync, ["mine", "outer"]), (not_sync, ["mine"])):
            (above,) = listener.parents_of(model)
            assert above[-len(top) - 1 :] == ["recall_selector", *top]
    assert len(sync.events) == len(not_sync.events) == 1


@pytest.mark.parametrize("kind", [Scripted, AsyncScripted])
async def test_events_are_streamed(kind: type[Scripted]) -> None:
    retriever = wrapped(kind(reply=keeping(0)))
    seen = [event async for event in retriever.astream_events(QUESTION, version="v2")]
    names = [(event["event"], event["name"]) for event in seen]
    assert names[0] == ("on_retriever_start", "RecallRetriever")
    assert ("on_chat_model_start", kind.__name__) in names
    assert ("on_chat_model_end", kind.__name__) in names
    assert ("on_custom_event", "recall_signal") in names
    assert names[-1] == ("on_retriever_end", "RecallRetriever")
    retriever_id = seen[0]["run_id"]
    started = next(event for event in seen if event["event"] == "on_chat_model_start")
    assert retriever_id in started["parent_ids"]


async def test_a_model_that_ends_after_the_stream_disturbs_nothing(sleeper: Sleeper) -> None:
    retriever = wrapped(Scripted(reply=sleeper), selector_timeout=0.1)
    seen = [event["event"] async for event in retriever.astream_events(QUESTION, version="v2")]
    assert seen[-1] == "on_retriever_end"
    sleeper.over.set()
    for thread in selector_threads():
        await asyncio.to_thread(thread.join, 5)
    assert not selector_threads()


async def test_tags_of_the_caller_reach_the_model() -> None:
    listener = Tags()
    wrapped(Scripted(reply=keeping(0))).invoke(
        QUESTION, {"callbacks": [listener], "tags": ["mine"]}
    )
    assert "mine" in listener.tags


class Tags(Listener):
    def on_chat_model_start(self, *args: Any, tags: Any = None, **kwargs: Any) -> None:
        self.tags = tags


# The compressor


def compressing(selector: Any, base: Any = None, **more: Any) -> ContextualCompressionRetriever:
    return ContextualCompressionRetriever(
        base_compressor=SelectorCompressor(selector=selector, **more),
        base_retriever=base or RunnableLambda(lambda _: page()),
    )


@pytest.mark.parametrize("kind", [Scripted, AsyncScripted, ToolCalling])
async def test_the_compressor_removes_and_says_so(kind: type[Scripted]) -> None:
    retriever = compressing(kind(reply=keeping(3, 0)))
    said = {
        "applied": True,
        "model": NAME,
        "kept": 2,
        "dropped": 3,
        "dropped_memory_ids": ["id1", "id2", "id4"],
    }
    for documents in (retriever.invoke(QUESTION), await retriever.ainvoke(QUESTION)):
        assert plain(documents) == plain([page()[0], page()[3]])
        entries = [document.metadata["recall"] for document in documents]
        assert [(entry["selection"], entry["rank"]) for entry in entries] == [(said, 0), (said, 1)]
        assert {entry["confidence"]["reason"] for entry in entries} == {"no_signal"}


async def test_the_compressor_is_traced_and_sends_its_event() -> None:
    retriever = compressing(
        AsyncScripted(reply=keeping()), options=SelectionOptions(on_empty="drop")
    )
    sync, not_sync = Listener(), Listener()
    assert retriever.invoke(QUESTION, {"callbacks": [sync]}) == []
    assert await retriever.ainvoke(QUESTION, {"callbacks": [not_sync]}) == []
    for listener in (sync, not_sync):
        above = ["ContextualCompressionRetriever"]
        assert listener.parents_of("recall_selector") == [above]
        (event,) = listener.events
        assert event["selection"]["kept"] == 0
        assert event["advice"] == "fallback"
        schema = RecallReport.model_json_schema(mode="serialization")
        Draft202012Validator(schema).validate(event)


class Broken(Listener):
    raise_error = True

    def on_custom_event(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(QUESTION)


async def test_an_event_that_fails_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    retriever = compressing(AsyncScripted(reply=keeping(0)))
    config: RunnableConfig = {"callbacks": [Broken()]}
    with caplog.at_level(logging.WARNING, logger="langchain_recall_signal"):
        assert len(retriever.invoke(QUESTION, config)) == 1
        assert len(await retriever.ainvoke(QUESTION, config)) == 1
    ours = [r.getMessage() for r in caplog.records if r.name.startswith("langchain_recall")]
    assert ours == ["the event recall_signal was not sent: RuntimeError"] * 2


async def test_the_compressor_alone_copies_its_documents() -> None:
    documents = page()
    compressor = SelectorCompressor(selector=AsyncScripted(reply=keeping(0)))
    kept = compressor.compress_documents(documents, QUESTION)
    akept = await compressor.acompress_documents(documents, QUESTION, callbacks=[Listener()])
    assert list(kept) == list(akept)
    assert plain(kept) == plain(documents[:1])
    assert documents == page()
    assert kept[0].metadata["tags"] is not documents[0].metadata["tags"]
    assert compressor.compress_documents([], QUESTION) == []


@pytest.mark.parametrize(
    ("reply", "reason"),
    [("prose", "invalid_output"), (RuntimeError(), "llm_error"), (keeping(), "selected_none")],
)
def test_a_compressor_that_cannot_leaves_the_page(reply: Any, reason: str) -> None:
    documents = compressing(Scripted(reply=reply if callable(reply) else saying(reply))).invoke(
        QUESTION
    )
    assert plain(documents) == plain(page())
    said = [document.metadata["recall"]["selection"] for document in documents]
    assert said == [{"applied": False, "reason": reason}] * 5


def test_behind_a_recall_retriever_the_signal_stays() -> None:
    base = RecallRetriever(retriever=RunnableLambda(lambda _: page()), metadata_key="signal")
    before = base.invoke(QUESTION)
    selector = Scripted(reply=keeping(2))
    (document,) = compressing(selector, base, metadata_key="signal").invoke(QUESTION)
    entry = document.metadata["signal"]
    assert entry["selection"]["kept"] == 1
    assert entry["rank"] == 0
    assert entry["confidence"] == before[2].metadata["signal"]["confidence"]
    assert before[2].metadata["signal"]["selection"] == {
        "applied": False,
        "reason": "not_configured",
    }


@pytest.mark.parametrize(
    ("entry", "level"),
    [
        (metadata_entry(report_of(assess([0.2, 0.19])), 0, 0.2), "none"),
        ({"confidence": {"level": "none"}}, "unknown"),
        ({"confidence": {"level": "certain"}}, "unknown"),
        ({"confidence": "none"}, "unknown"),
        ("none", "unknown"),
    ],
)
def test_the_compressor_skips_by_a_level_that_it_is_told(entry: Any, level: str) -> None:
    documents = page()
    documents[0].metadata["recall"] = entry
    model = Scripted(reply=keeping(0))
    options = SelectionOptions(skip_levels=frozenset({level}))
    compressor = SelectorCompressor(selector=model, options=options)
    kept = compressor.compress_documents(documents, QUESTION)
    assert kept[0].metadata["recall"]["selection"]["reason"] == "skipped_by_level"
    assert model.prompts == []


def test_the_compressor_names_documents_by_the_id_key() -> None:
    compressor = SelectorCompressor(selector=Scripted(reply=keeping(0)), id_key="n")
    (document,) = compressor.compress_documents(page(), QUESTION)
    dropped = document.metadata["recall"]["selection"]["dropped_memory_ids"]
    assert dropped == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    "setting",
    [
        {"selector": "gpt-x"},
        {"selector": None},
        {},
        {"selector": Scripted(reply=keeping(0)), "options": 3},
        {"selector": Scripted(reply=keeping(0)), "metadata_key": ""},
        {"selector": Scripted(reply=keeping(0)), "metadata_key": "page_content"},
        {"selector": Scripted(reply=keeping(0)), "seletor": 1},
    ],
)
def test_a_wrong_compressor_is_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        SelectorCompressor(**setting)
    made = SelectorCompressor(selector=Scripted(reply=keeping(0)))
    with pytest.raises(ConfigurationError):
        made.model_copy(update=setting or {"selector": "gpt-x"})
